//! `nagare bench guidelines`: where the default is slower than it should be by what the same run measured.

use crate::bench_compare::read;
use crate::bench_table::guidelines;
use crate::output::{print, print_json};
use clap::Args;

use nagare_bench::guidelines::{Violation, violations};
use nagare_bench::record::DEFAULT;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct GuidelinesArgs {
    /// Runs, as `nagare bench` wrote them
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was found in one run, for programs.
#[derive(Serialize)]
struct Found {
    run: String,
    violations: Vec<Violation>,
}

/// Prints a line for each time, and how many there are; fails if there are any.
pub fn check(args: &GuidelinesArgs) -> anyhow::Result<ExitCode> {
    let mut lines = Vec::new();
    if args.json {
        let found =
            |path: &PathBuf| read(path).map(|run| Found { violations: violations(&run, DEFAULT), run: run.name });
        let all = args.files.iter().map(found).collect::<anyhow::Result<Vec<Found>>>()?;
        print_json(&all)?;
        let is_kept = all.iter().all(|found| found.violations.is_empty());
        return Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    for path in &args.files {
        let run = read(path)?;
        lines.extend(guidelines(&run).into_iter().map(|line| format!("{}: {line}\n", run.name)));
    }
    let found = lines.len();
    lines.push(format!("{} run(s), {found} time(s) that the default is slower than it should be\n", args.files.len()));
    print(&lines.concat())?;
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
