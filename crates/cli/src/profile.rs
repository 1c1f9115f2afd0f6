//! `nagare profile`: what is in profiles.

use crate::output::{bytes, print, table as boxed};
use clap::{Args, Subcommand};
use comfy_table::CellAlignment;
use nagare_config::read_text;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::profile::{Cell, MAX_FILE_BYTES, Profile};
use nagare_plan::quoted;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Times that differ by less than this are the same.
const ALIKE: f64 = 1.1;

#[derive(Args)]
pub struct ProfileArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show what a profile says: what it was measured on, what messages cost, what is the fastest
    #[command(after_help = "Example:\n  nagare profile show tree8-16x2-slot-openmpi.toml")]
    Show {
        /// The profile
        file: PathBuf,
    },
    /// Show in what two profiles differ: what is the fastest, and times by more than a tenth
    #[command(after_help = "Example:\n  nagare profile diff before.toml after.toml")]
    Diff {
        /// A profile
        before: PathBuf,
        /// Another
        after: PathBuf,
    },
    /// Check that profiles can be read; exit status 1 if one cannot
    #[command(after_help = "Example:\n  nagare profile check ~/.config/nagare/profiles/*.toml")]
    Check {
        /// The profiles
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

/// Shows, compares or checks.
pub fn run(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Show { file } => print(&table(&read(file)?))?,
        Action::Diff { before, after } => print(&difference(&read(before)?, &read(after)?))?,
        Action::Check { files } => return check(files),
    }
    Ok(ExitCode::SUCCESS)
}

/// The profile in a file.
///
/// # Errors
/// One line: the file, what is wrong, what was expected.
pub fn read(path: &Path) -> anyhow::Result<Profile> {
    let name = path.display().to_string();
    let text = read_text(path, MAX_FILE_BYTES, "a profile (TOML)").map_err(anyhow::Error::msg)?;
    Ok(Profile::from_toml(&text, &name)?)
}

fn check(files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match read(file) {
            Ok(profile) => print(&format!("{}: {}\n", file.display(), summary(&profile)))?,
            Err(error) => {
                eprintln!("nagare: {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// For which jobs it is.
fn summary(profile: &Profile) -> String {
    let of = &profile.measured;
    let [mpi, transport, network, date] = [&of.mpi, &of.transport, &of.network, &of.date].map(|text| quoted(text));
    let over = if transport.is_empty() { transport } else { format!(" over {transport}") };
    format!("{mpi}{over} on {network}, {} ranks on {} nodes, measured {date}", of.ranks, of.nodes)
}

fn name(fastest: Option<Algorithm>) -> &'static str {
    fastest.map_or("stock", Algorithm::name)
}

/// How many times as fast as the MPI library's own each algorithm of ours that was chosen is.
pub fn gains(profile: &Profile) -> Vec<f64> {
    let ours = profile.cells.iter().filter(|cell| cell.fastest.is_some());
    ours.map(|cell| cell.stock_us / cell.fastest_us).collect()
}

/// What it was measured on, and a row for each collective and size.
pub fn table(profile: &Profile) -> String {
    let mut text = summary(profile) + "\n";
    let placement = &profile.measured.placement;
    if !placement.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "order of ranks: {}", quoted(placement));
    }
    let costs = &profile.costs;
    for (what, value, unit) in [
        ("a message costs beyond its bytes", costs.message.latency_us, "µs"),
        ("between the messages of a host", costs.message.gap_us, "µs"),
        ("data that a host sends", costs.host_goodput, "Mbit/s"),
    ] {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{what}: {value} {unit}");
        }
    }
    let mut table = boxed(["collective", "bytes", "fastest", "ms", "stock ms", "× stock"]);
    for cell in &profile.cells {
        table.add_row([
            cell.collective.to_string(),
            sizes(cell) + unit(cell.collective),
            name(cell.fastest).to_owned(),
            format!("{:.3}", cell.fastest_us * 1e-3),
            format!("{:.3}", cell.stock_us * 1e-3),
            format!("{:.2}", cell.stock_us / cell.fastest_us),
        ]);
    }
    for at in [1, 3, 4, 5] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let _ = writeln!(text, "{table}");
    text
}

/// What a size is told of.
fn unit(collective: Collective) -> &'static str {
    match collective {
        Collective::Alltoall | Collective::Alltoallv => " per pair",
        _ if collective.has_blocks_of_all() || collective == Collective::Gather => " per rank",
        _ => "",
    }
}

fn difference(before: &Profile, after: &Profile) -> String {
    let mut text = format!("before: {}\nafter:  {}\n", summary(before), summary(after));
    let mut differing = 0;
    for new in &after.cells {
        let is_same = |old: &&Cell| (old.collective, old.bytes) == (new.collective, new.bytes);
        let what = format!("{} of {}{}", new.collective, bytes(new.bytes), unit(new.collective));
        let line = match before.cells.iter().find(is_same) {
            None => format!("{what}: only after: {} {:.3} ms", name(new.fastest), new.fastest_us * 1e-3),
            Some(old) => {
                let ratio = (old.fastest_us / new.fastest_us).max(new.fastest_us / old.fastest_us);
                if old.fastest == new.fastest && ratio < ALIKE {
                    continue;
                }
                let of = |cell: &Cell| format!("{} {:.3} ms", name(cell.fastest), cell.fastest_us * 1e-3);
                format!("{what}: {} -> {}", of(old), of(new))
            }
        };
        differing += 1;
        let _ = writeln!(text, "{line}");
    }
    let gone = before
        .cells
        .iter()
        .filter(|old| after.cells.iter().all(|new| (old.collective, old.bytes) != (new.collective, new.bytes)));
    for old in gone {
        differing += 1;
        let _ = writeln!(text, "{} of {}{}: only before", old.collective, bytes(old.bytes), unit(old.collective));
    }
    let _ = writeln!(text, "{differing} of {} differ", before.cells.len().max(after.cells.len()));
    text
}
/// What a cell is about: a size, or those of a range.
fn sizes(cell: &Cell) -> String {
    cell.most
        .map_or_else(|| bytes(cell.bytes), |most| format!("{}-{}", bytes(cell.bytes), bytes(most.saturating_add(1))))
}
