//! Sends that are ready: lowest turn, then lowest segment number first, ties in list order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sends in the order in which they are to start, by the segment that is next.
#[derive(Debug, Default)]
pub(super) struct Ready(BinaryHeap<Reverse<u128>>);

/// Place of a send in the order.
pub(super) type Key = u128;

/// Where a send of that turn stands whose next segment is `segment`.
#[inline]
pub(super) fn key(turn: u32, segment: u64, hop: u32) -> Key {
    u128::from(turn) << 96 | u128::from(segment) << 32 | u128::from(hop)
}

/// Hop and segment of a place in the order.
#[inline]
pub(super) fn of_key(key: Key) -> (u32, u64) {
    (key as u32, (key >> 32) as u64)
}

impl Ready {
    #[inline]
    pub fn push(&mut self, key: Key) {
        self.0.push(Reverse(key));
    }

    #[inline]
    pub fn first(&self) -> Option<Key> {
        self.0.peek().map(|first| first.0)
    }

    /// Adds a send, and takes out the one that goes first.
    #[inline]
    pub fn exchange(&mut self, key: Key) -> Key {
        match self.0.peek_mut() {
            Some(mut first) if first.0 < key => std::mem::replace(&mut *first, Reverse(key)).0,
            _ => key,
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Key> {
        self.0.pop().map(|first| first.0)
    }
}
