//! The gateway two-tree: log depth, and the whole vector over every link at most once per direction.
//!
//! In the grouped two-tree a representative both feeds its group and talks to other groups: its link carries the vector
//! twice. Here these are two jobs of two ranks. Counted in half vectors, a group of m ranks can send 2m, and spreading both
//! halves inside it takes 2(m - 1): two sends are left, whatever m is.
//!
//! ```text
//!   one group: representative 0, members 1 2 3          what leaves the group
//!     T1 (half 0): 0 → 2, 2 → 1, 2 → 3                    member 1 is a leaf in both trees:
//!     T2 (half 1): 0 → 3, 3 → 2, 3 → 1                    it is the *gateway* for both colours
//! ```
//! The two sends left are of different colours: a family has m + 1 possible senders and m edges of each colour, so exactly
//! one rank has no send of colour 0 and exactly one none of colour 1 ([`TwoTree::spare`]). An edge of colour c between
//! groups leaves from the rank whose send of colour c is left and enters at the other group's representative, which receives
//! nothing else. So the colours of all levels fit together: no rank sends or receives twice in a round, although the rounds
//! of all levels are the same two. The construction repeats at every level down to the nodes; inside a node see
//! [`super::node`].
//!
//! Reduce is the same edges backwards; Allreduce is Reduce to rank 0 and Bcast from it, pipelined block by block.
//! Source: algorithms document, section 1.7 (Nagare's own).

use super::TwoTree;
use super::node::Node;
use crate::collective::Collective;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};
use crate::topology::Hierarchy;

/// An edge of one of the trees as one of its ends sees it.
struct End {
    peer: Rank,
    tree: u32,
    colour: u32,
}

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` over `hierarchy` (Allreduce: use root 0).
pub fn gateway_two_tree(collective: Collective, hierarchy: &Hierarchy, root: Rank, rank: Rank) -> RankPlan {
    let node = Node::new(collective, hierarchy, root, rank);
    let (parents, children) = if node.leads() {
        (parents(hierarchy, root, rank), children(hierarchy, root, rank))
    } else {
        Default::default()
    };
    let mut hops = Vec::new();
    let push = |hops: &mut Vec<Hop>, ends: &[End], action, stage: u16| {
        hops.extend(ends.iter().map(|end| Hop {
            action,
            peer: end.peer,
            parts: Parts::vector(end.tree, 1),
            round: Round { stage, step: end.colour },
            tag: u32::from(stage) * 2 + end.tree,
            turn: 0,
            after: Vec::new(),
        }));
    };
    let mut stage = node.first_stage();
    if collective != Collective::Bcast {
        (0..2).for_each(|half| node.reduce(&mut hops, half, half, 0));
        push(&mut hops, &children, Action::Reduce, stage);
        push(&mut hops, &parents, Action::Send, stage);
        stage += 1;
    }
    if collective != Collective::Reduce {
        push(&mut hops, &parents, Action::Recv, stage);
        push(&mut hops, &children, Action::Send, stage);
        (0..2).for_each(|half| node.bcast(&mut hops, stage + 1, half, half, 0));
    }
    RankPlan { rank, parts: 2, hops }
}

/// Where the two halves come from in Bcast, colour 0 first; nothing for the root.
fn parents(hierarchy: &Hierarchy, root: Rank, rank: Rank) -> Vec<End> {
    // A rank is a member of one family: that of the widest group it stands for.
    for level in 0..hierarchy.depth_between_nodes() {
        let Some(family) = hierarchy.family(level, rank, root) else { continue };
        let (Some(member), Some(tree)) = (family.own_member(), hierarchy.two_tree(family.members())) else { continue };
        let mut ends: Vec<End> = (0..2)
            .map(|t| {
                let edge = tree.parent(t, member);
                let peer = gateway(hierarchy, level, family.group_of(edge.peer), edge.colour, root);
                End { peer, tree: t, colour: edge.colour }
            })
            .collect();
        ends.sort_by_key(|e| e.colour);
        return ends;
    }
    Vec::new()
}

/// Where a rank forwards halves to in Bcast: at most one send of each colour, at whatever level it is needed.
fn children(hierarchy: &Hierarchy, root: Rank, rank: Rank) -> Vec<End> {
    (0..2).filter_map(|colour| child(hierarchy, root, rank, colour)).collect()
}

fn child(hierarchy: &Hierarchy, root: Rank, rank: Rank, colour: u32) -> Option<End> {
    for level in (0..hierarchy.depth_between_nodes()).rev() {
        let family = hierarchy.family_of(level, hierarchy.group_of(level, rank), root);
        let Some(tree) = hierarchy.two_tree(family.members()) else { continue };
        let own = family.own_member();
        let edges = (0..2).flat_map(|t| tree.children(t, own).map(move |edge| (t, edge)));
        if let Some((t, edge)) = edges.into_iter().find(|(_, edge)| edge.colour == colour) {
            return Some(End { peer: family.rank_of(edge.peer), tree: t, colour });
        }
        // This subgroup's send of the colour is left: it serves the next wider level.
    }
    None
}

/// The rank whose send of `colour` is left after the inside of `group` is served.
fn gateway(hierarchy: &Hierarchy, mut level: usize, mut group: u32, colour: u32, root: Rank) -> Rank {
    while level + 1 < hierarchy.depth_between_nodes() {
        let inner = hierarchy.family_within(level + 1, group, root);
        let spare = hierarchy.two_tree(inner.members()).map(|tree: &TwoTree| tree.spare(colour));
        group = inner.group_of(spare);
        level += 1;
    }
    hierarchy.representative(level, group, root)
}
