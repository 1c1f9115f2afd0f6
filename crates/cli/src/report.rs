//! `nagare report`: what a report says, in words.

use crate::output::{bytes, print};
use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use nagare_plan::choice::Reason;
use nagare_plan::quoted;
use serde::Deserialize;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The form of a report that this understands.
const SCHEMA: u32 = 1;
/// Longest report that is read, bytes: some hundred thousand rows.
const MOST: u64 = 64 << 20;
/// The MPI library's own.
const STOCK: &str = "stock";

#[derive(Args)]
pub struct ReportArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Explain a report: what ran and why, what was measured, what that saved
    #[command(after_help = "Example:
  NAGARE_REPORT=r.json nagare run -- mpirun -np 16 ./app
  nagare report show r.json")]
    Show {
        /// A report in JSON: what NAGARE_REPORT=NAME.json writes
        file: PathBuf,
    },
}

#[derive(Deserialize)]
struct Report {
    schema: u32,
    nagare: String,
    mpi: String,
    ranks: u64,
    nodes: Option<u32>,
    levels: Vec<String>,
    topology_from: String,
    #[serde(default)]
    profiles: Vec<String>,
    rows: Vec<Row>,
    #[serde(default)]
    learned: Vec<Learned>,
}

#[derive(Deserialize)]
struct Row {
    collective: String,
    algorithm: String,
    reason: Option<String>,
    min_bytes: u64,
    max_bytes: u64,
    calls: u64,
    max_seconds: f64,
}

#[derive(Deserialize)]
struct Learned {
    collective: String,
    min_bytes: u64,
    ranks: u32,
    nodes: u32,
    communicators: u64,
    runs: Option<String>,
    saved_seconds: f64,
    ways: Vec<Way>,
}

#[derive(Deserialize)]
struct Way {
    algorithm: String,
    samples: u32,
    typical_us: Option<f64>,
    longest_us: Option<f64>,
}

/// Explains.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let Action::Show { file } = &args.action;
    print(&explained(&read(file)?))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> anyhow::Result<Report> {
    let name = quoted(&path.display().to_string());
    let mut text = String::new();
    let file = File::open(path).with_context(|| name.clone())?;
    ensure!(file.metadata().is_ok_and(|file| file.is_file()), "{name}: not a regular file; expected a report in JSON");
    file.take(MOST).read_to_string(&mut text).with_context(|| name.clone())?;
    let expected = "expected a report that NAGARE_REPORT=NAME.json has written";
    let report: Report = serde_json::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{name}: {}; {expected}", quoted(&error.to_string())))?;
    ensure!(report.schema == SCHEMA, "{name}: schema {}; expected {SCHEMA}", report.schema);
    Ok(report)
}

/// The report in words.
fn explained(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    macro_rules! line {
        ($($format:tt)*) => { { let _ = writeln!(text, $($format)*); } };
    }
    let nodes = report.nodes.map_or_else(String::new, |nodes| format!(" on {nodes} nodes"));
    let levels: Vec<String> = report.levels.iter().map(|level| quoted(level)).collect();
    line!("Nagare {}, {}, {} ranks{nodes}", quoted(&report.nagare), quoted(&report.mpi), report.ranks);
    line!("levels {} (from {})", levels.join(" > "), quoted(&report.topology_from));
    report.profiles.iter().for_each(|profile| line!("profile {}", quoted(profile)));
    let all: f64 = report.rows.iter().map(|row| row.max_seconds).sum();
    line!("\n{} in these collectives, each by the rank that was longest in it:", seconds(all));
    let mut collectives: Vec<&str> = report.rows.iter().map(|row| row.collective.as_str()).collect();
    collectives.dedup();
    for collective in collectives {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.collective == collective).collect();
        let time = rows.iter().map(|row| row.max_seconds).sum();
        line!("\n{}: {}", quoted(collective), seconds(time));
        rows.iter().for_each(|row| line!("  {}", row.explained()));
    }
    if !report.learned.is_empty() {
        line!("\nMeasured in the program's own calls:");
        report.learned.iter().for_each(|learned| line!("  {}", learned.explained()));
        let saved = report.learned.iter().map(|learned| learned.saved_seconds).sum();
        line!("All of it {}.", saving(saved));
    }
    text
}

impl Row {
    fn explained(&self) -> String {
        let size = match (bytes(self.min_bytes), bytes(self.max_bytes)) {
            (least, most) if least == most => format!("of {least} bytes"),
            (least, most) => format!("of {least} to {most} bytes"),
        };
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let on = match &self.reason {
            None => format!("on {}", quoted(&self.algorithm)),
            Some(reason) => {
                let known = Reason::ALL.into_iter().find(|known| known.name() == reason);
                let meaning = known.map_or_else(String::new, |known| format!(": {}", known.meaning()));
                format!("on the MPI library's own ({}{meaning})", quoted(reason))
            }
        };
        format!("{} {calls} {size} {on}: {}", self.calls, seconds(self.max_seconds))
    }
}

impl Learned {
    fn explained(&self) -> String {
        let range = format!("{} to {} bytes", bytes(self.min_bytes), bytes(self.min_bytes.saturating_mul(2)));
        let communicators = match self.communicators {
            1 => String::new(),
            several => format!(", {several} communicators"),
        };
        let runs = match self.runs.as_deref() {
            None => "nothing is settled yet".to_owned(),
            Some(STOCK) => "since then the MPI library's own".to_owned(),
            Some(algorithm) => format!("since then {}", quoted(algorithm)),
        };
        let measured: Vec<String> = self.ways.iter().filter_map(Way::explained).collect();
        format!(
            "{} of {range} ({} ranks on {} nodes{communicators}): {runs}, {}\n      {}",
            quoted(&self.collective),
            self.ranks,
            self.nodes,
            saving(self.saved_seconds),
            measured.join("; ")
        )
    }
}

impl Way {
    /// What it took, and how sure that is; `None` if it was not measured.
    fn explained(&self) -> Option<String> {
        let (typical, longest) = (self.typical_us?, self.longest_us?);
        let (typical, longest) = (seconds(typical * 1e-6), seconds(longest * 1e-6));
        let samples = if self.samples == 1 { "call" } else { "calls" };
        Some(format!("{} {typical} (at most {longest}, {} {samples})", quoted(&self.algorithm), self.samples))
    }
}

/// What has been saved, or lost.
fn saving(seconds_saved: f64) -> String {
    let amount = seconds(seconds_saved.abs());
    if seconds_saved < 0.0 {
        format!("cost about {amount} more than it saved")
    } else {
        format!("saved about {amount}")
    }
}

/// A time with three digits.
fn seconds(time: f64) -> String {
    let (value, unit) = match time {
        time if time >= 1.0 => (time, "s"),
        time if time >= 1e-3 => (time * 1e3, "ms"),
        time => (time * 1e6, "us"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_and_what_was_saved_is_told() {
        let report = serde_json::json!({
            "schema": 1, "nagare": "0.1.0", "mpi": "Open MPI v4.1.4", "ranks": 16, "nodes": 8,
            "levels": ["leaf", "node"], "topology_from": "shipped:tree8",
            "rows": [
                {"collective": "bcast", "algorithm": "chain", "min_bytes": 65536, "max_bytes": 65536, "calls": 90,
                 "bytes": 1, "total_seconds": 9.0, "max_seconds": 0.81},
                {"collective": "bcast", "algorithm": "stock", "reason": "below threshold", "min_bytes": 8,
                 "max_bytes": 1024, "calls": 1, "bytes": 1, "total_seconds": 0.1, "max_seconds": 0.0005},
            ],
            "learned": [
                {"collective": "bcast", "min_bytes": 65536, "ranks": 16, "nodes": 8, "communicators": 1,
                 "runs": "chain", "saved_seconds": 4.125, "ways": [
                    {"algorithm": "stock", "calls": 4, "samples": 4, "typical_us": 54000.0, "longest_us": 61000.0},
                    {"algorithm": "chain", "calls": 86, "samples": 3, "typical_us": 8100.0, "longest_us": 9000.0},
                    {"algorithm": "ring", "calls": 0, "samples": 0}]},
            ],
        });
        let report: Report = serde_json::from_value(report).expect("a report");
        let expected = "\
Nagare 0.1.0, Open MPI v4.1.4, 16 ranks on 8 nodes
levels leaf > node (from shipped:tree8)

810 ms in these collectives, each by the rank that was longest in it:

bcast: 810 ms
  90 calls of 64K bytes on chain: 810 ms
  1 call of 8 to 1K bytes on the MPI library's own (below threshold: too little data to gain anything): 500 us

Measured in the program's own calls:
  bcast of 64K to 128K bytes (16 ranks on 8 nodes): since then chain, saved about 4.12 s
      stock 54.0 ms (at most 61.0 ms, 4 calls); chain 8.10 ms (at most 9.00 ms, 3 calls)
All of it saved about 4.12 s.
";
        assert_eq!(explained(&report), expected);
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!([12.34567, 0.0123456, 0.000_000_9, 123.4].map(seconds), ["12.3 s", "12.3 ms", "0.90 us", "123 s"]);
        assert_eq!(saving(-0.5), "cost about 500 ms more than it saved");
    }
}
