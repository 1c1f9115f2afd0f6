//! Reduce_scatter: the first half of an Allreduce by halving, or around a ring, alone.
//!
//! ```text
//!   node reduce ─► halve dimension 0 ─► halve dimension 1 ─► node scatter
//!   size     P  →        P/4         →        P/16        →       1          blocks, of 4 × 4 nodes
//! ```
//! The vector is put in the order of the rails by copies, in the order of need: what a node sends in the first step first. Every
//! aggregator ends with the blocks of the ranks that it serves, and sends each its own. Source: algorithms document, section 2.

use super::blocks::{Blocks, Course, Rail};
use super::board::{Board, Slip};
use super::rails::Rails;
use super::staging::shuffled;
use super::two_level_ring::Seats;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};

/// Tags every MPI library has (MPI 4.0 section 9.1.2).
const TAGS: u32 = 1 << 15;

/// Names of the stages; `between`: of that between nodes.
pub fn reduce_scatter_stages(seats: &Seats, between: &str) -> Vec<String> {
    let inside = seats.widest() > 1;
    let names = [(inside, "node reduce"), (true, between), (inside, "node scatter")];
    names.into_iter().filter(|&(used, _)| used).map(|(_, name)| name.to_owned()).collect()
}

/// Plan of `rank` for Reduce_scatter, with the share of every lane cut in `chunks`.
pub fn reduce_scatter(seats: &Seats, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    let blocks = Blocks::new(seats, rails, chunks);
    let (node, _) = seats.seat(rank);
    let aggregators = rails.aggregators();
    let board = Board::new(seats, rank, aggregators);
    let own = (0..aggregators).find(|&a| board.is(a));
    let courses: Vec<Course> = (0..blocks.lanes()).map(|lane| Course::new(rails, lane, node)).collect();
    let pieces: Vec<_> = courses.iter().map(Course::pieces).collect();
    let (steps, lanes, slices) = (rails.steps(), blocks.lanes(), blocks.slices());
    let (mut hops, mut shuffles, mut copies): (Vec<Hop>, Vec<_>, Vec<u32>) = Default::default();
    let mut ready = 0;
    for step in 0..=steps {
        let needed = if step < steps { courses.iter().map(|c| c.needed(step)).max().unwrap_or(0) } else { steps + 1 };
        for (piece, c) in (ready..needed).flat_map(|piece| (0..chunks).map(move |c| (piece, c))) {
            for rail in blocks.rails_of(c) {
                let parts = blocks.staged(rail, &pieces[rail.lane as usize][piece as usize]);
                let slices = &blocks.order[parts.first as usize..parts.end() as usize];
                let numbered = slices.iter().copied().zip(parts.first..);
                if let Some((action, parts)) = shuffled(&mut shuffles, Space::Input, Space::Stage, numbered) {
                    copies.push(hops.len() as u32);
                    let round = Round { stage: 0, step: 0 };
                    hops.push(Hop { action, peer: rank, parts, round, tag: 0, turn: 0, after: Vec::new() });
                }
                let number = (piece * blocks.count() + blocks.number(rail)) % TAGS;
                board.reduce(
                    &mut hops,
                    rail.aggregator,
                    parts,
                    Slip { stage: 0, rail: number, turn: piece * chunks + c },
                );
            }
        }
        ready = needed.max(ready);
        let Some(aggregator) = own.filter(|_| step < steps) else { continue };
        for (chunk, lane) in (0..chunks).flat_map(|c| (0..lanes).map(move |l| (c, l))) {
            let rail = Rail { aggregator, lane, chunk };
            let transfer = &courses[lane as usize].halving[step as usize];
            // Every exchange of a lane and a chunk has a round of its own, for they share the links of the host.
            let in_order = (step * chunks + chunk) * lanes + lane;
            let round = Round { stage: u16::from(seats.widest() > 1), step: in_order };
            let (tag, turn) = (in_order % TAGS, step * chunks + chunk);
            for (action, peer, positions) in
                [(Action::Send, transfer.to, &transfer.sent), (Action::Reduce, transfer.from, &transfer.received)]
            {
                let peer = Board::aggregator(seats, peer, aggregator, aggregators);
                let parts = blocks.staged(rail, positions);
                hops.push(Hop { action, peer, parts, round, tag, turn, after: Vec::new() });
            }
        }
    }
    // In place the result lies where the contribution does, which must have been copied.
    let after = |action| if action == Action::Send { Vec::new() } else { copies.clone() };
    let (server, _) = blocks.server(rank);
    let scatter = blocks.count() * (steps + 1);
    for chunk in 0..chunks {
        for rail in blocks.rails_of(chunk) {
            let (slice, position) = (blocks.slice(rail), courses[rail.lane as usize].position);
            let mut push = |action, peer, parts: Parts, nth: u32| {
                let round = Round { stage: 2, step: nth * slices + slice };
                let (tag, turn) = ((scatter + slice) % TAGS, steps * chunks + chunk);
                hops.push(Hop { action, peer, parts, round, tag, turn, after: after(action) });
            };
            let ranks = blocks.served(node, rail.aggregator);
            let result = blocks.slice_of(rail, Space::Output, rank);
            if own == Some(rail.aggregator) {
                for (&peer, nth) in ranks.iter().zip(0..) {
                    let from = blocks.staged_of(rail, position, nth);
                    if peer == rank {
                        push(Action::Copy { from }, rank, result, nth);
                    } else {
                        push(Action::Send, peer, from, nth);
                    }
                }
            } else if server == rail.aggregator {
                let nth = ranks.iter().position(|&r| r == rank).unwrap_or(0) as u32;
                push(Action::Recv, ranks[0], result, nth);
            }
        }
    }
    let staged = blocks.order.len() as u32;
    RankPlan { staged, order: blocks.order, shuffles, ..RankPlan::new(rank, seats.ranks() * slices, hops) }
}
