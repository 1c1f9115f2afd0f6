//! Copies inside a rank: what is sent before the next of them, and which are left out.

use nagare_plan::execute::{Completed, Credits, Executor, Fault, Label, Pacing, Place, Region, Synchronous, Transport};
use nagare_plan::schedule::{Action, Hop, Parts, Program, Rank, RankPlan, Round, Space};

/// What was done, in order: the regions and first units of both sides.
#[derive(Debug, PartialEq, Eq)]
enum Done {
    Sent(Region, u64),
    Copied(u64),
    Received(Region, u64),
    Combined((Region, u64), (Region, u64)),
}
use Done::{Combined, Copied, Received, Sent};

/// Parts of one unit; every message is there at once.
#[derive(Default)]
struct Noted {
    done: Vec<Done>,
    complete: Vec<u32>,
}

impl Transport for Noted {
    type Error = Fault;
    fn units(&self, parts: Parts, _: u32) -> (u64, u64) {
        (u64::from(parts.first), u64::from(parts.end()))
    }
    fn reserve(&mut self, _: u32, _: u64, _: u64) -> Result<(), Fault> {
        Ok(())
    }
    fn open(&mut self, _: u32, _: Rank, _: Label) {}
    fn send(&mut self, hop: u32, from: Place, _: Synchronous) -> Result<(), Fault> {
        self.done.push(Sent(from.region, from.start));
        self.complete.push(hop);
        Ok(())
    }
    fn recv(&mut self, hop: u32, into: Place) -> Result<(), Fault> {
        self.done.push(Received(into.region, into.start));
        self.complete.push(hop);
        Ok(())
    }
    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Fault> {
        self.done.push(Combined((from.region, from.start), (into.region, into.start)));
        Ok(())
    }
    fn copy(&mut self, _: Place, into: Place) -> Result<(), Fault> {
        self.done.push(Copied(into.start));
        Ok(())
    }
    fn poll(&mut self, _: bool, completed: &mut Completed) -> Result<(), Fault> {
        completed.extend(self.complete.drain(..).map(|hop| (hop, 1)));
        Ok(())
    }
}

fn part(space: Space, first: u32) -> Parts {
    Parts { space, first, count: 1 }
}

fn hop(action: Action, peer: Rank, parts: Parts) -> Hop {
    let tag = parts.first;
    Hop { action, peer, parts, round: Round { stage: 0, step: 0 }, tag, turn: 0, after: Vec::new() }
}

/// The contribution's part of that number to the stage.
fn staged(first: u32) -> Hop {
    hop(Action::Copy { from: part(Space::Input, first) }, 0, part(Space::Stage, first))
}

fn done(hops: Vec<Hop>, in_place: bool) -> Vec<Done> {
    let program = Program::new(RankPlan { staged: 3, ..RankPlan::new(0, 3, hops) }, true).unwrap();
    let mut transport = Noted::default();
    let mut credits = Credits::default();
    let pacing = Pacing { segment: 1, window: 8, flow: None };
    let executor = Executor::new(&program, pacing, (in_place, true), &mut credits, &mut transport).unwrap();
    executor.run(&mut transport).unwrap();
    transport.done
}

/// What a copy completes is sent before the next copy begins. Where the result is another buffer, what is copied only
/// to be sent once is sent from where it is.
#[test]
fn the_first_send_does_not_wait_for_the_last_copy() {
    let send = |first| hop(Action::Send, 1, part(Space::Stage, first));
    let hops = vec![staged(0), staged(1), staged(2), send(0), send(1), send(2)];
    let expected: Vec<_> = (0..3).flat_map(|first| [Copied(first), Sent(Region::Stage, first)]).collect();
    assert_eq!(done(hops.clone(), true), expected);
    assert_eq!(done(hops, false), [0, 1, 2].map(|first| Sent(Region::Input, first)));
    // Sent twice, or to be read again: it has to be there.
    let hops = vec![staged(0), send(0), Hop { peer: 2, ..send(0) }];
    assert_eq!(done(hops, false), [Copied(0), Sent(Region::Stage, 0), Sent(Region::Stage, 0)]);
}

/// The last combination of a part that is copied to the output as it is combines it there.
#[test]
fn a_result_is_combined_where_it_is_wanted() {
    let combine = |peer| hop(Action::Reduce, peer, part(Space::Stage, 1));
    let result = hop(Action::Copy { from: part(Space::Stage, 1) }, 0, part(Space::Output, 2));
    let (stage, output) = ((Region::Stage, 1), (Region::Output, 2));
    let is_made = |hops: &[Hop]| done(hops.to_vec(), false).contains(&Copied(2));

    // One peer: its part arrives in the output, and the contribution is added there.
    let hops = [staged(1), combine(1), result.clone()];
    assert_eq!(done(hops.to_vec(), false), [Received(output.0, output.1), Combined((Region::Input, 1), output)]);
    // In place the result lies where the contribution does.
    assert_eq!(done(hops.to_vec(), true).iter().filter(|done| matches!(done, Copied(_))).count(), 2);

    // Two: the first sum stays in the stage.
    let hops = [staged(1), combine(1), Hop { tag: 5, ..combine(2) }, result.clone()];
    let all = done(hops.to_vec(), false);
    let combined: Vec<_> = all.iter().filter(|done| matches!(done, Combined(..))).collect();
    assert_eq!(combined, [&Combined((Region::Input, 1), stage), &Combined(stage, output)], "{all:?}");
    assert!(!is_made(&hops), "{all:?}");

    // The sum is sent as well, or the output is written again: then the copy is made.
    assert!(is_made(&[staged(1), combine(1), result.clone(), hop(Action::Send, 2, part(Space::Stage, 1))]));
    assert!(is_made(&[staged(1), combine(1), hop(Action::Send, 2, part(Space::Stage, 1)), result.clone()]));
    let other = hop(Action::Recv, 2, part(Space::Output, 2));
    assert!(is_made(&[staged(1), combine(1), result.clone(), other.clone()]));
    assert!(is_made(&[other.clone(), staged(1), combine(1), result.clone()]));
    // It waits for a message, or another for it.
    let elsewhere = Hop { tag: 7, ..hop(Action::Recv, 2, part(Space::Output, 0)) };
    assert!(is_made(&[elsewhere.clone(), staged(1), combine(1), Hop { after: vec![0], ..result.clone() }]));
    assert!(is_made(&[staged(1), combine(1), result, Hop { after: vec![2], ..elsewhere }]));
}
