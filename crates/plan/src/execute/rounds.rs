//! Sends that take turns. What is ready to go to two children of a tree starts segment by segment, one child after the
//! other; so do the blocks of an exchange that are sent alternately. As long as neither data nor credit of any of them
//! ends, nor the room of an exchange, these turns are known beforehand.
//!
//! ```text
//!   ready      stream 1 at segment 5, 3 at 5, 4 at 9, and data and credit for 3 segments of each
//!   started    1:5  3:5  1:6  3:6  1:7  3:7            rounds
//! ```

use super::executor::Executor;
use super::ready::{Key, Ready, of_key};
use super::transport::{Place, Region, Synchronous, TURNS, Transport};
use crate::schedule::Source;

/// Sends whose next segment has the same number, in the order in which they start.
#[derive(Debug)]
struct Turns {
    hops: [u32; TURNS],
    count: usize,
}

impl Executor<'_> {
    /// Starts segments of `hop`, which has credit, and of the sends that take turns with it.
    #[inline]
    pub(super) fn send_in_turns<T: Transport>(&mut self, hop: u32, transport: &mut T) -> Result<(), T::Error> {
        let stream = &self.streams[hop as usize];
        let is_of_round = |other: Key, (turn, segment)| other != Key::MAX && other >> 32 == of_round(turn, segment);
        let place = (stream.turn, stream.posted);
        let most = match &self.bounds {
            None => TURNS,
            // Short segments of an exchange, of which there are few, do not take part.
            Some(_) if is_of_round(self.ready.first(), place) => 1,
            Some(bounds) => {
                let units = stream.segment(stream.posted).1;
                if bounds.confirms(units) { (bounds.room() / units.max(1)).min(TURNS as u64) as usize } else { 1 }
            }
        };
        let mut turns = Turns { hops: [hop; TURNS], count: 1 };
        while turns.count < most && is_of_round(self.turns().first(), place) {
            let next = self.turns().pop();
            // The room of an exchange bounds what is under way to all peers; there is no credit with one.
            let of_exchange = |(hop, segment)| self.is_next(hop, segment).then_some(hop);
            if let Some(hop) = if self.bounds.is_some() { of_exchange(of_key(next)) } else { self.admit(next) } {
                turns.hops[turns.count] = hop;
                turns.count += 1;
            }
        }
        if turns.count == 1 { self.send_some(hop, transport) } else { self.send_round(&turns, transport) }
    }

    /// The sends that take turns: in an exchange, those that are confirmed one by one.
    #[inline]
    fn turns(&mut self) -> &mut Ready {
        self.bounds.as_mut().map_or(&mut self.ready, |bounds| &mut bounds.ready)
    }

    /// Starts as many segments of each as can go one after another, or some of the first alone.
    fn send_round<T: Transport>(&mut self, turns: &Turns, transport: &mut T) -> Result<(), T::Error> {
        let hops = &turns.hops[..turns.count];
        let mut places = [(0, Place { region: Region::Input, start: 0, units: 0 }); TURNS];
        for (&hop, place) in hops.iter().zip(&mut places) {
            self.open_at_first(hop, transport);
            *place = (hop, self.next_place(hop));
        }
        let units = places.iter().map(|(_, place)| place.units).sum();
        let rounds = self.rounds(hops, units);
        if rounds == 0 {
            hops[1..].iter().for_each(|&hop| self.stand(hop));
            return self.send_some(hops[0], transport);
        }
        let synchronous = if self.bounds.is_some() { Synchronous::All } else { Synchronous::None };
        transport.send_rounds(&places[..turns.count], rounds, synchronous)?;
        for &hop in hops {
            let stream = &mut self.streams[hop as usize];
            let peer = &mut self.peers[stream.connection as usize];
            stream.posted += rounds;
            let counters = [stream.counter, peer.counter];
            if self.bounds.is_some() {
                self.counts.confirm(counters);
                peer.unconfirmed += rounds as u32;
            } else {
                self.counts.count(counters, rounds);
            }
        }
        if let Some(bounds) = &mut self.bounds {
            bounds.start(rounds * units);
        }
        hops.iter().for_each(|&hop| self.go_on_later(hop));
        Ok(())
    }

    /// Where the next segment of a send is.
    #[inline]
    fn next_place(&self, hop: u32) -> Place {
        let stream = &self.streams[hop as usize];
        self.sent_from(hop, stream.posted, stream.segment(stream.posted))
    }

    /// How many segments of each of these, which are at the same one, precede those of all others, are as long as that
    /// one, `units` of all together, have their data, and lie one after another; and have credit without a confirmation
    /// or, in an exchange, room.
    fn rounds(&self, hops: &[u32], units: u64) -> u64 {
        let first = &self.streams[hops[0] as usize];
        let before = |other: Key| {
            let of_turn = other != Key::MAX && other >> 96 == Key::from(first.turn);
            if of_turn { of_key(other).1.saturating_sub(first.posted).max(1) } else { u64::MAX }
        };
        let most = match &self.bounds {
            Some(bounds) => before(bounds.ready.first()).min(bounds.room() / units.max(1)),
            None => u64::MAX,
        };
        hops.iter().fold(most.min(before(self.ready.first())), |rounds, &hop| {
            let stream = &self.streams[hop as usize];
            let is_run = !matches!(stream.source, Source::ScratchOf(_));
            let ready = if is_run { stream.alike(stream.posted, stream.free - stream.posted, u64::MAX) } else { 1 };
            let rounds = rounds.min(ready);
            if self.bounds.is_some() {
                return rounds;
            }
            let peer = &self.peers[stream.connection as usize];
            if !peer.is_confirmed() {
                return 0;
            }
            let of_peer = hops.iter().filter(|&&h| self.streams[h as usize].connection == stream.connection).count();
            let credit = self.counts.unconfirmed([stream.counter, peer.counter], peer.every, of_peer as u64);
            rounds.min(credit)
        })
    }
}

/// The place of the sends of a turn at that segment, whatever their hops.
#[inline]
fn of_round(turn: u32, segment: u64) -> Key {
    Key::from(turn) << 64 | Key::from(segment)
}
