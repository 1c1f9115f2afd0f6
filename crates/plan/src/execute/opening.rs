//! Which hops of the list are worked on: the first unfinished ones, and of these those whose data is there.
//!
//! ```text
//!   list        h0 ✓   h1   h2 ✓   h3   h4   h5 …            taken in: h0 to h4, next: h5
//!   h1 is done with segments ─► its followers are due
//!   h1 finishes              ─► those that waited for it open, h5 is taken in
//! ```

use super::executor::Executor;
use super::stream::{Kind, NONE};
use crate::schedule::{ACTIVE_HOPS, Source};

impl Executor<'_> {
    /// Counts segments that `hop` is done with, and looks at those that wait for it.
    #[inline]
    pub(super) fn is_done_with(&mut self, hop: u32, count: u64) {
        let stream = &mut self.streams[hop as usize];
        let before = stream.done;
        stream.done += count;
        let finished = stream.finished();
        let in_step = match &mut self.bounds {
            Some(bounds) if stream.kind != Kind::Send => {
                bounds.received(hop, stream.segments_between(before, stream.done).1)
            }
            _ => false,
        };
        if stream.has_followers {
            for &follower in &self.program.dependencies[hop as usize].followers {
                self.make_due(follower);
            }
        }
        if finished {
            self.finish(hop);
        }
        if in_step {
            self.bring_into_step();
        }
    }

    /// Has `hop` looked at, if it has something left to start and may.
    #[inline]
    pub(super) fn make_due(&mut self, hop: u32) {
        let stream = &mut self.streams[hop as usize];
        if !stream.is_open || stream.is_due {
            return;
        }
        if stream.kind == Kind::Send {
            self.make_ready(hop);
        } else {
            stream.is_due = true;
            self.due.push_back(hop);
        }
    }

    /// Opens the hops that waited for `hop`, which has finished, and takes in the next ones.
    #[cold]
    pub(super) fn finish(&mut self, hop: u32) {
        self.streams[hop as usize].is_open = false;
        self.unfinished -= 1;
        let dependencies = &self.program.dependencies[hop as usize];
        for &waiting in &dependencies.released {
            let stream = &mut self.streams[waiting as usize];
            stream.waits_for -= 1;
            if stream.waits_for == 0 && waiting < self.next && !stream.finished() {
                stream.is_open = true;
                self.make_due(waiting);
            }
        }
        let writer = if let Source::ScratchOf(writer) = dependencies.source { writer } else { hop };
        for of in [hop, writer] {
            let after = self.streams[of as usize].scratch_after;
            if after != NONE {
                self.make_due(after);
            }
        }
        if self.streams[hop as usize].kind == Kind::Send {
            self.let_another_be_first(hop);
        }
        self.take_in();
    }

    /// Takes in the next hops, in list order.
    pub(super) fn take_in(&mut self) {
        while self.unfinished < ACTIVE_HOPS && (self.next as usize) < self.streams.len() {
            let hop = self.next;
            self.next += 1;
            let stream = &mut self.streams[hop as usize];
            if !stream.finished() {
                self.unfinished += 1;
                stream.is_open = stream.waits_for == 0;
                stream.be_quiet(self.bounds.is_some());
                self.make_due(hop);
            }
        }
        if self.bounds.is_some() {
            self.bring_into_step();
        }
    }

    /// Up to which unit, of those from `start` on, the hops that `hop` waits for are done.
    #[inline]
    pub(super) fn free_until(&self, hop: u32, start: u64) -> u64 {
        if !self.streams[hop as usize].waits_for_data {
            return u64::MAX;
        }
        let data = &self.program.dependencies[hop as usize].data;
        data.iter().fold(u64::MAX, |until, &d| until.min(self.streams[d as usize].done_until(start)))
    }

    /// Up to which segment of `hop` its data is there, if it has begun so many.
    #[inline]
    pub(super) fn free_segments(&self, hop: u32, begun: u64) -> u64 {
        let stream = &self.streams[hop as usize];
        stream.segments_before(self.free_until(hop, stream.segment(begun).0))
    }
}
