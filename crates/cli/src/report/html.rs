//! `nagare report html`: reports as one page, whose bars are times.
//!
//! ```text
//!   bcast   chain   64K   90 calls   ▇▇▇▇▇▇▇▇▇▇▇▇▇▒▒▒▒▒▒   810 ms       ▇ the rank that was shortest in it
//!           stock   1K     1 call    ▏                       500 us      ▒ longer on the rank that was longest
//! ```

use super::file::{Learned, Report, Row};
use super::parts::{By, parts};
use super::words::{meaning, ran_since, saving, seconds, size_range};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use nagare_plan::counted;
use std::path::Path;

const STYLE: &str = include_str!("page.css");

/// The page of some reports and the files that they are in.
pub fn page(reports: &[(&Path, Report)]) -> String {
    let title = match reports {
        [(_, one)] if !one.program.is_empty() => format!("{} · Nagare", one.program),
        _ => "Nagare".to_owned(),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { @for (path, report) in reports { (job(path, report)) } }
        }
    };
    page.into_string() + "\n"
}

fn job(path: &Path, report: &Report) -> Markup {
    let file = path.display().to_string();
    let saved: f64 = report.learned.iter().map(|learned| learned.saved_seconds).sum();
    // Of all ranks together: sums over rows, which those of the longest rank of each are not.
    let on_ours: f64 = report.rows.iter().filter(|row| row.reason.is_none()).map(|row| row.total_seconds).sum();
    let all: f64 = report.called().iter().map(|calls| calls.total_seconds).sum();
    html! {
        section.job {
            h1 { (if report.program.is_empty() { &file } else { &report.program }) }
            p.quiet {
                @if let Some(job) = &report.job { "job " (job) " · " }
                (counted(report.ranks, "rank"))
                @if let Some(nodes) = report.nodes { " on " (counted(nodes, "node")) }
                @if !report.levels.is_empty() { ", " (report.levels.join(" > ")) " (" (report.topology_from) ")" }
                " · " (report.mpi) " · Nagare " (report.nagare)
                @if !report.host.is_empty() { " · " (report.place()) }
                " · " (file)
            }
            @for problem in &report.problems { p.problem { "Problem: " (problem) } }
            @for profile in &report.profiles { p.quiet { "Profile " (profile) } }
            @if let Some(test) = &report.self_test { p.quiet { (test.explained()) } }
            div.figures {
                @if report.seconds > 0.0 {
                    div { b { (seconds(report.seconds)) } "from MPI_Init to MPI_Finalize" }
                    div { b { (format!("{:.0} %", 100.0 * report.share)) } "of it in collectives" }
                }
                @if all > 0.0 { div { b { (format!("{:.0} %", 100.0 * on_ours / all)) } "of that on Nagare" } }
                @if !report.learned.is_empty() { div { b { (saving(saved)) } "by what was measured in calls" } }
            }
            (collectives(report))
            (in_parts(report, "Time by size", By::Size))
            (in_parts(report, "Time by communicator", By::Communicator))
            @if !report.learned.is_empty() { (measured(&report.learned)) }
        }
    }
}

/// A time that is drawn.
struct Bar<'r> {
    collective: &'r str,
    ran: &'r str,
    why: String,
    size: String,
    calls: u64,
    longest: f64,
    shortest: f64,
    class: &'static str,
}

/// All that was called, by collective.
fn bars(report: &Report) -> Vec<Bar<'_>> {
    let handled = report.rows.iter().map(|row: &Row| Bar {
        collective: &row.collective,
        ran: &row.algorithm,
        why: row.reason.as_deref().map(|reason| format!("{reason}{}", meaning(reason))).unwrap_or_default(),
        size: size_range(row.min_bytes, row.max_bytes),
        calls: row.calls,
        longest: row.max_seconds,
        shortest: row.min_seconds,
        class: if row.reason.is_none() { "ours" } else { "stock" },
    });
    let others = report.others.iter().map(|other| Bar {
        collective: &other.collective,
        ran: "stock",
        why: "not among those that Nagare carries out".to_owned(),
        size: String::new(),
        calls: other.calls,
        longest: other.max_seconds,
        shortest: other.min_seconds,
        class: "passed",
    });
    handled.chain(others).collect()
}

fn collectives(report: &Report) -> Markup {
    let bars = bars(report);
    if bars.is_empty() {
        return html! { p { "No collective was called." } };
    }
    let mut names: Vec<&str> = bars.iter().map(|bar| bar.collective).collect();
    names.dedup();
    let called = report.called();
    let time = |name: &str| called.iter().find(|calls| calls.collective == name).map_or(0.0, |calls| calls.max_seconds);
    names.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let most = bars.iter().map(|bar| bar.longest).fold(0.0, f64::max);
    html! {
        h2 { "Time by collective" }
        p {
            span.key.ours {} "on Nagare" span.key.stock {} "on the MPI library's own"
            span.key.passed {} "passed on, whatever its size"
        }
        p.quiet {
            "A bar is the time of the rank that was longest in these calls; its lighter end is what that is more than the \
             shortest rank's: mostly waiting for ranks that came late. Calls and times are of the rank with the most."
        }
        div.wide { table {
            tr { th { "collective" } th { "ran" } th.n { "bytes" } th.n { "calls" } th {} th.n { "time" } }
            @for name in names {
                @for (index, bar) in bars.iter().filter(|bar| bar.collective == name).enumerate() {
                    tr.first[index == 0] {
                        td { @if index == 0 { (name) } }
                        td { (bar.ran) @if !bar.why.is_empty() { div.quiet { (bar.why) } } }
                        td.n { (bar.size) }
                        td.n { (bar.calls) }
                        td.bar { (track(bar.class, bar.shortest, bar.longest, most)) }
                        td.n { (seconds(bar.longest)) }
                    }
                }
            }
        } }
    }
}

/// A bar of `longest` in a track of `most`, its part beyond `shortest` lighter; without a shortest all of it is dark.
fn track(class: &str, shortest: f64, longest: f64, most: f64) -> Markup {
    let percent = |time: f64| format!("width:{:.2}%", if most > 0.0 { 100.0 * time / most } else { 0.0 });
    let dark = if shortest > 0.0 { shortest.min(longest) } else { longest };
    html! {
        div.track {
            span class=(class) style=(percent(dark)) {}
            @if longest > dark { span class={ (class) " waited" } style=(percent(longest - dark)) {} }
        }
    }
}

/// Bars of the calls by size or by communicator; nothing where that tells nothing apart.
fn in_parts(report: &Report, title: &str, by: By) -> Markup {
    let parts = parts(report, by);
    if parts.iter().all(|part| part.key == parts[0].key) {
        return html! {};
    }
    let most = parts.iter().map(|part| part.max_seconds).fold(0.0, f64::max);
    let is_first = |index: usize| index == 0 || parts[index - 1].collective != parts[index].collective;
    html! {
        h2 { (title) }
        div.wide { table {
            tr { th { "collective" } th.n { (by.heading()) } th { "on" } th.n { "calls" } th {} th.n { "time" } }
            @for (index, part) in parts.iter().enumerate() {
                tr.first[is_first(index)] {
                    td { @if is_first(index) { (part.collective) } }
                    td.n { (part.key) }
                    td { (if part.nagare { "Nagare" } else { "stock" }) }
                    td.n { (part.calls) }
                    td.bar { (track(if part.nagare { "ours" } else { "stock" }, 0.0, part.max_seconds, most)) }
                    td.n { (seconds(part.max_seconds)) }
                }
            }
        } }
    }
}

fn measured(learned: &[Learned]) -> Markup {
    html! {
        h2 { "Measured in the program's own calls" }
        p.quiet { "What a call takes on the slowest rank: mean without the worst, and the longest in lighter colour." }
        div.wide { table {
            tr { th { "collective" } th.n { "samples" } th { "with" } th {} th.n { "a call" } th { "since then" } }
            @for class in learned {
                @let most = class.ways.iter().filter_map(|way| way.longest_us).fold(0.0, f64::max);
                @for (index, way) in class.ways.iter().filter(|way| way.typical_us.is_some()).enumerate() {
                    @let typical = way.typical_us.unwrap_or(0.0);
                    @let colour = if way.algorithm == "stock" { "stock" } else { "ours" };
                    tr.first[index == 0] {
                        td { @if index == 0 {
                            (class.collective)
                            div.quiet {
                                (class.range()) ", " (counted(class.ranks, "rank")) " on "
                                (counted(class.nodes, "node"))
                            }
                        } }
                        td.n { (way.samples) }
                        td { (way.algorithm) }
                        td.bar { (track(colour, typical, way.longest_us.unwrap_or(typical), most)) }
                        td.n { (seconds(typical * 1e-6)) }
                        td { @if index == 0 {
                            (ran_since(class)) div.quiet { (saving(class.saved_seconds)) }
                        } }
                    }
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_draws_times_and_quotes_what_it_is_given() {
        let report = serde_json::json!({
            "schema": 1, "nagare": "0.1.0", "mpi": "<script>alert(1)</script>", "ranks": 16, "nodes": 8, "levels": [],
            "topology_from": "", "program": "a & b", "seconds": 4.0, "share": 0.5,
            "rows": [
                {"collective": "bcast", "algorithm": "chain", "min_bytes": 1024, "max_bytes": 4096, "calls": 9,
                 "total_seconds": 1.0, "max_seconds": 0.5, "min_seconds": 0.25},
                {"collective": "reduce", "algorithm": "stock", "reason": "below threshold", "min_bytes": 8,
                 "max_bytes": 8, "calls": 1, "total_seconds": 2.0, "max_seconds": 1.0, "min_seconds": 1.0},
            ],
            "sizes": [{"collective": "bcast", "min_bytes": 1024, "nagare": true, "calls": 9, "max_seconds": 0.5}],
            "others": [{"collective": "barrier", "calls": 2, "total_seconds": 1.0, "max_seconds": 0.5,
                "min_seconds": 0.5}],
            "learned": [{"collective": "bcast", "min_bytes": 1024, "ranks": 16, "nodes": 8, "communicators": 1,
                "runs": "chain", "saved_seconds": 0.75, "ways": [
                    {"algorithm": "stock", "samples": 2, "typical_us": 100.0, "longest_us": 200.0},
                    {"algorithm": "chain", "samples": 3, "typical_us": 50.0, "longest_us": 50.0}]}],
        });
        let page = page(&[(Path::new("r.json"), serde_json::from_value(report).expect("a report"))]);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"), "{page}");
        assert!(page.contains("<title>a &amp; b · Nagare</title>"), "{page}");
        let has = |what: &str| assert!(page.contains(what), "{what}: {page}");
        // Half of the longest, half of that spent waiting; a quarter of the time on Nagare.
        has(r#"<span class="ours" style="width:25.00%"></span><span class="ours waited" style="width:25.00%"></span>"#);
        has(r#"<span class="stock" style="width:100.00%"></span></div>"#);
        has(r#"<span class="passed" style="width:50.00%"></span></div>"#);
        has("<b>25 %</b>of that on Nagare");
        has("<b>saved about 750 ms</b>");
        has("below threshold: too little data to gain anything");
        let (reduce, bcast) = (page.find("<td>reduce</td>"), page.find("<td>bcast</td>"));
        assert!(reduce < bcast && reduce.is_some(), "the longest comes first: {page}");
        // Nothing is loaded: no address, no script, no file.
        assert!(["http", "src=", "href=", "url(", "@import"].iter().all(|what| !page.contains(what)), "{page}");
    }
}
