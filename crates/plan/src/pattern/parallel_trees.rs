//! The parts of a vector along trees over the nodes, one for each part, pipelined: Bcast down the trees, Reduce up the
//! same trees, Allreduce both.

use super::Node;
use crate::collective::Collective;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};
use crate::topology::Hierarchy;

/// An edge of one of the trees as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The other end.
    pub peer: Rank,
    /// The part, which is also the tree.
    pub part: u32,
    /// In which round of the pipeline.
    pub step: u32,
}

/// What a leader of a node does in Bcast.
#[derive(Debug, Default)]
pub struct Ends {
    /// From where each part comes; none at the root.
    pub parents: Vec<End>,
    /// Where parts go, in the order of time.
    pub children: Vec<End>,
}

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` (Allreduce: use root 0), of a vector in so many parts;
/// `ends`: what it does as the leader of a node. `mirrored`: the steps of Reduce are those of Bcast backwards in time,
/// so of two children the later is heard first.
pub fn along_trees(
    (collective, hierarchy): (Collective, &Hierarchy),
    (root, rank): (Rank, Rank),
    parts: u32,
    mirrored: bool,
    ends: impl FnOnce() -> Ends,
) -> RankPlan {
    let node = Node::new(collective, hierarchy, root, rank);
    let Ends { parents, children } = if node.leads() { ends() } else { Ends::default() };
    let mut hops = Vec::new();
    let mut stage = node.first_stage();
    let hop = |end: &End, action, stage: u16| Hop {
        action,
        peer: end.peer,
        parts: Parts::vector(end.part, 1),
        round: Round { stage, step: end.step },
        tag: u32::from(stage) * parts + end.part,
        turn: 0,
        after: Vec::new(),
    };
    if collective != Collective::Bcast {
        (0..parts).for_each(|part| node.reduce(&mut hops, part, part, 0));
        let reduce = |end| hop(end, Action::Reduce, stage);
        if mirrored {
            hops.extend(children.iter().rev().map(reduce));
        } else {
            hops.extend(children.iter().map(reduce));
        }
        hops.extend(parents.iter().map(|end| hop(end, Action::Send, stage)));
        stage += 1;
    }
    if collective != Collective::Reduce {
        hops.extend(parents.iter().map(|end| hop(end, Action::Recv, stage)));
        hops.extend(children.iter().map(|end| hop(end, Action::Send, stage)));
        (0..parts).for_each(|part| node.bcast(&mut hops, stage + 1, part, part, 0));
    }
    RankPlan::new(rank, parts, hops)
}
