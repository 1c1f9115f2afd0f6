//! The blocks of all ranks on rails: what Reduce_scatter and Allgather have in common.
//!
//! ```text
//!   stage │ aggregator 0, lane 0, chunk 0                     │ aggregator 0, lane 0, chunk 1 │ …      rail by rail
//!         │ position 0    │ position 1    │ position 2    │ … │
//!         │ slice of the blocks of the ranks that aggregator 0 of the node at this position serves
//! ```
//! A block is cut into a slice for every lane and chunk. A rail carries that slice of the blocks of the ranks that its aggregators
//! serve: those of a range of slots of their node, so that nodes may have any number of ranks. What a node holds after a step is a run
//! of positions, and so a run of the stage.

use super::rails::{Rails, Transfer};
use super::two_level_ring::Seats;
use crate::schedule::{Parts, Rank, Space};
use std::ops::Range;

/// Where every slice of every block is in the stage.
#[derive(Clone, Debug)]
pub struct Blocks<'r> {
    seats: &'r Seats,
    rails: &'r Rails,
    /// Chunks of a lane.
    pub chunks: u32,
    /// The slice at every place of the stage: `rank · slices + slice`.
    pub order: Vec<u32>,
    /// Place of every position of every rail, and one past the last.
    places: Vec<u32>,
}

/// One rail: aggregator, lane and chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rail {
    /// Aggregator of every node.
    pub aggregator: u32,
    /// Order of dimensions.
    pub lane: u32,
    /// Number in the lane.
    pub chunk: u32,
}

impl<'r> Blocks<'r> {
    /// The blocks of all ranks on `rails`, each lane in `chunks`; O(ranks · slices).
    pub fn new(seats: &'r Seats, rails: &'r Rails, chunks: u32) -> Self {
        let mut blocks = Self { seats, rails, chunks, order: Vec::new(), places: vec![0] };
        let nodes = rails.nodes();
        let lanes = rails.lanes().len() as u32;
        let owners: Vec<Vec<u32>> = (0..lanes)
            .map(|lane| {
                let mut owner = vec![0; nodes as usize];
                (0..nodes).for_each(|node| owner[rails.position(lane, node) as usize] = node);
                owner
            })
            .collect();
        for aggregator in 0..rails.aggregators() {
            for (lane, chunk) in (0..lanes).flat_map(|lane| (0..chunks).map(move |chunk| (lane, chunk))) {
                let slice = blocks.slice(Rail { aggregator, lane, chunk });
                for &node in &owners[lane as usize] {
                    let ranks = blocks.served(node, aggregator);
                    let slices = blocks.slices();
                    blocks.order.extend(ranks.iter().map(|rank| rank * slices + slice));
                    blocks.places.push(blocks.order.len() as u32);
                }
            }
        }
        blocks
    }

    /// All rails, in the order in which what they carry is needed: chunks one after another.
    pub fn rails_of(&self, chunk: u32) -> impl Iterator<Item = Rail> + use<> {
        let lanes = self.lanes();
        (0..self.rails.aggregators())
            .flat_map(move |aggregator| (0..lanes).map(move |lane| Rail { aggregator, lane, chunk }))
    }

    /// Number of lanes.
    pub fn lanes(&self) -> u32 {
        self.rails.lanes().len() as u32
    }

    /// Slices of a block.
    pub fn slices(&self) -> u32 {
        self.lanes() * self.chunks
    }

    /// Number of rails.
    pub fn count(&self) -> u32 {
        self.rails.aggregators() * self.slices()
    }

    /// The slice that a rail carries of the blocks it serves.
    pub fn slice(&self, rail: Rail) -> u32 {
        rail.lane * self.chunks + rail.chunk
    }

    /// Number of a rail among all.
    pub fn number(&self, rail: Rail) -> u32 {
        rail.aggregator * self.slices() + self.slice(rail)
    }

    /// Ranks of a node that an aggregator serves: itself first.
    pub fn served(&self, node: u32, aggregator: u32) -> &'r [Rank] {
        let ranks = self.seats.on(node);
        let bound = |aggregator: u32| aggregator as usize * ranks.len() / self.rails.aggregators() as usize;
        &ranks[bound(aggregator)..bound(aggregator + 1)]
    }

    /// The aggregator that serves a rank, and the rank's number among those that it serves.
    pub fn server(&self, rank: Rank) -> (u32, u32) {
        let (node, _) = self.seats.seat(rank);
        let all = (0..self.rails.aggregators()).map(|a| (a, self.served(node, a)));
        let found = all.filter_map(|(a, served)| Some((a, served.iter().position(|&r| r == rank)? as u32))).next();
        found.unwrap_or((0, 0))
    }

    /// Positions of a rail in the stage.
    pub fn staged(&self, rail: Rail, positions: &Range<u32>) -> Parts {
        let base = self.number(rail) * self.rails.nodes();
        let place = |position: u32| self.places[(base + position) as usize];
        let first = place(positions.start);
        Parts { space: Space::Stage, first, count: place(positions.end) - first }
    }

    /// One place of the stage: the slice of the `nth` rank that is served of a position.
    pub fn staged_of(&self, rail: Rail, position: u32, nth: u32) -> Parts {
        let first = self.staged(rail, &(position..position + 1)).first + nth;
        Parts { space: Space::Stage, first, count: 1 }
    }

    /// The slice of a rank's block that a rail carries, in the program's buffers.
    pub fn slice_of(&self, rail: Rail, space: Space, rank: Rank) -> Parts {
        Parts { space, first: rank * self.slices() + self.slice(rail), count: 1 }
    }

    /// The slices at a run of the stage, if they are neighbours in the program's buffers too: where they are there.
    pub fn unstaged(&self, staged: Parts, space: Space) -> Option<Parts> {
        let slices = &self.order[staged.first as usize..staged.end() as usize];
        let first = *slices.first()?;
        slices.iter().zip(first..).all(|(&slice, next)| slice == next).then_some(Parts { space, first, ..staged })
    }
}

/// What a node does on a lane.
#[derive(Clone, Debug)]
pub struct Course {
    /// The steps of its halving.
    pub halving: Vec<Transfer>,
    /// The position that it owns after them.
    pub position: u32,
}

impl Course {
    /// The course of `node` on a lane.
    pub fn new(rails: &Rails, lane: u32, node: u32) -> Self {
        Self { halving: rails.halving(lane, node), position: rails.position(lane, node) }
    }

    /// All positions in pieces: what is sent in each step of the halving, and last what the node owns.
    pub fn pieces(&self) -> Vec<Range<u32>> {
        let sent = self.halving.iter().map(|transfer| transfer.sent.clone());
        sent.chain([self.position..self.position + 1]).collect()
    }

    /// Number of pieces, from the first on, that a step of the halving works on.
    pub fn needed(&self, step: u32) -> u32 {
        let received = &self.halving[step as usize].received;
        let overlaps = |piece: &Range<u32>| piece.start < received.end && received.start < piece.end;
        self.pieces().iter().rposition(overlaps).map_or(0, |last| last as u32 + 1).max(step + 1)
    }
}
