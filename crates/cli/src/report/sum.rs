//! `nagare report sum`: several jobs together.

use super::file::{Report, Row};
use super::words::saving;
use crate::output::{bytes, table};
use nagare_plan::quoted;
use std::fmt::Write;

/// The rows of several jobs in one: for each collective and what it ran on, the longest first.
pub fn summed(reports: &[Report]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for row in reports.iter().flat_map(|report| &report.rows) {
        let is_same = |sum: &&mut Row| {
            (&sum.collective, &sum.algorithm, &sum.reason) == (&row.collective, &row.algorithm, &row.reason)
        };
        match rows.iter_mut().find(is_same) {
            None => rows.push(row.clone()),
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
    rows
}

/// What several jobs did in all.
pub fn sum(reports: &[Report]) -> String {
    let rows = summed(reports);
    let mut shown = table(["collective", "ran", "reason", "bytes", "calls", "s", "s, all"]);
    for row in &rows {
        shown.add_row([
            quoted(&row.collective),
            quoted(&row.algorithm),
            row.reason.as_deref().map(quoted).unwrap_or_default(),
            match (bytes(row.min_bytes), bytes(row.max_bytes)) {
                (least, most) if least == most => least,
                (least, most) => format!("{least}-{most}"),
            },
            row.calls.to_string(),
            format!("{:.3}", row.max_seconds),
            format!("{:.3}", row.total_seconds),
        ]);
    }
    let mut text = format!(
        "{} jobs together; calls: of the rank that made most; s: of the rank that was longest in them, and of all\n\
         {shown}\n",
        reports.len()
    );
    let learned: Vec<f64> =
        reports.iter().flat_map(|report| &report.learned).map(|learned| learned.saved_seconds).collect();
    if !learned.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "measured calls {}", saving(learned.iter().sum()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{cells, report, row};
    use super::*;

    #[test]
    fn rows_of_a_kind_are_summed() {
        let one = report(&serde_json::json!([row("bcast", "chain", 3, 0.5), row("reduce", "stock", 1, 2.0)]));
        let other = report(&serde_json::json!([row("bcast", "chain", 4, 0.25), row("bcast", "stock", 1, 0.125)]));
        let text = sum(&[one, other]);
        let bcast = cells(&text, "bcast");
        assert_eq!(bcast[0][1..], ["bcast", "chain", "", "1K-4K", "7", "0.750", "12.000", ""]);
        assert_eq!((bcast.len(), bcast[1][2].as_str()), (2, "stock"));
        assert!(text.find("reduce") < text.find("bcast"), "the longest comes first\n{text}");
    }
}
