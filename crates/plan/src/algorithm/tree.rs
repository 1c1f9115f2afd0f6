//! Gather and Scatter of small blocks through a binomial tree of nodes: few messages, each with all blocks below it.
//!
//! ```text
//!   places of the nodes, the root's first          the message to a parent holds a run of places:
//!            0                                        1 → 0: 1      3 → 2: 3      2 → 0: 2 3
//!        ┌───┼───────┐                                5 → 4: 5      7 → 6: 7      6 → 4: 6 7      4 → 0: 4 5 6 7
//!        1   2       4
//!            3     ┌─┴─┐
//!                  5   6
//!                      7
//! ```
//! Node leaders hold the blocks below them in the order of places, and of slots inside a node, so that a message is one
//! run. The root receives a run straight into the result where its ranks follow one another there, and else puts it in
//! place by copies. Extra memory: the blocks below a rank, its own included. A Scatter is the same backwards.

use super::{Algorithm, Candidacy, Role, Spec, spec::steps};
use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Rounds, Waits};
use crate::pattern::mirrored;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use crate::topology::{Hierarchy, Line, NodeRanks};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Tree,
    name: "tree",
    collectives: &[Collective::Gather, Collective::Scatter],
    needs: "nothing",
    summary: "a binomial tree of nodes to or from the root; each message holds all blocks below it",
    source: "common practice",
    round: "step",
    plan: plan_of,
    stages: |_, collective| {
        let stages = ["in the node".to_owned(), "between nodes".to_owned()];
        let scatters = collective == Collective::Scatter;
        if scatters { stages.into_iter().rev().collect() } else { stages.to_vec() }
    },
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| {
        // Each level waits for the one before.
        let waits = Waits { idle: f64::from(levels(context.node_ranks()).saturating_sub(1)), hidden: 0.0 };
        let role = |rank| Role { collective, root: 0, rank, chunks: 1 };
        steps(context, (Rounds::InTurn, waits), |rank| plan_of(context, role(rank)))
    },
    candidacy: Candidacy::Trial,
};

/// Levels of the tree.
fn levels(node_ranks: &NodeRanks) -> u32 {
    node_ranks.nodes().next_power_of_two().ilog2()
}

fn plan_of(context: &Context, role: Role) -> RankPlan {
    let node_ranks = context.node_ranks();
    let gather = plan(context.grouped(), context.line(), node_ranks, role.root, role.rank);
    match role.collective {
        Collective::Scatter => mirrored(gather, &[node_ranks.widest() - 1, levels(node_ranks).saturating_sub(1)]),
        _ => gather,
    }
}

/// Nodes by place, and how many ranks come before each.
struct Order<'s> {
    node_ranks: &'s NodeRanks,
    nodes: Vec<u32>,
    before: Vec<u32>,
}

impl<'s> Order<'s> {
    fn new(line: &Line, node_ranks: &'s NodeRanks, home: u32) -> Self {
        let nodes: Vec<u32> = (0..line.nodes()).map(|place| line.after(home, place, 0)).collect();
        let mut before = vec![0];
        for &node in &nodes {
            before.push(before[before.len() - 1] + node_ranks.on(node).len() as u32);
        }
        Self { node_ranks, nodes, before }
    }

    /// Places below `place`, itself included.
    fn below(&self, place: u32) -> std::ops::Range<u32> {
        let nodes = self.nodes.len() as u32;
        let span = if place == 0 { nodes } else { place & place.wrapping_neg() };
        place..nodes.min(place + span)
    }

    /// Number of blocks before a place.
    fn blocks_before(&self, place: u32) -> u32 {
        self.before[place as usize]
    }

    /// Ranks of a run of places, in order.
    fn ranks(&self, places: std::ops::Range<u32>) -> impl Iterator<Item = Rank> {
        places.flat_map(|place| self.node_ranks.on(self.nodes[place as usize]).iter().copied())
    }
}

/// Plan of `rank` for Gather to `root`.
fn plan(hierarchy: &Hierarchy, line: &Line, node_ranks: &NodeRanks, root: Rank, rank: Rank) -> RankPlan {
    let home = hierarchy.node_of(root);
    let own = hierarchy.node_of(rank);
    let leader = hierarchy.leader(own, root);
    let mut hops = Vec::new();
    let mut push = |action, peer, parts, stage, step| {
        hops.push(Hop { action, peer, parts, round: Round { stage, step }, tag: 0, turn: 0, after: Vec::new() });
    };
    let input = Parts { space: Space::Input, first: 0, count: 1 };
    let (_, slot) = node_ranks.node_and_slot(rank);
    if rank != leader {
        push(Action::Send, leader, input, 0, slot);
        return RankPlan::new(rank, node_ranks.ranks(), hops);
    }
    let order = Order::new(line, node_ranks, home);
    let place = line.place(own, home, 0);
    let below = order.below(place);
    let first = order.blocks_before(place);
    let staged = order.blocks_before(below.end) - first;
    let is_root = rank == root;
    // Where a run of blocks goes: the result, if it is a run there too, or its place in the memory of this rank.
    let run = |places: std::ops::Range<u32>| {
        let (start, end) = (order.blocks_before(places.start), order.blocks_before(places.end));
        Parts { space: Space::Stage, first: start - first, count: end - start }
    };
    let mut copies = Vec::new();
    for (&local, slot) in node_ranks.on(own).iter().zip(0..) {
        let staged = Parts { space: Space::Stage, first: slot, count: 1 };
        let parts = if is_root { Parts { space: Space::Output, first: local, count: 1 } } else { staged };
        if local == rank {
            push(Action::Copy { from: input }, rank, parts, 0, slot);
        } else {
            push(Action::Recv, local, parts, 0, slot);
        }
    }
    let children = (0..u32::BITS).map(|bit| 1 << bit).take_while(|&distance| place + distance < below.end);
    for (step, distance) in (0..).zip(children) {
        let child = place + distance;
        let places = order.below(child);
        let from = hierarchy.leader(order.nodes[child as usize], root);
        let staged = run(places.clone());
        let ranks: Vec<Rank> = order.ranks(places).collect();
        let straight = is_root && ranks.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let parts =
            if straight { Parts { space: Space::Output, first: ranks[0], count: staged.count } } else { staged };
        push(Action::Recv, from, parts, 1, step);
        if is_root && !straight {
            let mut at = staged.first;
            for run in ranks.chunk_by(|a, b| a + 1 == *b) {
                let count = run.len() as u32;
                copies.push((at, Parts { space: Space::Output, first: run[0], count }));
                at += count;
            }
        }
    }
    for (at, parts) in copies {
        let from = Parts { space: Space::Stage, first: at, count: parts.count };
        push(Action::Copy { from }, rank, parts, 1, 0);
    }
    if !is_root {
        let distance = place & place.wrapping_neg();
        let parent = hierarchy.leader(order.nodes[(place - distance) as usize], root);
        push(Action::Send, parent, run(below), 1, distance.trailing_zeros());
    }
    RankPlan { staged, ..RankPlan::new(rank, node_ranks.ranks(), hops) }
}
