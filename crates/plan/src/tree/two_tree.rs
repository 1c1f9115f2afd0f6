//! The two-tree: two trees over the same members in which every member is an inner node at most once, and a colouring
//! of the edges by which nobody sends or receives twice in one round.
//!
//! ```text
//!   T1: 4(2(1,3),6(5,7)) → 0          T2: 5(3(2,4),7(6,1)) → 0        (seven members, root 0)
//!   colour 0: 1→2  2→4  7→6  5→0  3→5  4→3  6→7
//!   colour 1: 3→2  5→6  6→4  4→0  2→3  1→7  7→5                       (arrows as in Reduce)
//! ```
//! T1 is the in-order tree over the members. T2 has the same shape with the members shifted by one: member i+1 takes
//! the place of member i, member 1 that of the last. Source: Sanders, Speck, Träff 2009 (docs/provenance.md).

use super::inorder;
use super::order::{Order, Orders, Ways};
use std::sync::Arc;

/// The two trees and their colouring for a number of members besides the root.
///
/// Members are numbered 1..=m in the order of ranks; the root is not one of them.
#[derive(Debug)]
pub struct TwoTree {
    members: u32,
    /// Colour of member i's edge to its parent in T1, bit i-1; in T2 it is the other colour.
    colours: Vec<u64>,
    /// Who has no child of that colour.
    spare: [u32; 2],
    /// In which orders families stand in it.
    orders: Orders,
}

/// An edge of one of the trees, seen from one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The member at the other end; `None` is the root.
    pub peer: Option<u32>,
    /// 0 or 1.
    pub colour: u32,
}

impl TwoTree {
    /// Builds the colouring for `members` ≥ 1; O(members) time, one bit each.
    ///
    /// Let c(i) be the colour of member i's edge in T1. The edge in T2 has the other colour, since both are sends of i.
    /// Two children of one parent must differ, in T1: c(a) ≠ c(b), and in T2, one place on: c(a+1) ≠ c(b+1). The tops
    /// of both trees meet at the root: c(top) = c(top+1). Every c(i) is in at most two of these conditions, so they
    /// form paths and even cycles; each is walked once. The path of the last member starts with 0, the others with 1:
    /// of the two choices the one for which fixed routes without conflict exist on the p=6 mesh for every group size
    /// (`fabrics/mlfm36.toml`).
    pub fn new(members: u32) -> Self {
        let colours = vec![0; (members as usize).div_ceil(64)];
        let mut tree = Self { members, colours, spare: [0; 2], orders: Orders::default() };
        let mut known = vec![0u64; tree.colours.len()];
        let mut pending = Vec::new();
        for start in (1..=members).rev() {
            pending.push((start, start != members));
            while let Some((member, colour)) = pending.pop() {
                let (word, bit) = ((member as usize - 1) / 64, (member - 1) % 64);
                if known[word] >> bit & 1 == 1 {
                    continue;
                }
                known[word] |= 1 << bit;
                tree.colours[word] |= u64::from(colour) << bit;
                for (other, differs) in tree.conditions(member).into_iter().flatten() {
                    pending.push((other, colour != differs));
                }
            }
        }
        for member in 1..=members {
            let used: Vec<u32> = (0..2).flat_map(|t| tree.children(t, Some(member))).map(|e| e.colour).collect();
            for colour in (0..2).filter(|c| !used.contains(c)) {
                tree.spare[colour as usize] = member;
            }
        }
        tree
    }

    /// The one member that has no child of `colour`.
    ///
    /// Every member has a parent edge of each colour, m of each in all; the root has a child of each; so of the m + 1
    /// possible senders of a colour exactly one, a member, is left over.
    pub fn spare(&self, colour: u32) -> u32 {
        self.spare[colour as usize]
    }

    /// The members whose colour in T1 is tied to that of `member`, and whether the two differ.
    fn conditions(&self, member: u32) -> [Option<(u32, bool)>; 2] {
        let here = self.partner(member);
        // In T2 the member stands one place lower.
        let there = self.partner(self.place_in_t2(member)).map(|(p, differs)| (self.member_at_t2(p), differs));
        let top = inorder::root(self.members);
        let tie = |m: u32| {
            if m == top {
                Some((self.member_at_t2(top), false))
            } else if m == self.member_at_t2(top) {
                Some((top, false))
            } else {
                None
            }
        };
        // A top has no sibling in its own tree, so the tie takes that condition's place.
        match tie(member) {
            None => [here, there],
            Some(t) if member == top => [Some(t), there],
            Some(t) => [here, Some(t)],
        }
    }

    /// The sibling of a place of the in-order tree.
    fn partner(&self, place: u32) -> Option<(u32, bool)> {
        let parent = inorder::parent(self.members, place)?;
        let [left, right] = inorder::children(self.members, parent);
        let other = if left == Some(place) { right } else { left };
        other.map(|o| (o, true))
    }

    /// The order in which a family stands in this tree, where its own is not the one: what [`Order::search`] finds on
    /// the family's `ways`, which are worked out once. `family` tells families apart.
    pub fn order(&self, family: (u32, u32), ways: impl FnOnce() -> Option<Ways>) -> Option<Arc<Order>> {
        let edges = (0..2).flat_map(|tree| (1..=self.members).map(move |place| (tree, place))).map(|(tree, place)| {
            let edge = self.parent(tree, place);
            (place, edge.peer.unwrap_or(0), edge.colour)
        });
        self.orders.of(family, || {
            let ways = ways()?;
            Order::search(self.members, &edges.collect::<Vec<_>>(), &ways)
        })
    }

    /// Number of members besides the root.
    pub fn members(&self) -> u32 {
        self.members
    }

    fn place_in_t2(&self, member: u32) -> u32 {
        if member == 1 { self.members } else { member - 1 }
    }

    fn member_at_t2(&self, place: u32) -> u32 {
        if place == self.members { 1 } else { place + 1 }
    }

    /// Colour of the edge from `member` to its parent in `tree` (0 is T1, 1 is T2).
    pub fn colour(&self, tree: u32, member: u32) -> u32 {
        let index = member - 1;
        (self.colours[index as usize / 64] >> (index % 64) & 1) as u32 ^ tree
    }

    /// The edge from `member` up, in `tree`.
    pub fn parent(&self, tree: u32, member: u32) -> Edge {
        let peer = if tree == 0 {
            inorder::parent(self.members, member)
        } else {
            inorder::parent(self.members, self.place_in_t2(member)).map(|p| self.member_at_t2(p))
        };
        Edge { peer, colour: self.colour(tree, member) }
    }

    /// The edges from `member` (`None`: the root) down, in `tree`, colour 0 before colour 1.
    pub fn children(&self, tree: u32, member: Option<u32>) -> impl Iterator<Item = Edge> {
        let places = match member {
            None => [Some(inorder::root(self.members)), None],
            Some(m) => inorder::children(self.members, if tree == 0 { m } else { self.place_in_t2(m) }),
        };
        let mut edges = places.map(|place| {
            place.map(|p| {
                let child = if tree == 0 { p } else { self.member_at_t2(p) };
                Edge { peer: Some(child), colour: self.colour(tree, child) }
            })
        });
        edges.sort_by_key(|e| e.map(|e| e.colour));
        edges.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn nobody_sends_or_receives_twice_in_a_round_and_both_trees_span() {
        for m in 1..=700u32 {
            let t = TwoTree::new(m);
            let mut receives: HashSet<(Option<u32>, u32)> = HashSet::new();
            let mut inner: HashMap<u32, u32> = HashMap::new();
            for tree in 0..2 {
                for member in 1..=m {
                    let up = t.parent(tree, member);
                    assert!(
                        receives.insert((up.peer, up.colour)),
                        "m {m}: {:?} receives twice in {}",
                        up.peer,
                        up.colour
                    );
                    assert!(t.children(tree, up.peer).any(|e| e == Edge { peer: Some(member), ..up }));
                    if let Some(parent) = up.peer {
                        assert!(*inner.entry(parent).or_insert(tree) == tree, "m {m}: {parent} is inner in both trees");
                    }
                    let mut walk = Some(member);
                    for _ in 0..2 * (m.ilog2() + 2) {
                        walk = walk.and_then(|w| t.parent(tree, w).peer);
                    }
                    assert_eq!(walk, None, "m {m}: member {member} does not reach the root within twice the depth");
                }
            }
            for colour in 0..2 {
                let senders: Vec<u32> = (1..=m)
                    .filter(|&v| !(0..2).any(|tree| t.children(tree, Some(v)).any(|e| e.colour == colour)))
                    .collect();
                assert_eq!(senders, [t.spare(colour)], "m {m} colour {colour}");
            }
            for member in 1..=m {
                assert_ne!(t.parent(0, member).colour, t.parent(1, member).colour, "two sends of one colour");
            }
        }
    }
}
