//! Reduce_scatter: the first half of an Allreduce by halving, or around a ring, alone.
//!
//! ```text
//!   node reduce ─► halve dimension 0 ─► halve dimension 1 ─► node scatter
//!   size     P  →        P/4         →        P/16        →       1          blocks, of 4 × 4 nodes
//! ```
//! The vector is put in the order of the rails by copies, in the order of need: what a node sends in the first step
//! first. Every aggregator ends with the blocks of the ranks that it serves, and sends each its own. Source: Japanese
//! patent 7087953 (docs/provenance.md).

use super::blocks::Rail;
use super::half::{Half, stages};
use super::node_trees::HopLabel;
use super::rails::Rails;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space, TAGS};
use crate::topology::NodeRanks;

/// Names of the stages; `between`: of that between nodes.
pub fn reduce_scatter_stages(node_ranks: &NodeRanks, between: &str) -> Vec<String> {
    stages(node_ranks, ["node reduce", between, "node scatter"])
}

/// Plan of `rank` for Reduce_scatter, with the share of every lane cut in `chunks`, at least 1.
///
/// In list order: step after step, in each of them chunk after chunk; a piece is combined inside the node just before
/// the step that needs it.
pub fn reduce_scatter(node_ranks: &NodeRanks, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    let mut half = Half::new(node_ranks, rails, chunks, rank);
    let steps = rails.steps();
    let mut ready = 0;
    for step in 0..steps.max(1) {
        let needed =
            half.by_lane.iter().map(|of_lane| if steps > 0 { of_lane.needed(step) } else { 1 }).max().unwrap_or(0);
        for chunk in 0..chunks {
            (ready..needed).for_each(|piece| reduce_inside(&mut half, piece, chunk));
            if step < steps {
                half.exchange(step, chunk, false, |half, rail, positions| half.blocks.staged(rail, positions));
            }
        }
        ready = needed.max(ready);
    }
    (0..chunks).for_each(|chunk| scatter_inside(&mut half, steps, chunk));
    // In place the result lies where the contribution does, which must have been copied.
    let copies = |hop: &Hop| hop.action.copied().is_some() && hop.parts.space == Space::Stage;
    let copied: Vec<u32> = (0..).zip(&half.hops).filter(|(_, hop)| copies(hop)).map(|(at, _)| at).collect();
    for hop in half.hops.iter_mut().filter(|hop| hop.parts.space == Space::Output) {
        hop.after.clone_from(&copied);
    }
    half.finish(true)
}

/// Stages a piece of all rails of a chunk, and combines it at their aggregators.
fn reduce_inside(half: &mut Half, piece: u32, chunk: u32) {
    for lane in 0..half.by_lane.len() as u32 {
        let rail = Rail { lane, chunk };
        for (run, positions) in half.runs(lane, piece) {
            let parts = half.blocks.staged(rail, &positions);
            half.shuffle(parts, Space::Input);
            let number = half.numbered(piece, rail, run);
            let label = HopLabel { stage: 0, rail: number, turn: piece * half.chunks + chunk };
            half.node_trees.reduce(&mut half.hops, half.rails.aggregator_of(lane), parts, label);
        }
    }
}

/// Brings the slices that the rails of a chunk have finished to their ranks.
fn scatter_inside(half: &mut Half, steps: u32, chunk: u32) {
    for lane in 0..half.by_lane.len() as u32 {
        let (rail, aggregator) = (Rail { lane, chunk }, half.rails.aggregator_of(lane));
        let (slice, slices) = (half.blocks.slice(rail), half.blocks.slices());
        let finished = half.blocks.staged(rail, &half.by_lane[lane as usize].owned());
        let result = half.blocks.slice_of(rail, Space::Output, half.rank);
        let ranks = half.blocks.served(half.node, aggregator);
        // Streams of the first stage between the same ranks have lower tags.
        let tag = (half.numbered(steps + 1, Rail { lane: 0, chunk: 0 }, 0) + slice) % TAGS;
        for (&served, nth) in ranks.iter().zip(0..) {
            let own = Parts { first: finished.first + nth, count: 1, ..finished };
            let place = (Round { stage: 2, step: nth * slices + slice }, tag, steps * half.chunks + chunk);
            match (half.own == Some(aggregator), served == half.rank) {
                (true, true) => half.push(Action::Copy { from: own }, half.rank, result, place),
                (true, false) => half.push(Action::Send, served, own, place),
                (false, true) => half.push(Action::Recv, ranks[0], result, place),
                (false, false) => {}
            }
        }
    }
}
