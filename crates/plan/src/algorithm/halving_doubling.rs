//! Allreduce by halving along every dimension, then doubling in the reverse order.
//!
//! ```text
//!   node reduce ─► halve dimension 0 ─► halve dimension 1 ─► double dimension 1 ─► double dimension 0 ─► node bcast
//!   size     1  →        1/4A        →       1/16A        →        1/4A        →        1/A          →       1
//! ```
//! (4 × 4 nodes with A aggregators each.) All halvings come before all doublings, so what is moved shrinks through all
//! dimensions. Lanes go through the dimensions in different orders at the same time, so that while one uses the links
//! of a dimension the other uses those of another; chunks of a lane follow one another, so that there is something to
//! send while a step waits for its last segment. Source: Japanese patent 7087953 (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::Demand;
use crate::pattern::{HopLabel, MOST_CHUNKS, NodeTrees, Rails, Transfer, chunks, half, half_stages};
use crate::schedule::{Hop, Parts, Rank, RankPlan, Round, TAGS};
use crate::topology::{NodeRanks, Origin};
use std::ops::Range;

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::HalvingDoubling,
    name: "halving_doubling",
    collectives: &[
        Collective::Allreduce,
        Collective::Allgather,
        Collective::Allgatherv,
        Collective::ReduceScatterBlock,
        Collective::ReduceScatter,
    ],
    needs: "nothing",
    summary: "halving, then doubling, or one of the two, along every dimension of the network; on a torus in several \
              orders at the same time",
    source: "Japanese patent 7087953",
    round: "step",
    plan: |context, role| {
        half(role.collective, context.node_ranks(), context.rails(), role.chunks, role.rank)
            .unwrap_or_else(|| halving_doubling(context.node_ranks(), context.rails(), role.chunks, role.rank))
    },
    stages: |context, collective| {
        half_stages(collective, context.node_ranks(), ["halving", "doubling"])
            .unwrap_or_else(|| stages(context.node_ranks()))
    },
    chunks: Some(|context, bytes| chunks(context.rails().cut(), bytes)),
    senders: None,
    fits: Some(|context, _, _| match context.rails().origin() {
        // Where a user says what the torus is, whose links the cost model does not know.
        Origin::Given => true,
        // On a torus with more transfers than are looked at, where rivals have far too many steps.
        Origin::Fabric => !Demand::is_known(context.rails()),
        Origin::Cartesian | Origin::Levels | Origin::Line => false,
    }),
    cost: |context, collective| {
        Demand::stepwise(collective, context.rails(), MOST_CHUNKS, &mut context.predicted_wires())
    },
    candidacy: Candidacy::Default,
};

/// Names of the stages.
fn stages(node_ranks: &NodeRanks) -> Vec<String> {
    let inside = node_ranks.widest() > 1;
    let names = [(inside, "node reduce"), (true, "halving"), (true, "doubling"), (inside, "node bcast")];
    names.into_iter().filter(|&(used, _)| used).map(|(_, name)| name.to_owned()).collect()
}

/// Plan of `rank` for Allreduce, with the share of every lane cut in `chunks`, at least 1.
///
/// In list order, and so in priority: step after step, in each of them chunk after chunk; a chunk is combined inside
/// the node just before its first step and spread there just after its last one. Every transfer has the same place in
/// the lists of both its ranks.
pub fn halving_doubling(node_ranks: &NodeRanks, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    let steps = rails.steps();
    let mut way = Way::new(node_ranks, rails, chunks, rank);
    for step in 0..steps.max(1) {
        for chunk in 0..chunks {
            if step == 0 {
                way.reduce_inside(chunk);
            }
            if step < steps {
                way.exchange(HALVING, step, chunk);
            }
        }
    }
    for step in 0..steps.max(1) {
        for chunk in 0..chunks {
            if step < steps {
                way.exchange(DOUBLING, step, chunk);
            }
            if step + 1 >= steps {
                way.bcast_inside(chunk);
            }
        }
    }
    let parts = rails.lanes().len() as u32 * chunks * rails.nodes();
    RankPlan::new(rank, parts, way.hops)
}

/// Stages between nodes.
const HALVING: u32 = 0;
const DOUBLING: u32 = 1;

/// One rank's plan in the making.
struct Way<'s> {
    node_ranks: &'s NodeRanks,
    rails: &'s Rails,
    node_trees: NodeTrees<'s>,
    /// The lanes of this rank with the steps of its node's halving; none if it is no aggregator.
    halvings: Vec<(u32, Vec<Transfer>)>,
    chunks: u32,
    steps: u32,
    hops: Vec<Hop>,
}

impl<'s> Way<'s> {
    fn new(node_ranks: &'s NodeRanks, rails: &'s Rails, chunks: u32, rank: Rank) -> Self {
        let node_trees = NodeTrees::new(node_ranks, rank, rails.aggregators());
        let (node, _) = node_ranks.node_and_slot(rank);
        let own = (0..rails.aggregators()).find(|&aggregator| node_trees.is(aggregator));
        let lanes = own.map_or(0..0, |aggregator| rails.lanes_of(aggregator));
        let halvings = lanes.map(|lane| (lane, rails.halving(lane, node))).collect();
        Self { node_ranks, rails, node_trees, halvings, chunks, steps: rails.steps(), hops: Vec::new() }
    }

    /// Positions of a rail as parts of the vector.
    fn parts(&self, lane: u32, chunk: u32, positions: &Range<u32>) -> Parts {
        let first = (lane * self.chunks + chunk) * self.rails.nodes();
        Parts::vector(first + positions.start, positions.end - positions.start)
    }

    fn reduce_inside(&mut self, chunk: u32) {
        self.inside(0, chunk, chunk, NodeTrees::reduce);
    }

    fn bcast_inside(&mut self, chunk: u32) {
        let stage = u16::from(self.node_ranks.widest() > 1) + 2;
        self.inside(stage, 2 * self.steps * self.chunks + chunk, chunk, NodeTrees::bcast);
    }

    /// What the ranks of the node do together with all lanes of a chunk.
    fn inside(
        &mut self,
        stage: u16,
        turn: u32,
        chunk: u32,
        in_node: impl Fn(&NodeTrees<'s>, &mut Vec<Hop>, u32, Parts, HopLabel),
    ) {
        for lane in 0..self.rails.lanes().len() as u32 {
            let label = HopLabel { stage, rail: lane * self.chunks + chunk, turn };
            let parts = self.parts(lane, chunk, &(0..self.rails.nodes()));
            in_node(&self.node_trees, &mut self.hops, self.rails.aggregator_of(lane), parts, label);
        }
    }

    /// One step of a chunk in all lanes of this rank.
    fn exchange(&mut self, stage: u32, step: u32, chunk: u32) {
        let (lanes, runs) = (self.rails.lanes().len() as u32, self.rails.runs());
        let number = u32::from(self.node_ranks.widest() > 1) + stage;
        for (lane, halving) in &self.halvings {
            let turn = (stage * self.steps + step) * self.chunks + chunk;
            let aggregator = |node| {
                NodeTrees::aggregator(self.node_ranks, node, self.rails.aggregator_of(*lane), self.rails.aggregators())
            };
            let at = if stage == HALVING { step } else { self.steps - 1 - step };
            let both = halving[at as usize].ends(stage != HALVING).into_iter().map(|(action, node, run, positions)| {
                // Every message of a lane and a chunk has a round of its own, for they share the links of the host.
                let in_order = ((step * self.chunks + chunk) * lanes + lane) * runs + run;
                let round = Round { stage: number as u16, step: in_order };
                let tag = (stage * self.steps * self.chunks * lanes * runs + in_order) % TAGS;
                let (peer, parts) = (aggregator(node), self.parts(*lane, chunk, &positions));
                Hop { action, peer, parts, round, tag, turn, after: Vec::new() }
            });
            let both: Vec<Hop> = both.collect();
            self.hops.extend(both);
        }
    }
}
