//! One rank's plan for half of an Allreduce, under construction: what Reduce_scatter and Allgather have in common.
//!
//! ```text
//!   halving of a node, 8 positions           pieces: what is sent in each step, and what is owned in the end
//!   step 0  sends 4-7, receives 0-3              0: 4-7    1: 2-3    2: 1    3: 0
//!   step 1  sends 2-3, receives 0-1
//!   step 2  sends 1,   receives 0            of a doubling the same backwards: owned, then received in each step
//! ```

use super::blocks::{Blocks, Rail};
use super::node_trees::NodeTrees;
use super::rails::{Rails, Transfer};
use super::staging::shuffled;
use super::stretch::Stretch;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Run, Space, TAGS};
use crate::topology::NodeRanks;
use std::ops::Range;

/// What a node does on a lane.
#[derive(Clone, Debug)]
pub struct LaneSteps {
    /// The steps of its halving.
    pub halving: Vec<Transfer>,
    /// All positions in pieces, the owned one last.
    pub pieces: Vec<Stretch>,
}

impl LaneSteps {
    fn new(rails: &Rails, lane: u32, node: u32) -> Self {
        let halving: Vec<Transfer> = rails.halving(lane, node).into_iter().map(Transfer::joined).collect();
        let position = rails.position(lane, node);
        let sent = halving.iter().map(|transfer| transfer.sent.clone());
        Self { pieces: sent.chain(std::iter::once(Stretch::run(position..position + 1))).collect(), halving }
    }

    /// The position that the node owns.
    pub fn owned(&self) -> Range<u32> {
        let position = self.pieces[self.halving.len()].first();
        position..position + 1
    }

    /// Number of pieces, from the first on, that the halving has worked on after `step`: what is received is sent in
    /// the next steps.
    pub fn needed(&self, step: u32) -> u32 {
        let received = &self.halving[step as usize].received;
        let later = self.pieces[step as usize + 1..].iter().rposition(|piece| piece.overlaps(received));
        step + 1 + later.map_or(0, |piece| piece as u32 + 1)
    }
}

/// A plan in the making.
pub struct Half<'r> {
    pub node_ranks: &'r NodeRanks,
    pub rails: &'r Rails,
    pub chunks: u32,
    pub rank: Rank,
    pub node: u32,
    pub node_trees: NodeTrees<'r>,
    /// The aggregator that this rank is.
    pub own: Option<u32>,
    pub blocks: Blocks<'r>,
    /// Of the node, by lane.
    pub by_lane: Vec<LaneSteps>,
    pub hops: Vec<Hop>,
    shuffles: Vec<Vec<Run>>,
}

impl<'r> Half<'r> {
    /// Nothing yet, for `rank`, with every lane cut in `chunks`.
    pub fn new(node_ranks: &'r NodeRanks, rails: &'r Rails, chunks: u32, rank: Rank) -> Self {
        let (node, _) = node_ranks.node_and_slot(rank);
        let node_trees = NodeTrees::new(node_ranks, rank, rails.aggregators());
        let own = (0..rails.aggregators()).find(|&aggregator| node_trees.is(aggregator));
        let by_lane = (0..rails.lanes().len() as u32).map(|lane| LaneSteps::new(rails, lane, node)).collect();
        let blocks = Blocks::new(node_ranks, rails, chunks);
        Self {
            node_ranks,
            rails,
            chunks,
            rank,
            node,
            node_trees,
            own,
            blocks,
            by_lane,
            hops: Vec::new(),
            shuffles: Vec::new(),
        }
    }

    /// Whether there are stages inside nodes.
    pub fn inside(&self) -> bool {
        self.node_ranks.widest() > 1
    }

    /// One step of a chunk between nodes, in all lanes of this rank; `place`: where positions of a rail are. Backwards
    /// it is a step of a doubling.
    pub fn exchange(
        &mut self,
        step: u32,
        chunk: u32,
        backwards: bool,
        place: impl Fn(&Self, Rail, &Range<u32>) -> Parts,
    ) {
        let Some(own) = self.own else { return };
        let (lanes, runs) = (self.rails.lanes().len() as u32, self.rails.runs());
        for lane in self.rails.lanes_of(own) {
            let rail = Rail { lane, chunk };
            let halving = &self.by_lane[lane as usize].halving;
            let at = if backwards { halving.len() - 1 - step as usize } else { step as usize };
            let hops = halving[at].ends(backwards).into_iter().map(|(action, node, run, positions)| {
                // Every message of a lane and a chunk has a round of its own, for they share the links of the host.
                let in_order = ((step * self.chunks + chunk) * lanes + lane) * runs + run;
                let round = Round { stage: u16::from(self.inside()), step: in_order };
                let peer = NodeTrees::aggregator(self.node_ranks, node, own, self.rails.aggregators());
                let parts = place(self, rail, &positions);
                let turn = step * self.chunks + chunk;
                Hop { action, peer, parts, round, tag: in_order % TAGS, turn, after: Vec::new() }
            });
            let hops: Vec<Hop> = hops.collect();
            self.hops.extend(hops);
        }
    }

    /// The runs of a piece of a lane, numbered.
    pub fn runs(&self, lane: u32, piece: u32) -> Vec<(u32, Range<u32>)> {
        (0..).zip(self.by_lane[lane as usize].pieces[piece as usize].runs().iter().cloned()).collect()
    }

    /// Number of a run of a piece, among those of all rails.
    pub fn numbered(&self, piece: u32, rail: Rail, run: u32) -> u32 {
        (piece * self.blocks.rails() + self.blocks.number(rail)) * self.rails.runs() + run
    }

    /// Copies a run of the stage from the input, or to the output.
    pub fn shuffle(&mut self, staged: Parts, space: Space) {
        let slices = self.blocks.slices_at(staged);
        let copied = match space {
            Space::Output => shuffled(&mut self.shuffles, Space::Stage, space, (staged.first..).zip(slices)),
            _ => shuffled(&mut self.shuffles, space, Space::Stage, slices.zip(staged.first..)),
        };
        if let Some((action, parts)) = copied {
            self.push(action, self.rank, parts, (Round { stage: 0, step: 0 }, 0, 0));
        }
    }

    /// Adds a hop with its round, tag and turn.
    pub fn push(&mut self, action: Action, peer: Rank, parts: Parts, (round, tag, turn): (Round, u32, u32)) {
        self.hops.push(Hop { action, peer, parts, round, tag, turn, after: Vec::new() });
    }

    /// The plan; `staged`: whether there is a stage.
    pub fn finish(self, staged: bool) -> RankPlan {
        let parts = self.node_ranks.ranks() * self.blocks.slices();
        let order = if staged { self.blocks.into_order() } else { Vec::new() };
        let staged = order.len() as u32;
        RankPlan { staged, order, shuffles: self.shuffles, ..RankPlan::new(self.rank, parts, self.hops) }
    }
}

/// Names of the stages: one between nodes, and where nodes have several ranks one inside them before and after.
pub fn stages(node_ranks: &NodeRanks, [before, between, after]: [&str; 3]) -> Vec<String> {
    let inside = node_ranks.widest() > 1;
    let names = [(inside, before), (true, between), (inside, after)];
    names.into_iter().filter(|&(used, _)| used).map(|(_, name)| name.to_owned()).collect()
}
