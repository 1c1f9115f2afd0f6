//! The progress of one hop: its units, cut into segments that are started, arrive and are done in order.

use super::transport::{Label, Place, Region};
use crate::schedule::{Action, Dependencies, Hop, Source, Space};

/// No hop, no segment.
pub(super) const NONE: u32 = u32::MAX;

/// Segments that a stream may have sent synchronously for the sake of credit and not seen confirmed.
pub(super) const MOST_UNCONFIRMED: usize = 4;

/// What kind of hop it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    Recv,
    Reduce,
    /// A copy or a shuffle.
    Copy,
}

/// Where a send stands whose next segment has its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has nothing to send yet.
    Idle,
    /// Among the sends that are ready.
    Ready,
    /// Too far ahead of what is to be received before it.
    Ahead,
    /// Without credit.
    Parked,
}

/// Counters of one hop. Always `done ≤ posted ≤ segments`.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub kind: Kind,
    /// Whether others go on when this one is done with a segment, and whether this one waits for others so.
    pub has_followers: bool,
    pub waits_for_data: bool,
    /// Whether it reads nothing but the contribution, in a buffer that is never written: nobody waits for it segment by
    /// segment.
    pub is_harmless: bool,
    /// Of a send: where its data is, and its connection. Of a combination: what it is combined with.
    pub source: Source,
    pub connection: u32,
    /// First unit and one past the last.
    begin: u64,
    end: u64,
    /// Units per segment, except the last.
    length: u64,
    /// Number of segments; 1 for a token.
    pub segments: u64,
    /// Segments handed to the transport.
    pub posted: u64,
    /// Of a send: segments whose data is known to be there.
    pub free: u64,
    /// Of a combination: segments that have arrived.
    pub arrived: u64,
    /// Segments that are finished: combined, or transferred.
    pub done: u64,
    /// Of a send or a receive: nothing but counting is to be done before so many segments are done.
    pub quiet: u64,
    /// Of a send: of several that are ready the lowest goes first.
    pub turn: u32,
    /// Segments that were sent synchronously for the sake of credit and are under way.
    pub unconfirmed: [Option<u64>; MOST_UNCONFIRMED],
    /// Where what is received or copied goes.
    pub region: Region,
    /// Of a combination whose result is wanted in another region than its units are of: how far on, modulo 2⁶⁴.
    pub moved: u64,
    /// Of a combination: whether segments are received to where they are wanted, and the contribution is added there;
    /// else into scratch segments.
    pub is_direct: bool,
    /// Where the contribution is in the input, of what is not copied to the staging space: places of
    /// [`super::executor::Executor`], the first and one past the last.
    pub own: (u32, u32),
    /// First of this hop's scratch segments.
    pub scratch: u32,
    /// The combination that used these scratch segments before, and the one that does next, or [`NONE`].
    pub scratch_before: u32,
    pub scratch_after: u32,
    /// Unfinished hops that it waits for as a whole.
    pub waits_for: u32,
    /// It has something left to start and waits for no hop as a whole.
    pub is_open: bool,
    /// It is among those that are to be looked at.
    pub is_due: bool,
    /// Of a send.
    pub standing: Standing,
    /// Whether it is in its connection's list of those without credit, for good or no longer.
    pub is_listed: bool,
    /// Of a send, where its segments are counted from call to call, or [`NONE`] before the first.
    pub counter: u32,
}

/// Where what is received or copied into a space goes.
pub(super) const fn result_of(space: Space) -> Region {
    match space {
        Space::Stage => Region::Stage,
        Space::Vector | Space::Input | Space::Output => Region::Output,
    }
}

impl Stream {
    /// `units`: the first, and one past the last.
    pub fn new(hop: &Hop, dependencies: &Dependencies, (begin, end): (u64, u64), length: u64) -> Self {
        let segments = if hop.parts.count == 0 { 1 } else { (end - begin).div_ceil(length) };
        Self {
            kind: match hop.action {
                Action::Send => Kind::Send,
                Action::Recv => Kind::Recv,
                Action::Reduce => Kind::Reduce,
                Action::Copy { .. } | Action::Shuffle { .. } => Kind::Copy,
            },
            has_followers: !dependencies.followers.is_empty(),
            waits_for_data: !dependencies.data.is_empty(),
            is_harmless: false,
            source: dependencies.source,
            connection: dependencies.connection,
            begin,
            end,
            length,
            segments,
            posted: 0,
            free: 0,
            arrived: 0,
            done: 0,
            quiet: 0,
            turn: hop.turn,
            unconfirmed: [None; MOST_UNCONFIRMED],
            region: result_of(hop.parts.space),
            moved: 0,
            is_direct: false,
            own: (0, 0),
            scratch: 0,
            scratch_before: NONE,
            scratch_after: NONE,
            waits_for: 0,
            is_open: false,
            is_due: false,
            standing: Standing::Idle,
            is_listed: false,
            counter: NONE,
        }
    }

    #[inline]
    pub fn finished(&self) -> bool {
        self.done == self.segments
    }

    /// Nothing of it is to be done.
    pub fn leave_out(&mut self) {
        (self.posted, self.arrived, self.done) = (self.segments, self.segments, self.segments);
    }

    /// Units of segments that are not done.
    pub fn remaining(&self) -> u64 {
        (self.end - self.begin).saturating_sub(self.done * self.length)
    }

    /// Units of segments that have been handed to the transport.
    pub fn started(&self) -> u64 {
        (self.posted * self.length).min(self.end - self.begin)
    }

    /// First unit and number of units of a segment.
    #[inline]
    pub fn segment(&self, index: u64) -> (u64, u64) {
        let start = self.begin + index * self.length;
        (start, self.length.min(self.end - start.min(self.end)))
    }

    /// First unit and number of units of the segments from `first` on, up to `end` or the last.
    #[inline]
    pub fn segments_between(&self, first: u64, end: u64) -> (u64, u64) {
        let start = self.begin + first * self.length;
        (start, ((end - first) * self.length).min(self.end - start))
    }

    /// How many segments there are whose units all come before `unit`.
    #[inline]
    pub fn segments_before(&self, unit: u64) -> u64 {
        if unit >= self.end { self.segments } else { unit.saturating_sub(self.begin) / self.length }
    }

    /// What tells the segments of a stream of this tag apart from others.
    pub fn label(&self, tag: u32) -> Label {
        Label { tag, stream: self.end - self.begin, segment: self.length }
    }

    /// Up to which unit, of those from `start` on, none is left to this hop.
    #[inline]
    pub fn done_until(&self, start: u64) -> u64 {
        let is_past = self.end <= start || self.finished() || self.is_harmless;
        if is_past { u64::MAX } else { self.begin + self.done * self.length }
    }

    /// Where segment `index`, of so many units, of a combination lands, of the `ring` scratch segments that it owns.
    #[inline]
    pub fn landing(&self, index: u64, (start, units): (u64, u64), ring: u64) -> Place {
        if self.is_direct {
            Place { region: self.region, start: start.wrapping_add(self.moved), units }
        } else {
            Place { region: self.slot(index, ring), start: 0, units }
        }
    }

    /// The scratch segment that segment `index` lands in, of the `ring` segments the hop owns.
    #[inline]
    pub fn slot(&self, index: u64, ring: u64) -> Region {
        Region::Scratch(self.scratch + (index % ring) as u32)
    }

    /// Takes note that the last segment posted must be confirmed.
    #[inline]
    pub fn expect_confirmation(&mut self) {
        // There are never more: a stream sends one more only if it has none, or the peer has fewer.
        debug_assert!(self.unconfirmed.contains(&None), "a confirmation would be lost");
        if let Some(free) = self.unconfirmed.iter_mut().find(|segment| segment.is_none()) {
            *free = Some(self.posted - 1);
        }
    }

    /// How many of the confirmations that were waited for have come, by the segments that are done.
    #[inline]
    pub fn confirmed(&mut self) -> u32 {
        let mut confirmed = 0;
        while self.unconfirmed[0].is_some_and(|segment| segment < self.done) {
            self.unconfirmed.rotate_left(1);
            self.unconfirmed[MOST_UNCONFIRMED - 1] = None;
            confirmed += 1;
        }
        confirmed
    }

    /// How many segments from `first` on are as long as that one, at most `most`, and have no more than `room` units
    /// together; at least that one.
    #[inline]
    pub fn alike(&self, first: u64, most: u64, room: u64) -> u64 {
        let full = (self.end - self.begin) / self.length;
        most.min(full.saturating_sub(first)).min(room / self.length).max(1)
    }

    /// Works out how long completions need nothing but counting; `bounded`: by the bounds of an exchange.
    #[inline]
    pub fn be_quiet(&mut self, bounded: bool) {
        if bounded || self.has_followers {
            return;
        }
        let confirmation = self.unconfirmed[0].map_or(u64::MAX, |segment| segment + 1);
        let idle = if self.standing == Standing::Parked { self.posted } else { u64::MAX };
        self.quiet = self.segments.min(confirmation).min(idle);
    }
}
