//! Allgather: the second half of an Allreduce by doubling, or around a ring, alone.
//!
//! ```text
//!   node gather ─► double dimension 1 ─► double dimension 0 ─► node bcast
//!   size     1  →          4          →         16         →      P          blocks, of 4 × 4 nodes
//! ```
//! Every aggregator collects the blocks of the ranks that it serves. What it has and receives it spreads in its node at once, piece by
//! piece. A rail whose positions are neighbours in the result too works there, the others in the stage, from where pieces are copied.
//! Source: algorithms document, section 2.

use super::blocks::{Blocks, Course, Rail};
use super::board::{Board, Slip};
use super::rails::Rails;
use super::staging::shuffled;
use super::two_level_ring::Seats;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use std::ops::Range;

/// Tags every MPI library has (MPI 4.0 section 9.1.2).
const TAGS: u32 = 1 << 15;

/// Names of the stages; `between`: of that between nodes.
pub fn allgather_stages(seats: &Seats, between: &str) -> Vec<String> {
    let inside = seats.widest() > 1;
    let names = [(inside, "node gather"), (true, between), (inside, "node bcast")];
    names.into_iter().filter(|&(used, _)| used).map(|(_, name)| name.to_owned()).collect()
}

/// Plan of `rank` for Allgather, with the share of every lane cut in `chunks`.
pub fn allgather(seats: &Seats, rails: &Rails, chunks: u32, rank: Rank) -> RankPlan {
    Spread::new(seats, rails, chunks, rank).plan()
}

/// One rank's plan under construction.
struct Spread<'r> {
    seats: &'r Seats,
    rank: Rank,
    node: u32,
    aggregators: u32,
    board: Board<'r>,
    /// The aggregator that this rank is.
    own: Option<u32>,
    blocks: Blocks<'r>,
    courses: Vec<Course>,
    /// Whether a lane of an aggregator works in the stage.
    stages: Vec<Vec<bool>>,
    hops: Vec<Hop>,
    shuffles: Vec<Vec<crate::schedule::Run>>,
}

impl<'r> Spread<'r> {
    fn new(seats: &'r Seats, rails: &'r Rails, chunks: u32, rank: Rank) -> Self {
        let (node, _) = seats.seat(rank);
        let aggregators = rails.aggregators();
        let blocks = Blocks::new(seats, rails, chunks);
        let board = Board::new(seats, rank, aggregators);
        let courses: Vec<Course> = (0..blocks.lanes()).map(|lane| Course::new(rails, lane, node)).collect();
        let stages = |aggregator, lane: u32| {
            let course = &courses[lane as usize];
            let rail = Rail { aggregator, lane, chunk: 0 };
            let apart =
                |positions: &Range<u32>| blocks.unstaged(blocks.staged(rail, positions), Space::Output).is_none();
            course.pieces().iter().any(apart) || course.halving.iter().any(|transfer| apart(&transfer.received))
        };
        let stages = (0..aggregators).map(|a| (0..blocks.lanes()).map(|lane| stages(a, lane)).collect()).collect();
        let own = (0..aggregators).find(|&a| board.is(a));
        let (hops, shuffles) = (Vec::new(), Vec::new());
        Self { seats, rank, node, aggregators, board, own, blocks, courses, stages, hops, shuffles }
    }

    fn plan(mut self) -> RankPlan {
        let (chunks, lanes) = (self.blocks.chunks, self.blocks.lanes());
        let steps = self.courses.first().map_or(0, |course| course.halving.len() as u32);
        for chunk in 0..chunks {
            self.blocks.rails_of(chunk).for_each(|rail| self.collect(rail));
        }
        self.spread(0);
        for step in 0..steps {
            let Some(aggregator) = self.own else {
                self.spread(step + 1);
                continue;
            };
            for (chunk, lane) in (0..chunks).flat_map(|c| (0..lanes).map(move |l| (c, l))) {
                let transfer = self.courses[lane as usize].halving[(steps - 1 - step) as usize].clone();
                let rail = Rail { aggregator, lane, chunk };
                let in_order = (step * chunks + chunk) * lanes + lane;
                let round = Round { stage: u16::from(self.inside()), step: in_order };
                let turn = step * chunks + chunk;
                for (action, peer, positions) in
                    [(Action::Send, transfer.from, &transfer.received), (Action::Recv, transfer.to, &transfer.sent)]
                {
                    let peer = Board::aggregator(self.seats, peer, aggregator, self.aggregators);
                    self.push(action, peer, self.place(rail, positions), (round, in_order % TAGS, turn));
                }
            }
            self.spread(step + 1);
        }
        let is_staged = self.stages.iter().flatten().any(|&staged| staged);
        let order = if is_staged { std::mem::take(&mut self.blocks.order) } else { Vec::new() };
        let (staged, parts) = (order.len() as u32, self.seats.ranks() * self.blocks.slices());
        RankPlan { staged, order, shuffles: self.shuffles, ..RankPlan::new(self.rank, parts, self.hops) }
    }

    fn inside(&self) -> bool {
        self.seats.widest() > 1
    }

    /// Where positions of a rail are at this rank.
    fn place(&self, rail: Rail, positions: &Range<u32>) -> Parts {
        let staged = self.blocks.staged(rail, positions);
        let unstaged = self.blocks.unstaged(staged, Space::Output).filter(|_| !self.is_staged(rail));
        unstaged.unwrap_or(staged)
    }

    fn is_staged(&self, rail: Rail) -> bool {
        self.stages[rail.aggregator as usize][rail.lane as usize]
    }

    /// Brings the blocks that are served to the aggregator of a rail.
    fn collect(&mut self, rail: Rail) {
        let (slice, slices) = (self.blocks.slice(rail), self.blocks.slices());
        let ranks = self.blocks.served(self.node, rail.aggregator);
        let is_aggregator = self.own == Some(rail.aggregator);
        let position = self.courses[rail.lane as usize].position;
        let first = self.place(rail, &(position..position + 1));
        for (&served, nth) in ranks.iter().zip(0..) {
            let round = Round { stage: 0, step: nth * slices + slice };
            let parts = Parts { first: first.first + nth, count: 1, ..first };
            let own = self.blocks.slice_of(rail, Space::Input, self.rank);
            match (is_aggregator, served == self.rank) {
                (true, true) => self.push(Action::Copy { from: own }, self.rank, parts, (round, slice, 0)),
                (true, false) => self.push(Action::Recv, served, parts, (round, slice, 0)),
                (false, true) => self.push(Action::Send, ranks[0], own, (round, slice, 0)),
                (false, false) => {}
            }
        }
    }

    /// Spreads in the node what its aggregators have got in a step, counted from 1; their own blocks are piece 0.
    fn spread(&mut self, piece: u32) {
        let steps = self.courses.first().map_or(0, |course| course.halving.len() as u32);
        for chunk in 0..self.blocks.chunks {
            for rail in self.blocks.rails_of(chunk) {
                let course = &self.courses[rail.lane as usize];
                let positions = course.pieces()[(steps - piece) as usize].clone();
                let parts = self.place(rail, &positions);
                let number = self.blocks.slices() + piece * self.blocks.count() + self.blocks.number(rail);
                let slip = Slip {
                    stage: u16::from(self.inside()) * 2,
                    rail: number % TAGS,
                    turn: (steps + piece) * self.blocks.chunks + chunk,
                };
                let before = self.hops.len();
                self.board.bcast(&mut self.hops, rail.aggregator, parts, slip);
                if self.is_staged(rail) {
                    let slices = &self.blocks.order[parts.first as usize..parts.end() as usize];
                    let places = (parts.first..).zip(slices.iter().copied());
                    let copied = shuffled(&mut self.shuffles, Space::Stage, Space::Output, places);
                    if let Some((action, parts)) = copied {
                        self.push(action, self.rank, parts, (Round { stage: slip.stage, step: 0 }, 0, 0));
                    }
                }
                self.keep_contribution(before, piece);
            }
        }
    }

    /// In place the own block of a rank is its contribution: it must have been sent before it is overwritten, by the same.
    fn keep_contribution(&mut self, from: usize, piece: u32) {
        if piece > 0 {
            return;
        }
        let is_given = |hop: &Hop| hop.action == Action::Send && hop.parts.space == Space::Input;
        let given: Vec<u32> = (0..).zip(&self.hops).filter(|(_, hop)| is_given(hop)).map(|(at, _)| at).collect();
        let writes = |hop: &&mut Hop| hop.action != Action::Send && hop.parts.space == Space::Output;
        self.hops[from..].iter_mut().filter(writes).for_each(|hop| hop.after.clone_from(&given));
    }

    fn push(&mut self, action: Action, peer: Rank, parts: Parts, (round, tag, turn): (Round, u32, u32)) {
        self.hops.push(Hop { action, peer, parts, round, tag, turn, after: Vec::new() });
    }
}
