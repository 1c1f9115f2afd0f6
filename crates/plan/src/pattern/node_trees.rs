//! Inside a node with several aggregators: every aggregator combines its share of the vector of all ranks of the node,
//! and spreads the result.
//!
//! ```text
//!   slots   0   1   2   3   4   5   6   7     8 ranks, 2 aggregators at slots 0 and 4, each in another part of the
//!           A               A                 machine; below each the other 7 form an in-order tree, next slot first
//! ```
//! Source of the aggregators: Japanese patent 7087953 (docs/provenance.md).

use crate::schedule::{Action, Hop, Parts, Rank, Round, TAGS};
use crate::topology::NodeRanks;
use crate::tree::inorder;

/// One rank's place among the ranks of its node.
#[derive(Clone, Debug)]
pub struct NodeTrees<'s> {
    ranks: &'s [Rank],
    slot: u32,
    aggregators: u32,
}

/// Where a hop inside a node belongs: its stage, the number of its rail, and its turn.
#[derive(Clone, Copy, Debug)]
pub struct HopLabel {
    /// Stage of the schedule.
    pub stage: u16,
    /// Number of the rail, of which every aggregator has its own.
    pub rail: u32,
    /// Turn of the sends.
    pub turn: u32,
}

impl<'s> NodeTrees<'s> {
    /// The place of `rank` on a node with `aggregators`, at most as many as the node has ranks.
    pub fn new(node_ranks: &'s NodeRanks, rank: Rank, aggregators: u32) -> Self {
        let (node, slot) = node_ranks.node_and_slot(rank);
        Self { ranks: node_ranks.on(node), slot, aggregators }
    }

    /// The rank of an aggregator on a node.
    pub fn aggregator(node_ranks: &NodeRanks, node: u32, aggregator: u32, aggregators: u32) -> Rank {
        let ranks = node_ranks.on(node);
        ranks[slot_of(ranks, aggregator, aggregators)]
    }

    /// Whether this rank is that aggregator.
    pub fn is(&self, aggregator: u32) -> bool {
        slot_of(self.ranks, aggregator, self.aggregators) == self.slot as usize
    }

    /// Combines the node's contributions to `parts` at an aggregator.
    pub fn reduce(&self, hops: &mut Vec<Hop>, aggregator: u32, parts: Parts, label: HopLabel) {
        let Family { parent, children } = self.family(aggregator);
        for (child, peer) in children {
            hops.push(hop(Action::Reduce, peer, child, parts, label));
        }
        if let Some((peer, child)) = parent {
            hops.push(hop(Action::Send, peer, child, parts, label));
        }
    }

    /// Spreads `parts` from an aggregator.
    pub fn bcast(&self, hops: &mut Vec<Hop>, aggregator: u32, parts: Parts, label: HopLabel) {
        let Family { parent, children } = self.family(aggregator);
        if let Some((peer, child)) = parent {
            hops.push(hop(Action::Recv, peer, child, parts, label));
        }
        for (child, peer) in children {
            hops.push(hop(Action::Send, peer, child, parts, label));
        }
    }

    /// This rank's place in the tree under an aggregator.
    fn family(&self, aggregator: u32) -> Family {
        let width = self.ranks.len() as u32;
        let top = slot_of(self.ranks, aggregator, self.aggregators) as u32;
        let members = width - 1;
        let rank_of = |member: u32| self.ranks[((top + member) % width) as usize];
        let own = (self.slot + width - top) % width;
        if own == 0 {
            let child = (members > 0).then(|| (0, rank_of(inorder::root(members))));
            return Family { parent: None, children: child.into_iter().collect() };
        }
        let parent = inorder::parent(members, own).map_or((rank_of(0), 0), |p| (rank_of(p), u32::from(p < own)));
        let children = inorder::children(members, own);
        let children = (0..).zip(children).filter_map(|(nth, child)| Some((nth, rank_of(child?))));
        Family { parent: Some(parent), children: children.collect() }
    }
}

/// Neighbours of a rank in a tree.
struct Family {
    /// Parent and which of its children this rank is; `None` for the aggregator.
    parent: Option<(Rank, u32)>,
    /// Children, each with its number.
    children: Vec<(u32, Rank)>,
}

/// Aggregators are spread over the slots, and so over the NUMA nodes.
fn slot_of(ranks: &[Rank], aggregator: u32, aggregators: u32) -> usize {
    aggregator as usize * ranks.len() / aggregators as usize
}

fn hop(action: Action, peer: Rank, child: u32, parts: Parts, HopLabel { stage, rail, turn }: HopLabel) -> Hop {
    // Every child of every rail has a round of its own: in memory nothing waits for a turn.
    Hop {
        action,
        peer,
        parts,
        round: Round { stage, step: rail * 2 + child },
        tag: rail % TAGS,
        turn,
        after: Vec::new(),
    }
}
