//! `nagare report`: what a report says, in words; several together, and one beside another.

mod diff;
mod file;
#[cfg(test)]
mod fixture;
mod html;
mod parts;
mod sum;
mod words;

use self::diff::{compared, diff};
use self::file::read;
use self::parts::By;
use self::sum::{sum, summed};
use crate::output::{print, print_json, width};
use clap::{Args, Subcommand};
use nagare_plan::text::wrapped;
use std::path::PathBuf;
use std::process::ExitCode;

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
  nagare report show r.json
  nagare report show r.json --by communicator")]
    Show {
        /// A report: what NAGARE_REPORT=NAME.json writes, which is itself the JSON form of what is shown
        file: PathBuf,
        /// Show a table of the calls instead, told apart by this
        #[arg(long, value_enum)]
        by: Option<By>,
    },
    /// Sum up the reports of several jobs
    #[command(after_help = "Example:
  nagare report sum reports/*.json")]
    Sum {
        /// Reports in JSON
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Show a table of the calls instead, told apart by this
        #[arg(long, value_enum)]
        by: Option<By>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what took longer or shorter in another job
    #[command(after_help = "Example:
  NAGARE_ALGORITHM=all=stock NAGARE_REPORT=stock.json nagare run -- mpirun -np 16 ./app
  NAGARE_REPORT=nagare.json nagare run -- mpirun -np 16 ./app
  nagare report diff stock.json nagare.json")]
    Diff {
        /// The report of a job
        before: PathBuf,
        /// The report of another
        after: PathBuf,
        /// Tell calls apart by this as well
        #[arg(long, value_enum)]
        by: Option<By>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw reports as a page for a browser, on standard output: one file, which loads nothing
    #[command(after_help = "Example:
  nagare report html r.json > r.html")]
    Html {
        /// Reports in JSON
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// Explains, sums or compares.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let text = match &args.action {
        Action::Show { file, by: None } => wrapped(&words::explained(&read(file)?), width(), 4),
        Action::Show { file, by: Some(by) } => parts::shown(&parts::all_parts(&read(file)?, *by), *by),
        Action::Sum { files, by, json } => {
            let reports = files.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
            match (by, json) {
                (None, false) => sum(&reports),
                (None, true) => return in_json(&summed(&reports)),
                (Some(by), false) => parts::shown(&parts::summed(&reports, *by), *by),
                (Some(by), true) => return in_json(&parts::summed(&reports, *by)),
            }
        }
        Action::Html { files } => {
            let reports = files.iter().map(|file| Ok((file.as_path(), read(file)?)));
            html::page(&reports.collect::<anyhow::Result<Vec<_>>>()?)
        }
        Action::Diff { before, after, by, json } => {
            let reports = [&read(before)?, &read(after)?];
            if *json {
                return in_json(&compared(reports, *by));
            }
            diff(reports, *by)
        }
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn in_json(value: &impl serde::Serialize) -> anyhow::Result<ExitCode> {
    print_json(value)?;
    Ok(ExitCode::SUCCESS)
}
