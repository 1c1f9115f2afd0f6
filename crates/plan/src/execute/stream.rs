//! The progress of one hop: its units, cut into segments that are started, arrive and are done in order.

use super::transport::{Label, Region};
use std::collections::VecDeque;

/// Counters of one hop. Always `done ≤ arrived ≤ posted ≤ segments`.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// First unit and one past the last.
    begin: u64,
    end: u64,
    /// Units per segment, except the last.
    length: u64,
    /// Number of segments; 1 for a token.
    pub segments: u64,
    /// Segments handed to the transport.
    pub posted: u64,
    /// Segments whose transfer, and that of all earlier ones, is complete.
    pub arrived: u64,
    /// Segments that are finished: for a combination, combined; otherwise the same as `arrived`.
    pub done: u64,
    /// Completion of the segments `arrived..posted`.
    pending: VecDeque<bool>,
    /// First of this hop's scratch segments.
    pub scratch: u32,
}

impl Stream {
    pub fn new(units: (u64, u64), length: u64, token: bool) -> Self {
        let (begin, end) = units;
        let segments = if token { 1 } else { (end - begin).div_ceil(length) };
        Self { begin, end, length, segments, posted: 0, arrived: 0, done: 0, pending: VecDeque::new(), scratch: 0 }
    }

    pub fn finished(&self) -> bool {
        self.done == self.segments
    }

    /// Units of segments that are not done.
    pub fn remaining(&self) -> u64 {
        (self.end - self.begin).saturating_sub(self.done * self.length)
    }

    /// Units of segments that have been started and are not done.
    pub fn under_way(&self) -> u64 {
        self.segment(self.posted).0.min(self.end) - self.segment(self.done).0.min(self.end)
    }

    /// First unit and number of units of a segment.
    pub fn segment(&self, index: u64) -> (u64, u64) {
        let start = self.begin + index * self.length;
        (start, self.length.min(self.end - start.min(self.end)))
    }

    /// What tells the segments of a stream of this tag apart from others.
    pub fn label(&self, tag: u32) -> Label {
        Label { tag, stream: self.end - self.begin, segment: self.length }
    }

    /// Whether all units this hop shares with `start..start + units` are done.
    pub fn is_done_with(&self, start: u64, units: u64) -> bool {
        let needed = (start + units).min(self.end);
        needed <= start.max(self.begin) || self.finished() || self.begin + self.done * self.length >= needed
    }

    pub fn post(&mut self) {
        self.posted += 1;
        self.pending.push_back(false);
    }

    /// Notes that a segment's transfer is complete.
    pub fn complete(&mut self, segment: u64) {
        if let Some(flag) = segment.checked_sub(self.arrived).and_then(|i| self.pending.get_mut(i as usize)) {
            *flag = true;
        }
        while self.pending.front() == Some(&true) {
            self.pending.pop_front();
            self.arrived += 1;
        }
    }

    /// The scratch segment that segment `index` lands in, of the `ring` segments the hop owns.
    pub fn slot(&self, index: u64, ring: u64) -> Region {
        Region::Scratch(self.scratch + (index % ring) as u32)
    }
}
