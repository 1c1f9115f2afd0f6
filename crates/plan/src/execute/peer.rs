//! The sends of a run to one peer, and which of them may start.

use super::stream::{MOST_UNCONFIRMED, NONE};
use crate::schedule::Connection;

/// Streams to one peer that never wait for one another: what a tree has at most, two halves in two directions.
const STREAMS: usize = 4;

/// Confirmations that may be outstanding: where segments go one way, and where they also come back. There a
/// confirmation arrives behind what its sender has sent before, up to a window: with two of them a rank would wait for
/// the other's data again and again while its own link is idle.
const UNCONFIRMED: [u32; 2] = [2, MOST_UNCONFIRMED as u32];

/// Segments from one synchronous one to the next, at most, unless the peer has received what lies between: of calls
/// with one segment each, a rank is never as many as 256 ahead of another.
const CONFIRMED: u64 = 63;

/// The sends of a run to one peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Synchronous sends under way.
    pub unconfirmed: u32,
    /// With how many of these sends wait.
    most_unconfirmed: u32,
    /// How many fewer that is until the peer has begun this call, and so has received what those before have left.
    carried: u32,
    has_begun: bool,
    /// Segments from one synchronous one to the next.
    pub every: u64,
    /// Where its segments are counted.
    pub counter: u32,
    /// The first unfinished sends of the list, or [`NONE`]: these never wait for one another.
    first: [u32; STREAMS],
    /// The next of the connection's sends to become one of them.
    next: usize,
    /// Sends that have found no credit.
    pub parked: Vec<u32>,
}

impl Peer {
    /// `window`: segments of a stream that may be unreceived, at least 2; `finished`: of a hop.
    pub fn new(connection: &Connection, counter: u32, window: u64, finished: impl Fn(u32) -> bool) -> Self {
        let is_two_way = !connection.receives.is_empty();
        let most_unconfirmed = UNCONFIRMED[usize::from(is_two_way)].min((window - 1).clamp(2, 4) as u32);
        let mut peer = Self {
            unconfirmed: 0,
            most_unconfirmed,
            carried: 0,
            has_begun: false,
            // So many confirmations may be outstanding, and a stream's one forced segment.
            every: ((window - 1) / u64::from(most_unconfirmed)).clamp(1, CONFIRMED),
            counter,
            first: [NONE; STREAMS],
            next: 0,
            parked: Vec::new(),
        };
        for at in 0..STREAMS {
            peer.first[at] = peer.following(connection, &finished);
        }
        peer
    }

    fn following(&mut self, connection: &Connection, finished: impl Fn(u32) -> bool) -> u32 {
        let left = connection.sends[self.next..].iter();
        let found = left.enumerate().find(|&(_, &hop)| !finished(hop));
        let (passed, hop) = found.map_or((connection.sends.len() - self.next, NONE), |(at, &hop)| (at + 1, hop));
        self.next += passed;
        hop
    }

    /// Takes note of segments that calls before this one have sent, in all or by one of its streams, and that may be
    /// unreceived: calls in which nothing came back leave up to half a window.
    pub fn carry(&mut self, sent: u64) {
        if !self.has_begun {
            // Two are always left: where nothing comes back each is half a window.
            let groups = (sent / self.every).min(u64::from(self.most_unconfirmed - 2)) as u32;
            self.carried = self.carried.max(groups);
        }
    }

    /// Takes note of so many confirmations: of segments that the peer receives in this call.
    pub fn confirm(&mut self, count: u32) {
        self.unconfirmed -= count;
        (self.carried, self.has_begun) = (0, true);
    }

    /// Whether sends need not wait for a confirmation.
    #[inline]
    pub fn is_confirmed(&self) -> bool {
        self.unconfirmed + self.carried < self.most_unconfirmed
    }

    /// Whether `hop`, one of its sends, may start a segment; `is_idle`: nothing of it is under way.
    #[inline]
    pub fn has_credit(&self, hop: u32, is_idle: bool) -> bool {
        self.is_confirmed() || is_idle && self.first.contains(&hop)
    }

    /// Takes note that `hop` has finished; the send that takes its place among the first, or [`NONE`].
    pub fn finish(&mut self, hop: u32, connection: &Connection, finished: impl Fn(u32) -> bool) -> u32 {
        let Some(at) = self.first.iter().position(|&first| first == hop) else { return NONE };
        self.first[at] = self.following(connection, finished);
        self.first[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a window of 41 segments four groups of ten are confirmed. What calls before left takes its part of it until
    /// the peer has begun this one.
    #[test]
    fn what_calls_before_left_counts_until_the_peer_has_begun_this_one() {
        let connection = Connection { peer: 1, sends: vec![0], receives: vec![1] };
        for (left, at_first) in [(0, 4), (9, 4), (10, 3), (19, 3), (20, 2), (60, 2)] {
            let mut peer = Peer::new(&connection, 0, 41, |_| false);
            peer.carry(left);
            let most = |peer: &mut Peer| {
                while peer.is_confirmed() {
                    peer.unconfirmed += 1;
                }
                peer.unconfirmed
            };
            assert_eq!(most(&mut peer), at_first, "{left}");
            peer.confirm(1);
            peer.carry(left);
            assert_eq!(most(&mut peer), 4, "{left}");
        }
    }
}
