//! Rails: independent halvings and doublings, each of a share of the vector, that use the links of a grid at the same time.
//!
//! ```text
//!   vector │ aggregator 0                      │ aggregator 1                      │     of every node
//!          │ lane 0          │ lane 1          │ lane 0          │ lane 1          │     each with its own order of dimensions
//!          │ chunk 0│ chunk 1│ chunk 0│ chunk 1│ …                                       one after another
//! ```
//! A rail has a position for every node: the node's coordinates in the lane's order of dimensions, the first the most
//! significant, each as [`Along`] numbers them. So what a node holds after each step is a run of positions. Source: algorithms
//! document, section 2.

use super::along::{Along, Pairs};
use super::order::Line;
use crate::topology::Grid;
use std::ops::Range;

/// An order of dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Dimensions by index, the first halved first; those of size 1 may be left out.
    pub order: Vec<usize>,
    /// Whether coordinates are taken backwards around each dimension, which uses the links that the same order leaves idle.
    pub mirrored: bool,
}

/// What a node does in one step of a halving: it sends some positions and receives and combines others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The node that is sent to.
    pub to: u32,
    /// Positions sent.
    pub sent: Range<u32>,
    /// The node that is received from.
    pub from: u32,
    /// Positions received.
    pub received: Range<u32>,
    /// The dimension along which both are.
    pub dimension: usize,
}

/// How a communicator halves and doubles.
#[derive(Clone, Debug)]
pub struct Rails {
    grid: Grid,
    along: Vec<Along>,
    lanes: Vec<Lane>,
    /// Ranks of every node that talk to other nodes, each for its share of the vector.
    aggregators: u32,
}

impl Rails {
    /// Rails over `grid`, one per aggregator and lane; there is at least one of both.
    pub fn new(grid: Grid, lanes: Vec<Lane>, aggregators: u32, pairs: Pairs) -> Self {
        let along = grid.dimensions().iter().map(|d| Along::new(d.size, pairs)).collect();
        Self { grid, along, lanes, aggregators }
    }

    /// Rails around a ring, one per aggregator and direction, every step to the next node.
    pub fn around(line: &Line, aggregators: u32) -> Self {
        let grid = Grid::of_line((0..line.nodes()).map(|place| line.after(line.first(), place, 0)).collect());
        let along = vec![Along::around(line.nodes())];
        let lanes = (0..line.lanes()).map(|lane| Lane { order: vec![0], mirrored: lane > 0 }).collect();
        Self { grid, along, lanes, aggregators }
    }

    /// Number of nodes, which is the number of positions.
    pub fn nodes(&self) -> u32 {
        self.grid.nodes()
    }

    /// The orders of dimensions.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// Aggregators of every node.
    pub fn aggregators(&self) -> u32 {
        self.aggregators
    }

    /// Steps of a halving, the same in all lanes.
    pub fn steps(&self) -> u32 {
        self.along.iter().map(Along::steps).sum()
    }

    /// The steps of a node's halving. Its doubling is the same backwards: it sends what it received and receives what it sent.
    pub fn halving(&self, lane: u32, node: u32) -> Vec<Transfer> {
        let mut transfers = Vec::with_capacity(self.steps() as usize);
        let (mut base, mut span) = (0, self.nodes());
        let lane = &self.lanes[lane as usize];
        for &dimension in &lane.order {
            let (along, size) = (&self.along[dimension], self.grid.dimensions()[dimension].size);
            let turned = |coordinate: u32| if lane.mirrored { (size - coordinate) % size } else { coordinate };
            let own = turned(self.grid.coordinate(node, dimension));
            span /= size;
            let positions = |run: Range<u32>| base + run.start * span..base + run.end * span;
            transfers.extend((0..along.steps()).map(|step| {
                let leg = along.leg(own, step);
                let at = |coordinate| self.grid.moved(node, dimension, turned(coordinate));
                let (sent, received) = (positions(leg.sent), positions(leg.received));
                Transfer { to: at(leg.to), sent, from: at(leg.from), received, dimension }
            }));
            base += along.position(own) * span;
        }
        transfers
    }

    /// The position that a node owns after the halving.
    pub fn position(&self, lane: u32, node: u32) -> u32 {
        let lane = &self.lanes[lane as usize];
        lane.order.iter().fold(0, |position, &dimension| {
            let size = self.grid.dimensions()[dimension].size;
            let coordinate = self.grid.coordinate(node, dimension);
            let own = if lane.mirrored { (size - coordinate) % size } else { coordinate };
            position * size + self.along[dimension].position(own)
        })
    }
}
