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

/// Segments that each stream of a Reduce may have under way where streams meet, or what the link carries if that is
/// more. A leaf has all of its vector at once, and what it sends ahead is in a queue before what the root waits for
/// (docs/decisions/0010).
const OF_REDUCE: u64 = 8;

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

    /// Segments of so many bytes that each stream of a Reduce may have under way; `None` where no streams meet.
    pub fn window_of_reduce(&self, segment: u64, message: Message) -> Option<u64> {
        let window = |link: &(u32, f64)| OF_REDUCE.max(self.carried(link.1, message) / segment);
        self.links.iter().map(window).min()
    }

    /// What a link carries while a message goes there and back, twice: as much may be under way however short queues
    /// are.
    fn carried(&self, per_byte: f64, message: Message) -> u64 {
        (4.0 * (message.latency + self.latency) / per_byte) as u64
    }
}
