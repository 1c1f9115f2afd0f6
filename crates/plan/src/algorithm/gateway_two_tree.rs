//! The gateway two-tree: log depth, and the whole vector over every link at most once per direction.
//!
//! In the grouped two-tree a representative both feeds its group and talks to other groups: its link carries the vector
//! twice. Here these are two jobs of two ranks. Counted in half vectors, a group of m ranks can send 2m, and spreading
//! both halves inside it takes 2(m - 1): two sends are left, whatever m is.
//!
//! ```text
//!   one group: representative 0, members 1 2 3          what leaves the group
//!     T1 (half 0): 0 → 2, 2 → 1, 2 → 3                    member 1 is a leaf in both trees:
//!     T2 (half 1): 0 → 3, 3 → 2, 3 → 1                    it is the *gateway* for both colours
//! ```
//! The two sends left are of different colours: a family has m + 1 possible senders and m edges of each colour, so
//! exactly one rank has no send of colour 0 and exactly one none of colour 1 ([`TwoTree::spare`]). An edge of colour c
//! between groups leaves from the rank whose send of colour c is left and enters at the other group's representative,
//! which receives nothing else. So the colours of all levels fit together: no rank sends or receives twice in a round,
//! although the rounds of all levels are the same two. The construction repeats at every level down to the nodes;
//! inside a node see [`Node`](crate::pattern::Node).
//!
//! A gateway is a leaf of its family's trees, the last to have what it forwards, and every level of groups would pay
//! that again. So in a tree whose half leaves the group, the gateway x is *raised* from ancestor to ancestor: it takes
//! the place of the ancestor's child of the colour c in which x receives.
//!
//! ```text
//!         u                     u                        u                     u
//!      c/   \                 c/   \        or        c/   \                 c/   \
//!      v     q       →       x     q                 q     v       →       x     v      (x's way is through q,
//!         c/   \               c/   \            c/   \  c/  \                  c/  \      so q goes below v)
//!         x     y             v     y           x     y  z                    q
//!                                                                          c/   \
//!                                                                          z     y
//! ```
//! Only edges of one colour and tree change ends, so who sends and receives in which colour stays as it was. The
//! gateway ends one to three edges below the representative, and that tree of its family at most twice as deep as it
//! was.
//!
//! Reduce is the same edges backwards; Allreduce is Reduce to rank 0 and Bcast from it, pipelined block by block. Our
//! own (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::{Streams, Talkers};
use crate::pattern::{End, Ends, along_trees, stage_names_up_and_down};
use crate::schedule::{Rank, RankPlan};
use crate::topology::Hierarchy;
use crate::tree::{Edge, TwoTree};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::GatewayTwoTree,
    name: "gateway_two_tree",
    collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
    needs: "groups, else one two-tree over the nodes",
    summary: "nested two-trees in which no link carries the vector twice in one direction, pipelined",
    source: "our own",
    round: "colour",
    plan: |context, role| plan(role.collective, context.grouped(), role.root, role.rank),
    stages: |context, collective| stage_names_up_and_down(collective, context.grouped()),
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| Some(SPEC.pipeline(context, collective, (Talkers::Leaders, Streams::Shared))),
    candidacy: Candidacy::Default,
};

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` over `hierarchy` (Allreduce: use root 0).
fn plan(collective: Collective, hierarchy: &Hierarchy, root: Rank, rank: Rank) -> RankPlan {
    let ends = || Ends { parents: parents(hierarchy, root, rank), children: children(hierarchy, root, rank) };
    along_trees((collective, hierarchy), (root, rank), 2, false, ends)
}

/// Where the two halves come from in Bcast, colour 0 first; nothing for the root.
fn parents(hierarchy: &Hierarchy, root: Rank, rank: Rank) -> Vec<End> {
    // A rank is a member of one family: that of the widest group it stands for.
    for level in 0..hierarchy.depth_between_nodes() {
        let Some(family) = hierarchy.family(level, rank, root) else { continue };
        let trees = Trees::new(hierarchy, level, wider(hierarchy, level, rank), root);
        let (Some(member), Some(trees)) = (family.own_member(), trees) else { continue };
        let mut ends: Vec<End> = (0..2)
            .map(|tree| {
                let colour = trees.two_tree.colour(tree, member);
                let parent = family.group_of(trees.parent(tree, member));
                End { peer: gateway(hierarchy, level, parent, colour, root), part: tree, step: colour }
            })
            .collect();
        ends.sort_by_key(|end| end.step);
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
        let Some(trees) = Trees::new(hierarchy, level, wider(hierarchy, level, rank), root) else { continue };
        let family = hierarchy.family_of(level, hierarchy.group_of(level, rank), root);
        if let Some((tree, child)) = trees.child(family.own_member(), colour) {
            return Some(End { peer: family.rank_of(Some(child)), part: tree, step: colour });
        }
        // This subgroup's send of the colour is left: it serves the next wider level.
    }
    None
}

/// The group of the next wider level that `rank` is in; 0 is the whole machine.
fn wider(hierarchy: &Hierarchy, level: usize, rank: Rank) -> u32 {
    level.checked_sub(1).map_or(0, |wider| hierarchy.group_of(wider, rank))
}

/// The rank whose send of `colour` is left after the inside of `group` is served.
fn gateway(hierarchy: &Hierarchy, mut level: usize, mut group: u32, colour: u32, root: Rank) -> Rank {
    while level + 1 < hierarchy.depth_between_nodes() {
        let inner = hierarchy.family_within(level + 1, group, root);
        let spare = hierarchy.two_tree(inner.members()).map(|tree| tree.spare(colour));
        group = inner.group_of(spare);
        level += 1;
    }
    hierarchy.representative(level, group, root)
}

/// The tree whose half leaves `group` of `level` in `colour`, if one does.
fn leaving(hierarchy: &Hierarchy, mut level: usize, mut group: u32, colour: u32, root: Rank) -> Option<u32> {
    loop {
        let family = hierarchy.family_of(level, group, root);
        let found = hierarchy.two_tree(family.members()).and_then(|two_tree| {
            let edges = (0..2).flat_map(|t| two_tree.children(t, family.own_member()).map(move |edge| (t, edge)));
            edges.into_iter().find(|(_, edge)| edge.colour == colour).map(|(tree, _)| tree)
        });
        if found.is_some() || level == 0 {
            return found;
        }
        level -= 1;
        group = hierarchy.group_of(level, hierarchy.representative(level + 1, group, root));
    }
}

/// The trees of one family with its gateways raised.
struct Trees<'h> {
    two_tree: &'h TwoTree,
    /// By tree: members that hang elsewhere than in `two_tree`, and where. O(log members) of them.
    moved: [Vec<(u32, u32)>; 2],
}

impl<'h> Trees<'h> {
    /// The trees over the groups of `level` in group `wider` of the level before; `None` over a single one.
    fn new(hierarchy: &'h Hierarchy, level: usize, wider: u32, root: Rank) -> Option<Self> {
        let two_tree = hierarchy.two_tree(hierarchy.family_within(level, wider, root).members())?;
        let tree_of = |colour| leaving(hierarchy, level.checked_sub(1)?, wider, colour, root);
        Some(Self::raised(two_tree, [tree_of(0), tree_of(1)]))
    }

    /// `two_tree` with the gateway of each colour raised in the tree whose half leaves the group in that colour.
    fn raised(two_tree: &'h TwoTree, leaving: [Option<u32>; 2]) -> Self {
        let mut trees = Self { two_tree, moved: Default::default() };
        // The lower member first: in the other order some trees become more than twice as deep.
        let mut colours = [0, 1];
        colours.sort_by_key(|&colour| two_tree.spare(colour));
        for colour in colours {
            if let Some(tree) = leaving[colour as usize] {
                trees.raise(tree, colour);
            }
        }
        trees
    }

    fn parent(&self, tree: u32, member: u32) -> Option<u32> {
        let moved = self.moved[tree as usize].iter().find(|(m, _)| *m == member);
        moved.map_or_else(|| self.two_tree.parent(tree, member).peer, |&(_, parent)| Some(parent))
    }

    /// The child that a member (`None`: the root) reaches in `colour`, and the tree of that edge.
    fn child(&self, parent: Option<u32>, colour: u32) -> Option<(u32, u32)> {
        // Moves exchange edges of one colour: where the colour was in use it still is, in the same tree.
        let matches = |edge: &Edge| edge.colour == colour;
        let (tree, usual) = (0..2).find_map(|t| Some((t, self.two_tree.children(t, parent).find(matches)?.peer?)))?;
        let here = |&&(m, p): &&(u32, u32)| Some(p) == parent && self.two_tree.colour(tree, m) == colour;
        let moved = self.moved[tree as usize].iter().find(here).map(|&(m, _)| m);
        Some((tree, moved.unwrap_or(usual)))
    }

    /// Raises the gateway of `colour` in `tree`. What holds the other gateway is not lowered for it.
    fn raise(&mut self, tree: u32, colour: u32) {
        let [gateway, other] = [self.two_tree.spare(colour), self.two_tree.spare(1 - colour)];
        let received = self.two_tree.colour(tree, gateway);
        let stays: Vec<u32> = std::iter::once(other).chain(self.above(tree, other)).collect();
        let above: Vec<u32> = self.above(tree, gateway).collect();
        let Some(&(mut place)) = above.first() else { return };
        for way in above.windows(2) {
            let (q, u) = (way[0], way[1]);
            let child = |of, colour| self.child(Some(of), colour).filter(|(t, _)| *t == tree).map(|(_, child)| child);
            let direct = child(u, received).filter(|&v| v != q);
            let sibling = child(u, 1 - received).filter(|&v| v != q);
            // What hangs where the gateway hung, and what goes below its sibling for that.
            let (lowered, below) = match (direct, sibling) {
                (Some(v), _) => (Some(v), None),
                (None, Some(v)) => (child(v, received), Some((q, v))),
                (None, None) => (None, None),
            };
            let Some(lowered) = lowered.filter(|v| !stays.contains(v)) else { continue };
            self.hang(tree, lowered, place);
            if let Some((q, v)) = below {
                self.hang(tree, q, v);
            }
            self.hang(tree, gateway, u);
            place = u;
        }
    }

    /// Members on the way from `member` to the root.
    fn above(&self, tree: u32, member: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.parent(tree, member), move |&m| self.parent(tree, m))
    }

    fn hang(&mut self, tree: u32, member: u32, parent: u32) {
        let moved = &mut self.moved[tree as usize];
        moved.retain(|(m, _)| *m != member);
        moved.push((member, parent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn raised_gateways_are_near_the_top_and_nothing_else_changes() {
        for m in 1..=600u32 {
            let two_tree = TwoTree::new(m);
            // Both halves leave the group, or one of them in both colours.
            for leaving in [[0, 1], [1, 0], [0, 0], [1, 1]] {
                let trees = Trees::raised(&two_tree, leaving.map(Some));
                let depth = |tree, member| 1 + trees.above(tree, member).take(m as usize).count();
                for tree in 0..2 {
                    let deepest = (1..=m).map(|v| depth(tree, v)).max().unwrap();
                    assert!(deepest <= 2 * (m.ilog2() as usize + 1), "m {m} {leaving:?}: {deepest}");
                }
                for (colour, tree) in (0..).zip(leaving) {
                    let gateway = two_tree.spare(colour);
                    assert!(depth(tree, gateway) <= 3, "m {m} {leaving:?} colour {colour}");
                }
                // Everybody sends in the same colours and trees as before, and both ends know of every edge.
                for parent in (1..=m).map(Some).chain([None]) {
                    let before: BTreeSet<(u32, u32)> =
                        (0..2).flat_map(|t| two_tree.children(t, parent).map(move |e| (t, e.colour))).collect();
                    let after: BTreeSet<(u32, u32)> = (0..2)
                        .filter_map(|colour| {
                            let (tree, child) = trees.child(parent, colour)?;
                            assert_eq!((trees.parent(tree, child), two_tree.colour(tree, child)), (parent, colour));
                            Some((tree, colour))
                        })
                        .collect();
                    assert_eq!(before, after, "m {m} {leaving:?} {parent:?}");
                }
            }
        }
    }
}
