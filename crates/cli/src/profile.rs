//! `nagare profile`: what is in profiles.

mod diff;
mod measures;

use crate::output::{bytes, print, print_json, table as boxed, tell};
use clap::{Args, Subcommand};
use comfy_table::CellAlignment;
use nagare_config::read_text;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::profile::{Cell, MAX_FILE_BYTES, Profile};
use nagare_plan::{counted, quoted};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
        /// Print JSON, with the names that the file has
        #[arg(long)]
        json: bool,
    },
    /// Show in what two profiles differ: what is the fastest, times and costs by more than a tenth
    #[command(after_help = "Example:\n  nagare profile diff before.toml after.toml")]
    Diff {
        /// A profile
        before: PathBuf,
        /// Another
        after: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that profiles can be read; exit status 1 if one cannot
    #[command(after_help = "Example:\n  nagare profile check ~/.config/nagare/profiles/*.toml")]
    Check {
        /// The profiles
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print JSON: of each file what it was measured on, or what is wrong with it
        #[arg(long)]
        json: bool,
    },
}

/// Shows, compares or checks.
pub fn run(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Show { file, json: true } => print_json(&as_data(&read(file)?)?)?,
        Action::Show { file, json: false } => print(&table(&read(file)?))?,
        Action::Diff { before, after, json } => {
            let profiles = [read(before)?, read(after)?];
            let (costs, cells) = (measures::changed(&profiles), diff::compared(&profiles));
            if *json {
                let [before, after] = [as_data(&profiles[0])?, as_data(&profiles[1])?];
                let [before, after] = [&before["measured"], &after["measured"]];
                let differing = json!({ "schema": 1, "before": before, "after": after, "differing": cells,
                    "costs": costs });
                print_json(&differing)?;
            } else {
                print(&diff::shown(&profiles, &costs, &cells))?;
            }
        }
        Action::Check { files, json } => return check(files, *json),
    }
    Ok(ExitCode::SUCCESS)
}

/// What the file says, for programs: TOML and JSON have the same names.
fn as_data(profile: &Profile) -> anyhow::Result<Value> {
    Ok(toml::from_str(&profile.to_toml())?)
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

fn check(files: &[PathBuf], json: bool) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut checked = Vec::new();
    for file in files {
        let (measured, problem) = match read(file) {
            Ok(profile) if json => (Some(as_data(&profile)?["measured"].take()), None),
            Ok(profile) => {
                print(&format!("{}: {}\n", file.display(), summary(&profile)))?;
                (None, None)
            }
            Err(error) => {
                tell!("{error:#}");
                code = ExitCode::FAILURE;
                (None, Some(format!("{error:#}")))
            }
        };
        checked.push(json!({ "file": file, "measured": measured, "problem": problem }));
    }
    if json {
        print_json(&json!({ "schema": 1, "profiles": checked }))?;
    }
    Ok(code)
}

/// For which jobs it is.
fn summary(profile: &Profile) -> String {
    let of = &profile.measured;
    let [mpi, transport, network, date] = [&of.mpi, &of.transport, &of.network, &of.date].map(|text| quoted(text));
    let over = if transport.is_empty() { transport } else { format!(" over {transport}") };
    let (ranks, nodes) = (counted(of.ranks, "rank"), counted(of.nodes, "node"));
    let unused: BTreeSet<&str> =
        profile.cells.iter().map(|cell| cell.collective).filter(|c| c.has_own_sizes()).map(Collective::name).collect();
    let unused = match Vec::from_iter(unused).join(", ") {
        none if none.is_empty() => none,
        names => format!("; not used: {names}, of whose sizes a rank may know only its own"),
    };
    format!("{mpi}{over} on {network}, {ranks} on {nodes}, measured {date}{unused}")
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
    text += &measures::shown(profile);
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
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => " per pair",
        Collective::Gather | Collective::Gatherv | Collective::Scatter | Collective::Scatterv => " per rank",
        _ if collective.has_blocks_of_all() => " per rank",
        _ => "",
    }
}

/// What a cell is about: a size, or those of a range.
fn sizes(cell: &Cell) -> String {
    cell.most
        .map_or_else(|| bytes(cell.bytes), |most| format!("{}-{}", bytes(cell.bytes), bytes(most.saturating_add(1))))
}
