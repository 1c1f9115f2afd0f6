//! One half of an Allreduce alone, on the rails of the whole: Reduce_scatter and Allgather.

use super::allgather::{allgather, allgather_stages};
use super::rails::Rails;
use super::reduce_scatter::{reduce_scatter, reduce_scatter_stages};
use crate::collective::{Collective, Rank};
use crate::schedule::RankPlan;
use crate::topology::NodeRanks;

/// Plan of `rank` for the half that `collective` is, with the share of every lane cut in `chunks`, at least 1; `None`
/// if it is no half.
pub fn half(
    collective: Collective,
    node_ranks: &NodeRanks,
    rails: &Rails,
    chunks: u32,
    rank: Rank,
) -> Option<RankPlan> {
    match collective {
        c if c.gathers_all() => Some(allgather(node_ranks, rails, chunks, rank)),
        c if c.scatters() => Some(reduce_scatter(node_ranks, rails, chunks, rank)),
        _ => None,
    }
}

/// Names of its stages; `between`: of those between nodes, when blocks are scattered and when they are gathered.
pub fn half_stages(collective: Collective, node_ranks: &NodeRanks, between: [&str; 2]) -> Option<Vec<String>> {
    match collective {
        c if c.gathers_all() => Some(allgather_stages(node_ranks, between[1])),
        c if c.scatters() => Some(reduce_scatter_stages(node_ranks, between[0])),
        _ => None,
    }
}
