//! What the network was measured to do, without collectives.

use serde::{Deserialize, Serialize};

/// A test of [`Message`].
pub const LATENCY: &str = "latency";
/// A test of [`Message`].
pub const GAP: &str = "gap";

/// Messages sent at the same time, all of the same size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// `pair`: the first host to one half way across; `across`: every host to the one half way on; `next`: every host
    /// to the next.
    pub test: String,
    /// Senders and receivers, as ranks.
    pub flows: Vec<(u32, u32)>,
    /// Bytes of every message.
    pub bytes: u64,
    /// Until the last has arrived: median over the iterations.
    pub seconds: f64,
    /// The least time by the fabric's rates; `None` where the program does not know the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// What a message costs beside the time its bytes are on the links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// [`LATENCY`]: half the round trip between the first host and the one half way across, all others waiting;
    /// [`GAP`]: from one message to the next at a host, while every host streams to the next.
    pub test: String,
    /// Senders and receivers, as ranks.
    pub flows: Vec<(u32, u32)>,
    /// Bytes of a message.
    pub bytes: u64,
    /// Median over the repetitions.
    pub microseconds: f64,
    /// What of a [`LATENCY`] the links take, by the file of the fabric that Nagare was told; otherwise 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
