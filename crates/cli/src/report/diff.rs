//! `nagare report diff`: one job beside another.

use super::file::Report;
use super::words::seconds;
use crate::output::table;
use nagare_plan::quoted;
use serde::Serialize;
use std::fmt::Write;

/// Calls of one collective in two jobs.
#[derive(Serialize)]
pub struct Compared {
    collective: String,
    /// Calls of the rank that made most, before and after.
    calls: [u64; 2],
    /// Seconds of the rank that was longest in them.
    seconds: [f64; 2],
}

/// The times of two jobs, by collective; those that took longest before come first.
pub fn compared(reports: [&Report; 2]) -> Vec<Compared> {
    let mut collectives: Vec<&str> = Vec::new();
    for row in reports.iter().flat_map(|report| &report.rows) {
        if !collectives.contains(&row.collective.as_str()) {
            collectives.push(&row.collective);
        }
    }
    let rows = |report: &Report, collective: &str| {
        report.rows.iter().filter(|row| row.collective == collective).cloned().collect::<Vec<_>>()
    };
    let both = collectives.into_iter().map(|collective| Compared {
        collective: collective.to_owned(),
        calls: reports.map(|report| rows(report, collective).iter().map(|row| row.calls).sum()),
        // A sum of no floating-point numbers is -0.
        seconds: reports.map(|report| rows(report, collective).iter().fold(0.0, |sum, row| sum + row.max_seconds)),
    });
    let mut all: Vec<Compared> = both.collect();
    all.sort_by(|a, b| b.seconds[0].total_cmp(&a.seconds[0]));
    all
}

/// The same as a table.
pub fn diff(reports: [&Report; 2]) -> String {
    let mut shown = table(["collective", "calls", "s before", "s after", "x"]);
    let ratio = |before: f64, after: f64| if after > 0.0 { format!("{:.2}", before / after) } else { "-".to_owned() };
    let (mut all_before, mut all_after) = (0.0, 0.0);
    for Compared { collective, calls: [calls, calls_after], seconds: [was, is] } in compared(reports) {
        (all_before, all_after) = (all_before + was, all_after + is);
        let calls = if calls == calls_after { calls.to_string() } else { format!("{calls}, {calls_after}") };
        shown.add_row([quoted(&collective), calls, format!("{was:.3}"), format!("{is:.3}"), ratio(was, is)]);
    }
    let mut text = String::new();
    for (name, report) in ["before", "after"].into_iter().zip(reports) {
        let nodes = report.nodes.map_or_else(String::new, |nodes| format!(" on {nodes} nodes"));
        let _ = writeln!(text, "{name}: {}, {} ranks{nodes}", quoted(&report.mpi), report.ranks);
    }
    let (was, is) = (seconds(all_before), seconds(all_after));
    let _ = writeln!(text, "{shown}\nin all {was} before, {is} after: {} x", ratio(all_before, all_after));
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cells, report, row};
    use super::*;

    #[test]
    fn two_jobs_are_compared_by_collective() {
        let before = report(&serde_json::json!([row("bcast", "stock", 3, 1.5), row("gather", "stock", 1, 0.5)]));
        let after = report(&serde_json::json!([row("bcast", "chain", 2, 0.25), row("bcast", "stock", 1, 0.25)]));
        let text = diff([&before, &after]);
        assert_eq!(cells(&text, "bcast")[0][1..6], ["bcast", "3", "1.500", "0.500", "3.00"]);
        assert_eq!(cells(&text, "gather")[0][1..6], ["gather", "1, 0", "0.500", "0.000", "-"]);
        assert!(text.ends_with("in all 2.00 s before, 500 ms after: 4.00 x\n"), "{text}");
    }
}
