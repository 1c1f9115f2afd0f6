//! The sends of an executor: which is next, and whether it may start.

use super::executor::Executor;
use super::ready::{Key, key, of_key};
use super::stream::{NONE, Standing};
use super::transport::{Place, Region, Transport};
use crate::schedule::{Hop, Source};

impl Executor<'_> {
    /// Adds a send to those that are ready if its next segment has its data.
    #[inline]
    pub(super) fn make_ready(&mut self, hop: u32) {
        let stream = &self.streams[hop as usize];
        if stream.standing == Standing::Idle {
            let (start, units) = stream.segment(stream.posted);
            if self.is_free(hop, start, units) {
                self.queue(hop, units);
            }
        }
    }

    /// Puts a send whose next segment, of so many units, has its data where it waits for its turn.
    #[inline]
    fn queue(&mut self, hop: u32, units: u64) {
        let stream = &mut self.streams[hop as usize];
        let key = key(stream.turn, stream.posted, hop);
        stream.standing = Standing::Ready;
        match &mut self.bounds {
            // A token has what it waits for in its plan, and others wait for it.
            Some(bounds) if self.program.plan.hops[hop as usize].parts.count > 0 && !bounds.is_in_step(hop) => {
                stream.standing = Standing::Ahead;
                bounds.hold(hop);
            }
            Some(bounds) if bounds.confirms(units) => bounds.ready.push(key),
            _ => self.ready.push(key),
        }
    }

    /// Starts every send that is ready and may.
    #[inline]
    pub(super) fn send<T: Transport>(&mut self, transport: &mut T) -> Result<(), T::Error> {
        while let Some(hop) = self.next_send() {
            self.send_some(hop, transport)?;
        }
        Ok(())
    }

    /// Starts the next segment of `hop`, which has credit, and those after it as long as no other send is ready.
    fn send_some<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let dependencies = &self.program.dependencies[hop as usize];
        if self.streams[hop as usize].posted == 0 {
            self.open(hop, transport);
        }
        // What it sends from the input, if it does.
        let (own, end) = self.streams[hop as usize].own;
        let own = if own < end { own } else { NONE };
        let is_alone = self.bounds.is_none() && self.ready.is_empty();
        // One after another in memory; scratch segments are not.
        let is_run = is_alone && !matches!(dependencies.source, Source::ScratchOf(_));
        let stream = &self.streams[hop as usize];
        let ready = stream.segments_before(self.free_until(hop, stream.segment(stream.posted).0));
        loop {
            let stream = &mut self.streams[hop as usize];
            let peer = &mut self.peers[dependencies.connection as usize];
            let first = stream.posted;
            let confirms = self.bounds.as_mut().is_some_and(|bounds| bounds.start(stream.segment(first).1));
            let most = if is_run { ready - first } else { 1 };
            let counters = [stream.counter, peer.counter];
            let (count, synchronous) = if confirms || peer.unconfirmed >= 2 {
                self.counts.confirm(counters);
                (1, true)
            } else {
                self.counts.spend(counters, self.every, most)
            };
            stream.posted += count;
            if synchronous {
                peer.unconfirmed += 1;
                if !confirms {
                    stream.expect_confirmation();
                }
                stream.be_quiet(self.bounds.is_some());
            }
            let has_credit = peer.unconfirmed < 2;
            let posted = stream.posted;
            let is_last = posted == stream.segments;
            let (start, units) = stream.segments_between(first, posted);
            let from = match self.owns.get(own as usize) {
                Some(own) => {
                    own.within(start, units).map_or(Place { region: Region::Input, start: 0, units }, |own| own.0)
                }
                None => self.locate(dependencies.source, first, start, units),
            };
            transport.send(hop, from, synchronous)?;
            let stream = &mut self.streams[hop as usize];
            if is_last || posted == ready {
                stream.standing = Standing::Idle;
                stream.is_open &= !is_last;
                return Ok(());
            }
            if !has_credit || !is_alone {
                let units = stream.segment(posted).1;
                self.queue(hop, units);
                return Ok(());
            }
        }
    }

    /// Has the transport know a send, before its first message, and where its segments are counted.
    fn open<T: Transport>(&mut self, hop: u32, transport: &mut T) {
        let Hop { peer, tag, .. } = *self.hop(hop);
        let stream = &mut self.streams[hop as usize];
        stream.counter = self.counts.counter(peer, Some(tag));
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
            let next = self.ready.pop()?;
            if let Some(hop) = self.admit(next) {
                return Some(hop);
            }
        }
    }

    /// The send of that place in the order, if it has credit; if not, it is parked.
    #[inline]
    fn admit(&mut self, next: Key) -> Option<u32> {
        let (hop, segment) = of_key(next);
        let stream = &mut self.streams[hop as usize];
        if stream.standing != Standing::Ready || stream.posted != segment {
            return None;
        }
        let peer = &mut self.peers[self.program.dependencies[hop as usize].connection as usize];
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
    fn is_next(&self, hop: u32, segment: u64) -> bool {
        let stream = &self.streams[hop as usize];
        stream.standing == Standing::Ready && stream.posted == segment
    }

    /// The first of the sends that are confirmed one by one, if it goes before `plain` and may be under way.
    #[inline]
    fn next_confirmed(&mut self, plain: Option<Key>) -> Option<u32> {
        let hops = &self.program.plan.hops;
        loop {
            let first = self.bounds.as_ref()?.ready.first()?;
            let (hop, segment) = of_key(first);
            if !self.is_next(hop, segment) {
                self.bounds.as_mut()?.ready.pop();
                continue;
            }
            let bounds = self.bounds.as_mut()?;
            let goes_first = plain.is_none_or(|plain| first < plain);
            if bounds.has_room(self.streams[hop as usize].segment(segment).1) {
                return goes_first.then(|| {
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

    /// Takes note that the transfer of another segment is complete.
    #[inline]
    pub(super) fn is_sent(&mut self, hop: u32) {
        self.is_done_with(hop, 1);
        let stream = &mut self.streams[hop as usize];
        let segment = stream.done - 1;
        let mut confirmed = stream.is_confirmed(segment);
        if let Some(bounds) = &mut self.bounds {
            confirmed |= bounds.complete(stream.segment(segment).1);
        }
        if confirmed {
            self.is_confirmed(hop);
        }
        let stream = &mut self.streams[hop as usize];
        stream.be_quiet(self.bounds.is_some());
        if stream.standing == Standing::Parked && stream.done == stream.posted {
            let peer = &self.peers[self.program.dependencies[hop as usize].connection as usize];
            if peer.has_credit(hop, true) {
                self.unpark(hop);
            }
        }
    }

    /// Takes note of a confirmation from the peer of `hop`.
    fn is_confirmed(&mut self, hop: u32) {
        let connection = self.program.dependencies[hop as usize].connection as usize;
        self.peers[connection].unconfirmed -= 1;
        if self.peers[connection].unconfirmed < 2 {
            let mut parked = std::mem::take(&mut self.peers[connection].parked);
            for hop in parked.drain(..) {
                self.streams[hop as usize].is_listed = false;
                self.unpark(hop);
            }
            self.peers[connection].parked = parked;
        }
    }

    /// Lets a send that was parked, if it is one, look for credit again.
    fn unpark(&mut self, hop: u32) {
        let stream = &mut self.streams[hop as usize];
        if stream.standing == Standing::Parked {
            stream.standing = Standing::Ready;
            self.ready.push(key(stream.turn, stream.posted, hop));
        }
    }

    /// Another send takes the place of `hop`, which has finished, among the first to its peer.
    pub(super) fn let_another_be_first(&mut self, hop: u32) {
        let connection = self.program.dependencies[hop as usize].connection as usize;
        let finished = |hop: u32| self.streams[hop as usize].finished();
        let first = self.peers[connection].finish(hop, &self.program.connections[connection], finished);
        if first != NONE && self.streams[first as usize].posted == self.streams[first as usize].done {
            self.unpark(first);
        }
    }

    /// Looks again at the sends that have come into step.
    pub(super) fn bring_into_step(&mut self) {
        let Some(bounds) = &mut self.bounds else { return };
        let mut released = bounds.release(self.next, &self.program.plan.hops, self.streams);
        while let Some(hop) = released {
            self.streams[hop as usize].standing = Standing::Idle;
            self.make_due(hop);
            let Some(bounds) = &mut self.bounds else { return };
            released = bounds.release(self.next, &self.program.plan.hops, self.streams);
        }
    }
}
