//! A short test of the network in a job of which nobody has measured it: what to measure next within a budget, and what
//! that says of messages and links (docs/decisions/0022). Pure: the caller sends the messages, and hands in the times
//! that all ranks have agreed on, so that all of them do the same.
//!
//! ```text
//!   round trip ─► round trips ─► stream of 1 ─► of 4 ─► of 32 ─► shift of 8K ─► 16K ─► 32K … ─► stream of 32
//!    connects      latency         connects      └──gap──┘         rate of a host, as long as      gap, if that
//!                                                                  the next one fits               still fits
//! ```
//! Of each node one rank takes part. Where a fabric's file tells how fast links are, only the gap is measured: the
//! latency of a round trip would contain that of the links, which predictions add.

use crate::fabric::MessageCost;
use crate::topology::{Costs, Topology};

/// Round trips that count, at most, and their part of the budget.
const TRIPS: u32 = 16;
const SHARE_OF_TRIPS: f64 = 0.2;

/// Short messages of streams: of one that opens connections, and of two by whose difference the gap is found, which
/// leaves the way of the last one out.
const CONNECTING: u32 = 1;
const FEW: u32 = 4;
const MANY: u32 = 32;

/// Of what the long stream took, so much at least is taken to be gaps; of what a shift took, its bytes', whatever the
/// latency.
const LEAST_COUNTED: f64 = 0.25;

/// Bytes of the first shift and of the longest.
const FIRST_SHIFT: u64 = 8 << 10;
const LONGEST_SHIFT: u64 = 1 << 20;

/// The longest shift counts, since packets that pass at once are the least of it, but a rank may have lost its
/// processor in it: the rate is at least so much of that of the one before.
const LEAST_OF_BEFORE: f64 = 0.5;

/// The first shift, of which nobody knows how long it takes, needs so much of the budget.
const SHARE_OF_FIRST_SHIFT: f64 = 0.2;

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

/// A test under way, or at its end. All times are nanoseconds.
#[derive(Clone, Debug)]
pub struct SelfTest {
    budget: f64,
    knows_links: bool,
    /// What was begun last, and what had passed before.
    stage: Option<Stage>,
    elapsed: f64,
    /// What ranks took last to agree.
    agreeing: f64,
    latency: Option<f64>,
    /// What the short stream took, and the long one.
    few: f64,
    many: f64,
    gap: Option<f64>,
    /// Mbit/s.
    goodput: Option<f64>,
}

impl SelfTest {
    /// Whether a test would find something on the network of `topology` that is not known, by measurement or by a
    /// fabric's file.
    pub fn is_due(topology: &Topology) -> bool {
        topology.node_count() > 1 && !topology.is_measured()
    }

    /// A test that may take about so many nanoseconds: nothing is begun that does not seem to fit, but how long the
    /// first messages take nobody knows.
    pub fn new(topology: &Topology, budget: u64) -> Self {
        Self {
            budget: budget as f64,
            knows_links: topology.network().is_some(),
            stage: None,
            elapsed: 0.0,
            agreeing: 0.0,
            latency: None,
            few: 0.0,
            many: 0.0,
            gap: None,
            goodput: None,
        }
    }

    /// What is measured next, `None` at the end. `took`: nanoseconds that the stage before took the slowest rank;
    /// `elapsed`: since the test began, 0 before its first stage. Both are the same on all ranks.
    pub fn next(&mut self, took: u64, elapsed: u64) -> Option<Stage> {
        let (took, elapsed) = (took as f64, elapsed as f64);
        self.agreeing = (elapsed - self.elapsed - took).max(0.0);
        self.elapsed = elapsed;
        let left = self.budget - elapsed - self.agreeing;
        let fits = |estimate: f64| estimate <= left;
        let latency = self.latency.unwrap_or(0.0);
        self.stage = match self.stage {
            None if self.knows_links => Some(Stage::Stream(CONNECTING)),
            None => Some(Stage::RoundTrips(1)),
            // It may have opened a connection: those that count take less.
            Some(Stage::RoundTrips(1)) => {
                let trips = ((self.budget * SHARE_OF_TRIPS / took.max(1.0)) as u32).clamp(2, TRIPS);
                fits(took * f64::from(trips)).then_some(Stage::RoundTrips(trips))
            }
            Some(Stage::RoundTrips(trips)) => {
                let trip = took / f64::from(trips);
                self.latency = Some(trip / 2.0);
                fits(trip).then_some(Stage::Stream(CONNECTING))
            }
            Some(Stage::Stream(CONNECTING)) => fits(took).then_some(Stage::Stream(FEW)),
            Some(Stage::Stream(FEW)) => {
                self.few = took;
                fits(took * f64::from(MANY / FEW)).then_some(Stage::Stream(MANY))
            }
            Some(Stage::Stream(_)) => {
                let gap = (took - self.few).max(took * LEAST_COUNTED) / f64::from(MANY - FEW);
                let is_second = self.gap.is_some();
                self.gap = Some(self.gap.map_or(gap, |other| other.min(gap)));
                self.many = took;
                match self.knows_links {
                    _ if is_second => None,
                    true => self.second_stream(fits),
                    false => fits(self.budget * SHARE_OF_FIRST_SHIFT).then_some(Stage::Shift(FIRST_SHIFT)),
                }
            }
            Some(Stage::Shift(bytes)) => {
                let goodput = bytes as f64 * 8e3 / (took - latency).max(took * LEAST_COUNTED).max(1.0);
                self.goodput = Some(self.goodput.map_or(goodput, |before| goodput.max(before * LEAST_OF_BEFORE)));
                let goes_on = bytes < LONGEST_SHIFT && fits(2.0 * took);
                if goes_on { Some(Stage::Shift(2 * bytes)) } else { self.second_stream(fits) }
            }
        };
        self.stage
    }

    /// The long stream once more, if it fits: in the first a rank may have lost its processor.
    fn second_stream(&self, fits: impl Fn(f64) -> bool) -> Option<Stage> {
        fits(self.many.min(self.few * f64::from(MANY / FEW))).then_some(Stage::Stream(MANY))
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
