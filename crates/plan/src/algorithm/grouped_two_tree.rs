//! The grouped two-tree: a two-tree in every family of every level of the hierarchy, joined at the representatives.
//!
//! ```text
//!   Reduce          ranks → representatives of their node → … → representatives of the widest groups → root
//!   Bcast           the same edges downwards, widest level first
//!   Allreduce       Reduce to rank 0, then Bcast from it, both pipelined block by block
//! ```
//! Half of the vector (part 0) travels along the T1 of every level, the other half (part 1) along T2. A stage is one
//! level in one direction, a round one colour of a stage. With the flat hierarchy this is the plain two-tree.
//!
//! A rank is a member of exactly one family (the root: of none) and the root of the families of all narrower levels, so
//! a plan has at most 2·levels + 2 hops per direction and is made in O(levels · log P), but for the order of members.
//! Source: Japanese patent application JP2020-178181 (docs/provenance.md).
//!
//! Members stand in the trees of a family in the order of their ranks, the root first. Where messages of a round would
//! meet on a link between switches, they stand in another order in which none do, if one is found (`ways.rs`).

mod ways;

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::{Streams, Talkers};
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};
use crate::topology::{Hierarchy, Topology};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::GroupedTwoTree,
    name: "grouped_two_tree",
    collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
    needs: "groups, or routes on which ranks in order meet; else it is `two_tree`",
    summary: "a two-tree in every group of every topology level, joined at representatives, pipelined",
    source: "Japanese patent application JP2020-178181",
    round: "colour",
    plan: |context, role| plan(role.collective, context.grouped(), Some(context.topology()), (role.root, role.rank)),
    stages: |context, collective| stage_names(collective, context.grouped()),
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| Some(SPEC.pipeline(context, collective, (Talkers::Leaders, Streams::Shared))),
    candidacy: Candidacy::Default,
};

/// Direction of the data in a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Up,
    Down,
}

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` over `hierarchy` (Allreduce: use root 0). Without a
/// `topology` members stand in the order of their ranks everywhere.
pub(super) fn plan(
    collective: Collective,
    hierarchy: &Hierarchy,
    topology: Option<&Topology>,
    (root, rank): (Rank, Rank),
) -> RankPlan {
    let mut hops = Vec::new();
    for (stage, (level, flow)) in stages(collective, hierarchy).enumerate() {
        push_stage(&mut hops, (hierarchy, topology), (level, flow), stage as u16, (root, rank));
    }
    RankPlan::new(rank, 2, hops)
}

/// Level and direction of every stage, in the order in which data passes them.
fn stages(collective: Collective, hierarchy: &Hierarchy) -> impl Iterator<Item = (usize, Flow)> {
    let up = if collective == Collective::Bcast { 0 } else { hierarchy.depth() };
    let down = if collective == Collective::Reduce { 0 } else { hierarchy.depth() };
    (0..up).rev().map(|level| (level, Flow::Up)).chain((0..down).map(|level| (level, Flow::Down)))
}

/// Names of the stages of these plans, such as `group reduce`.
pub(super) fn stage_names(collective: Collective, hierarchy: &Hierarchy) -> Vec<String> {
    let verb = |flow| if flow == Flow::Up { "reduce" } else { "bcast" };
    stages(collective, hierarchy)
        .map(|(level, flow)| format!("{} {}", hierarchy.level_name(level), verb(flow)))
        .collect()
}

/// The hops of one level in one direction: first what is received, then what is sent, each colour 0 before colour 1.
fn push_stage(
    hops: &mut Vec<Hop>,
    (hierarchy, topology): (&Hierarchy, Option<&Topology>),
    (level, flow): (usize, Flow),
    stage: u16,
    (root, rank): (Rank, Rank),
) {
    let Some(family) = hierarchy.family(level, rank, root) else { return };
    let Some(two_tree) = hierarchy.two_tree(family.members()) else { return };
    let order = topology.and_then(|topology| {
        let ways = || ways::between(&family, level, hierarchy, topology);
        two_tree.order((level as u32, family.root()), ways)
    });
    let place = |member| order.as_ref().map_or(member, |order| order.place(member));
    let member = |place| order.as_ref().map_or(place, |order| order.member(place));
    let own = place(family.own_member());
    let start = hops.len();
    for tree in 0..2 {
        let mut push = |action, peer, colour| {
            hops.push(Hop {
                action,
                peer: family.rank_of(member(peer)),
                parts: Parts::vector(tree, 1),
                round: Round { stage, step: colour },
                tag: u32::from(stage) * 2 + tree,
                turn: 0,
                after: Vec::new(),
            });
        };
        let (towards_children, towards_parent) = match flow {
            Flow::Up => (Action::Reduce, Action::Send),
            Flow::Down => (Action::Send, Action::Recv),
        };
        for edge in two_tree.children(tree, own) {
            push(towards_children, edge.peer, edge.colour);
        }
        if let Some(own) = own {
            let edge = two_tree.parent(tree, own);
            push(towards_parent, edge.peer, edge.colour);
        }
    }
    hops[start..].sort_by_key(|h| (h.action == Action::Send, h.round.step));
}
