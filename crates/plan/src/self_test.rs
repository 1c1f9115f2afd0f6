//! A short test of the network in a job of which nobody has measured it: what to measure next within a budget, and what
//! that says of messages and links (docs/decisions/0022). Pure: the caller sends the messages, and hands in the times
//! that all ranks have agreed on, so that all of them do the same.
//!
//! ```text
//!   round trip ─► round trips ─► stream of 4 ─► stream of 32 ─► shift of 4K ─► 8K ─► 16K …   as long as the next
//!    connects      latency         connects         gap                 rate of a host         fits into the budget
//! ```
//! Of each node one rank takes part. Where a fabric's file tells how fast links are, only the gap is measured: the
//! latency of a round trip would contain that of the links, which predictions add.

use crate::fabric::MessageCost;
use crate::topology::{Costs, Topology};

/// Round trips that count, at most, and their part of the budget.
const TRIPS: u32 = 16;
const SHARE_OF_TRIPS: f64 = 0.2;

/// Short messages of a stream: those that open connections, and those that count.
const FIRST_STREAM: u32 = 4;
const STREAM: u32 = 32;

/// Bytes of the first shift and of the longest: the last one counts.
const FIRST_SHIFT: u64 = 4 << 10;
const LONGEST_SHIFT: u64 = 1 << 20;

/// Of what a shift took, so much at least is taken to be its bytes', whatever the latency.
const LEAST_OF_SHIFT: f64 = 0.25;

/// Messages at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A short message to and fro so often, between the first node and the one in the middle.
    RoundTrips(u32),
    /// So many short messages from each node to the next.
    Stream(u32),
    /// So many bytes from each node to the next.
    Shift(u64),
}

/// A test under way, or at its end.
#[derive(Clone, Debug)]
pub struct SelfTest {
    /// Nanoseconds that it may take.
    budget: f64,
    knows_links: bool,
    /// What was begun last.
    stage: Option<Stage>,
    /// What was found, nanoseconds.
    latency: Option<f64>,
    gap: Option<f64>,
    /// Mbit/s.
    goodput: Option<f64>,
}

impl SelfTest {
    /// A test of the network of `topology` that may take so many nanoseconds; `None` where what it would find is known,
    /// by measurement or by a fabric's file.
    pub fn new(topology: &Topology, budget: u64) -> Option<Self> {
        let knows_links = topology.network().is_some();
        let is_due = topology.node_count() > 1 && !topology.is_measured();
        let fresh =
            || Self { budget: budget as f64, knows_links, stage: None, latency: None, gap: None, goodput: None };
        is_due.then(fresh)
    }

    /// What is measured next, `None` at the end. `took`: nanoseconds that the stage before took the slowest rank;
    /// `elapsed`: since the test began. Both are the same on all ranks.
    pub fn next(&mut self, took: u64, elapsed: u64) -> Option<Stage> {
        let (took, left) = (took as f64, self.budget - elapsed as f64);
        self.stage = match self.stage {
            None if self.knows_links => Some(Stage::Stream(FIRST_STREAM)),
            None => Some(Stage::RoundTrips(1)),
            // It may have opened a connection: those that count take less.
            Some(Stage::RoundTrips(1)) => {
                let trips = (self.budget * SHARE_OF_TRIPS / took.max(1.0)) as u32;
                (trips > 0).then_some(Stage::RoundTrips(trips.clamp(2, TRIPS)))
            }
            Some(Stage::RoundTrips(trips)) => {
                self.latency = Some(took / (2.0 * f64::from(trips)));
                Some(Stage::Stream(FIRST_STREAM))
            }
            Some(Stage::Stream(FIRST_STREAM)) => {
                let next = took * f64::from(STREAM / FIRST_STREAM);
                (next <= left).then_some(Stage::Stream(STREAM))
            }
            Some(Stage::Stream(messages)) => {
                self.gap = Some(took / f64::from(messages));
                (!self.knows_links).then_some(Stage::Shift(FIRST_SHIFT))
            }
            Some(Stage::Shift(bytes)) => {
                let latency = self.latency.unwrap_or(0.0);
                self.goodput = Some(bytes as f64 * 8e3 / (took - latency).max(took * LEAST_OF_SHIFT).max(1.0));
                (bytes < LONGEST_SHIFT && 2.0 * took <= left).then_some(Stage::Shift(2 * bytes))
            }
        };
        self.stage
    }

    /// What the test has found, `None` if the budget was too short for all that is needed: what messages cost means
    /// little where it is not known what bytes cost.
    pub fn found(&self) -> Option<Costs> {
        let microseconds = |nanoseconds: Option<f64>| nanoseconds.map(|nanoseconds| nanoseconds * 1e-3);
        let gap_us = Some(microseconds(self.gap)?);
        if self.knows_links {
            return Some(Costs { message: MessageCost { latency_us: None, gap_us }, ..Costs::default() });
        }
        let message = MessageCost { latency_us: microseconds(self.latency), gap_us };
        Some(Costs { message, host_goodput: Some(self.goodput?), ..Costs::default() })
    }
}

#[cfg(test)]
mod tests;
