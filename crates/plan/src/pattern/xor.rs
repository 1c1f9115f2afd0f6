//! XOR exchange with virtual ranks: in step t the partner is the process whose virtual rank is `vrank XOR t`.
//!
//! ```text
//!   three nodes with 2, 3 and 2 ranks: slots padded to 4, nodes to 4
//!   vrank = node · 4 + slot       node 0: 0 1 - -    node 1: 4 5 6 -    node 2: 8 9 - -    (node 3 is missing)
//!   step t = 4·a + b: every rank of node n talks to node n XOR a only, slot s to slot s XOR b; who is missing is an idle step
//! ```
//! The padding is what gives the node property for any, even uneven, number of ranks per node: the high bits of t choose the
//! partner's node alone. It costs idle steps off powers of two. Source: algorithms document, section 5 (US11656920).

use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
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

/// Plan of `rank` for Alltoall: its own block is copied, then one exchange per step with a partner.
pub fn xor(virtual_ranks: &VirtualRanks, rank: Rank, options: XorOptions) -> RankPlan {
    let parts = virtual_ranks.of_rank.len() as u32;
    let block = |space, of: Rank| Parts { space, first: of, count: 1 };
    let mut hops = vec![Hop {
        action: Action::Copy { from: block(Space::Input, rank) },
        peer: rank,
        parts: block(Space::Output, rank),
        round: Round { stage: 0, step: 0 },
        tag: 0,
        turn: 0,
        after: Vec::new(),
    }];
    let ahead = options.steps_in_flight.max(1) as usize;
    for step in 1..virtual_ranks.steps() {
        let Some(partner) = virtual_ranks.partner(rank, step) else { continue };
        let round = Round { stage: 0, step };
        let index = hops.len();
        // Exchange k of this rank is hops 2k-1 (receive) and 2k (send).
        let paced_by = (index + 1).checked_sub(2 * ahead).filter(|&send| send >= 2);
        hops.push(Hop {
            action: Action::Recv,
            peer: partner,
            parts: block(Space::Output, partner),
            round,
            tag: 0,
            turn: 0,
            after: Vec::new(),
        });
        hops.push(Hop {
            action: Action::Send,
            peer: partner,
            parts: block(Space::Input, partner),
            round,
            tag: 0,
            turn: 0,
            after: paced_by.map_or_else(Vec::new, |send| vec![send as u32 - 1, send as u32]),
        });
    }
    RankPlan { rank, parts, hops }
}
