//! `nagare report sum`: several jobs together.

use super::file::{Calls, Report, Row, add};
use super::words::saving;
use crate::output::{bytes, table, width};
use comfy_table::{ColumnConstraint, ContentArrangement};
use nagare_plan::text::wrapped;
use nagare_plan::{counted, quoted};
use serde::Serialize;
use std::fmt::Write;

/// The column of what ran, which is broken where the table is too wide.
const RAN: usize = 1;

/// Several jobs in one, what took longest first.
#[derive(Serialize)]
pub struct Summed {
    jobs: usize,
    /// By collective: sums over jobs of the rank that had most in each.
    collectives: Vec<Calls>,
    /// By collective and what it ran on.
    rows: Vec<Row>,
}

/// Sums up jobs.
pub fn summed(reports: &[Report]) -> Summed {
    let mut collectives = Vec::new();
    reports.iter().flat_map(Report::called).for_each(|calls| add(&mut collectives, &calls));
    collectives.sort_by(|a, b| b.max_seconds.total_cmp(&a.max_seconds));
    let mut rows: Vec<Row> = Vec::new();
    let passed_on = |report: &Report| report.others.iter().map(Row::passed_on).collect::<Vec<_>>();
    for row in reports.iter().flat_map(|report| report.rows.iter().cloned().chain(passed_on(report))) {
        let is_same = |sum: &&mut Row| {
            (&sum.collective, &sum.algorithm, &sum.reason) == (&row.collective, &row.algorithm, &row.reason)
        };
        match rows.iter_mut().find(is_same) {
            None => rows.push(row),
            Some(sum) => {
                (sum.min_bytes, sum.max_bytes) = (sum.min_bytes.min(row.min_bytes), sum.max_bytes.max(row.max_bytes));
                sum.calls = sum.calls.saturating_add(row.calls);
                sum.total_seconds += row.total_seconds;
                sum.max_seconds += row.max_seconds;
                sum.min_seconds += row.min_seconds;
            }
        }
    }
    rows.sort_by(|a, b| b.max_seconds.total_cmp(&a.max_seconds));
    Summed { jobs: reports.len(), collectives, rows }
}

/// What several jobs did in all.
pub fn sum(reports: &[Report]) -> String {
    let Summed { jobs, collectives, rows } = summed(reports);
    let mut shown = table(["collective", "ran", "bytes", "calls", "s", "s, all"]);
    shown.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width()).unwrap_or(u16::MAX));
    // What is looked for stays in one piece; reasons are the longest.
    shown.column_iter_mut().filter(|column| column.index != RAN).for_each(|column| {
        column.set_constraint(ColumnConstraint::ContentWidth);
    });
    let times = |longest: f64, all: f64| [longest, all].map(|time| format!("{time:.3}"));
    for calls in &collectives {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.collective == calls.collective).collect();
        for row in &rows {
            let ran = match &row.reason {
                None => quoted(&row.algorithm),
                Some(reason) => format!("{}: {}", quoted(&row.algorithm), quoted(reason)),
            };
            let size = match (bytes(row.min_bytes), bytes(row.max_bytes)) {
                _ if row.is_passed_on() => String::new(),
                (least, most) if least == most => least,
                (least, most) => format!("{least}-{most}"),
            };
            let [longest, all] = times(row.max_seconds, row.total_seconds);
            shown.add_row([quoted(&row.collective), ran, size, row.calls.to_string(), longest, all]);
        }
        if rows.len() > 1 {
            let (name, ran, size) = (quoted(&calls.collective), "all".to_owned(), String::new());
            let [longest, all] = times(calls.max_seconds, calls.total_seconds);
            shown.add_row([name, ran, size, calls.calls.to_string(), longest, all]);
        }
    }
    let mut text = wrapped(
        &format!(
            "{} together; calls: of the rank that made most, in each line by itself, also where it says all; \
             s: of the rank that was longest in them, and of all",
            counted(jobs, "job")
        ),
        width(),
        0,
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{shown}");
    let learned: Vec<f64> =
        reports.iter().flat_map(|report| &report.learned).map(|learned| learned.saved_seconds).collect();
    if !learned.is_empty() {
        let _ = writeln!(text, "measured calls {}", saving(learned.iter().sum()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cells, report, row, value};
    use super::*;

    #[test]
    fn rows_of_a_kind_are_summed() {
        let one = report(&serde_json::json!([row("bcast", "chain", 3, 0.5), row("reduce", "stock", 1, 2.0)]));
        let other = report(&serde_json::json!([row("bcast", "chain", 4, 0.25), row("bcast", "stock", 1, 0.125)]));
        let text = sum(&[one, other]);
        let bcast = cells(&text, "bcast");
        assert_eq!(bcast[0][1..], ["bcast", "chain", "1K-4K", "7", "0.750", "12.000", ""]);
        assert_eq!((bcast.len(), bcast[1][2].as_str()), (3, "stock"));
        assert_eq!(bcast[2][1..], ["bcast", "all", "", "8", "0.875", "14.000", ""]);
        assert!(text.find("reduce") < text.find("bcast"), "the longest comes first\n{text}");
    }

    #[test]
    fn what_was_passed_on_is_summed_and_a_rank_is_not_counted_twice() {
        let mut job = value(&serde_json::json!([
            row("bcast", "chain", 30, 0.5),
            row("bcast", "stock", 15, 0.5),
            row("reduce_scatter_block", "an algorithm of quite a long name", 1, 0.125)
        ]));
        job["collectives"] = serde_json::json!([{"collective": "bcast", "calls": 30, "max_seconds": 0.625},
            {"collective": "reduce_scatter_block", "calls": 1, "max_seconds": 0.125}]);
        job["others"] = serde_json::json!([{"collective": "barrier", "calls": 2, "max_seconds": 2.0}]);
        let text = sum(&[(); 2].map(|()| serde_json::from_value(job.clone()).expect("a report")));
        assert_eq!(cells(&text, "bcast")[2][1..6], ["bcast", "all", "", "60", "1.250"]);
        let passed_on = ["barrier", "stock: passed on", "", "4", "4.000", "0.000", ""];
        assert_eq!(cells(&text, "barrier")[0][1..], passed_on);
        assert_eq!(cells(&text, "reduce_scatter_block").len(), 1, "names stay whole\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
