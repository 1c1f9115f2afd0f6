//! The pipelined chain: every node forwards to the next in hierarchy order.
//!
//! ```text
//!   Bcast     root → 1 → 2 → … → N-1        Reduce    root ← 1 ← 2 ← … ← N-1        (places on the line, root first)
//!
//!   two lanes, on a torus:   half 0   root → 1 → 2 → … → N-1        half 1   root → N-1 → … → 2 → 1
//! ```
//! Every link of a tree network is crossed once per direction, so a long vector flows at the rate of the thinnest link;
//! the price is the fill, N - 2 segments. The line is the hierarchy order turned so that it starts at the root: it then
//! enters and leaves every group at most twice, the root's own at its two ends. On a torus the line is a cycle of
//! neighbours and each half of the vector takes one direction of it: links are full duplex, so the two chains share
//! none. Inside a node see [`Node`]. A pipeline along a line is common practice (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::{Streams, Talkers};
use crate::pattern::{Node, stage_names_up_and_down};
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};
use crate::topology::{Hierarchy, Line};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Chain,
    name: "chain",
    collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
    needs: "nothing",
    summary: "a pipeline through all nodes in hierarchy order; on a torus one in each direction",
    source: "common practice",
    round: "step",
    plan: |context, role| plan(role.collective, context.grouped(), context.line(), role.root, role.rank),
    stages: |context, collective| stage_names_up_and_down(collective, context.grouped()),
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| Some(SPEC.pipeline(context, collective, (Talkers::Leaders, Streams::Apart))),
    candidacy: Candidacy::Default,
};

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` (Allreduce: use root 0).
fn plan(collective: Collective, hierarchy: &Hierarchy, line: &Line, root: Rank, rank: Rank) -> RankPlan {
    let node = Node::new(collective, hierarchy, root, rank);
    let lanes = line.lanes();
    let mut hops = Vec::new();
    let mut stage = node.first_stage();
    if collective != Collective::Bcast {
        (0..lanes).for_each(|lane| node.reduce(&mut hops, lane, lane, 0));
        for lane in 0..lanes {
            let [towards_root, away] = neighbours(hierarchy, line, root, rank, lane);
            push(&mut hops, Action::Reduce, away, stage, lane);
            push(&mut hops, Action::Send, towards_root, stage, lane);
        }
        stage += 1;
    }
    if collective != Collective::Reduce {
        for lane in 0..lanes {
            let [towards_root, away] = neighbours(hierarchy, line, root, rank, lane);
            push(&mut hops, Action::Recv, towards_root, stage, lane);
            push(&mut hops, Action::Send, away, stage, lane);
        }
        (0..lanes).for_each(|lane| node.bcast(&mut hops, stage + 1, lane, lane, 0));
    }
    RankPlan::new(rank, lanes, hops)
}

/// The leaders before and after this one on a lane; none for ranks that lead no node.
fn neighbours(hierarchy: &Hierarchy, line: &Line, root: Rank, rank: Rank, lane: u32) -> [Option<Rank>; 2] {
    if !hierarchy.is_leader(rank, root) {
        return [None, None];
    }
    let own = hierarchy.node_of(rank);
    let place = line.place(own, hierarchy.node_of(root), lane);
    let towards_root = (place > 0).then(|| hierarchy.leader(line.before(own, 1, lane), root));
    let away = (place + 1 < line.nodes()).then(|| hierarchy.leader(line.after(own, 1, lane), root));
    [towards_root, away]
}

fn push(hops: &mut Vec<Hop>, action: Action, peer: Option<Rank>, stage: u16, lane: u32) {
    hops.extend(peer.map(|peer| Hop {
        action,
        peer,
        parts: Parts::vector(lane, 1),
        round: Round { stage, step: lane },
        tag: u32::from(stage) * 2 + lane,
        turn: 0,
        after: Vec::new(),
    }));
}
