//! In which order an executor starts the segments of several sends that are ready at once.

use nagare_plan::execute::{Completed, Credits, Executor, Fault, Label, Pacing, Place, Synchronous, Transport};
use nagare_plan::schedule::{Action, Flow, Hop, Parts, Program, Rank, RankPlan, Round};

/// Units of each part, in segments of one unit.
const SEGMENTS: u64 = 20;

/// A message: of which hop, its first unit, and whether it is synchronous.
type Sent = (u32, u64, bool);

/// Every message is received once the executor looks for what is complete.
struct Noted {
    /// Units of a part, and of a segment.
    part: u64,
    segment: u64,
    sent: Vec<Sent>,
    opened: Vec<u32>,
    /// Hops with the units of their messages, and the most units of whole segments at a time.
    under_way: Vec<(u32, u64)>,
    most: u64,
}

impl Transport for Noted {
    type Error = Fault;
    fn units(&self, parts: Parts, _: u32) -> (u64, u64) {
        (u64::from(parts.first) * self.part, u64::from(parts.end()) * self.part)
    }
    fn reserve(&mut self, _: u32, _: u64, _: u64) -> Result<(), Fault> {
        Ok(())
    }
    fn open(&mut self, hop: u32, _: Rank, _: Label) {
        assert!(!self.opened.contains(&hop), "hop {hop} is opened twice");
        self.opened.push(hop);
    }
    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Fault> {
        let end = from.start + from.units;
        for unit in (from.start..end).step_by(self.segment as usize) {
            let units = self.segment.min(end - unit);
            let confirmed = synchronous == Synchronous::All || synchronous == Synchronous::Last && unit + units == end;
            self.sent.push((hop, unit, confirmed));
            self.under_way.push((hop, units));
        }
        let whole = self.under_way.iter().map(|&(_, units)| units).filter(|&units| units == self.segment);
        self.most = self.most.max(whole.sum());
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
    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Fault> {
        if wait && self.under_way.is_empty() {
            return Err(Fault::Stalled(0));
        }
        let mut hops: Vec<u32> = self.under_way.drain(..).map(|(hop, _)| hop).collect();
        hops.sort_unstable();
        completed.extend(hops.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
        Ok(())
    }
}

/// What rank 0 does to send a part of so many units to each of these, with that turn.
fn run(to: &[(Rank, u32)], part: u64, pacing: Pacing) -> Noted {
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
    let (opened, sent, under_way) = (Vec::new(), Vec::new(), Vec::new());
    let mut transport = Noted { part, segment: pacing.segment, sent, opened, under_way, most: 0 };
    let mut credits = Credits::default();
    let executor = Executor::new(&program, pacing, (true, true), &mut credits, &mut transport).unwrap();
    executor.run(&mut transport).unwrap();
    transport
}

/// The messages in segments of one unit.
fn sent(to: &[(Rank, u32)], window: u64) -> Vec<Sent> {
    run(to, SEGMENTS, Pacing { segment: 1, window, flow: None }).sent
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

/// In an exchange whole segments are all confirmed, and no more of them are under way than its bounds allow; the last
/// segment of a part is too short to be worth a confirmation, and waits for none.
#[test]
fn an_exchange_keeps_its_order_and_its_bounds() {
    let to = [(1, 0), (2, 0), (3, 1), (4, 2)];
    for (unconfirmed, segments) in [(5, 2), (7, 3), (2, 1), (17, 8), (40, 20)] {
        let flow = Flow { unconfirmed, confirmed: 2, behind: 1000 };
        let transport = run(&to, 21, Pacing { segment: 2, window: 1000, flow: Some(flow) });
        let (short, whole): (Vec<Sent>, Vec<_>) = transport.sent.iter().partition(|(_, unit, _)| unit % 21 == 20);
        assert_eq!((short.len(), whole.len()), (4, 40));
        assert!(whole.iter().all(|&(.., confirmed)| confirmed));
        let mut order: Vec<_> = (0..10).flat_map(|n| (0..4).map(move |hop| (to[hop].1, n, hop as u32))).collect();
        order.sort_unstable();
        let order = order.into_iter().map(|(_, n, hop)| (hop, u64::from(hop) * 21 + 2 * n));
        assert_eq!(whole.iter().map(|&(hop, unit, _)| (hop, unit)).collect::<Vec<_>>(), order.collect::<Vec<_>>());
        // As much as there is room for, not less; a segment of the first send goes whatever else is under way.
        assert!((2 * segments..=unconfirmed + 2).contains(&transport.most), "{} of {unconfirmed}", transport.most);
    }
}
