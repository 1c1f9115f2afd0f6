//! What the end of a transfer means for the sends: credit, room, and which of them go on.

use super::executor::Executor;
use super::stream::{NONE, Standing};

impl Executor<'_> {
    /// Takes note that the transfers of so many more segments are complete.
    #[inline]
    pub(super) fn is_sent(&mut self, hop: u32, count: u64) {
        self.is_done_with(hop, count);
        let stream = &mut self.streams[hop as usize];
        let mut confirmed = stream.confirmed();
        if let Some(bounds) = &mut self.bounds {
            let (first, last) = (stream.done - count, stream.done - 1);
            bounds.complete(stream.segments_between(first, stream.done).1);
            let confirms = |segment| u32::from(bounds.confirms(stream.segment(segment).1));
            confirmed += (count - 1) as u32 * confirms(first) + confirms(last);
        }
        if confirmed > 0 {
            self.is_confirmed(hop, confirmed);
        }
        let stream = &mut self.streams[hop as usize];
        stream.be_quiet(self.bounds.is_some());
        if stream.standing == Standing::Parked
            && stream.done == stream.posted
            && self.peers[stream.connection as usize].has_credit(hop, true)
        {
            self.unpark(hop);
        }
    }

    /// Takes note of so many confirmations from the peer of `hop`.
    #[inline]
    fn is_confirmed(&mut self, hop: u32, count: u32) {
        let connection = self.streams[hop as usize].connection as usize;
        let peer = &mut self.peers[connection];
        peer.confirm(count);
        if peer.is_confirmed() && !peer.parked.is_empty() {
            self.unpark_all(connection);
        }
    }

    /// Lets the sends of a connection that were parked look for credit again.
    fn unpark_all(&mut self, connection: usize) {
        let mut parked = std::mem::take(&mut self.peers[connection].parked);
        for hop in parked.drain(..) {
            self.streams[hop as usize].is_listed = false;
            self.unpark(hop);
        }
        self.peers[connection].parked = parked;
    }

    /// Lets a send that was parked, if it is one, look for credit again.
    fn unpark(&mut self, hop: u32) {
        if self.streams[hop as usize].standing == Standing::Parked {
            self.stand(hop);
        }
    }

    /// Another send takes the place of `hop`, which has finished, among the first to its peer.
    pub(super) fn let_another_be_first(&mut self, hop: u32) {
        let connection = self.streams[hop as usize].connection as usize;
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

    /// At the end: what was sent before this run to a peer from which something has come in it has been received. Empty
    /// streams have no message that could tell.
    pub(super) fn forget_what_is_received(&mut self) {
        for (connection, peer) in self.program.connections.iter().zip(self.peers.iter()) {
            if connection.receives.iter().all(|&hop| self.streams[hop as usize].segments == 0) {
                continue;
            }
            let sends = || connection.sends.iter().map(|&hop| &self.streams[hop as usize]);
            // Of all streams: several may be counted in one place, since tags repeat.
            let sent = sends().map(|stream| stream.posted).sum();
            let counters = sends().map(|stream| stream.counter).filter(|&counter| counter != NONE);
            counters.chain([peer.counter]).for_each(|counter| self.counts.keep_at_most(counter, sent));
        }
    }
}
