//! The sends of a run to one peer, and which of them may start.

use super::stream::NONE;
use crate::schedule::Connection;

/// Streams to one peer that never wait for one another: what a tree has at most, two halves in two directions.
const STREAMS: usize = 4;

/// The sends of a run to one peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Synchronous sends under way.
    pub unconfirmed: u32,
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
    /// `finished`: of a hop.
    pub fn new(connection: &Connection, counter: u32, finished: impl Fn(u32) -> bool) -> Self {
        let mut peer = Self { unconfirmed: 0, counter, first: [NONE; STREAMS], next: 0, parked: Vec::new() };
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

    /// Whether `hop`, one of its sends, may start a segment; `is_idle`: nothing of it is under way.
    #[inline]
    pub fn has_credit(&self, hop: u32, is_idle: bool) -> bool {
        self.unconfirmed < 2 || is_idle && self.first.contains(&hop)
    }

    /// Takes note that `hop` has finished; the send that takes its place among the first, or [`NONE`].
    pub fn finish(&mut self, hop: u32, connection: &Connection, finished: impl Fn(u32) -> bool) -> u32 {
        let Some(at) = self.first.iter().position(|&first| first == hop) else { return NONE };
        self.first[at] = self.following(connection, finished);
        self.first[at]
    }
}
