//! `nagare bench compare`: what changed between two runs.

use crate::bench_table::{milliseconds, size};
use crate::output::{print, print_json, table};
use anyhow::Context;
use clap::Args;
use nagare_bench::operation::Operation;
use nagare_bench::record::{Cell, Results, Timing};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct CompareArgs {
    /// The first run, as `nagare bench` wrote it
    #[arg(value_name = "A.json")]
    a: PathBuf,
    /// The second run
    #[arg(value_name = "B.json")]
    b: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The times of one configuration in both runs, for programs.
#[derive(Serialize)]
struct Both<'a> {
    collective: Operation,
    bytes: u64,
    configuration: &'a str,
    /// Medians, seconds.
    a: f64,
    b: f64,
    /// `faster` or `slower` where the middle halves of the iterations do not overlap, else empty.
    verdict: &'static str,
}

/// Prints the times of both, by collective, size and configuration.
pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    if args.json {
        let all: Vec<Both> = a.cells.iter().flat_map(|cell| pairs(cell, &b)).collect();
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(["collective", "bytes", "configuration", "A ms", "B ms", "change", ""]);
    let mut alone = 0;
    for cell in &a.cells {
        for timing in &cell.timings {
            let other = b.cell(cell.collective, cell.bytes).and_then(|cell| cell.timing(&timing.configuration));
            let Some(other) = other else {
                alone += 1;
                continue;
            };
            rows.add_row([
                cell.collective.to_string(),
                size(cell),
                timing.configuration.clone(),
                milliseconds(timing.median),
                milliseconds(other.median),
                format!("{:+.0} %", (other.median / timing.median - 1.0) * 100.0),
                verdict(timing, other).to_owned(),
            ]);
        }
        let best = |run: &Results| run.cell(cell.collective, cell.bytes)?.best_stock().map(|best| best.median);
        if let Some((a, b)) = best(&a).zip(best(&b)) {
            rows.add_row([
                cell.collective.to_string(),
                size(cell),
                "best stock".to_owned(),
                milliseconds(a),
                milliseconds(b),
                format!("{:+.0} %", (b / a - 1.0) * 100.0),
                String::new(),
            ]);
        }
    }
    let mut text = String::new();
    for (letter, run) in [("A", &a), ("B", &b)] {
        let ranks = run.job.hosts.len();
        text +=
            &format!("{letter}: {}, {ranks} ranks, map {}; {}; {}\n", run.fabric, run.map, run.job.mpi, run.machine);
    }
    if (&a.fabric, &a.job.hosts) != (&b.fabric, &b.job.hosts) {
        text += "the two runs are of different fabrics or placements\n";
    }
    if a.job.series.max(1) != b.job.series.max(1) {
        text += "the two runs are of series of different lengths\n";
    }
    if a.job.back_to_back.max(1) != b.job.back_to_back.max(1) {
        text += "the two runs have different numbers of calls back to back\n";
    }
    text += &format!("{rows}\nfaster, slower: the middle halves of the iterations do not overlap\n");
    if alone > 0 {
        text += &format!("{alone} times of A have none of B beside them\n");
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The times of a cell of A that B has as well.
fn pairs<'a>(cell: &'a Cell, b: &Results) -> Vec<Both<'a>> {
    let Cell { collective, bytes, .. } = *cell;
    let both = |timing: &'a Timing| {
        let other = b.cell(collective, bytes)?.timing(&timing.configuration)?;
        let (configuration, verdict) = (&*timing.configuration, verdict(timing, other));
        Some(Both { collective, bytes, configuration, a: timing.median, b: other.median, verdict })
    };
    cell.timings.iter().filter_map(both).collect()
}

/// Whether B differs from A by more than the iterations of each differ.
fn verdict(a: &Timing, b: &Timing) -> &'static str {
    match () {
        () if b.quartile3 < a.quartile1 => "faster",
        () if b.quartile1 > a.quartile3 => "slower",
        () => "",
    }
}

/// What `nagare bench` wrote to `path`.
///
/// # Errors
/// If it is something else.
pub fn read(path: &Path) -> anyhow::Result<Results> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{}: expected what `nagare bench` wrote", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(quartile1: f64, median: f64, quartile3: f64) -> Timing {
        let (configuration, ran) = (String::new(), String::new());
        Timing { configuration, ran, iterations: 9, median, quartile1, quartile3, interval: None, fastest: quartile1 }
    }

    #[test]
    fn overlapping_times_are_no_change() {
        let a = timing(0.9, 1.0, 1.1);
        assert_eq!(verdict(&a, &timing(0.7, 0.8, 0.85)), "faster");
        assert_eq!(verdict(&a, &timing(1.2, 1.3, 1.4)), "slower");
        assert_eq!(verdict(&a, &timing(0.8, 0.88, 0.95)), "");
    }
}
