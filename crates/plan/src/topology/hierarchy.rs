//! The index a plan is made from: groups, their representatives, and each rank's place, all by lookup.
//!
//! ```text
//!  level 0            {0..8}   {8..16}   {16..24}        families of level 0: all groups of the machine
//!  level 1 (node)   {0..4}{4..8} …                       families of level 1: the nodes of one group
//!  level 2 (ranks)  0 1 2 3 …                            families of level 2: the ranks of one node
//! ```
//! A *family* is what one tree spans: the subgroups of one group, each standing for its representative (the member with
//! the smallest rank, or the root where it is a member). The ranks are the groups of the last level. Building the index
//! is O(P · levels); its memory is at most 4 bytes × P × (levels + 3), and next to nothing where ranks fill the machine
//! in order; afterwards a rank's place in every family is O(levels).

use super::Topology;
use super::column::Column;
use crate::collective::Rank;
use crate::tree::TwoTree;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// One level of groups. Groups are numbered so that the groups of one family are consecutive and ordered by
/// representative.
#[derive(Clone, Debug)]
struct Level {
    name: String,
    /// Group number of every rank.
    group_of: Column,
    /// Smallest rank of every group.
    representative: Column,
    /// First group of the family of every group of the next wider level; one more entry than there are families.
    family_start: Column,
}

/// Groups within groups, as one communicator's ranks see them.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    levels: Vec<Level>,
    ranks: u32,
    /// Whether the families of the last level are the ranks of a node.
    shares_nodes: bool,
    trees: HashMap<u32, Arc<TwoTree>>,
}

/// One rank's view of the family it belongs to at one level.
#[derive(Clone, Debug)]
pub struct Family<'h> {
    level: &'h Level,
    start: u32,
    /// Number of subgroups.
    size: u32,
    /// Index of the subgroup that holds the tree's root.
    root_index: u32,
    /// The tree's root.
    root: Rank,
    /// Index of the subgroup that looks.
    own_index: u32,
}

impl Hierarchy {
    /// Indexes `topology`. Levels that divide nothing (one group, groups of one rank, the same groups as the next
    /// level) are left out; the ranks themselves are the last level.
    pub fn new(topology: &Topology) -> Self {
        let ranks = topology.ranks();
        let singles: Vec<u32> = (0..ranks).collect();
        let names = topology.level_names();
        let given: Vec<(&str, &[u32])> =
            names.iter().enumerate().map(|(l, name)| (name.as_str(), topology.groups(l))).collect();
        let mut kept: Vec<(&str, &[u32])> = Vec::new();
        for (index, &(name, groups)) in given.iter().enumerate() {
            let next = given.get(index + 1).map_or(singles.as_slice(), |g| g.1);
            if groups.iter().any(|&g| g != 0) && groups != next && groups != singles {
                kept.push((name, groups));
            }
        }
        kept.push(("rank", &singles));
        Self::from_levels(&kept, ranks, topology.nodes() != singles)
    }

    /// An index without groups: all ranks in one family.
    pub fn flat(ranks: u32) -> Self {
        let singles: Vec<u32> = (0..ranks).collect();
        Self::from_levels(&[("rank", &singles)], ranks, false)
    }

    fn from_levels(given: &[(&str, &[u32])], ranks: u32, shares_nodes: bool) -> Self {
        let mut levels: Vec<Level> = Vec::with_capacity(given.len());
        let mut sizes = BTreeSet::new();
        for &(name, groups) in given {
            // Smallest rank and wider group of every given group, in the order of the smallest rank.
            let count = groups.iter().max().map_or(0, |&last| last as usize + 1);
            let mut first = vec![Rank::MAX; count];
            for (rank, &g) in groups.iter().enumerate() {
                let first = &mut first[g as usize];
                *first = (*first).min(rank as Rank);
            }
            let wider = |rank: Rank| levels.last().map_or(0, |l: &Level| l.group_of.get(rank));
            let mut order: Vec<u32> = (0..count as u32).collect();
            order.sort_by_key(|&g| (wider(first[g as usize]), first[g as usize]));
            let families = levels.last().map_or(1, |l| l.representative.len() as usize);
            let mut family_start = vec![0; families + 1];
            let mut number = vec![0; count];
            let mut representative = Vec::with_capacity(count);
            for (new, &g) in order.iter().enumerate() {
                number[g as usize] = new as u32;
                representative.push(first[g as usize]);
                family_start[wider(first[g as usize]) as usize + 1] = new as u32 + 1;
            }
            sizes.extend(family_start.windows(2).map(|w| w[1] - w[0]));
            levels.push(Level {
                name: name.to_owned(),
                group_of: Column::from(groups.iter().map(|&g| number[g as usize]).collect::<Vec<u32>>()),
                representative: representative.into(),
                family_start: family_start.into(),
            });
        }
        let trees = sizes.into_iter().filter(|&s| s > 1).map(|s| (s - 1, Arc::new(TwoTree::new(s - 1)))).collect();
        Self { levels, ranks, shares_nodes, trees }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of levels, the ranks included.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Number of levels between nodes: all but that of the ranks of a node, if a node has several.
    pub fn depth_between_nodes(&self) -> usize {
        self.levels.len() - usize::from(self.shares_nodes)
    }

    /// Whether some node has several ranks.
    pub fn shares_nodes(&self) -> bool {
        self.shares_nodes
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        let inner = self.depth_between_nodes().checked_sub(1);
        inner.map_or(1, |level| self.levels[level].representative.len())
    }

    /// Number of the node of `rank`, in hierarchy order: nodes of a group are consecutive, at every level.
    pub fn node_of(&self, rank: Rank) -> u32 {
        self.depth_between_nodes().checked_sub(1).map_or(0, |level| self.group_of(level, rank))
    }

    /// The rank of `node` that talks to other nodes: the root where it is a member, else the smallest.
    pub fn leader(&self, node: u32, root: Rank) -> Rank {
        self.depth_between_nodes().checked_sub(1).map_or(root, |level| self.representative(level, node, root))
    }

    /// Whether `rank` is the leader of its node.
    pub fn is_leader(&self, rank: Rank, root: Rank) -> bool {
        self.leader(self.node_of(rank), root) == rank
    }

    /// The ranks of the node of `rank` as a family rooted at its leader; `None` if all nodes have one rank.
    pub fn node_family(&self, rank: Rank, root: Rank) -> Option<Family<'_>> {
        self.shares_nodes.then(|| self.family_of(self.depth() - 1, self.group_of(self.depth() - 1, rank), root))
    }

    /// Name of the subgroups at a level, `rank` for the last.
    pub fn level_name(&self, level: usize) -> &str {
        &self.levels[level].name
    }

    /// Number of groups at a level.
    pub fn group_count(&self, level: usize) -> usize {
        self.levels[level].representative.len() as usize
    }

    /// The two-tree over `members` members besides the root, shared by all families of that size.
    pub fn two_tree(&self, members: u32) -> Option<&TwoTree> {
        self.trees.get(&members).map(Arc::as_ref)
    }

    /// Number of the group `rank` is in at `level`; at the last level every rank is a group.
    pub fn group_of(&self, level: usize, rank: Rank) -> u32 {
        self.levels[level].group_of.get(rank)
    }

    /// The rank that stands for a group: the root where it is a member, else the smallest.
    pub fn representative(&self, level: usize, group: u32, root: Rank) -> Rank {
        let this = &self.levels[level];
        if this.group_of.get(root) == group { root } else { this.representative.get(group) }
    }

    /// The family `rank` takes part in at `level` when `root` is the root of the collective, or `None` where another
    /// rank represents its subgroup.
    pub fn family(&self, level: usize, rank: Rank, root: Rank) -> Option<Family<'_>> {
        let group = self.group_of(level, rank);
        (self.representative(level, group, root) == rank).then(|| self.family_of(level, group, root))
    }

    /// The family that `group` belongs to at `level`, as that group sees it.
    pub fn family_of(&self, level: usize, group: u32, root: Rank) -> Family<'_> {
        let wider = |rank: Rank| level.checked_sub(1).map_or(0, |w| self.group_of(w, rank));
        let family = wider(self.levels[level].representative.get(group));
        Family {
            own_index: group - self.levels[level].family_start.get(family),
            ..self.family_within(level, family, root)
        }
    }

    /// The family of all groups of `level` that are in group `wider` of the level before (0 for the whole machine), as
    /// the root's group sees it.
    pub fn family_within(&self, level: usize, wider: u32, root: Rank) -> Family<'_> {
        let this = &self.levels[level];
        let start = this.family_start.get(wider);
        let of_root = level.checked_sub(1).map_or(0, |w| self.group_of(w, root));
        let root_index = if of_root == wider { this.group_of.get(root) - start } else { 0 };
        Family {
            level: this,
            start,
            size: this.family_start.get(wider + 1) - start,
            root_index,
            root: self.representative(level, start + root_index, root),
            own_index: root_index,
        }
    }
}

impl Family<'_> {
    /// The root of this family's trees.
    pub fn root(&self) -> Rank {
        self.root
    }

    /// Number of members besides the root.
    pub fn members(&self) -> u32 {
        self.size - 1
    }

    /// This group's number among the members, 1 to m in the order of representatives; `None` for the root.
    pub fn own_member(&self) -> Option<u32> {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self.own_index.cmp(&self.root_index) {
            Equal => None,
            Less => Some(self.own_index + 1),
            Greater => Some(self.own_index),
        }
    }

    /// Group number of a member (1 to m) or of the root (`None`).
    pub fn group_of(&self, member: Option<u32>) -> u32 {
        self.start
            + match member {
                None => self.root_index,
                Some(m) if m <= self.root_index => m - 1,
                Some(m) => m,
            }
    }

    /// The representative of a member (1 to m) or the root (`None`).
    pub fn rank_of(&self, member: Option<u32>) -> Rank {
        if member.is_none() { self.root } else { self.level.representative.get(self.group_of(member)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_replaces_the_representative_of_its_groups_only() {
        // Two groups of three ranks: {0, 2, 4} and {1, 3, 5}.
        let topology = Topology::of_nodes(vec![0, 1, 0, 1, 0, 1]).unwrap();
        let h = Hierarchy::new(&topology);
        assert_eq!(h.depth(), 2);
        let top = h.family(0, 3, 3).unwrap();
        assert_eq!((top.root(), top.members(), top.own_member(), top.rank_of(Some(1))), (3, 1, None, 0));
        assert!(h.family(0, 1, 3).is_none(), "rank 1 no longer represents its group");
        let inner = h.family(1, 1, 3).unwrap();
        assert_eq!((inner.root(), inner.members(), inner.own_member()), (3, 2, Some(1)));
        assert_eq!((inner.rank_of(Some(1)), inner.rank_of(Some(2))), (1, 5));
    }

    #[test]
    fn levels_that_divide_nothing_are_left_out() {
        let t = Topology::new(
            vec!["pod".into(), "leaf".into(), "node".into()],
            vec![vec![0; 4], vec![0, 0, 1, 1], vec![0, 0, 1, 1]],
            vec![0; 4],
        )
        .unwrap();
        let h = Hierarchy::new(&t);
        assert_eq!((h.depth(), h.level_name(0), h.level_name(1)), (2, "node", "rank"));
        assert_eq!(Hierarchy::new(&Topology::of_nodes((0..7).collect()).unwrap()).depth(), 1);
    }
}
