//! Sends that take turns. What is ready to go to two children of a tree starts segment by segment, one child after the
//! other. As long as neither data nor credit of any of them ends, these turns are known beforehand.
//!
//! ```text
//!   ready      stream 1 at segment 5, 3 at 5, 4 at 9, and data and credit for 3 segments of each
//!   started    1:5  3:5  1:6  3:6  1:7  3:7            rounds
//! ```

use super::executor::Executor;
use super::ready::{Key, of_key};
use super::transport::{Synchronous, Transport};

/// Sends that take turns, at most: those of two trees to two children each.
const MOST: usize = 4;

/// Sends whose next segment has the same number, in the order in which they start.
#[derive(Debug)]
struct Turns {
    hops: [u32; MOST],
    count: usize,
}

impl Executor<'_> {
    /// Starts segments of `hop`, which has credit, and of the sends that take turns with it.
    #[inline]
    pub(super) fn send_in_turns<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let stream = &self.streams[hop as usize];
        let is_of_round = |other: Key, (turn, segment)| other != Key::MAX && other >> 32 == of_round(turn, segment);
        let place = (stream.turn, stream.posted);
        // The bounds of an exchange allow one segment after another.
        if self.bounds.is_some() || !is_of_round(self.ready.first(), place) {
            return self.send_some(hop, transport);
        }
        let mut turns = Turns { hops: [hop; MOST], count: 1 };
        while turns.count < MOST && is_of_round(self.ready.first(), place) {
            let next = self.ready.pop();
            if let Some(hop) = self.admit(next) {
                turns.hops[turns.count] = hop;
                turns.count += 1;
            }
        }
        self.send_round(&turns, transport)
    }

    /// Starts as many segments of each as can go one after another, or some of the first alone.
    fn send_round<T: Transport>(&mut self, turns: &Turns, transport: &mut T) -> Result<(), T::Error> {
        let hops = &turns.hops[..turns.count];
        for &hop in hops {
            self.open_at_first(hop, transport);
        }
        let rounds = self.rounds(hops);
        if rounds == 0 || hops.len() == 1 {
            hops[1..].iter().for_each(|&hop| self.stand(hop));
            return self.send_some(hops[0], transport);
        }
        let first = self.streams[hops[0] as usize].posted;
        for segment in first..first + rounds {
            for &hop in hops {
                let from = self.sent_from(hop, segment, self.streams[hop as usize].segment(segment));
                transport.send(hop, from, Synchronous::None)?;
            }
        }
        for &hop in hops {
            let stream = &mut self.streams[hop as usize];
            stream.posted += rounds;
            let counters = [stream.counter, self.peers[stream.connection as usize].counter];
            self.counts.count(counters, rounds);
            self.go_on_later(hop);
        }
        Ok(())
    }

    /// How many segments of each of these, which are at the same one, precede those of all others, have their data, and
    /// need no confirmation.
    fn rounds(&self, hops: &[u32]) -> u64 {
        let first = &self.streams[hops[0] as usize];
        let other = self.ready.first();
        let of_turn = other != Key::MAX && other >> 96 == Key::from(first.turn);
        let before_others = if of_turn { (of_key(other).1 - first.posted).max(1) } else { u64::MAX };
        hops.iter().fold(before_others, |rounds, &hop| {
            let stream = &self.streams[hop as usize];
            let peer = &self.peers[stream.connection as usize];
            if peer.unconfirmed >= 2 {
                return 0;
            }
            let of_peer = hops.iter().filter(|&&h| self.streams[h as usize].connection == stream.connection).count();
            let credit = self.counts.unconfirmed([stream.counter, peer.counter], self.every, of_peer as u64);
            rounds.min(stream.free - stream.posted).min(credit)
        })
    }
}

/// The place of the sends of a turn at that segment, whatever their hops.
#[inline]
fn of_round(turn: u32, segment: u64) -> Key {
    Key::from(turn) << 64 | Key::from(segment)
}
