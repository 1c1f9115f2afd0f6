//! Gather along a pipeline of nodes: every node passes on what comes from behind it.
//!
//! ```text
//!   root ◄── node 1 ◄── node 2 ◄── node 3          node 1 sends its own blocks first, then node 2's, then node 3's:
//!            1        2 1        3 2 1              the root's link is busy from the first moment to the last
//! ```
//! This is the relay of the task groups taken to its end: each sender goes through the one scheduled before it, so no two
//! messages ever wait for one link and no token is needed. Nodes follow one another as in a chain (see [`super::chain`]); only
//! leaders talk between nodes, and the other ranks of a node hand their blocks to its leader. At most [`SLOTS`] blocks are in a
//! relay's memory. Source: algorithms document, section 4 (JP 2012-226665 A).

use super::order::Line;
use super::two_level_ring::Seats;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use crate::topology::Hierarchy;

/// Blocks that a relay has room for: one that arrives while another leaves, and two for ranks that are late.
pub const SLOTS: u32 = 4;

/// Tags every MPI library has (MPI 4.0 section 9.1.2).
const TAGS: u32 = 1 << 15;

/// Plan of `rank` for Gather to `root`.
pub fn gather_relay(hierarchy: &Hierarchy, line: &Line, seats: &Seats, root: Rank, rank: Rank) -> RankPlan {
    let home = hierarchy.node_of(root);
    let own = hierarchy.node_of(rank);
    let place = line.place(own, home, 0);
    let leader = |node| hierarchy.leader(node, root);
    let block = |space, of| Parts { space, first: of, count: 1 };
    let mut hops = Vec::new();
    let mut push = |action, peer, parts, owner: Rank, nth: u32| {
        let round = Round { stage: 0, step: nth };
        hops.push(Hop { action, peer, parts, round, tag: owner % TAGS, turn: nth, after: Vec::new() });
    };
    if rank == root {
        let copy = Action::Copy { from: block(Space::Input, 0) };
        push(copy, rank, block(Space::Output, rank), rank, 0);
    }
    // All blocks that pass through this rank, in the order in which they reach the root.
    let passing = if rank == leader(own) { place..line.nodes() } else { place..place + 1 };
    let before: usize = (0..passing.start).map(|at| seats.on(line.after(home, at, 0)).len()).sum();
    let owners = passing.flat_map(|at| {
        let node = line.after(home, at, 0);
        let (first, others) = (leader(node), seats.on(node));
        std::iter::once(first).chain(others.iter().copied().filter(move |&r| r != first))
    });
    let next = if rank != leader(own) {
        Some(leader(own))
    } else if place > 0 {
        Some(leader(line.before(own, 1, 0)))
    } else {
        None
    };
    let mut staged = 0;
    for (nth, owner) in (before as u32..).zip(owners) {
        if owner == rank {
            if let Some(next) = next {
                push(Action::Send, next, block(Space::Input, 0), owner, nth);
            }
            continue;
        }
        if rank != leader(own) {
            continue;
        }
        let node = hierarchy.node_of(owner);
        let from = if node == own { owner } else { leader(line.after(own, 1, 0)) };
        match next {
            None => push(Action::Recv, from, block(Space::Output, owner), owner, nth),
            Some(next) => {
                let slot = block(Space::Stage, staged % SLOTS);
                push(Action::Recv, from, slot, owner, nth);
                push(Action::Send, next, slot, owner, nth);
                staged += 1;
            }
        }
    }
    RankPlan { staged: staged.min(SLOTS), ..RankPlan::new(rank, seats.ranks(), hops) }
}
