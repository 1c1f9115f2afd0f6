//! The one table of algorithms: names, what they implement, what they need. [`Planner`] makes their plans.

use crate::collective::Collective;
use serde::{Deserialize, Serialize};

pub use crate::planner::Planner;

/// An algorithm Nagare can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// One two-tree over all ranks.
    TwoTree,
    /// A two-tree in every family of every level.
    GroupedTwoTree,
    /// The same trees with separate ranks for entering and leaving a group.
    GatewayTwoTree,
    /// A pipeline through all ranks.
    Chain,
    /// Reduce-scatter and allgather around all ranks.
    Ring,
    /// Halving, then doubling, along every dimension of the network.
    HalvingDoubling,
    /// A ring of nodes, and in every step of it a ring of ranks.
    TwoLevelRing,
    /// XOR exchange with virtual ranks.
    Xor,
    /// Contention-free task groups.
    ContentionFree,
    /// An exchange inside nodes, then one message per rank and node.
    Aggregated,
    /// One message per pair of nodes, collected and distributed by leaders.
    AggregatedLeader,
    /// Blocks straight to the root, sender after sender.
    Direct,
    /// A pipeline of nodes that ends at the root.
    Relay,
    /// A binomial tree of nodes.
    Tree,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Name in configuration, reports and on the command line.
    pub name: &'static str,
    /// What it can implement.
    pub collectives: &'static [Collective],
    /// What a round of its schedules is called.
    pub round: &'static str,
    /// Whether it is a candidate where nothing is prescribed and its predicted time decides.
    pub by_cost: bool,
    /// One line for lists.
    pub summary: &'static str,
}

/// Allreduce and its two halves.
const HALVED: &[Collective] =
    &[Collective::Allreduce, Collective::Allgather, Collective::ReduceScatterBlock, Collective::ReduceScatter];

/// All algorithms.
pub const ALGORITHMS: &[Spec] = &[
    Spec {
        algorithm: Algorithm::TwoTree,
        name: "two_tree",
        collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
        round: "colour",
        by_cost: false,
        summary: "one two-tree over all ranks; half the vector along each tree, pipelined",
    },
    Spec {
        algorithm: Algorithm::GroupedTwoTree,
        name: "grouped_two_tree",
        collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
        round: "colour",
        by_cost: true,
        summary: "a two-tree in every group of every topology level, joined at representatives, pipelined",
    },
    Spec {
        algorithm: Algorithm::GatewayTwoTree,
        name: "gateway_two_tree",
        collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
        round: "colour",
        by_cost: true,
        summary: "nested two-trees in which no link carries the vector twice in one direction, pipelined",
    },
    Spec {
        algorithm: Algorithm::Chain,
        name: "chain",
        collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
        round: "step",
        by_cost: true,
        summary: "a pipeline through all nodes in hierarchy order; on a torus one in each direction",
    },
    Spec {
        algorithm: Algorithm::Ring,
        name: "ring",
        collectives: HALVED,
        round: "step",
        by_cost: true,
        summary: "reduce-scatter and allgather around all nodes in hierarchy order, in segments, each also alone; on a torus in both directions",
    },
    Spec {
        algorithm: Algorithm::HalvingDoubling,
        name: "halving_doubling",
        collectives: HALVED,
        round: "step",
        by_cost: true,
        summary: "halving, then doubling, along every dimension of the network, each also alone; on a torus in several orders at the same time",
    },
    Spec {
        algorithm: Algorithm::TwoLevelRing,
        name: "two_level_ring",
        collectives: &[Collective::Alltoall, Collective::Alltoallv],
        round: "step",
        by_cost: false,
        summary: "exchange around a ring of nodes; all ranks of a node send to one node and receive from one node per step",
    },
    Spec {
        algorithm: Algorithm::Xor,
        name: "xor",
        collectives: &[Collective::Alltoall, Collective::Alltoallv],
        round: "step",
        by_cost: false,
        summary: "pairwise exchange with virtual rank XOR step; all ranks of a node talk to one node per step",
    },
    Spec {
        algorithm: Algorithm::ContentionFree,
        name: "contention_free",
        collectives: &[Collective::Alltoall, Collective::Alltoallv],
        round: "step",
        by_cost: false,
        summary: "nodes exchange in an order in which no link is asked for more than it carries, kept by tokens",
    },
    Spec {
        algorithm: Algorithm::Aggregated,
        name: "aggregated",
        collectives: &[Collective::Alltoall],
        round: "step",
        by_cost: false,
        summary: "for small blocks: an exchange inside nodes, then one message to each node's rank in the same slot",
    },
    Spec {
        algorithm: Algorithm::AggregatedLeader,
        name: "aggregated_leader",
        collectives: &[Collective::Alltoall],
        round: "step",
        by_cost: false,
        summary: "for the smallest blocks: leaders collect, exchange one message per pair of nodes, and distribute",
    },
    Spec {
        algorithm: Algorithm::Direct,
        name: "direct",
        collectives: &[Collective::Gather],
        round: "step",
        by_cost: false,
        summary: "blocks straight to the root, which lets two senders send at a time",
    },
    Spec {
        algorithm: Algorithm::Relay,
        name: "relay",
        collectives: &[Collective::Gather],
        round: "block",
        by_cost: false,
        summary: "a pipeline of nodes to the root: each sends its own blocks, then passes on those from behind it",
    },
    Spec {
        algorithm: Algorithm::Tree,
        name: "tree",
        collectives: &[Collective::Gather],
        round: "step",
        by_cost: false,
        summary: "a binomial tree of nodes to the root; each message holds all blocks below it",
    },
];

impl Algorithm {
    /// The algorithm's row.
    pub fn spec(self) -> &'static Spec {
        ALGORITHMS.iter().find(|s| s.algorithm == self).unwrap_or(&ALGORITHMS[0])
    }

    /// Name in configuration, reports and on the command line.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The algorithm of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        ALGORITHMS.iter().find(|s| s.name == name).map(|s| s.algorithm)
    }

    /// Whether it can implement `collective`.
    pub fn implements(self, collective: Collective) -> bool {
        self.spec().collectives.contains(&collective)
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
