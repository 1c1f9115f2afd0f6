//! Sends that are ready: lowest turn, then lowest segment number first, ties in list order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sends in the order in which they are to start, by the segment that is next. Most often there are one or two.
#[derive(Debug)]
pub(super) struct Ready {
    /// The first and the second, [`Key::MAX`] where there is none.
    first: Key,
    second: Key,
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

/// How many segments of the send at `own`, from its next one on, come before `other`; at least that one.
#[inline]
pub(super) fn run_before(own: Key, other: Key) -> u64 {
    let others = other.saturating_sub(own).saturating_sub(1) >> 32;
    u64::try_from(others).unwrap_or(u64::MAX).saturating_add(1)
}

impl Ready {
    /// None.
    pub fn new() -> Self {
        Self { first: Key::MAX, second: Key::MAX, others: BinaryHeap::new() }
    }

    /// The first, or [`Key::MAX`].
    #[inline]
    pub fn first(&self) -> Key {
        self.first
    }

    #[inline]
    pub fn push(&mut self, key: Key) {
        if key < self.first {
            let later = std::mem::replace(&mut self.second, self.first);
            self.first = key;
            self.keep(later);
        } else if key < self.second {
            let later = std::mem::replace(&mut self.second, key);
            self.keep(later);
        } else {
            self.keep(key);
        }
    }

    /// Keeps one that comes after the second, if it is one.
    #[inline]
    fn keep(&mut self, key: Key) {
        if key != Key::MAX {
            self.others.push(Reverse(key));
        }
    }

    /// Takes the first out, or returns [`Key::MAX`].
    #[inline]
    pub fn pop(&mut self) -> Key {
        let first = self.first;
        self.first = self.second;
        if self.second != Key::MAX {
            self.second =
                if self.others.is_empty() { Key::MAX } else { self.others.pop().map_or(Key::MAX, |next| next.0) };
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_out_in_order_whatever_order_they_went_in() {
        let keys: Vec<Key> = (0..40u32).map(|n| key(n % 3, u64::from(n * 29 % 7), n * 17 % 40)).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let mut ready = Ready::new();
        keys.iter().for_each(|&key| ready.push(key));
        assert_eq!(ready.first(), sorted[0]);
        let popped: Vec<Key> = (0..keys.len()).map(|_| ready.pop()).collect();
        assert_eq!(popped, sorted);
        assert_eq!([ready.pop(), ready.first()], [Key::MAX; 2]);
    }

    /// Counts what the definition says, segment by segment.
    #[test]
    fn a_run_ends_where_another_send_goes_first() {
        for (own_hop, other_hop) in [(1, 2), (2, 1)] {
            for own in 0..4 {
                for other in own + u64::from(own_hop > other_hop)..8 {
                    let before =
                        (own..100).take_while(|&next| key(5, next, own_hop) < key(5, other, other_hop)).count();
                    let run = run_before(key(5, own, own_hop), key(5, other, other_hop));
                    assert_eq!(run, before as u64, "hop {own_hop} at {own}, hop {other_hop} at {other}");
                }
            }
        }
        // Of another turn: more than any send has.
        assert!(run_before(key(1, 7, 3), key(2, 0, 0)) > 1 << 63);
        assert_eq!(run_before(key(1, 7, 3), Key::MAX), u64::MAX);
        // One that goes although another precedes it.
        assert_eq!(run_before(key(2, 0, 0), key(1, 7, 3)), 1);
    }
}
