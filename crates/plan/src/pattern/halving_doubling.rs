//! Allreduce by halving along every dimension, then doubling in the reverse order.
//!
//! ```text
//!   node reduce ─► halve dimension 0 ─► halve dimension 1 ─► double dimension 1 ─► double dimension 0 ─► node bcast
//!   size     1  →        1/4A        →       1/16A        →        1/4A        →        1/A          →       1
//! ```
//! (4 × 4 nodes with A aggregators each.) All halvings come before all doublings, so what is moved shrinks through all dimensions.
//! Lanes go through the dimensions in different orders at the same time, so that while one uses the links of a dimension the other uses
//! those of another; chunks of a lane follow one another, so that there is something to send while a step waits for its last segment.
//! Source: algorithms document, section 2.

use super::board::{Board, Slip};
use super::rails::Rails;
use super::two_level_ring::Seats;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};

/// Tags every MPI library has (MPI 4.0 section 9.1.2).
const TAGS: u32 = 1 << 15;

/// Names of the stages.
pub fn halving_doubling_stages(seats: &Seats) -> Vec<String> {
    let inside = seats.widest() > 1;
    let names = [(inside, "node reduce"), (true, "halving"), (true, "doubling"), (inside, "node bcast")];
    names.into_iter().filter(|&(used, _)| used).map(|(_, name)| name.to_owned()).collect()
}

/// Plan of `rank` for Allreduce, with the share of every lane cut in `chunks`.
pub fn halving_doubling(seats: &Seats, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    let (nodes, lanes, aggregators) = (rails.nodes(), rails.lanes().len() as u32, rails.aggregators());
    let (node, _) = seats.seat(rank);
    let board = Board::new(seats, rank, aggregators);
    let first_stage = u16::from(seats.widest() > 1);
    let steps = rails.steps();
    let rail = |aggregator: u32, lane: u32, chunk: u32| (aggregator * lanes + lane) * chunks + chunk;
    // What comes first is needed first: chunks one after another, in each of them all lanes of all aggregators.
    let all = || (0..chunks).flat_map(|c| (0..aggregators).flat_map(move |a| (0..lanes).map(move |l| (a, l, c))));
    let mut hops = Vec::new();
    for (a, l, c) in all() {
        let rail = rail(a, l, c);
        let slip = Slip { stage: 0, rail, turn: c };
        board.reduce(&mut hops, a, Parts::vector(rail * nodes, nodes), slip);
    }
    let own = (0..aggregators).find(|&a| board.is(a));
    let halvings: Vec<_> = (0..lanes).map(|lane| rails.halving(lane, node)).collect();
    let mut push = |action, peer_node, positions: &std::ops::Range<u32>, (stage, step), (l, c)| {
        let Some(a) = own else { return };
        let parts = Parts::vector(rail(a, l, c) * nodes + positions.start, positions.end - positions.start);
        let peer = Board::aggregator(seats, peer_node, a, aggregators);
        // Every exchange of a lane and a chunk has a round of its own, for they share the links of the host.
        let in_order = |step: u32| (step * chunks + c) * lanes + l;
        let round = Round { stage: first_stage + stage, step: in_order(step) };
        let turn = (u32::from(stage) * steps + step) * chunks + c;
        let tag = (u32::from(stage) * steps * chunks * lanes + in_order(step)) % TAGS;
        hops.push(Hop { action, peer, parts, round, tag, turn, after: Vec::new() });
    };
    for step in 0..steps {
        for (c, l) in (0..chunks).flat_map(|c| (0..lanes).map(move |l| (c, l))) {
            let transfer = &halvings[l as usize][step as usize];
            push(Action::Send, transfer.to, &transfer.sent, (0, step), (l, c));
            push(Action::Reduce, transfer.from, &transfer.received, (0, step), (l, c));
        }
    }
    for step in 0..steps {
        for (c, l) in (0..chunks).flat_map(|c| (0..lanes).map(move |l| (c, l))) {
            let transfer = &halvings[l as usize][(steps - 1 - step) as usize];
            push(Action::Send, transfer.from, &transfer.received, (1, step), (l, c));
            push(Action::Recv, transfer.to, &transfer.sent, (1, step), (l, c));
        }
    }
    for (a, l, c) in all() {
        let rail = rail(a, l, c);
        let slip = Slip { stage: first_stage + 2, rail, turn: 2 * steps * chunks + c };
        board.bcast(&mut hops, a, Parts::vector(rail * nodes, nodes), slip);
    }
    RankPlan::new(rank, aggregators * lanes * chunks * nodes, hops)
}
