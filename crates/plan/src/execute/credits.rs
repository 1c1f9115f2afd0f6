//! Credits: what a rank may have sent to each peer that has not been received.

use super::spare::Spare;
use crate::schedule::Rank;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What is kept from run to run on the same connections.
#[derive(Clone, Debug, Default)]
pub struct Credits {
    pub(super) counts: Counts,
    /// Memory of the run before.
    pub(super) spare: Spare,
}

/// Segments sent since the last that is known to be received, or is synchronous, by stream (peer and tag) and by peer
/// (all tags).
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
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

impl Counts {
    /// Where the segments to `peer` are counted, with that tag or with all.
    pub fn counter(&mut self, peer: Rank, tag: Option<u32>) -> u32 {
        if let Some(&counter) = self.counters.get(&(peer, tag)) {
            return counter;
        }
        let counter = self.sent.len() as u32;
        self.counters.insert((peer, tag), counter);
        self.sent.push(0);
        counter
    }

    /// Segments that are counted there.
    pub fn sent(&self, counter: u32) -> u64 {
        self.sent[counter as usize]
    }

    /// Counts segments in both, at most so many, up to one that must be synchronous, one in `every` of either; how many
    /// these are, and whether the last of them is that one.
    #[inline]
    pub fn spend(&mut self, counters: [u32; 2], every: u64, most: u64) -> (u64, bool) {
        let [stream, peer] = counters;
        let left = every.saturating_sub(self.sent[stream as usize].max(self.sent[peer as usize])).max(1);
        if left <= most {
            self.confirm(counters);
            return (left, true);
        }
        self.count(counters, most);
        (most, false)
    }

    /// Counts so many segments in both, of which none must be synchronous.
    #[inline]
    pub fn count(&mut self, [stream, peer]: [u32; 2], segments: u64) {
        self.sent[stream as usize] += segments;
        self.sent[peer as usize] += segments;
    }

    /// How many segments can be counted in both before one must be synchronous, if so many streams to the peer start as
    /// many each.
    #[inline]
    pub fn unconfirmed(&self, [stream, peer]: [u32; 2], every: u64, streams: u64) -> u64 {
        let left = |counter: u32| every.saturating_sub(1).saturating_sub(self.sent[counter as usize]);
        left(stream).min(left(peer) / streams)
    }

    /// Takes note that all but the last `segments` of those counted there have been received.
    #[inline]
    pub fn keep_at_most(&mut self, counter: u32, segments: u64) {
        let sent = &mut self.sent[counter as usize];
        *sent = segments.min(*sent);
    }

    /// Takes note of a synchronous segment.
    #[inline]
    pub fn confirm(&mut self, [stream, peer]: [u32; 2]) {
        self.sent[stream as usize] = 0;
        self.sent[peer as usize] = 0;
    }
}
