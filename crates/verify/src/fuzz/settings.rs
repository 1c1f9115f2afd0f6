//! What a batch runs with: number of ranks, machine, algorithms and the rest of the environment; a pure function of the
//! seed.

use crate::turns;
use nagare_harness::{Family, Mpi};
use nagare_plan::collective::Collective;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The settings of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The MPI library.
    pub mpi: Mpi,
    /// Ranks of the job.
    pub ranks: u32,
    /// Whether cases may have several threads.
    pub threads: bool,
    /// Environment variables of Nagare.
    pub variables: Vec<(String, String)>,
}

impl Settings {
    /// Those of the batch with this seed. Seeds in a row go through all algorithms of every collective.
    pub fn new(seed: u64, mpi: Mpi) -> Self {
        let mut random = Pcg64::seed_from_u64(seed ^ 0x5E77_1465);
        let ranks = match (mpi.family(), random.random_range(0..10u32)) {
            (Family::OpenMpi, n) => [2, 3, 4, 4, 5, 5, 6, 7, 8, 8][n as usize],
            // Its ranks spin: few, where cores are few.
            (Family::Mpich, n) => [2, 2, 2, 2, 3, 3, 3, 3, 3, 4][n as usize],
        };
        let mut settings = Self { mpi, ranks, threads: random.random_range(0..3u32) == 0, variables: Vec::new() };
        let machine = machine(&mut random, ranks);
        if machine.as_ref().is_some_and(|machine| *machine == node_each(ranks)) {
            let dimensions = DIMENSIONS[ranks as usize];
            settings.set_some(&mut random, 50, "NAGARE_TORUS", dimensions);
        }
        settings.set("NAGARE_TOPOLOGY", machine);
        settings.set("NAGARE_ALGORITHM", algorithms(&mut random, seed));
        settings.set_some(&mut random, 60, "NAGARE_SEGMENT", &["64", "256", "1K", "4K", "8K", "64K", "1000", "100000"]);
        settings.set_some(&mut random, 30, "NAGARE_WINDOW", &["2", "3", "16", "100"]);
        settings.set_some(&mut random, 30, "NAGARE_STEPS", &["1", "2", "4", "32", "together"]);
        settings.set_some(&mut random, 30, "NAGARE_PARTNERS", &["1", "2"]);
        settings.set_some(&mut random, 30, "NAGARE_AGGREGATORS", &["1", "2", "3"]);
        settings.set_some(&mut random, 20, "NAGARE_TORUS_ORDER", &["bandwidth", "alphabetical", "given"]);
        settings.set_some(&mut random, 30, "NAGARE_TORUS_PARTNERS", &["near", "bits"]);
        settings.set_some(&mut random, 60, "NAGARE_WAIT", &["library", "pause"]);
        settings
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Bytes of a segment, if they are prescribed.
    pub fn segment(&self) -> Option<u64> {
        let text = self.get("NAGARE_SEGMENT")?;
        match text.strip_suffix('K') {
            Some(kibibytes) => kibibytes.parse().ok().map(|k: u64| k << 10),
            None => text.parse().ok(),
        }
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        self.variables.extend(value.map(|value| (name.to_owned(), value)));
    }

    fn set_some(&mut self, random: &mut Pcg64, percent: u32, name: &str, values: &[&str]) {
        if random.random_range(0..100u32) < percent {
            let value = values[random.random_range(0..values.len() as u32) as usize];
            self.set(name, Some(value.to_owned()));
        }
    }
}

/// Tori of so many nodes.
const DIMENSIONS: [&[&str]; 9] =
    [&[], &[], &["2"], &["3"], &["2x2", "4"], &["5"], &["2x3", "3x2"], &["7"], &["2x2x2", "4x2", "2x4"]];

/// A pretended machine with a node for each rank.
fn node_each(ranks: u32) -> String {
    format!("synthetic:node:{ranks} core:1")
}

/// A pretended machine with room for all ranks: uneven nodes, one node, a node per rank; rarely none.
fn machine(random: &mut Pcg64, ranks: u32) -> Option<String> {
    let nodes_of = |cores: u32| ranks.div_ceil(cores);
    let text = match random.random_range(0..10u32) {
        0 => return None,
        1 | 2 => node_each(ranks),
        3 => format!("synthetic:node:{} core:2", nodes_of(2)),
        4 => format!("synthetic:node:{} numa:2 core:2", nodes_of(4)),
        5 => format!("synthetic:node:{} core:3", nodes_of(3)),
        6 => format!("synthetic:group:{} node:2 core:1", nodes_of(2)),
        7 => format!("synthetic:group:{} node:2 core:2", nodes_of(4)),
        8 => format!("synthetic:site:2 group:2 node:{} core:1", ranks.div_ceil(4)),
        _ => "synthetic:group:3 node:2 core:3".to_owned(),
    };
    Some(text)
}

/// Three of four batches force an algorithm for every collective, in turn; the others leave the choice to Nagare, or
/// part of it.
fn algorithms(random: &mut Pcg64, seed: u64) -> Option<String> {
    let all = turns::algorithms(seed / 4 * 3 + seed % 4);
    let items: Vec<String> = match (seed % 4, random.random_range(0..3u32)) {
        (3, 0) => return None,
        (3, 1) => return Some("all=stock".to_owned()),
        // One algorithm for short vectors, Nagare's choice for long ones.
        (3, _) => {
            let has_own_sizes = |name| Collective::from_name(name).is_some_and(Collective::has_own_sizes);
            let sized = all.filter(|&(collective, _)| !has_own_sizes(collective));
            sized.map(|(collective, algorithm)| format!("{collective}={algorithm}:-20K")).collect()
        }
        _ => all.map(|(collective, algorithm)| format!("{collective}={algorithm}")).collect(),
    };
    Some(items.join(";"))
}
