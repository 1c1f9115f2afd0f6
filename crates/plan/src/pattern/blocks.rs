//! The blocks of all ranks on rails: what Reduce_scatter and Allgather have in common.
//!
//! ```text
//!   stage │ lane 0, chunk 0                               │ lane 0, chunk 1 │ …      rail by rail
//!         │ position 0    │ position 1    │ position 2 … │
//!         │ its slice of the blocks of the ranks that the lane's aggregator of the node at this position serves
//! ```
//! A block is cut into a slice for every lane and chunk of an aggregator. A rail carries that slice of the blocks of
//! the ranks that its aggregators serve: those of a range of slots of their node, so that nodes may have any number of
//! ranks. What a node holds after a step is a run of positions, and so a run of the stage.

use super::rails::Rails;
use crate::schedule::{Parts, Rank, Space};
use crate::topology::NodeRanks;
use std::ops::Range;

/// Where every slice of every block is in the stage.
#[derive(Clone, Debug)]
pub struct Blocks<'r> {
    node_ranks: &'r NodeRanks,
    rails: &'r Rails,
    chunks: u32,
    /// The slice at every place of the stage: `rank · slices + slice`.
    order: Vec<u32>,
    /// Place of every position of every rail, and one past the last.
    places: Vec<u32>,
}

/// A chunk of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Number of the lane, through all aggregators of a node.
    pub lane: u32,
    /// Number in the lane.
    pub chunk: u32,
}

impl<'r> Blocks<'r> {
    /// The blocks of all ranks on `rails`, each lane in `chunks`; O(ranks · slices).
    pub fn new(node_ranks: &'r NodeRanks, rails: &'r Rails, chunks: u32) -> Self {
        let mut blocks = Self { node_ranks, rails, chunks, order: Vec::new(), places: vec![0] };
        let slices = blocks.slices();
        for lane in 0..rails.lanes().len() as u32 {
            let mut owners = vec![0; rails.nodes() as usize];
            (0..rails.nodes()).for_each(|node| owners[rails.position(lane, node) as usize] = node);
            for rail in (0..chunks).map(|chunk| Rail { lane, chunk }) {
                let slice = blocks.slice(rail);
                for &node in &owners {
                    let ranks = blocks.served(node, rails.aggregator_of(lane));
                    blocks.order.extend(ranks.iter().map(|rank| rank * slices + slice));
                    blocks.places.push(blocks.order.len() as u32);
                }
            }
        }
        blocks
    }

    /// The slice at every place of the stage.
    pub fn into_order(self) -> Vec<u32> {
        self.order
    }

    /// Slices of a block.
    pub fn slices(&self) -> u32 {
        self.rails.lanes_of(0).len() as u32 * self.chunks
    }

    /// Number of rails.
    pub fn rails(&self) -> u32 {
        self.rails.lanes().len() as u32 * self.chunks
    }

    /// Number of a rail among all.
    pub fn number(&self, rail: Rail) -> u32 {
        rail.lane * self.chunks + rail.chunk
    }

    /// The slice that a rail carries of the blocks it serves.
    pub fn slice(&self, rail: Rail) -> u32 {
        self.number(rail) % self.slices()
    }

    /// Ranks of a node that an aggregator serves: itself first.
    pub fn served(&self, node: u32, aggregator: u32) -> &'r [Rank] {
        let ranks = self.node_ranks.on(node);
        let bound = |aggregator: u32| aggregator as usize * ranks.len() / self.rails.aggregators() as usize;
        &ranks[bound(aggregator)..bound(aggregator + 1)]
    }

    /// Positions of a rail in the stage.
    pub fn staged(&self, rail: Rail, positions: &Range<u32>) -> Parts {
        let base = self.number(rail) * self.rails.nodes();
        let place = |position: u32| self.places[(base + position) as usize];
        let first = place(positions.start);
        Parts { space: Space::Stage, first, count: place(positions.end) - first }
    }

    /// The slice of a rank's block that a rail carries, in the program's buffers.
    pub fn slice_of(&self, rail: Rail, space: Space, rank: Rank) -> Parts {
        Parts { space, first: rank * self.slices() + self.slice(rail), count: 1 }
    }

    /// The slices at a run of the stage.
    pub fn slices_at(&self, staged: Parts) -> impl Iterator<Item = u32> + '_ {
        self.order[staged.first as usize..staged.end() as usize].iter().copied()
    }

    /// Where the slices at a run of the stage are in the program's buffers, if they are neighbours there too.
    pub fn unstaged(&self, staged: Parts, space: Space) -> Option<Parts> {
        let first = self.slices_at(staged).next()?;
        self.slices_at(staged).eq(first..first + staged.count).then_some(Parts { space, first, ..staged })
    }
}
