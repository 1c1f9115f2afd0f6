//! `nagare bench table`: results as Markdown.

use super::outcome::{disturbance, draw};
use crate::bench_compare::read;
use crate::bench_table::{Grid, legend, nearness, network, numbers, root, series, suggestion, timings};
use crate::output::{bytes, print};
use clap::Args;
use nagare_bench::operation::Operation;
use nagare_bench::record::{Cell, DEFAULT, Results, STOCK, Timing};
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
    /// One table for all runs: how many times as fast as stock the default is
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

/// The fastest of the algorithms that were forced and ran.
fn best(cell: &Cell) -> Option<&Timing> {
    let is_ours = |timing: &&Timing| timing.configuration == timing.ran && timing.configuration != STOCK;
    cell.timings.iter().filter(is_ours).min_by(|a, b| a.median.total_cmp(&b.median))
}

/// Stock's median by the default's, or by that of the best of ours: a row for each collective and size, a column for
/// each run; `!` where the middle halves of the iterations do not overlap and stock is faster.
fn gains(runs: &[Results], of_best: bool) -> String {
    let mut cells: Vec<(Operation, u64)> =
        runs.iter().flat_map(|run| &run.cells).map(|cell| (cell.collective, cell.bytes)).collect();
    cells.sort_unstable();
    cells.dedup();
    let header = ["collective", "bytes"].into_iter().chain(runs.iter().map(|run| run.name.as_str()));
    let header: Vec<String> = header.map(str::to_owned).collect();
    let gain = |run: &Results, (collective, bytes)| {
        let cell = run.cell(collective, bytes)?;
        let stock = cell.timing(STOCK)?;
        let (ours, name) = match of_best {
            true => best(cell).map(|best| (best, format!(" {}", best.configuration)))?,
            false => (cell.timing(DEFAULT)?, String::new()),
        };
        let mark = if ours.quartile1 > stock.quartile3 { " !" } else { "" };
        Some(format!("{:.2}{name}{mark}", stock.median / ours.median))
    };
    let row = |&cell: &(Operation, u64)| {
        let gains = runs.iter().map(|run| gain(run, cell).unwrap_or_else(|| "-".to_owned()));
        [cell.0.to_string(), bytes(cell.1)].into_iter().chain(gains).collect()
    };
    let rows = cells.iter().map(row).collect();
    let of = if of_best { "the fastest of Nagare's algorithms" } else { "default" };
    let legend = format!("\nStock by {of}; ! slower, and the middle halves of the iterations do not overlap.\n");
    let near = runs.iter().filter_map(|run| Some(format!("{}: {}\n", run.name, nearness(run)?)));
    Grid::new(header, rows).markdown() + &legend + &near.collect::<String>()
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
