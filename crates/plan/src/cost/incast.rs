//! Incast: streams of a pipeline that meet in a queue.
//!
//! ```text
//!   one child   ──► half 0 ──┐
//!                            ├─►│▒▒▒▒▒▒ queue ▒▒▒▒▒▒│──► parent       two streams: one passes, the other waits
//!   other child ──► half 0 ──┘
//! ```
//! What waits must fit the queue (docs/decisions/0010): a sender that loses the last packets of a message notices after
//! a timeout.

use super::Message;
use crate::topology::Wires;

/// The queues, between switches or before a host, in which several streams meet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incast {
    /// Streams, and the nanoseconds that the link behind the queue needs per byte; each pair once.
    links: Vec<(u32, f64)>,
    /// The longest latency of a way, nanoseconds.
    latency: f64,
}

impl Incast {
    /// Of so many streams over every link, on average where a hash chooses, and ways of this latency at most.
    pub fn new(streams: &[f64], wires: &Wires, latency: f64) -> Self {
        let link = |(link, &streams): (u32, &f64)| (streams.round() as u32, wires.per_byte(link));
        let mut links: Vec<(u32, f64)> = (0..).zip(streams).map(link).filter(|&(streams, _)| streams > 1).collect();
        links.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        links.dedup();
        Self { links, latency }
    }

    /// Bytes that each stream may have under way where every queue holds so many; `None`: as many as it likes, as one
    /// that is alone, with which congestion control has no trouble. Of what s streams bring at once the link takes one
    /// of s parts meanwhile, and the others wait.
    pub fn share_of(&self, queue: u64, message: Message) -> Option<u64> {
        let share =
            |&(streams, per_byte): &(u32, f64)| (queue / u64::from(streams - 1)).max(self.carried(per_byte, message));
        self.links.iter().map(share).min()
    }

    /// Bytes that each may have under way where those that meet in the queue of the fewest have so many waiting
    /// together, or what the slowest link carries while a message goes there and back, twice; `None` where none meet.
    pub fn share_of_fewest(&self, waiting: u64, message: Message) -> Option<u64> {
        let fewest = self.links.first()?.0;
        Some((waiting / u64::from(fewest - 1)).max(self.least_carried(message)?))
    }

    /// Bytes that the slowest link carries while a message goes there and back, twice; `None` where no streams meet.
    pub fn least_carried(&self, message: Message) -> Option<u64> {
        self.links.iter().map(|link| self.carried(link.1, message)).min()
    }

    /// What a link carries while a message goes there and back, twice: as much may be under way however short queues
    /// are.
    fn carried(&self, per_byte: f64, message: Message) -> u64 {
        (4.0 * (message.latency + self.latency) / per_byte) as u64
    }
}
