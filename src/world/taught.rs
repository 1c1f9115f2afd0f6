//! What the calls of a job have taught, as a profile for later jobs (`NAGARE_LEARN=write`, docs/profiles.md): rank 0
//! writes it while the world ends, into the directory of its user's profiles, and keeps what jobs before have written.

use super::facts::SharedFacts;
use super::profiles::is_of;
use super::shim::Shim;
use crate::report::learned::Learned;
use nagare_config::{Learn, profiles_at_home, read_text};
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::profile::{Cell, MAX_FILE_BYTES, Measured, Profile};
use nagare_plan::quoted;
use nagare_plan::topology::Costs;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Most characters of the file's name before `.toml`, and of the program's name in it.
const LONGEST: usize = 200;

/// Writes what was `learned`, if the job is to; tells what it wrote, or why it could not.
pub fn write(shim: &Shim, learned: impl FnOnce() -> Vec<Learned>) {
    let config = &shim.setup().config;
    let is_first = shim.world_rank() == Some(0);
    if !config.enable || config.learn != Learn::Write || !is_first {
        return;
    }
    let Some(world) = shim.world() else { return };
    let Ok(facts) = &world.facts else { return };
    let measured = measured(shim, facts);
    let cells = cells(&learned(), &measured);
    if cells.is_empty() {
        return log::info!("nothing was settled by measured calls of all ranks; no profile is written");
    }
    match add(measured, &cells) {
        Ok(path) => log::info!("{} sizes written to {}", cells.len(), quoted(&path.to_string_lossy())),
        Err(problem) => log::warn!("NAGARE_LEARN=write: {problem}"),
    }
}

/// What this job runs on.
fn measured(shim: &Shim, facts: &SharedFacts) -> Measured {
    let date = humantime::format_rfc3339(SystemTime::now()).to_string();
    // Its arguments may be nobody else's business.
    let program = std::env::args_os().next().unwrap_or_default();
    Measured {
        mpi: shim.real.version().split_whitespace().collect::<Vec<_>>().join(" "),
        network: facts.network.clone(),
        transport: facts.transport.clone(),
        placement: facts.topology.arrangement(),
        ranks: facts.topology.ranks(),
        nodes: facts.topology.node_count(),
        nagare: env!("CARGO_PKG_VERSION").to_owned(),
        date: date.split('T').next().unwrap_or_default().to_owned(),
        command: format!("NAGARE_LEARN=write {}", program.to_string_lossy()).chars().take(LONGEST).collect(),
    }
}

/// What was settled on communicators of all ranks, in the order of the world's.
fn cells(learned: &[Learned], measured: &Measured) -> Vec<Cell> {
    let all = learned.iter().filter(|l| l.in_order && (l.ranks, l.nodes) == (measured.ranks, measured.nodes));
    all.filter_map(|learned| {
        let told = Collective::ALL.into_iter().filter(|collective| !collective.has_own_sizes());
        let us = |name| learned.ways.iter().find(|way| way.algorithm == name)?.typical_us;
        let runs = learned.runs?;
        Some(Cell {
            collective: told.into_iter().find(|collective| collective.name() == learned.collective)?,
            bytes: learned.min_bytes,
            most: Some(learned.min_bytes.saturating_mul(2).saturating_sub(1)),
            fastest: Algorithm::from_name(runs),
            stock_us: us("stock")?,
            fastest_us: us(runs)?,
        })
    })
    .collect()
}

/// Adds these to the file, whose name says what it is about.
fn add(measured: Measured, cells: &[Cell]) -> Result<PathBuf, String> {
    let directory = profiles_at_home(|name| std::env::var_os(name))
        .ok_or("neither XDG_CONFIG_HOME nor HOME is an absolute path; expected one of the two")?;
    let path = directory.join(name(&measured));
    let shown = quoted(&path.to_string_lossy());
    let mut profile =
        Profile { measured, costs: Costs::default(), pairs: Vec::new(), reduction: None, cells: Vec::new() };
    if path.exists() {
        let text = read_text(&path, MAX_FILE_BYTES, "a profile (TOML)")?;
        let old = Profile::from_toml(&text, &path.to_string_lossy()).map_err(|error| error.to_string())?;
        if !is_of(&old.measured, &profile.measured) {
            return Err(format!("{shown} is about other jobs; nothing is written"));
        }
        (profile.costs, profile.cells) = (old.costs, old.cells);
    }
    let is_new = |old: &Cell| !cells.iter().any(|new| (new.collective, new.bytes) == (old.collective, old.bytes));
    profile.cells.retain(is_new);
    profile.cells.extend_from_slice(cells);
    let place = |cell: &Cell| Collective::ALL.iter().position(|&collective| collective == cell.collective);
    profile.cells.sort_by_key(|cell| (place(cell), cell.bytes));
    replace(&directory, &path, &profile.to_toml()).map_err(|error| format!("{shown}: {error}"))?;
    Ok(path)
}

/// Readers see the old file or the new one, never a part.
fn replace(directory: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    // Hosts that share the directory may have processes of the same number.
    let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let new = directory.join(format!(".learned.{}.{moment}", std::process::id()));
    // Nobody else may write to it, or it would not be read.
    let mut file = File::options().write(true).create_new(true).mode(0o644).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // The error to tell is the first one.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Letters and digits of what the profile is about, with a dash for everything else.
fn name(measured: &Measured) -> String {
    let Measured { mpi, network, transport, placement, ranks, .. } = measured;
    let words = format!("learned {network} {ranks} {placement} {transport} {mpi}");
    let parts: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    parts.join("-").chars().take(LONGEST).chain(".toml".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::learned::LearnedWay;

    fn about(placement: &str) -> Measured {
        Measured {
            mpi: "Open MPI v4.1.4".to_owned(),
            network: "tree8".to_owned(),
            transport: "tcp at 100 Mbit/s".to_owned(),
            placement: placement.to_owned(),
            ranks: 16,
            nodes: 8,
            nagare: String::new(),
            date: String::new(),
            command: String::new(),
        }
    }

    fn learned(collective: &'static str, runs: Option<&'static str>, (ranks, in_order): (u32, bool)) -> Learned {
        let way = |algorithm, us| LearnedWay { algorithm, calls: 9, samples: 3, typical_us: us, longest_us: us };
        Learned {
            collective,
            min_bytes: 4096,
            ranks,
            nodes: 8,
            communicators: 1,
            runs,
            saved_seconds: 0.0,
            ways: vec![way("stock", Some(20.0)), way("chain", Some(10.0)), way("two_tree", None)],
            most_calls: 9,
            in_order,
        }
    }

    #[test]
    fn what_all_ranks_have_settled_is_kept() {
        let all = [
            learned("bcast", Some("chain"), (16, true)),
            learned("reduce", Some("stock"), (16, true)),
            learned("allreduce", None, (16, true)),
            learned("alltoallv", Some("chain"), (16, true)),
            learned("gather", Some("chain"), (8, true)),
            learned("allgather", Some("chain"), (16, false)),
            learned("alltoall", Some("two_tree"), (16, true)),
        ];
        let cells = cells(&all, &about("node 8 x 2"));
        let told: Vec<_> = cells.iter().map(|cell| (cell.collective, cell.fastest, cell.fastest_us)).collect();
        assert_eq!(told, [(Collective::Bcast, Some(Algorithm::Chain), 10.0), (Collective::Reduce, None, 20.0)]);
    }

    #[test]
    fn the_name_says_what_it_is_about() {
        assert_eq!(name(&about("node 8 x 2")), "learned-tree8-16-node-8-x-2-tcp-at-100-Mbit-s-Open-MPI-v4-1-4.toml");
        let long = name(&about(&"/../".repeat(200)));
        assert!(long.len() <= LONGEST + 5 && !long.contains('/'), "{long}");
    }
}
