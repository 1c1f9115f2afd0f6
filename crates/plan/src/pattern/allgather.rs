//! Allgather: the second half of an Allreduce by doubling, or around a ring, alone.
//!
//! ```text
//!   node gather ─► double dimension 1 ─► double dimension 0 ─► node bcast
//!   size     1  →          4          →         16         →      P          blocks, of 4 × 4 nodes
//! ```
//! Every aggregator collects the blocks of the ranks that it serves. What it has and what it receives it spreads in its
//! node at once, piece by piece. A lane whose runs of positions are neighbours in the result as well works in the
//! result, as a ring of nodes of one rank does; the others work in the staging space, and pieces are copied from there.
//! Source: Japanese patent 7087953 (docs/provenance.md).

use super::blocks::Rail;
use super::half::{Half, stages};
use super::node_trees::HopLabel;
use super::rails::Rails;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space, TAGS};
use crate::topology::NodeRanks;
use std::ops::Range;

/// Names of the stages; `between`: of that between nodes.
pub fn allgather_stages(node_ranks: &NodeRanks, between: &str) -> Vec<String> {
    stages(node_ranks, ["node gather", between, "node bcast"])
}

/// Plan of `rank` for Allgather, with the share of every lane cut in `chunks`, at least 1.
///
/// In list order: step after step, in each of them chunk after chunk, and after a step what is received in it goes
/// around in the node.
pub fn allgather(node_ranks: &NodeRanks, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    let mut half = Half::new(node_ranks, rails, chunks, rank);
    let staged: Vec<bool> = (0..half.by_lane.len()).map(|lane| needs_stage(&half, lane as u32)).collect();
    let steps = rails.steps();
    for chunk in 0..chunks {
        let first = half.hops.len();
        gather_inside(&mut half, &staged, chunk);
        bcast_inside(&mut half, &staged, (0, steps), chunk);
        keep_contribution(&mut half.hops, first);
    }
    for step in 0..steps {
        for chunk in 0..chunks {
            half.exchange(step, chunk, true, |half, rail, positions| place(half, &staged, rail, positions));
            bcast_inside(&mut half, &staged, (step + 1, steps), chunk);
        }
    }
    half.finish(staged.contains(&true))
}

/// In place the block of a rank is part of its result: among the hops from `first` on it is sent before it is
/// overwritten, by the same.
fn keep_contribution(hops: &mut [Hop], first: usize) {
    let gives = |hop: &Hop| hop.action == Action::Send && hop.parts.space == Space::Input;
    let given: Vec<u32> = (0..).zip(&*hops).skip(first).filter(|(_, hop)| gives(hop)).map(|(at, _)| at).collect();
    let overwrites = |hop: &&mut Hop| hop.action != Action::Send && hop.parts.space == Space::Output;
    hops[first..].iter_mut().filter(overwrites).for_each(|hop| hop.after.clone_from(&given));
}

/// Whether what a lane moves in a step is in several places of the result.
fn needs_stage(half: &Half, lane: u32) -> bool {
    let of_lane = &half.by_lane[lane as usize];
    let held = of_lane.halving.iter().map(|transfer| &transfer.received);
    let runs = of_lane.pieces.iter().chain(held).flat_map(|stretch| stretch.runs());
    let mut staged = runs.map(|run| half.blocks.staged(Rail { lane, chunk: 0 }, run));
    staged.any(|run| half.blocks.unstaged(run, Space::Output).is_none())
}

/// Where positions of a rail are at this rank.
fn place(half: &Half, staged: &[bool], rail: Rail, positions: &Range<u32>) -> Parts {
    let run = half.blocks.staged(rail, positions);
    let unstaged = if staged[rail.lane as usize] { None } else { half.blocks.unstaged(run, Space::Output) };
    unstaged.unwrap_or(run)
}

/// Brings the blocks that are served to the aggregators of a chunk.
fn gather_inside(half: &mut Half, staged: &[bool], chunk: u32) {
    for lane in 0..half.by_lane.len() as u32 {
        let (rail, aggregator) = (Rail { lane, chunk }, half.rails.aggregator_of(lane));
        let (slice, slices) = (half.blocks.slice(rail), half.blocks.slices());
        let gathered = place(half, staged, rail, &half.by_lane[lane as usize].owned());
        let own = half.blocks.slice_of(rail, Space::Input, half.rank);
        let ranks = half.blocks.served(half.node, aggregator);
        for (&served, nth) in ranks.iter().zip(0..) {
            let parts = Parts { first: gathered.first + nth, count: 1, ..gathered };
            let place = (Round { stage: 0, step: nth * slices + slice }, slice % TAGS, chunk);
            match (half.own == Some(aggregator), served == half.rank) {
                (true, true) => half.push(Action::Copy { from: own }, half.rank, parts, place),
                (true, false) => half.push(Action::Recv, served, parts, place),
                (false, true) => half.push(Action::Send, ranks[0], own, place),
                (false, false) => {}
            }
        }
    }
}

/// Spreads in the node what its aggregators have got of a chunk in a step, counted from 1; before the first it is their
/// own.
fn bcast_inside(half: &mut Half, staged: &[bool], (step, steps): (u32, u32), chunk: u32) {
    for lane in 0..half.by_lane.len() as u32 {
        let rail = Rail { lane, chunk };
        for (run, positions) in half.runs(lane, steps - step) {
            let parts = place(half, staged, rail, &positions);
            // Streams of the first stage between the same ranks have lower tags.
            let number = half.blocks.slices() + half.numbered(step, rail, run);
            let stage = 2 * u16::from(half.inside());
            let label = HopLabel { stage, rail: number, turn: (steps + step) * half.chunks + chunk };
            half.node_trees.bcast(&mut half.hops, half.rails.aggregator_of(lane), parts, label);
            if staged[lane as usize] {
                half.shuffle(parts, Space::Output);
            }
        }
    }
}
