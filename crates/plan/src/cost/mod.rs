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
mod fill;
mod halving;
mod least;
mod overlap;
mod room;
mod steps;
mod stepwise;

pub use demand::{Demand, Shape, Streams};
pub use halving::fastest;
pub use least::least_time;
pub use room::{LOSSLESS, Meeting, exchange_pacing, needs_tokens, room};
pub use steps::ring_excess;
pub(crate) use stepwise::together;
pub use stepwise::{Step, Steps};

use crate::fabric::MessageCost;

/// Latency of a message where nothing is known: TCP between two hosts, microseconds.
const DEFAULT_LATENCY_US: f64 = 20.0;
/// Gap between the messages of one host where nothing is known, microseconds: over TCP a host that sends and receives
/// has 6.8 to 8.2 of software on a core of its own (docs/algorithms.md, "The cost model").
const DEFAULT_GAP_US: f64 = 7.0;

/// Nodes up to which all pairs of them are looked at, some 100 ms of work.
const MOST_PAIRED: u32 = 512;

/// Segments that are tried, bytes: powers of two, and what just fits an eager limit of 64 KiB with its header.
pub const SEGMENTS: [u64; 13] = [
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

/// What a message costs beyond its bytes, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// From the sending call to the arrival.
    pub latency: f64,
    /// Between two messages of one host.
    pub gap: f64,
}

impl From<MessageCost> for Message {
    fn from(cost: MessageCost) -> Self {
        Self {
            latency: cost.latency_us.unwrap_or(DEFAULT_LATENCY_US) * 1e3,
            gap: cost.gap_us.unwrap_or(DEFAULT_GAP_US) * 1e3,
        }
    }
}

/// A predicted time and the segment it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes per segment.
    pub segment: u64,
    /// Nanoseconds.
    pub time: f64,
}

/// Which segments may be used, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segments {
    /// The best of those up to this one, or the smallest.
    AtMost(u64),
    /// This one.
    Exactly(u64),
}

/// The segment with which `demand` is fastest for vectors of `bytes`.
pub fn predict(demand: &Demand, message: Message, bytes: u64, segments: Segments) -> Prediction {
    let of = |segment: u64| Prediction { segment, time: demand.time(message, bytes as f64, segment as f64) };
    let smallest = SEGMENTS[SEGMENTS.len() - 1];
    let most = match segments {
        Segments::AtMost(most) => most.max(smallest),
        Segments::Exactly(segment) => return of(segment),
    };
    let tried = SEGMENTS.into_iter().filter(|&s| s <= most).map(of);
    // Of two that are as good as equal, the one with fewer messages.
    tried.reduce(|best, next| if next.time < best.time * 0.99 { next } else { best }).unwrap_or_else(|| of(smallest))
}
