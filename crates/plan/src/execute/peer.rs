//! The sends of a run to one peer, and which of them may start.

use super::stream::{MOST_UNCONFIRMED, NONE};
use crate::schedule::Connection;

/// Streams to one peer that never wait for one another: what a tree has at most, two halves in two directions.
const STREAMS: usize = 4;

/// Confirmations that may be outstanding: where segments go one way, and where they also come back. There a
/// confirmation arrives behind what its sender has sent before, up to a window: with two of them a rank would wait for
/// the other's data again and again while its own link is idle.
const UNCONFIRMED: [u32; 2] = [2, MOST_UNCONFIRMED as u32];

/// Segments from one synchronous one to the next, at most, unless the peer has received what lies between: of calls
/// with one segment each, a rank is never as many as 256 ahead of another.
const CONFIRMED: u64 = 63;

/// The sends of a run to one peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Synchronous sends under way.
    pub unconfirmed: u32,
    /// With how many of these sends wait.
    most_unconfirmed: u32,
    /// Segments from one synchronous one to the next.
    pub every: u64,
    /// Where its segments are counted.
    pub counter: u32,
    /// The first unfinished sends of the list, or [`NONE`]: these never wait for one another.
    first: [u32; STREAMS],
    /// The next of the connection's sends to become one of them.
    next: usize,
    /// Sends that have found no credit.
    pub parked: Vec<u32>,
}

impl Peer {
    /// `window`: segments of a stream that may be unreceived, at least 2; `finished`: of a hop.
    pub fn new(connection: &Connection, counter: u32, window: u64, finished: impl Fn(u32) -> bool) -> Self {
        let is_two_way = !connection.sends.is_empty() && !connection.receives.is_empty();
        let most_unconfirmed = UNCONFIRMED[usize::from(is_two_way)].min((window - 1).clamp(2, 4) as u32);
        let mut peer = Self {
            unconfirmed: 0,
            most_unconfirmed,
            // So many confirmations may be outstanding, and a stream's one forced segment.
            every: ((window - 1) / u64::from(most_unconfirmed)).clamp(1, CONFIRMED),
            counter,
            first: [NONE; STREAMS],
            next: 0,
            parked: Vec::new(),
        };
        for at in 0..STREAMS {
            peer.first[at] = peer.following(connection, &finished);
        }
        peer
    }

    fn following(&mut self, connection: &Connection, finished: impl Fn(u32) -> bool) -> u32 {
        let left = connection.sends[self.next..].iter();
        let found = left.enumerate().find(|&(_, &hop)| !finished(hop));
        let (passed, hop) = found.map_or((connection.sends.len() - self.next, NONE), |(at, &hop)| (at + 1, hop));
        self.next += passed;
        hop
    }

    /// Takes note of segments that calls before this one have sent, in all or by one of its streams, and that may be
    /// unreceived: calls in which nothing came back leave up to half a window.
    pub fn carry(&mut self, sent: u64) {
        let groups = (sent / self.every).min(2) as u32;
        self.most_unconfirmed = self.most_unconfirmed.min(MOST_UNCONFIRMED as u32 - groups);
    }

    /// Whether sends need not wait for a confirmation.
    #[inline]
    pub fn is_confirmed(&self) -> bool {
        self.unconfirmed < self.most_unconfirmed
    }

    /// Whether `hop`, one of its sends, may start a segment; `is_idle`: nothing of it is under way.
    #[inline]
    pub fn has_credit(&self, hop: u32, is_idle: bool) -> bool {
        self.is_confirmed() || is_idle && self.first.contains(&hop)
    }

    /// Takes note that `hop` has finished; the send that takes its place among the first, or [`NONE`].
    pub fn finish(&mut self, hop: u32, connection: &Connection, finished: impl Fn(u32) -> bool) -> u32 {
        let Some(at) = self.first.iter().position(|&first| first == hop) else { return NONE };
        self.first[at] = self.following(connection, finished);
        self.first[at]
    }
}
