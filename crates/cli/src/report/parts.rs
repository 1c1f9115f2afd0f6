//! The timed calls of a report in parts: by size, or by the ranks of the communicators.

use super::file::Report;
use super::words::seconds;
use crate::output::{bytes, table};
use clap::ValueEnum;
use nagare_plan::quoted;

/// What calls are told apart by.
#[derive(Clone, Copy, ValueEnum)]
pub enum By {
    /// The bytes of the call
    Size,
    /// The ranks of the communicator
    Ranks,
}

impl By {
    /// What calls have in common.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Size => "bytes from",
            Self::Ranks => "ranks",
        }
    }
}

/// Timed calls of one collective.
pub struct Part {
    pub collective: String,
    /// By what they are told apart.
    pub key: String,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    pub calls: u64,
    pub max_seconds: f64,
}

/// The parts, those of one collective or of one communicator together.
pub fn parts(report: &Report, by: By) -> Vec<Part> {
    match by {
        By::Size => report
            .sizes
            .iter()
            .map(|size| Part {
                collective: quoted(&size.collective),
                key: bytes(size.min_bytes),
                nagare: size.nagare,
                calls: size.calls,
                max_seconds: size.max_seconds,
            })
            .collect(),
        By::Ranks => report
            .communicators
            .iter()
            .map(|part| Part {
                collective: quoted(&part.collective),
                key: part.communicator_ranks.map_or_else(|| "others".to_owned(), |ranks| ranks.to_string()),
                nagare: part.nagare,
                calls: part.calls,
                max_seconds: part.max_seconds,
            })
            .collect(),
    }
}

/// As a table.
pub fn shown(report: &Report, by: By) -> String {
    let mut shown = table(["collective", by.heading(), "ran on", "calls", "time", "a call"]);
    let passed_on = report.others.iter().map(|calls| Part {
        collective: quoted(&calls.collective),
        key: "any".to_owned(),
        nagare: false,
        calls: calls.calls,
        max_seconds: calls.max_seconds,
    });
    for part in parts(report, by).into_iter().chain(passed_on) {
        shown.add_row([
            part.collective,
            part.key,
            if part.nagare { "Nagare" } else { "MPI library" }.to_owned(),
            part.calls.to_string(),
            seconds(part.max_seconds),
            seconds(part.max_seconds / part.calls.max(1) as f64),
        ]);
    }
    format!("{shown}\ncalls: of the rank that made most; time: of the rank that was longest in them\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart_by_size_and_by_ranks() {
        let report = serde_json::json!({
            "schema": 1, "nagare": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 16, "levels": [], "topology_from": "",
            "rows": [],
            "sizes": [{"collective": "bcast", "min_bytes": 1024, "nagare": true, "calls": 4, "max_seconds": 0.5}],
            "communicators": [
                {"communicator_ranks": 16, "collective": "bcast", "nagare": true, "calls": 1, "max_seconds": 0.25},
                {"collective": "reduce", "nagare": false, "calls": 2, "max_seconds": 3.0}],
            "others": [{"collective": "barrier", "calls": 4, "max_seconds": 1.0}],
        });
        let report: Report = serde_json::from_value(report).expect("a report");
        let row = |by, key: &str| {
            let text = shown(&report, by);
            let row = text.lines().find(|line| line.contains(&format!(" {key} "))).unwrap_or_default();
            row.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(row(By::Size, "1K")[1..7], ["bcast", "1K", "Nagare", "4", "500 ms", "125 ms"]);
        assert_eq!(row(By::Size, "any")[1..7], ["barrier", "any", "MPI library", "4", "1.00 s", "250 ms"]);
        assert_eq!(row(By::Ranks, "16")[1..7], ["bcast", "16", "Nagare", "1", "250 ms", "250 ms"]);
        assert_eq!(row(By::Ranks, "others")[1..7], ["reduce", "others", "MPI library", "2", "3.00 s", "1.50 s"]);
    }
}
