//! `nagare report diff`: one job beside another.

use super::file::{Calls, Report};
use super::parts::{By, all_parts};
use super::words::seconds;
use crate::output::table;
use nagare_plan::{counted, quoted};
use serde::Serialize;
use std::fmt::Write;

/// Calls of one collective in two jobs.
#[derive(Serialize)]
pub struct Compared {
    collective: String,
    /// Of which size or communicator the calls are.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// Calls of the rank that made most, before and after.
    calls: [u64; 2],
    /// Seconds of the rank that was longest in them.
    seconds: [f64; 2],
}

/// The times of two jobs, by collective, and by what else they are told apart; those that took longest before come
/// first.
pub fn compared(reports: [&Report; 2], by: Option<By>) -> Vec<Compared> {
    let mut all: Vec<Compared> = Vec::new();
    for (job, report) in reports.into_iter().enumerate() {
        let called: Vec<(Calls, Option<String>)> = match by {
            None => report.called().into_iter().map(|calls| (calls, None)).collect(),
            Some(by) => all_parts(report, by).into_iter().map(|part| (part.calls(), Some(part.key))).collect(),
        };
        for (Calls { collective, calls, max_seconds, .. }, of) in called {
            let is_same = |compared: &Compared| (&compared.collective, &compared.of) == (&collective, &of);
            let at = all.iter().position(is_same).unwrap_or_else(|| {
                all.push(Compared { collective, of, calls: [0; 2], seconds: [0.0; 2] });
                all.len() - 1
            });
            // On Nagare and on the MPI library.
            all[at].calls[job] = all[at].calls[job].saturating_add(calls);
            all[at].seconds[job] += max_seconds;
        }
    }
    all.sort_by(|a, b| b.seconds[0].total_cmp(&a.seconds[0]));
    all
}

/// The same as a table.
pub fn diff(reports: [&Report; 2], by: Option<By>) -> String {
    let headings = ["calls", "s before", "s after", "x"];
    let mut shown = table(["collective"].into_iter().chain(by.map(By::heading)).chain(headings));
    let ratio = |before: f64, after: f64| if after > 0.0 { format!("{:.2}", before / after) } else { "-".to_owned() };
    for Compared { collective, of, calls: [calls, calls_after], seconds: [was, is] } in compared(reports, by) {
        let calls = if calls == calls_after { calls.to_string() } else { format!("{calls}, {calls_after}") };
        let numbers = [calls, format!("{was:.3}"), format!("{is:.3}"), ratio(was, is)];
        shown.add_row([quoted(&collective)].into_iter().chain(of).chain(numbers));
    }
    let mut text = String::new();
    for (name, report) in ["before", "after"].into_iter().zip(reports) {
        let nodes = report.nodes.map_or_else(String::new, |nodes| format!(" on {}", counted(nodes, "node")));
        let run = match report.seconds {
            run if run > 0.0 => format!(", {}, {:.0} % of it in collectives", seconds(run), 100.0 * report.share),
            _ => String::new(),
        };
        let _ = writeln!(text, "{name}: {}, {}{nodes}{run}", quoted(&report.mpi), counted(report.ranks, "rank"));
    }
    let [was, is] = reports.map(Report::longest);
    let all = format!("{} before, {} after: {} x", seconds(was), seconds(is), ratio(was, is));
    let _ = writeln!(text, "{shown}\nin all, by the rank that was longest: {all}");
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cells, report, row, value};
    use super::*;

    #[test]
    fn two_jobs_are_compared_by_collective() {
        let before = report(&serde_json::json!([row("bcast", "stock", 3, 1.5), row("gather", "stock", 1, 0.5)]));
        let after = report(&serde_json::json!([row("bcast", "chain", 2, 0.25), row("bcast", "stock", 1, 0.25)]));
        let text = diff([&before, &after], None);
        assert_eq!(cells(&text, "bcast")[0][1..6], ["bcast", "3", "1.500", "0.500", "3.00"]);
        assert_eq!(cells(&text, "gather")[0][1..6], ["gather", "1, 0", "0.500", "0.000", "-"]);
        assert!(text.ends_with("by the rank that was longest: 2.00 s before, 500 ms after: 4.00 x\n"), "{text}");
    }

    /// Where no rank has the most of each outcome, the sum of the rows is more than any rank did.
    #[test]
    fn what_a_rank_did_in_all_is_compared_and_what_was_passed_on() {
        let rows = [row("bcast", "chain", 30, 1.0), row("bcast", "stock", 15, 0.5)];
        let with = |calls: u64, seconds: f64, barrier: f64| {
            let mut report = value(&serde_json::json!(rows));
            let calls_of = |collective: &str, calls: u64, seconds: f64| {
                serde_json::json!([{
                    "collective": collective, "calls": calls, "max_seconds": seconds
                }])
            };
            report["collectives"] = calls_of("bcast", calls, seconds);
            report["others"] = calls_of("barrier", 2, barrier);
            report["all"] = serde_json::json!({"max_seconds": seconds + 0.25, "min_seconds": 0.0});
            serde_json::from_value(report).expect("a report")
        };
        let text = diff([&with(30, 1.25, 0.5), &with(30, 0.5, 0.125)], None);
        assert_eq!(cells(&text, "bcast")[0][1..6], ["bcast", "30", "1.250", "0.500", "2.50"]);
        assert_eq!(cells(&text, "barrier")[0][1..6], ["barrier", "2", "0.500", "0.125", "4.00"]);
        assert!(text.ends_with("1.50 s before, 750 ms after: 2.00 x\n"), "{text}");
    }
    #[test]
    fn calls_of_a_communicator_are_compared_with_those_of_the_same_name() {
        let with = |rows: &[(&str, bool, u64, f64)]| {
            let mut report = value(&serde_json::json!([]));
            let rows = rows.iter().map(|&(name, nagare, calls, seconds)| {
                serde_json::json!({"name": name, "communicator_ranks": 4, "collective": "bcast", "nagare": nagare,
                    "calls": calls, "max_seconds": seconds})
            });
            report["communicators"] = rows.collect();
            serde_json::from_value(report).expect("a report")
        };
        let before = with(&[("rows", false, 7, 2.0), ("columns", false, 7, 1.0)]);
        let after = with(&[("rows", false, 3, 0.25), ("rows", true, 4, 0.25), ("columns", false, 7, 1.0)]);
        let text = diff([&before, &after], Some(By::Communicator));
        assert_eq!(cells(&text, "rows, 4 ranks")[0][1..7], ["bcast", "rows, 4 ranks", "7", "2.000", "0.500", "4.00"]);
        assert_eq!(cells(&text, "columns, 4 ranks")[0][3..7], ["7", "1.000", "1.000", "1.00"]);
    }
}
