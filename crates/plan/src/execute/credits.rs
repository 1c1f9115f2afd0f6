//! Credits: what a rank may have sent to each peer that has not been received.

use super::spare::Spare;
use crate::schedule::Rank;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Segments sent since the last synchronous one, by stream (peer and tag) and by peer (all tags), kept from run to run
/// on the same connections.
#[derive(Clone, Debug, Default)]
pub struct Credits {
    counters: HashMap<(Rank, Option<u32>), u32, BuildHasherDefault<Multiplied>>,
    sent: Vec<u64>,
    /// Memory of the run before.
    pub(super) spare: Spare,
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
