//! The sends of an executor: which is next, and whether it may start.

use super::executor::Executor;
use super::ready::{Key, key, of_key, run_before};
use super::stream::{NONE, Standing};
use super::transport::{Place, Region, Synchronous, Transport};
use crate::schedule::{Hop, Source};

impl Executor<'_> {
    /// Adds a send to those that are ready if its next segment has its data.
    #[inline]
    pub(super) fn make_ready(&mut self, hop: u32) {
        if self.streams[hop as usize].standing == Standing::Idle && self.has_data(hop) {
            self.queue(hop);
        }
    }

    /// Whether the next segment of a send, if there is one, has its data.
    #[inline]
    fn has_data(&mut self, hop: u32) -> bool {
        let stream = &self.streams[hop as usize];
        if stream.posted == stream.segments {
            return false;
        }
        let free = self.free_segments(hop, stream.posted);
        let stream = &mut self.streams[hop as usize];
        stream.free = free;
        stream.posted < free
    }

    /// Puts a send whose next segment has its data where it waits for its turn.
    fn queue(&mut self, hop: u32) {
        let stream = &mut self.streams[hop as usize];
        match &mut self.bounds {
            // A token has what it waits for in its plan, and others wait for it.
            Some(bounds) if self.program.plan.hops[hop as usize].parts.count > 0 && !bounds.is_in_step(hop) => {
                stream.standing = Standing::Ahead;
                bounds.hold(hop);
            }
            _ => self.stand(hop),
        }
    }

    /// Gives a send its place among those that are ready.
    #[inline]
    pub(super) fn stand(&mut self, hop: u32) {
        let stream = &mut self.streams[hop as usize];
        stream.standing = Standing::Ready;
        let key = key(stream.turn, stream.posted, hop);
        match &mut self.bounds {
            Some(bounds) if bounds.confirms(stream.segment(stream.posted).1) => bounds.ready.push(key),
            _ => self.ready.push(key),
        }
    }

    /// Starts every send that is ready and may.
    #[inline]
    pub(super) fn send<T: Transport>(&mut self, transport: &mut T) -> Result<(), T::Error> {
        while let Some(hop) = self.next_send() {
            self.send_in_turns(hop, transport)?;
        }
        Ok(())
    }

    /// Starts the next segment of `hop`, which has credit, and those after it until another send goes first.
    pub(super) fn send_some<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let stream = &self.streams[hop as usize];
        let first_of_others = match &self.bounds {
            Some(bounds) => self.ready.first().min(bounds.ready.first()),
            None => self.ready.first(),
        };
        let run = run_before(key(stream.turn, stream.posted, hop), first_of_others);
        let until = stream.posted.saturating_add(run);
        self.open_at_first(hop, transport);
        loop {
            let stream = &mut self.streams[hop as usize];
            let peer = &mut self.peers[stream.connection as usize];
            let first = stream.posted;
            // One after another in memory; scratch segments are not.
            let is_run = !matches!(stream.source, Source::ScratchOf(_));
            let most = if is_run { until.min(stream.free) - first } else { 1 };
            let counters = [stream.counter, peer.counter];
            let (count, synchronous) = match &self.bounds {
                Some(bounds) if bounds.confirms(stream.segment(first).1) => {
                    self.counts.confirm(counters);
                    (stream.alike(first, most, bounds.room()), Synchronous::All)
                }
                _ if !peer.is_confirmed() => {
                    self.counts.confirm(counters);
                    (1, Synchronous::Last)
                }
                _ => match self.counts.spend(counters, peer.every, most) {
                    (count, true) => (count, Synchronous::Last),
                    (count, false) => (count, Synchronous::None),
                },
            };
            stream.posted += count;
            match synchronous {
                Synchronous::None => {}
                Synchronous::Last => {
                    peer.unconfirmed += 1;
                    stream.expect_confirmation();
                    stream.be_quiet(self.bounds.is_some());
                }
                Synchronous::All => peer.unconfirmed += count as u32,
            }
            let has_credit = peer.is_confirmed();
            let posted = stream.posted;
            let (start, units) = stream.segments_between(first, posted);
            if let Some(bounds) = &mut self.bounds {
                bounds.start(units);
            }
            let from = self.sent_from(hop, first, (start, units));
            transport.send(hop, from, synchronous)?;
            let ends = posted == self.streams[hop as usize].free;
            if ends || !has_credit || posted >= until || self.bounds.is_some() {
                self.go_on_later(hop);
                return Ok(());
            }
        }
    }

    /// Gives a send that has started segments its place among those that are ready, if it is one of them.
    #[inline]
    pub(super) fn go_on_later(&mut self, hop: u32) {
        let stream = &self.streams[hop as usize];
        if stream.posted < stream.free || self.has_data(hop) {
            self.stand(hop);
            return;
        }
        let stream = &mut self.streams[hop as usize];
        stream.standing = Standing::Idle;
        stream.is_open &= stream.posted < stream.segments;
    }

    /// Where the segments of a send from `first` on are, of these units.
    #[inline]
    pub(super) fn sent_from(&self, hop: u32, first: u64, (start, units): (u64, u64)) -> Place {
        let stream = &self.streams[hop as usize];
        if stream.own.0 == stream.own.1 {
            return self.locate(stream.source, first, start, units);
        }
        // What is not copied to the staging space.
        let own = self.owns[stream.own.0 as usize].within(start, units);
        own.map_or(Place { region: Region::Input, start: 0, units }, |own| own.0)
    }

    /// Has the transport know a send, once, before its first message, and where its segments are counted.
    #[inline]
    pub(super) fn open_at_first<T: Transport>(&mut self, hop: u32, transport: &mut T) {
        if self.streams[hop as usize].counter == NONE {
            self.open(hop, transport);
        }
    }

    fn open<T: Transport>(&mut self, hop: u32, transport: &mut T) {
        let Hop { peer, tag, .. } = *self.hop(hop);
        let stream = &mut self.streams[hop as usize];
        stream.counter = self.counts.counter(peer, Some(tag));
        self.peers[stream.connection as usize].carry(self.counts.sent(stream.counter));
        transport.open(hop, peer, stream.label(tag));
    }

    /// The send that is to start next, no longer among those that are ready.
    #[inline]
    fn next_send(&mut self) -> Option<u32> {
        loop {
            let confirmed = if self.bounds.is_some() { self.next_confirmed(self.ready.first()) } else { None };
            if confirmed.is_some() {
                return confirmed;
            }
            let next = self.ready.pop();
            if next == Key::MAX {
                return None;
            }
            if let Some(hop) = self.admit(next) {
                return Some(hop);
            }
        }
    }

    /// The send of that place in the order, if it has credit; if not, it is parked.
    #[inline]
    pub(super) fn admit(&mut self, next: Key) -> Option<u32> {
        let (hop, segment) = of_key(next);
        let stream = &mut self.streams[hop as usize];
        if stream.standing != Standing::Ready || stream.posted != segment {
            return None;
        }
        let peer = &mut self.peers[stream.connection as usize];
        if peer.has_credit(hop, stream.posted == stream.done) {
            return Some(hop);
        }
        stream.standing = Standing::Parked;
        stream.be_quiet(self.bounds.is_some());
        if !std::mem::replace(&mut stream.is_listed, true) {
            peer.parked.push(hop);
        }
        None
    }

    /// Whether that segment is still to be sent.
    pub(super) fn is_next(&self, hop: u32, segment: u64) -> bool {
        let stream = &self.streams[hop as usize];
        stream.standing == Standing::Ready && stream.posted == segment
    }

    /// The first of the sends that are confirmed one by one, if it goes before `plain` and may be under way.
    #[inline]
    fn next_confirmed(&mut self, plain: Key) -> Option<u32> {
        let hops = &self.program.plan.hops;
        loop {
            let first = self.bounds.as_ref()?.ready.first();
            if first == Key::MAX {
                return None;
            }
            let (hop, segment) = of_key(first);
            if !self.is_next(hop, segment) {
                self.bounds.as_mut()?.ready.pop();
                continue;
            }
            let bounds = self.bounds.as_mut()?;
            if self.streams[hop as usize].segment(segment).1 <= bounds.room() {
                return (first < plain).then(|| {
                    bounds.ready.pop();
                    hop
                });
            }
            // The first send of all, alone, goes on whatever else is under way.
            let hop = bounds.first(self.next, hops, self.streams)?;
            let stream = &self.streams[hop as usize];
            let goes_on = stream.standing == Standing::Ready
                && stream.posted == stream.done
                && bounds.confirms(stream.segment(stream.posted).1);
            return goes_on.then_some(hop);
        }
    }
}
