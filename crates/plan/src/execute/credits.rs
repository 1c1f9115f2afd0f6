//! Credits: what a rank may have sent to each peer that has not been received.

use super::stream::NONE;
use crate::schedule::{Connection, Rank};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Streams to one peer that never wait for one another: what a tree has at most, two halves in two directions.
const STREAMS: usize = 4;

/// Segments sent since the last synchronous one, by stream (peer and tag) and by peer (all tags), kept from run to run
/// on the same connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    counters: HashMap<(Rank, Option<u32>), u32, BuildHasherDefault<Multiplied>>,
    sent: Vec<u64>,
}

/// A hash for small numbers that no stranger chooses: looked up once for each stream of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing; the table takes its index from the low bits and a mark from the high ones.
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

impl Credits {
    /// Where the segments to `peer` are counted, with that tag or with all.
    pub(super) fn counter(&mut self, peer: Rank, tag: Option<u32>) -> u32 {
        let next = self.sent.len() as u32;
        let counter = *self.counters.entry((peer, tag)).or_insert(next);
        if counter == next {
            self.sent.push(0);
        }
        counter
    }

    /// Counts one segment in both; true if it must be synchronous: one in `every` of either, or as `forced`.
    #[inline]
    pub(super) fn spend(&mut self, counters: [u32; 2], every: u64, forced: bool) -> bool {
        let mut synchronous = forced;
        for counter in counters {
            let sent = &mut self.sent[counter as usize];
            *sent += 1;
            synchronous |= *sent >= every;
        }
        if synchronous {
            counters.iter().for_each(|&counter| self.sent[counter as usize] = 0);
        }
        synchronous
    }
}

/// The sends of a run to one peer.
#[derive(Debug)]
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
