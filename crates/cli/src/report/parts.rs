//! The timed calls of reports in parts: by size, or by communicator; of one job, of several, one beside another.

use super::file::{Calls, Communicators, Report};
use super::words::seconds;
use crate::output::{bytes, table};
use clap::ValueEnum;
use nagare_plan::{counted, quoted};
use serde::Serialize;

/// What calls are told apart by.
#[derive(Clone, Copy, ValueEnum)]
pub enum By {
    /// The bytes of the call
    Size,
    /// The communicator: its name, if the program gave it one, and its number of ranks
    #[value(alias = "ranks")]
    Communicator,
}

impl By {
    /// What calls have in common.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Size => "bytes from",
            Self::Communicator => "communicator",
        }
    }
}

/// Timed calls of one collective.
#[derive(Clone, Serialize)]
pub struct Part {
    pub collective: String,
    /// By what they are told apart.
    pub key: String,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    pub calls: u64,
    pub max_seconds: f64,
}

impl Part {
    /// What was called.
    pub fn calls(&self) -> Calls {
        let (collective, calls, max_seconds) = (self.collective.clone(), self.calls, self.max_seconds);
        Calls { collective, calls, max_seconds, min_seconds: 0.0, total_seconds: 0.0 }
    }

    /// What calls of the other have to have in common with these.
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.collective, &self.key, self.nagare) == (&other.collective, &other.key, other.nagare)
    }
}

impl Communicators {
    /// `rows of the grid, 4 ranks`.
    fn key(&self) -> String {
        let ranks = match self.communicator_ranks {
            None => return "others".to_owned(),
            Some(ranks) => counted(ranks, "rank"),
        };
        self.name.as_ref().map_or_else(|| ranks.clone(), |name| format!("{}, {ranks}", quoted(name)))
    }
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
        By::Communicator => report
            .communicators
            .iter()
            .map(|part| Part {
                collective: quoted(&part.collective),
                key: part.key(),
                nagare: part.nagare,
                calls: part.calls,
                max_seconds: part.max_seconds,
            })
            .collect(),
    }
}

/// The same, and what was passed on, which the report does not tell apart.
pub fn all_parts(report: &Report, by: By) -> Vec<Part> {
    let passed_on = report.others.iter().map(|calls| Part {
        collective: quoted(&calls.collective),
        key: "any".to_owned(),
        nagare: false,
        calls: calls.calls,
        max_seconds: calls.max_seconds,
    });
    parts(report, by).into_iter().chain(passed_on).collect()
}

/// The parts of several jobs together.
pub fn summed(reports: &[Report], by: By) -> Vec<Part> {
    let mut sums: Vec<Part> = Vec::new();
    for part in reports.iter().flat_map(|report| all_parts(report, by)) {
        match sums.iter_mut().find(|sum| sum.is_of(&part)) {
            None => sums.push(part),
            Some(sum) => {
                sum.calls = sum.calls.saturating_add(part.calls);
                sum.max_seconds += part.max_seconds;
            }
        }
    }
    sums
}

/// As a table.
pub fn shown(parts: &[Part], by: By) -> String {
    let mut shown = table(["collective", by.heading(), "ran on", "calls", "time", "a call"]);
    for part in parts {
        shown.add_row([
            part.collective.clone(),
            part.key.clone(),
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
    fn calls_are_told_apart_by_size_and_by_communicator() {
        let report = serde_json::json!({
            "schema": 1, "nagare": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 16, "levels": [], "topology_from": "",
            "rows": [],
            "sizes": [{"collective": "bcast", "min_bytes": 1024, "nagare": true, "calls": 4, "max_seconds": 0.5}],
            "communicators": [
                {"communicator_ranks": 16, "collective": "bcast", "nagare": true, "calls": 1, "max_seconds": 0.25},
                {"name": "rows", "communicator_ranks": 4, "collective": "bcast", "nagare": true, "calls": 3,
                 "max_seconds": 0.75},
                {"name": "columns\n", "communicator_ranks": 4, "collective": "bcast", "nagare": true, "calls": 5,
                 "max_seconds": 1.0},
                {"collective": "reduce", "nagare": false, "calls": 2, "max_seconds": 3.0}],
            "others": [{"collective": "barrier", "calls": 4, "max_seconds": 1.0}],
        });
        let json = report.clone();
        let report: Report = serde_json::from_value(report).expect("a report");
        let row = |by, key: &str| {
            let text = shown(&all_parts(&report, by), by);
            let row = text.lines().find(|line| line.contains(&format!(" {key} "))).unwrap_or_default();
            row.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(row(By::Size, "1K")[1..7], ["bcast", "1K", "Nagare", "4", "500 ms", "125 ms"]);
        assert_eq!(row(By::Size, "any")[1..7], ["barrier", "any", "MPI library", "4", "1.00 s", "250 ms"]);
        let of = |key| row(By::Communicator, key)[1..7].to_vec();
        assert_eq!(of("16 ranks"), ["bcast", "16 ranks", "Nagare", "1", "250 ms", "250 ms"]);
        assert_eq!(of("rows, 4 ranks"), ["bcast", "rows, 4 ranks", "Nagare", "3", "750 ms", "250 ms"]);
        assert_eq!(of("columns\\n, 4 ranks")[3..], ["5", "1.00 s", "200 ms"]);
        assert_eq!(of("others"), ["reduce", "others", "MPI library", "2", "3.00 s", "1.50 s"]);

        let twice = [report, serde_json::from_value(json).expect("a report")];
        let sums = summed(&twice, By::Communicator);
        let of = |key: &str| sums.iter().find(|sum| sum.key == key).map(|sum| (sum.calls, sum.max_seconds));
        assert_eq!(["rows, 4 ranks", "16 ranks", "any"].map(of), [Some((6, 1.5)), Some((2, 0.5)), Some((8, 2.0))]);
    }
}
