//! Aggregation at leaders: one message per pair of nodes, with the blocks of all their ranks.
//!
//! ```text
//!   two nodes with ranks 0 1 and 2 3, one leader per node; xy is the block of x for y
//!
//!                                  collect                  exchange                     distribute
//!   0   leader   00 01 02 03                                0→2  02 12 03 13
//!   1            10 11 12 13       1→0  10 11 12 13                                      0→1  01 11 21 31
//!   2   leader   20 21 22 23                                2→0  20 30 21 31
//!   3            30 31 32 33       3→2  30 31 32 33                                      2→3  03 13 23 33
//! ```
//! With L leaders on a node (slots 0 … L−1, at most as many as it has ranks and there are nodes), leader ν·L/N deals
//! with node ν of N, in both directions: nodes that one leader deals with are neighbours. The node's own blocks go the
//! same way, so a member sends each leader one message and receives one from each: where ranks are numbered node by
//! node, runs of the program's own buffers. Source: A. Naruse and others, 2010 (docs/provenance.md), extended from
//! slots to nodes.

use super::staging::{Staging, place_of, sorted};
use crate::schedule::{Rank, RankPlan, Round, Space};
use crate::topology::NodeRanks;

/// Stages, and their numbers.
pub const STAGES: [&str; 3] = ["collect", "exchange", "distribute"];
const COLLECT: u16 = 0;
const EXCHANGE: u16 = 1;
const DISTRIBUTE: u16 = 2;

/// What the plan of one rank is made from.
struct View<'s> {
    node_ranks: &'s NodeRanks,
    rank: Rank,
    node: u32,
    slot: usize,
    /// Ranks of the node by slot.
    own: &'s [Rank],
    /// Ranks of the node in rank order.
    members: Vec<Rank>,
    leaders: u32,
    /// For each leader of the node the ranks of the nodes that it deals with, in rank order.
    shares: Vec<Vec<Rank>>,
}

/// Plan of `rank` for Alltoall with `leaders` leaders per node, at least 1. A leader that deals with S ranks, on a node
/// of w > 1, stages at most `4·w·S` blocks; besides, a rank stages at most P that it sends and P that it gets, none of
/// them where ranks are numbered node by node.
pub fn through_leaders(node_ranks: &NodeRanks, rank: Rank, leaders: u32) -> RankPlan {
    let view = View::new(node_ranks, rank, leaders);
    let mut plan = Staging::new(rank, node_ranks.ranks());
    let collected = view.collect(&mut plan);
    let results = match view.shares.get(view.slot) {
        Some(share) if view.own.len() > 1 => view.exchange(&mut plan, share, &collected),
        Some(_) => view.exchange_alone(&mut plan),
        None => Vec::new(),
    };
    view.distribute(&mut plan, &results);
    plan.finish()
}

impl<'s> View<'s> {
    fn new(node_ranks: &'s NodeRanks, rank: Rank, leaders: u32) -> Self {
        let (node, slot) = node_ranks.node_and_slot(rank);
        let own = node_ranks.on(node);
        let (slot, members, leaders) = (slot as usize, sorted(own), leaders.max(1));
        let mut view = Self { node_ranks, rank, node, slot, own, members, leaders, shares: Vec::new() };
        view.shares = vec![Vec::new(); view.leaders_on(node)];
        for other in 0..node_ranks.ranks() {
            let leader = view.leader(node, node_ranks.node_and_slot(other).0);
            view.shares[leader].push(other);
        }
        view
    }

    fn leaders_on(&self, node: u32) -> usize {
        self.leaders.min(self.node_ranks.on(node).len() as u32).min(self.node_ranks.nodes()) as usize
    }

    /// Slot of the leader on `node` that deals with node `other`.
    fn leader(&self, node: u32, other: u32) -> usize {
        other as usize * self.leaders_on(node) / self.node_ranks.nodes() as usize
    }

    /// The rank on node `other` that deals with this node.
    fn opposite(&self, other: u32) -> Rank {
        self.node_ranks.on(other)[self.leader(other, self.node)]
    }

    /// The other slots of the node in ring order: turn, slot to send to, slot to receive from.
    fn ring(&self) -> impl Iterator<Item = (u32, usize, usize)> {
        let (slot, width) = (self.slot, self.own.len());
        (1..width).map(move |turn| (turn as u32, (slot + turn) % width, (slot + width - turn) % width))
    }

    /// The nodes to send to and to receive from in every round between nodes, where they are this leader's.
    fn peers(&self) -> impl Iterator<Item = (Round, [Option<u32>; 2])> {
        let nodes = self.node_ranks.nodes();
        (1..nodes).map(move |distance| {
            let both = [(self.node + distance) % nodes, (self.node + nodes - distance) % nodes];
            let mine = both.map(|other| (self.leader(self.node, other) == self.slot).then_some(other));
            (Round { stage: EXCHANGE, step: distance }, mine)
        })
    }

    /// Sends each leader what it deals with. On a leader: where the blocks of every slot are staged.
    fn collect(&self, plan: &mut Staging) -> Vec<u32> {
        let mut collected = vec![0; self.own.len()];
        for (turn, to, from) in self.ring() {
            let round = Round { stage: COLLECT, step: turn };
            if let Some(share) = self.shares.get(to) {
                let blocks = plan.together(share, COLLECT);
                plan.send(self.own[to], blocks, share.len(), round);
            }
            if let Some(share) = self.shares.get(self.slot) {
                collected[from] = plan.room(share.len());
                plan.recv(self.own[from], (Space::Stage, collected[from]), share.len(), round);
            }
        }
        collected
    }

    /// A leader's messages, and where the result for every slot is staged. A message has the blocks for one rank of the
    /// other node after those for another, a result a block of every rank that the leader deals with, all in rank
    /// order.
    fn exchange(&self, plan: &mut Staging, share: &[Rank], collected: &[u32]) -> Vec<u32> {
        let (width, node_ranks) = (self.own.len(), self.node_ranks);
        let column = |of: Rank| place_of(&self.members, of);
        let results: Vec<u32> = self.own.iter().map(|_| plan.room(share.len())).collect();
        let result = |to: Rank| results[node_ranks.node_and_slot(to).1 as usize];

        // Where the blocks for each rank of the share begin: in the message to its node, or in its result if it is a
        // neighbour.
        let mut begin = vec![0; share.len()];
        for node in (0..node_ranks.nodes()).filter(|&node| self.leader(self.node, node) == self.slot) {
            let targets = sorted(node_ranks.on(node));
            let message = (node != self.node).then(|| plan.room(targets.len() * width));
            for (row, &to) in (0..).zip(&targets) {
                let row = message.map_or_else(|| result(to), |message| message + row * width as u32);
                begin[place_of(share, to) as usize] = row;
            }
        }
        let place = |from: Rank, (&to, &begin): (&Rank, &u32)| {
            begin + if node_ranks.node_and_slot(to).0 == self.node { place_of(share, from) } else { column(from) }
        };
        let targets = || share.iter().zip(&begin);
        plan.shuffle(Space::Input, Space::Stage, targets().map(|to| (*to.0, place(self.rank, to))), EXCHANGE);
        let others = (0..width).filter(|&from| from != self.slot);
        let blocks = others.flat_map(|from| {
            (collected[from]..).zip(targets()).map(move |(block, to)| (block, place(self.own[from], to)))
        });
        plan.shuffle(Space::Stage, Space::Stage, blocks, EXCHANGE);

        for (round, [to, from]) in self.peers() {
            if let Some(to) = to {
                let targets = sorted(node_ranks.on(to));
                let message = begin[place_of(share, targets[0]) as usize];
                plan.send(self.opposite(to), (Space::Stage, message), width * targets.len(), round);
            }
            if let Some(from) = from {
                let sources = sorted(node_ranks.on(from));
                let blocks = width * sources.len();
                let message = plan.room(blocks);
                plan.recv(self.opposite(from), (Space::Stage, message), blocks, round);
                let of_member = |to| sources.iter().map(move |&from| result(to) + place_of(share, from));
                let places = self.members.iter().flat_map(|&to| of_member(to));
                plan.shuffle(Space::Stage, Space::Stage, (message..).zip(places), EXCHANGE);
            }
        }
        results
    }

    /// The messages of a node's only rank.
    fn exchange_alone(&self, plan: &mut Staging) -> Vec<u32> {
        plan.shuffle(Space::Input, Space::Output, [(self.rank, self.rank)], EXCHANGE);
        for (round, [to, from]) in self.peers() {
            if let Some(to) = to {
                let targets = sorted(self.node_ranks.on(to));
                let blocks = plan.together(&targets, EXCHANGE);
                plan.send(self.opposite(to), blocks, targets.len(), round);
            }
            if let Some(from) = from {
                plan.recv_all(&sorted(self.node_ranks.on(from)), self.opposite(from), round);
            }
        }
        Vec::new()
    }

    /// Sends every slot its result, and receives what the leaders have for this one.
    fn distribute(&self, plan: &mut Staging, results: &[u32]) {
        for (turn, to, from) in self.ring() {
            let round = Round { stage: DISTRIBUTE, step: turn };
            if let Some(share) = self.shares.get(self.slot) {
                plan.send(self.own[to], (Space::Stage, results[to]), share.len(), round);
            }
            if let Some(share) = self.shares.get(from) {
                plan.recv_all(share, self.own[from], round);
            }
        }
        if let (Some(share), Some(&own)) = (self.shares.get(self.slot), results.get(self.slot)) {
            plan.shuffle(Space::Stage, Space::Output, (own..).zip(share.iter().copied()), DISTRIBUTE);
        }
    }
}
