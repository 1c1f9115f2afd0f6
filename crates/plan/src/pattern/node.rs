//! Inside a node: a binary tree under the leader, whatever the nodes do between them.
//!
//! ```text
//!                 network
//!                    │            the leader alone talks to other nodes; the other ranks of its node are the in-order
//!                 leader          binary tree over 1..m, whose top is the leader's child
//!                    │
//!                    4
//!                  /   \
//!                 2     6
//! ```
//! Memory has no link to keep free, but copies take a process time: if data entered a node by one process and left it
//! by another, each node would add a local hop to the depth and a copy to the work of both. So every rank but the
//! leader is a leaf of the network's schedule.

use crate::collective::Collective;
use crate::schedule::{Action, Hop, Parts, Rank, Round, TAGS};
use crate::topology::Hierarchy;
use crate::tree::inorder;

/// One rank's place in its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Parent and which of its children this rank is; `None` for the leader.
    parent: Option<(Rank, u32)>,
    children: Vec<Rank>,
    /// Stages of a schedule before those between nodes.
    before: u16,
}

impl Node {
    /// The place of `rank` in a collective with `root`.
    pub fn new(collective: Collective, hierarchy: &Hierarchy, root: Rank, rank: Rank) -> Self {
        let Some(family) = hierarchy.node_family(rank, root) else {
            return Self { parent: None, children: Vec::new(), before: 0 };
        };
        let before = u16::from(collective != Collective::Bcast);
        let members = family.members();
        let Some(own) = family.own_member() else {
            let top = (members > 0).then(|| family.rank_of(Some(inorder::root(members))));
            return Self { parent: None, children: top.into_iter().collect(), before };
        };
        let parent = match inorder::parent(members, own) {
            None => (family.root(), 0),
            Some(parent) => (family.rank_of(Some(parent)), u32::from(parent < own)),
        };
        let children = inorder::children(members, own).into_iter().flatten();
        Self { parent: Some(parent), children: children.map(|c| family.rank_of(Some(c))).collect(), before }
    }

    /// Whether this rank talks to other nodes.
    pub fn leads(&self) -> bool {
        self.parent.is_none()
    }

    /// Number of the first stage between nodes.
    pub fn first_stage(&self) -> u16 {
        self.before
    }

    /// Combines the node's contributions to one part at the leader: the `nth` part in the order of need, sent in that
    /// turn.
    pub fn reduce(&self, hops: &mut Vec<Hop>, nth: u32, part: u32, turn: u32) {
        for (child, &peer) in (0..).zip(&self.children) {
            hops.push(hop(Action::Reduce, peer, 0, (nth, child), (part, turn)));
        }
        if let Some((peer, child)) = self.parent {
            hops.push(hop(Action::Send, peer, 0, (nth, child), (part, turn)));
        }
    }

    /// Spreads one part from the leader; `stage` is the number of this last stage.
    pub fn bcast(&self, hops: &mut Vec<Hop>, stage: u16, nth: u32, part: u32, turn: u32) {
        if let Some((peer, child)) = self.parent {
            hops.push(hop(Action::Recv, peer, stage, (nth, child), (part, turn)));
        }
        for (child, &peer) in (0..).zip(&self.children) {
            hops.push(hop(Action::Send, peer, stage, (nth, child), (part, turn)));
        }
    }
}

/// Every child of every part has a round of its own: in memory nothing waits for a turn.
fn hop(action: Action, peer: Rank, stage: u16, (nth, child): (u32, u32), (part, turn): (u32, u32)) -> Hop {
    let (round, parts) = (Round { stage, step: nth * 2 + child }, Parts::vector(part, 1));
    Hop { action, peer, parts, round, tag: nth % TAGS, turn, after: Vec::new() }
}

/// Names of all stages: those `between` nodes, and the node's own before and after.
pub fn stage_names(collective: Collective, hierarchy: &Hierarchy, between: &[&str]) -> Vec<String> {
    let inside = hierarchy.shares_nodes();
    let before = (inside && collective != Collective::Bcast).then_some("node reduce");
    let after = (inside && collective != Collective::Reduce).then_some("node bcast");
    before.iter().chain(between).chain(&after).map(|&name| name.to_owned()).collect()
}

/// The same for what goes up a tree to the root, down from it, or both, with one stage each between nodes.
pub fn stage_names_up_and_down(collective: Collective, hierarchy: &Hierarchy) -> Vec<String> {
    let between: &[&str] = match collective {
        Collective::Reduce => &["reduce"],
        Collective::Bcast => &["bcast"],
        _ => &["reduce", "bcast"],
    };
    stage_names(collective, hierarchy, between)
}
