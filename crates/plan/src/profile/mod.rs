//! Profiles: what was measured at a site, as a file that people and ranks read.
//!
//! ```text
//!   nagare tune ──► Profile (TOML) ──┬─► rules for communicators of the same shape: the fastest, by size
//!                                    └─► costs of messages and links, for predictions about all others
//! ```
//!
//! Nagare measures nothing where it uses a profile: the numbers are the same in every run, so that algorithms chosen by
//! them may carry out floating-point sums.

mod file;
mod measures;
mod written;

pub use file::{MAX_FILE_BYTES, ProfileError};
pub use measures::{Pair, Reduction};

use crate::algorithm::Algorithm;
use crate::choice::{Prescription, Rule};
use crate::collective::Collective;
use crate::quoted;
use crate::topology::Costs;

/// What was measured, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// On what.
    pub measured: Measured,
    /// What messages and links cost there.
    pub costs: Costs,
    /// What pairs of ranks can do, the closest first.
    pub pairs: Vec<Pair>,
    /// What a sum costs.
    pub reduction: Option<Reduction>,
    /// What was the fastest, by collective and bytes.
    pub cells: Vec<Cell>,
}

/// What a profile was measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// What the MPI library calls itself, such as `Open MPI v4.1.4`.
    pub mpi: String,
    /// What the network is called: its fabric, or the levels that are known.
    pub network: String,
    /// What carries the library's messages between nodes, such as `tcp` or `ucx`; empty where nobody has noted it.
    pub transport: String,
    /// In which order its ranks are: [`crate::topology::Topology::arrangement`]; empty where nobody has noted it.
    pub placement: String,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Nodes.
    pub nodes: u32,
    /// Nagare's version.
    pub nagare: String,
    /// The day, such as `2026-11-23`.
    pub date: String,
    /// The command that measured.
    pub command: String,
}

/// One collective and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The collective.
    pub collective: Collective,
    /// Bytes as [`crate::choice::Call::bytes`] counts them.
    pub bytes: u64,
    /// Where what was measured holds for sizes from there to this one and no others, the last of them.
    pub most: Option<u64>,
    /// What was the fastest: an algorithm of ours, or the MPI library (none).
    pub fastest: Option<Algorithm>,
    /// Microseconds of a call on the library.
    pub stock_us: f64,
    /// Microseconds of a call on the fastest.
    pub fastest_us: f64,
}

impl Profile {
    /// Why it says nothing about a job with this library over this transport on this network; `None` if it does.
    pub fn misfit(&self, mpi: &str, transport: &str, network: &str) -> Option<String> {
        let words = |text: &str| quoted(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        let own = &self.measured;
        if words(&own.mpi) != words(mpi) {
            return Some(format!("was measured with {}, this is {}", words(&own.mpi), words(mpi)));
        }
        if !own.transport.is_empty() && own.transport != transport {
            return Some(format!("was measured over {}, this is {}", quoted(&own.transport), quoted(transport)));
        }
        let is_other = own.network != network;
        is_other.then(|| format!("was measured on {}, this is {}", quoted(&own.network), quoted(network)))
    }

    /// The rules for communicators of so many ranks and nodes in the order of `placement`
    /// ([`crate::topology::Topology::arrangement`]): none if it was measured with others. A size between two
    /// that were measured goes with the nearer by ratio; sizes beyond twice the largest, or below half the smallest,
    /// were not measured. Cells that say for which sizes they hold come first. Nothing is said about Alltoallv, of
    /// whose sizes a rank knows its own only.
    pub fn rules(&self, ranks: u32, nodes: u32, placement: &str) -> Vec<Rule> {
        let Measured { placement: own, .. } = &self.measured;
        let is_other = !own.is_empty() && own != placement;
        if is_other || (self.measured.ranks, self.measured.nodes) != (ranks, nodes) {
            return Vec::new();
        }
        self.all_rules()
    }

    /// The same whatever the communicator.
    pub fn all_rules(&self) -> Vec<Rule> {
        Collective::ALL.into_iter().flat_map(|collective| self.of(collective)).collect()
    }

    fn of(&self, collective: Collective) -> Vec<Rule> {
        let (bounded, mut cells): (Vec<&Cell>, Vec<&Cell>) =
            self.cells.iter().filter(|cell| cell.collective == collective).partition(|cell| cell.most.is_some());
        let exact = bounded.into_iter().map(|cell| Rule {
            collective: Some(collective),
            prescription: Prescription::Measured(cell.fastest),
            min: cell.bytes,
            max: cell.most.unwrap_or(cell.bytes),
        });
        cells.sort_by_key(|cell| cell.bytes);
        let mut rules: Vec<Rule> = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            let min = rules.last().map_or(cell.bytes.div_ceil(2), |rule| rule.max + 1);
            let max = cells.get(at + 1).map_or(cell.bytes.saturating_mul(2), |next| middle(cell.bytes, next.bytes));
            let prescription = Prescription::Measured(cell.fastest);
            match rules.last_mut().filter(|rule| rule.prescription == prescription) {
                Some(rule) => rule.max = max,
                None => rules.push(Rule { collective: Some(collective), prescription, min, max }),
            }
        }
        exact.chain(rules).collect()
    }
}

/// The number that is as many times `small` as `large` is times it.
fn middle(small: u64, large: u64) -> u64 {
    ((small as f64) * (large as f64)).sqrt() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn profile(cells: &[(Collective, u64, Option<Algorithm>)]) -> Profile {
        let cell = |&(collective, bytes, fastest)| Cell {
            collective,
            bytes,
            most: None,
            fastest,
            stock_us: 10.5,
            fastest_us: 5.0,
        };
        let measured = Measured {
            mpi: "Open MPI v4.1.4".to_owned(),
            network: "levels node".to_owned(),
            transport: "tcp".to_owned(),
            placement: "node 8 x 2".to_owned(),
            ranks: 16,
            nodes: 8,
            nagare: "0.1.0".to_owned(),
            date: "2026-11-23".to_owned(),
            command: "nagare tune -- mpirun -np 16".to_owned(),
        };
        let cells = cells.iter().map(cell).collect();
        Profile { measured, costs: Costs::default(), pairs: Vec::new(), reduction: None, cells }
    }

    /// Sizes beside them are left to others.
    #[test]
    fn what_holds_for_a_range_holds_there_alone() {
        let mut found = profile(&[(Collective::Bcast, 65536, None), (Collective::Bcast, 4096, Some(Algorithm::Chain))]);
        found.cells[0].most = Some(131_071);
        let bounds: Vec<_> = found.all_rules().iter().map(|rule| (rule.min, rule.max, rule.prescription)).collect();
        let (stock, chain) = (Prescription::Measured(None), Prescription::Measured(Some(Algorithm::Chain)));
        assert_eq!(bounds, [(65536, 131_071, stock), (2048, 8192, chain)]);
    }

    #[test]
    fn sizes_between_go_with_the_nearer_one() {
        use Collective::Bcast;
        let (chain, two_tree) = (Some(Algorithm::Chain), Some(Algorithm::TwoTree));
        let found = profile(&[
            (Bcast, 65536, two_tree),
            (Bcast, 1024, None),
            (Bcast, 4096, chain),
            (Bcast, 16384, chain),
            (Collective::Gather, 8, None),
        ]);
        let rules = found.rules(16, 8, "node 8 x 2");
        let bounds: Vec<_> = rules.iter().map(|rule| (rule.min, rule.max, rule.prescription)).collect();
        let measured = Prescription::Measured;
        assert_eq!(
            bounds,
            [
                (512, 2048, measured(None)),
                (2049, 32768, measured(chain)),
                (32769, 131_072, measured(two_tree)),
                (4, 16, measured(None))
            ]
        );
        assert_eq!(found.rules(16, 4, "node 8 x 2"), []);
        assert_eq!(found.rules(8, 8, "node 8 x 2"), []);
        assert_eq!(found.rules(16, 8, "node 8 x 2 in turn"), []);
        let mut anywhere = found.clone();
        anywhere.measured.placement = String::new();
        assert_eq!(anywhere.rules(16, 8, "node 8 x 2 in turn"), rules);
        assert_eq!(found.all_rules(), rules);
    }

    #[test]
    fn another_library_or_network_is_told() {
        let here = "levels node";
        let found = profile(&[]);
        assert_eq!(found.misfit("Open MPI\tv4.1.4", "tcp", here), None);
        assert_eq!(
            found.misfit("MPICH Version:      4.0.2", "tcp", here).as_deref(),
            Some("was measured with Open MPI v4.1.4, this is MPICH Version: 4.0.2")
        );
        assert_eq!(found.misfit("Open MPI v4.1.4", "ucx", here).as_deref(), Some("was measured over tcp, this is ucx"));
        let elsewhere =
            Profile { measured: Measured { network: "tree8".to_owned(), ..found.measured.clone() }, ..found };
        assert_eq!(
            elsewhere.misfit("Open MPI v4.1.4", "tcp", here).as_deref(),
            Some("was measured on tree8, this is levels node")
        );
    }
}
