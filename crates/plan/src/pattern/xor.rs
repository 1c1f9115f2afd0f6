//! XOR exchange with virtual ranks: in step t the partner is the process whose virtual rank is `vrank XOR t`.
//!
//! ```text
//!   three nodes with 2, 3 and 2 ranks: slots padded to 4, nodes to 4
//!   vrank = node · 4 + slot       node 0: 0 1 - -    node 1: 4 5 6 -    node 2: 8 9 - -    (node 3 is missing)
//!   step t = 4·a + b: every rank of node n talks to node n XOR a only, slot s to slot s XOR b; who is missing is an idle step
//! ```
//! The padding is what gives the node property for any, even uneven, number of ranks per node: the high bits of t choose the
//! partner's node alone. It costs idle steps off powers of two. Source: algorithms document, section 5 (US11656920).

use super::exchange::{Step, exchange};
use crate::schedule::{Rank, RankPlan};
use crate::topology::Topology;

/// Virtual ranks of a communicator: nodes in the order of their numbers, inside a node in the order of cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualRanks {
    /// Virtual rank of every rank.
    of_rank: Vec<u32>,
    /// Rank of every virtual rank, `None` where padding left a hole.
    rank_of: Vec<Option<Rank>>,
}

/// How the steps follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XorOptions {
    /// Steps of a rank that may be under way at the same time; 1 completes a step before the next (claim 2).
    pub steps_in_flight: u32,
}

impl Default for XorOptions {
    /// Two: the next exchange starts while the last segments of this one are still on the wire.
    fn default() -> Self {
        Self { steps_in_flight: 2 }
    }
}

impl VirtualRanks {
    /// Numbers the ranks of `topology`; also the recomputation for a sub-communicator, from its own topology (claim 5).
    pub fn new(topology: &Topology) -> Self {
        let slots = topology.slots();
        let width = slots.iter().max().map_or(1, |&last| (last + 1).next_power_of_two());
        let nodes = topology.node_count().max(1).next_power_of_two();
        let of_rank: Vec<u32> = topology.nodes().iter().zip(&slots).map(|(n, s)| n * width + s).collect();
        let mut rank_of = vec![None; nodes as usize * width as usize];
        for (rank, &vrank) in of_rank.iter().enumerate() {
            rank_of[vrank as usize] = Some(rank as Rank);
        }
        Self { of_rank, rank_of }
    }

    /// Number of steps, step 0 (the rank's own block) included: a power of two.
    pub fn steps(&self) -> u32 {
        self.rank_of.len() as u32
    }

    /// Virtual rank of `rank`.
    pub fn of(&self, rank: Rank) -> u32 {
        self.of_rank[rank as usize]
    }

    /// Partner of `rank` in step `step`, `None` if the step is idle for it.
    pub fn partner(&self, rank: Rank, step: u32) -> Option<Rank> {
        self.rank_of[(self.of(rank) ^ step) as usize]
    }
}

/// Plan of `rank` for Alltoall and Alltoallv: one exchange per step with a partner.
pub fn xor(virtual_ranks: &VirtualRanks, rank: Rank, options: XorOptions) -> RankPlan {
    let steps = (1..virtual_ranks.steps()).map(|step| {
        let partner = virtual_ranks.partner(rank, step);
        Step { step, to: partner, from: partner }
    });
    exchange(rank, virtual_ranks.of_rank.len() as u32, steps, options.steps_in_flight)
}
