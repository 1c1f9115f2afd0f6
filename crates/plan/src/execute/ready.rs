//! Sends that are ready: lowest turn, then lowest segment number first, ties in list order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sends in the order in which they are to start, by the segment that is next. Most often there is one.
#[derive(Debug)]
pub(super) struct Ready {
    /// [`Key::MAX`] where there is none.
    first: Key,
    others: BinaryHeap<Reverse<Key>>,
}

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
    /// None.
    pub fn new() -> Self {
        Self { first: Key::MAX, others: BinaryHeap::new() }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == Key::MAX
    }

    #[inline]
    pub fn push(&mut self, key: Key) {
        let later = self.first.max(key);
        self.first = self.first.min(key);
        if later != Key::MAX {
            self.others.push(Reverse(later));
        }
    }

    #[inline]
    pub fn first(&self) -> Option<Key> {
        (!self.is_empty()).then_some(self.first)
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Key> {
        let first = self.first()?;
        self.first = if self.others.is_empty() { Key::MAX } else { self.others.pop().map_or(Key::MAX, |next| next.0) };
        Some(first)
    }
}
