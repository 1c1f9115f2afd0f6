//! `nagare bench table`: results as Markdown.

use super::gains::gains;
use super::outcome::{disturbance, draw};
use crate::bench_compare::read;
use crate::bench_table::{legend, network, numbers, root, series, suggestion, timings};
use crate::output::print;
use clap::Args;
use nagare_bench::operation::Operation;
use nagare_bench::record::Results;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct TableArgs {
    /// Runs, as `nagare bench` wrote them
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    /// Also show the plots, which are in DIR as seen from the page
    #[arg(long, value_name = "DIR")]
    plots: Option<String>,
    /// Draw the plots again, each beside its run's file
    #[arg(long)]
    draw: bool,
    /// One table for all runs: how many times as fast as stock the default is, and what that comes to
    #[arg(long, conflicts_with = "plots")]
    gains: bool,
    /// The same of the fastest of Nagare's algorithms, each of which was forced, and its name
    #[arg(long, conflicts_with_all = ["plots", "gains"])]
    best: bool,
}

/// Prints one section per file.
pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let runs = args.files.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<Results>>>()?;
    if args.draw {
        for (run, file) in runs.iter().zip(&args.files) {
            draw(run, file.parent().unwrap_or(Path::new("")))?;
        }
    }
    if args.gains || args.best {
        print(&gains(&runs, args.best))?;
        return Ok(ExitCode::SUCCESS);
    }
    let sections: Vec<String> = runs.iter().map(|run| section(run, args.plots.as_deref())).collect();
    print(&sections.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

// Writing to a String cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { { let _ = writeln!($text, $($format)*); } };
}

fn section(run: &Results, plots: Option<&str>) -> String {
    let mut text = String::new();
    let ranks = run.job.hosts.len();
    line!(text, "## {}: {ranks} ranks, map {}{}{}{}\n", run.fabric, run.map, root(run), numbers(run), series(run));
    let nagare = run.job.nagare.as_deref().map_or("without Nagare".to_owned(), |version| format!("Nagare {version}"));
    let congestion = run.job.congestion.as_deref().unwrap_or("unknown");
    line!(text, "{}, {nagare}; TCP congestion control {congestion}; {}.\n", run.job.mpi, run.machine);
    line!(text, "```sh\n{}\n```\n", run.command);
    if let Some(disturbance) = disturbance(run) {
        let (first, rest) = disturbance.split_at(1);
        line!(text, "{}{rest}.\n", first.to_uppercase());
    }
    if !run.complete {
        line!(text, "The run did not come to its end.\n");
    }
    text += &network(run).markdown();
    if let Some(suggestion) = suggestion(run) {
        line!(text, "\n```toml\n{suggestion}```");
    }
    line!(text, "\n{}", timings(run).markdown());
    text += &legend(run).replace('*', "\\*");
    if let Some(plots) = plots {
        line!(text, "");
        for operation in Operation::ALL.into_iter().filter(|of| run.cells.iter().any(|cell| cell.collective == *of)) {
            line!(text, "![{operation} on {}]({plots}/{}-{operation}.svg)", run.fabric, run.name);
        }
    }
    text
}
