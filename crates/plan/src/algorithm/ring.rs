//! The segmented ring: reduce-scatter, then allgather, around all nodes in hierarchy order.
//!
//! ```text
//!   N parts; in step t the node at place i sends part i - t and combines part i - t - 1      (t = 0 … N-2)
//!   then it owns part i + 1; in step t it sends part i + 1 - t and receives part i - t        (t = 0 … N-2)
//! ```
//! Every node sends and receives 2n(N-1)/N: what Allreduce needs at least on one link per node. Every link between
//! groups is crossed by one pair of neighbours per direction. On a torus two rings, of N parts each, go around the
//! cycle in opposite directions. The ranks of a node combine each part before it is needed and get it when it is
//! finished (see [`Node`]). Source: Patarasuk, Yuan 2009 (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::Demand;
use crate::pattern::{Node, half, half_stages, stage_names};
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, TAGS};
use crate::topology::{Hierarchy, Line};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Ring,
    name: "ring",
    collectives: &[
        Collective::Allreduce,
        Collective::Allgather,
        Collective::Allgatherv,
        Collective::ReduceScatterBlock,
        Collective::ReduceScatter,
    ],
    needs: "nothing",
    summary: "reduce-scatter, then allgather, or one of the two, around all nodes in hierarchy order, in segments; on \
              a torus in both directions",
    source: "Patarasuk, Yuan 2009",
    round: "step",
    plan: |context, role| {
        half(role.collective, context.node_ranks(), context.around(), 1, role.rank)
            .unwrap_or_else(|| allreduce(context.grouped(), context.line(), role.rank))
    },
    stages: |context, collective| {
        let between = ["reduce-scatter", "allgather"];
        half_stages(collective, context.node_ranks(), between)
            .unwrap_or_else(|| stage_names(collective, context.grouped(), &between))
    },
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| Some(Demand::ring(collective, context.line(), &mut context.predicted_wires())),
    candidacy: Candidacy::Default,
};

/// Plan of `rank` for Allreduce.
fn allreduce(hierarchy: &Hierarchy, line: &Line, rank: Rank) -> RankPlan {
    let node = Node::new(Collective::Allreduce, hierarchy, 0, rank);
    let (nodes, lanes) = (line.nodes(), line.lanes());
    let own = hierarchy.node_of(rank);
    let around: Vec<Around> =
        (0..lanes).map(|lane| Around::new(hierarchy, line, (own, node.first_stage()), lane)).collect();
    let stage = node.first_stage();
    let last = stage + 2;
    let mut hops = Vec::new();
    for lane in &around {
        node.reduce(&mut hops, lane.nth(0), lane.part(0), 0);
    }
    for step in 0..nodes - 1 {
        for lane in &around {
            let combined = lane.part(-i64::from(step) - 1);
            node.reduce(&mut hops, lane.nth(step + 1), combined, step);
            if node.leads() {
                lane.push(&mut hops, (Action::Reduce, lane.previous, combined), (stage, step));
                lane.push(&mut hops, (Action::Send, lane.next, lane.part(-i64::from(step))), (stage, step));
            }
        }
    }
    for lane in &around {
        node.bcast(&mut hops, last, lane.nth(0), lane.part(1), nodes - 1);
    }
    for step in 0..nodes - 1 {
        for lane in &around {
            let received = lane.part(-i64::from(step));
            if node.leads() {
                lane.push(&mut hops, (Action::Recv, lane.previous, received), (stage + 1, step));
                lane.push(&mut hops, (Action::Send, lane.next, lane.part(1 - i64::from(step))), (stage + 1, step));
            }
            node.bcast(&mut hops, last, lane.nth(step + 1), received, nodes - 1 + step);
        }
    }
    RankPlan::new(rank, nodes * lanes, hops)
}

/// One direction around the ring, as one node sees it.
struct Around {
    lane: u32,
    lanes: u32,
    nodes: u32,
    place: u32,
    first_stage: u16,
    next: Rank,
    previous: Rank,
}

impl Around {
    fn new(hierarchy: &Hierarchy, line: &Line, (own, first_stage): (u32, u16), lane: u32) -> Self {
        let leader = |node| hierarchy.leader(node, 0);
        Self {
            lane,
            lanes: line.lanes(),
            nodes: line.nodes(),
            place: line.place(own, line.first(), lane),
            first_stage,
            next: leader(line.after(own, 1, lane)),
            previous: leader(line.before(own, 1, lane)),
        }
    }

    /// The part `offset` places on from this node's own.
    fn part(&self, offset: i64) -> u32 {
        let part = (i64::from(self.place) + offset).rem_euclid(i64::from(self.nodes)) as u32;
        self.lane * self.nodes + part
    }

    /// Number of a part in the order in which a node needs them.
    fn nth(&self, step: u32) -> u32 {
        step * self.lanes + self.lane
    }

    fn push(&self, hops: &mut Vec<Hop>, (action, peer, part): (Action, Rank, u32), (stage, step): (u16, u32)) {
        let turn = if stage > self.first_stage { self.nodes - 1 + step } else { step };
        let step = self.nth(step);
        // Stage and step together tell the streams of one connection apart.
        let tag = (u32::from(stage) * self.nodes * self.lanes + step) % TAGS;
        let (round, parts) = (Round { stage, step }, Parts::vector(part, 1));
        hops.push(Hop { action, peer, parts, round, tag, turn, after: Vec::new() });
    }
}
