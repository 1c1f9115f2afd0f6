//! In which order an executor starts the segments of several sends that are ready at once.

use nagare_plan::execute::{Completed, Credits, Executor, Fault, Label, Pacing, Place, Synchronous, Transport};
use nagare_plan::schedule::{Action, Hop, Parts, Program, Rank, RankPlan, Round};

/// Units of each part, in segments of one unit.
const SEGMENTS: u64 = 20;

/// A message: of which hop, its first unit, and whether it is synchronous.
type Sent = (u32, u64, bool);

/// Every message is received once the executor waits.
#[derive(Default)]
struct Noted {
    sent: Vec<Sent>,
    under_way: Vec<u32>,
}

impl Transport for Noted {
    type Error = Fault;
    fn units(&self, parts: Parts, _: u32) -> (u64, u64) {
        (u64::from(parts.first) * SEGMENTS, u64::from(parts.end()) * SEGMENTS)
    }
    fn reserve(&mut self, _: u32, _: u64, _: u64) -> Result<(), Fault> {
        Ok(())
    }
    fn open(&mut self, _: u32, _: Rank, _: Label) {}
    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Fault> {
        for unit in from.start..from.start + from.units {
            let is_last = unit + 1 == from.start + from.units;
            let confirmed = synchronous == Synchronous::All || synchronous == Synchronous::Last && is_last;
            self.sent.push((hop, unit, confirmed));
            self.under_way.push(hop);
        }
        Ok(())
    }
    fn recv(&mut self, _: u32, _: Place) -> Result<(), Fault> {
        Ok(())
    }
    fn reduce(&mut self, _: Place, _: Place) -> Result<(), Fault> {
        Ok(())
    }
    fn copy(&mut self, _: Place, _: Place) -> Result<(), Fault> {
        Ok(())
    }
    fn poll(&mut self, _: bool, completed: &mut Completed) -> Result<(), Fault> {
        completed.extend(self.under_way.drain(..).map(|hop| (hop, 1)));
        Ok(())
    }
}

/// What rank 0 sends: a part to each of these, with that turn.
fn sent(to: &[(Rank, u32)], window: u64) -> Vec<Sent> {
    let round = Round { stage: 0, step: 0 };
    let hops = (0..).zip(to).map(|(part, &(peer, turn))| Hop {
        action: Action::Send,
        peer,
        parts: Parts::vector(part, 1),
        round,
        tag: part,
        turn,
        after: Vec::new(),
    });
    let program = Program::new(RankPlan::new(0, to.len() as u32, hops.collect()), true).unwrap();
    let (mut credits, mut transport) = (Credits::default(), Noted::default());
    let pacing = Pacing { segment: 1, window, flow: None };
    let executor = Executor::new(&program, pacing, (true, true), &mut credits, &mut transport).unwrap();
    executor.run(&mut transport).unwrap();
    transport.sent
}

/// The order by definition: turn, then segment, then place in the list.
fn in_order(to: &[(Rank, u32)]) -> Vec<(u32, u64)> {
    let mut all: Vec<_> =
        (0..).zip(to).flat_map(|(hop, &(_, turn))| (0..SEGMENTS).map(move |segment| (turn, segment, hop))).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, segment, hop)| (hop, u64::from(hop) * SEGMENTS + segment)).collect()
}

#[test]
fn children_take_turns_segment_by_segment() {
    let all: [&[(Rank, u32)]; 4] = [
        &[(1, 0), (2, 0)],
        &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)],
        &[(1, 1), (2, 0), (3, 1), (4, 0), (5, 0)],
        &[(1, 0)],
    ];
    for to in all {
        // With a window of 64, 31 segments go to a rank before one is confirmed.
        for window in [64, 1000] {
            let order: Vec<_> = sent(to, window).into_iter().map(|(hop, unit, _)| (hop, unit)).collect();
            assert_eq!(order, in_order(to), "{to:?}, window {window}");
        }
    }
    // As many to each, so they run out of credit together and wait for their confirmations together.
    for window in [2, 3, 5, 8, 17] {
        let order: Vec<_> = sent(all[0], window).into_iter().map(|(hop, unit, _)| (hop, unit)).collect();
        assert_eq!(order, in_order(all[0]), "window {window}");
    }
}

/// Half a window, less one, at most: two such segments may be unconfirmed.
#[test]
fn one_segment_in_half_a_window_is_confirmed_in_turns_too() {
    for to in [&[(1, 0), (2, 0), (3, 0)][..], &[(1, 0), (1, 0), (2, 0)], &[(1, 0), (1, 0), (1, 0), (1, 0), (1, 0)]] {
        for window in [3, 4, 8, 9, 16, 33] {
            let every = ((window - 1) / 2) as usize;
            let sent = sent(to, window);
            for peer in 1..=3 {
                let of_peer: Vec<_> = sent.iter().filter(|&&(hop, ..)| to[hop as usize].0 == peer).collect();
                let of_hop = |hop: u32| sent.iter().filter(move |&&(of, ..)| of == hop).collect();
                let lists: Vec<Vec<_>> = (0..to.len() as u32).map(of_hop).chain([of_peer]).collect();
                for list in lists {
                    let plain = list.split(|&&(.., confirmed)| confirmed).map(<[_]>::len).max();
                    assert!(plain < Some(every), "{to:?}, window {window}, to {peer}: {plain:?} in a row");
                }
            }
        }
    }
}
