//! Rails: independent halvings and doublings, each of a share of the vector, that use the links of a grid at the same
//! time.
//!
//! ```text
//!   vector │ aggregator 0                      │ aggregator 1                      │   of every node
//!          │ lane 0          │ lane 1          │ lane 2          │ lane 3          │   each in its order of dimensions
//!          │ chunk 0│ chunk 1│ chunk 0│ chunk 1│ …                                     one after another
//! ```
//! Lanes are numbered through all aggregators of a node and have equal shares. A rail, which is a chunk of a lane, has
//! a position for every node: the node's coordinates in the lane's order of dimensions, the first the most significant,
//! each as [`Along`] numbers them. So what a node holds after each step is a run of positions. Source: Japanese patent
//! 7087953 (docs/provenance.md).

use super::along::{Along, Pairs};
use super::lanes::Lane;
use super::stretch::Stretch;
use crate::schedule::Action;
use crate::topology::{Dimension, DimensionOrder, Grid, Line, Origin};
use std::ops::Range;

/// How rails may be laid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RailOptions {
    /// Which dimensions the first lane halves first.
    pub order: DimensionOrder,
    /// Which nodes of a line are partners.
    pub pairs: Pairs,
    /// Ranks of every node that talk to other nodes, at most the ranks of the smallest node; `None` for what the
    /// machine suggests.
    pub aggregators: Option<u32>,
}

/// Pieces in which the share of a lane is cut, each by the least bytes that the first step sends in a lane. Two hide
/// the latency of the steps on a torus; on a tree four let one be between groups while others are inside.
const CHUNKS: [(u64, u32); 3] = [(64 << 10, 4), (16 << 10, 2), (0, 1)];

/// The most of them.
pub const MOST_CHUNKS: u32 = CHUNKS[0].1;

/// In how many chunks the share of a lane is cut, for a vector of `bytes` that the first step cuts in so many pieces
/// ([`Rails::cut`]).
pub fn chunks(cut: u64, bytes: u64) -> u32 {
    let first = bytes / cut.max(1);
    CHUNKS.iter().find(|&&(least, _)| first >= least).map_or(1, |&(_, chunks)| chunks)
}

/// What a node does in one step of a halving: it sends some positions and receives and combines others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The node that is sent to.
    pub to: u32,
    /// Positions sent.
    pub sent: Stretch,
    /// The node that is received from.
    pub from: u32,
    /// Positions received.
    pub received: Stretch,
}

impl Transfer {
    /// What the node does: action, the other node, which run of positions, and the run. `backwards`: in a doubling,
    /// where it sends what it received and receives what it sent.
    pub fn ends(&self, backwards: bool) -> Vec<(Action, u32, u32, Range<u32>)> {
        let (sends, receives) = if backwards {
            // By then all of it is in one buffer.
            let Self { to, from, sent, received } = self.clone().joined();
            ((Action::Send, from, received), (Action::Recv, to, sent))
        } else {
            ((Action::Send, self.to, self.sent.clone()), (Action::Reduce, self.from, self.received.clone()))
        };
        let ends = [sends, receives].into_iter().flat_map(|(action, node, stretch)| {
            (0..).zip(stretch.into_runs()).map(move |(which, run)| (action, node, which, run))
        });
        ends.collect()
    }

    /// The same in as few messages as there can be: where all that is sent is in one buffer.
    pub fn joined(self) -> Self {
        Self { sent: self.sent.joined(), received: self.received.joined(), ..self }
    }
}

/// How a communicator halves and doubles.
#[derive(Clone, Debug)]
pub struct Rails {
    grid: Grid,
    along: Vec<Along>,
    /// Those of the first aggregator, of the second, and so on, as many for each.
    lanes: Vec<Lane>,
    /// Ranks of every node that talk to other nodes, each for its share of the vector.
    aggregators: u32,
    /// Which adapter of its host each of them uses; empty where that is the first.
    adapters: Vec<u32>,
}

impl Rails {
    /// Rails over `grid`: `lanes` of all aggregators one after another, equally many for each; there is at least one of
    /// both.
    pub fn new(grid: Grid, lanes: Vec<Lane>, aggregators: u32, pairs: Pairs) -> Self {
        let along = if grid.is_switched() { Along::switched } else { Along::new };
        let along = grid.dimensions().iter().map(|d| along(d.size, pairs)).collect();
        Self { grid, along, lanes, aggregators, adapters: Vec::new() }
    }

    /// The same where the aggregators of every node use these adapters of its host.
    pub fn over(self, adapters: Vec<u32>) -> Self {
        Self { adapters, ..self }
    }

    /// Rails around a ring, one per aggregator and direction, every step to the next node.
    pub fn around(line: &Line, aggregators: u32) -> Self {
        let grid = Grid::of_line((0..line.nodes()).map(|place| line.after(line.first(), place, 0)).collect());
        let along = vec![Along::around(line.nodes())];
        let lanes = (0..line.lanes()).map(|lane| Lane { order: vec![0], mirrored: lane > 0 }).collect();
        Self { grid, along, lanes, aggregators, adapters: Vec::new() }
    }

    /// Where its dimensions come from.
    pub fn origin(&self) -> Origin {
        self.grid.origin()
    }

    /// Number of nodes, which is the number of positions.
    pub fn nodes(&self) -> u32 {
        self.grid.nodes()
    }

    /// The lanes of all aggregators of a node, numbered one after another.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lanes of one aggregator, by number.
    pub fn lanes_of(&self, aggregator: u32) -> Range<u32> {
        let each = self.lanes.len() as u32 / self.aggregators;
        aggregator * each..(aggregator + 1) * each
    }

    /// The aggregator whose lane it is.
    pub fn aggregator_of(&self, lane: u32) -> u32 {
        lane / (self.lanes.len() as u32 / self.aggregators)
    }

    /// The adapter that a lane's messages use.
    pub fn adapter_of(&self, lane: u32) -> u32 {
        self.adapters.get(self.aggregator_of(lane) as usize).copied().unwrap_or(0)
    }

    /// Aggregators of every node.
    pub fn aggregators(&self) -> u32 {
        self.aggregators
    }

    /// Steps of a halving, the same in all lanes.
    pub fn steps(&self) -> u32 {
        self.along.iter().map(Along::steps).sum()
    }

    /// Into how many pieces the first step cuts the vector, over all lanes.
    pub fn cut(&self) -> u64 {
        let cuts = self.lanes.iter().filter_map(|lane| lane.order.first().map(|&d| self.along[d].cut()));
        let first = cuts.max().unwrap_or(1);
        self.lanes.len() as u64 * u64::from(first)
    }

    /// The most runs of positions that a node sends in a step.
    pub fn runs(&self) -> u32 {
        self.along.iter().map(Along::runs).max().unwrap_or(1)
    }

    /// The steps of a node's halving. Its doubling is the same backwards: it sends what it received and receives what
    /// it sent.
    pub fn halving(&self, lane: u32, node: u32) -> Vec<Transfer> {
        let mut transfers = Vec::with_capacity(self.steps() as usize);
        let (mut base, mut span) = (0, self.nodes());
        let lane = &self.lanes[lane as usize];
        for &dimension in &lane.order {
            let (along, size) = (&self.along[dimension], self.grid.dimensions()[dimension].size);
            let turned = |coordinate: u32| self.turned(lane, dimension, coordinate);
            let own = turned(self.grid.coordinate(node, dimension));
            span /= size;
            let is_first = transfers.is_empty();
            transfers.extend((0..along.steps()).map(|step| {
                let leg = along.leg(own, step);
                let at = |coordinate| self.grid.moved(node, dimension, turned(coordinate));
                let (sent, received) = (leg.sent.spread(base, span), leg.received.spread(base, span));
                let transfer = Transfer { to: at(leg.to), sent, from: at(leg.from), received };
                // After the first dimension everything has been combined.
                if is_first { transfer } else { transfer.joined() }
            }));
            base += along.position(own) * span;
        }
        transfers
    }

    /// The position that a node owns after the halving.
    pub fn position(&self, lane: u32, node: u32) -> u32 {
        let lane = &self.lanes[lane as usize];
        lane.order.iter().fold(0, |position, &dimension| {
            let own = self.turned(lane, dimension, self.grid.coordinate(node, dimension));
            position * self.grid.dimensions()[dimension].size + self.along[dimension].position(own)
        })
    }

    /// A coordinate as a lane counts it, and the other way round.
    fn turned(&self, lane: &Lane, dimension: usize, coordinate: u32) -> u32 {
        let &Dimension { size, closed, .. } = &self.grid.dimensions()[dimension];
        // Where a line has ends, its links are the same backwards.
        if lane.mirrored && closed { (size - coordinate) % size } else { coordinate }
    }
}
