//! Predicts what a call takes on the network, to choose the algorithm and the segment.
//!
//! ```text
//!   leaders' plans ─► edges between nodes ─► load of every link ─► nanoseconds per byte of the busiest link
//!                                        └─► the first segment's way through the edges ─► fill
//!   fill + √((bytes × busiest link)² + (messages × gap)²)  =  predicted time
//! ```
//! The least of all candidates and segments wins. All ranks compute the same from the same facts: the rates of the
//! fabric, and what a message costs beyond its bytes, which is its latency and the gap to the next one (α, and the g of
//! the LogGP model). No time measured in the program's calls goes in here: measured calls (`crate::learn`) choose among
//! the candidates that predictions have found. Formulas: `docs/algorithms.md`, "The cost model".

mod demand;
mod exchange;
mod fill;
mod halving;
mod incast;
mod least;
mod overlap;
mod room;
mod rounds;
mod steps;
mod stepwise;

pub use demand::{Demand, Shape, Streams, Talkers, Waits};
pub use exchange::{MOST_RANKS, Rounds};
pub use halving::fastest;
pub use least::least_time;
pub use room::{
    CONFIRMED, LEAST_QUEUE, LOSSLESS, Meeting, exchange_pacing, holds_aggregated, is_fast, is_near, needs_tokens,
    overflowing, overflowing_at_root, queue_bytes, room, shifts_share_nothing,
};
pub use rounds::{Place, Round, RoundCost, RoundCosts, Transfer};
pub use steps::{ring_evenness, ring_excess};
pub(crate) use stepwise::together;
pub use stepwise::{Step, Steps};

use crate::topology::Topology;

/// Nodes up to which all pairs of them are looked at, some 100 ms of work.
const MOST_PAIRED: u32 = 512;

/// Segments that are tried, bytes: powers of two, above 1 MiB each four times the one before, and what just fits an
/// eager limit of 64 KiB with its header.
pub const SEGMENTS: [u64; 16] = [
    512 << 17,
    512 << 15,
    512 << 13,
    512 << 11,
    512 << 10,
    512 << 9,
    512 << 8,
    512 << 7,
    60 << 10,
    512 << 6,
    512 << 5,
    512 << 4,
    512 << 3,
    512 << 2,
    512 << 1,
    512,
];

/// Bytes per segment of blocks that are gathered or scattered by way of other ranks, for which it is the best, or
/// aggregated, where the environment does not say (docs/benchmarks.md, "Segments of what gathers, scatters and
/// aggregates").
pub const SEGMENT: u64 = 8 << 10;

/// Bytes that a segment adds on the wire: MPI's header, and that of a packet that would else be full. Measured with
/// long vectors along a chain over 10 Mbit/s: 80 bytes for segments of 512, 40 for those of 1024.
const HEADER: f64 = 80.0;

/// What a message costs beyond its bytes, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// From the sending call to the arrival.
    pub latency: f64,
    /// Between two messages of one host.
    pub gap: f64,
}

impl Message {
    /// On the network of `topology`.
    pub fn of(topology: &Topology) -> Self {
        let cost = topology.message_cost();
        let nanoseconds = |microseconds: Option<f64>| microseconds.unwrap_or(0.0) * 1e3;
        Self { latency: nanoseconds(cost.latency_us), gap: nanoseconds(cost.gap_us) }
    }

    /// One that costs so many times as much.
    pub fn times(self, factor: f64) -> Self {
        Self { latency: self.latency * factor, gap: self.gap * factor }
    }
}

/// A predicted time and the segment it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes per segment.
    pub segment: u64,
    /// Nanoseconds.
    pub time: f64,
    /// The same where messages, beside bytes, are as cheap as they may be, and as dear.
    pub ends: [f64; 2],
    /// Bytes that a stream may have under way where it meets others in a queue that is known; `None`: as many as it
    /// likes.
    pub under_way: Option<u64>,
    /// How far it may go ahead of them, where that matters more than what the queue holds.
    pub ahead: Option<Ahead>,
}

/// How far a stream may go ahead of others that it meets in a queue, where a rank passes on what it receives: so many
/// bytes, or so many segments if that is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Bytes.
    pub bytes: u64,
    /// Segments.
    pub segments: u64,
}

impl Prediction {
    /// How many times as long it takes as what is best at either end, at the worse one. `least`: see [`best_times`].
    pub fn regret(&self, least: [f64; 2]) -> f64 {
        let times = |end: usize| self.ends[end] / least[end].max(f64::MIN_POSITIVE);
        times(0).max(times(1))
    }
}

/// The least times of `predictions` at each end.
pub fn best_times(predictions: impl Iterator<Item = Prediction>) -> [f64; 2] {
    predictions.fold([f64::INFINITY; 2], |least, p| [p.ends[0].min(least[0]), p.ends[1].min(least[1])])
}

/// Which segments may be used, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// The best of those up to this one, or the smallest.
    AtMost(u64),
    /// This one.
    Exactly(u64),
}

/// The segment with which `demand` is fastest for vectors of `bytes`. Where a message may cost, beside bytes, from
/// `ends[0]` to `ends[1]` times as much as `message`, the one that is at worst the least slower than what is best at
/// either end.
pub fn predict(demand: &Demand, (message, ends): (Message, [f64; 2]), bytes: u64, segments: Segments) -> Prediction {
    let of = |segment: u64| {
        let bytes = bytes as f64;
        let sent = bytes * (1.0 + HEADER / (segment as f64).min(bytes.max(1.0)));
        let time = |times: f64| demand.time(message.times(times), sent, segment as f64 + HEADER);
        let at_one = time(1.0);
        let ends = ends.map(|end| if end == 1.0 { at_one } else { time(end) });
        Prediction { segment, time: at_one, ends, under_way: None, ahead: None }
    };
    let smallest = SEGMENTS[SEGMENTS.len() - 1];
    let most = match segments {
        Segments::AtMost(most) => most.max(smallest),
        Segments::Exactly(segment) => return of(segment),
    };
    let tried = || SEGMENTS.into_iter().filter(|&s| s <= most).map(of);
    let least = best_times(tried());
    // Of two that are as good as equal, the one with fewer messages.
    let better = |best: Prediction, next: Prediction| {
        if next.regret(least) < best.regret(least) * 0.99 { next } else { best }
    };
    tried().reduce(better).unwrap_or_else(|| of(smallest))
}
