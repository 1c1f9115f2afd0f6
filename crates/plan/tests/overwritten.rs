//! What may be written while a send of the contribution is under way.

use nagare_plan::execute::{Completed, Credits, Executor, Fault, Label, Pacing, Place, Synchronous, Transport};
use nagare_plan::schedule::{Action, Hop, Parts, Program, Rank, RankPlan, Round};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Send,
    Recv,
    Completed,
}

/// Nothing is complete before the executor waits; then everything is.
#[derive(Default)]
struct Slow {
    events: Vec<Event>,
    under_way: Vec<u32>,
}

impl Slow {
    fn start(&mut self, hop: u32, event: Event) -> Result<(), Fault> {
        self.events.push(event);
        self.under_way.push(hop);
        Ok(())
    }
}

impl Transport for Slow {
    type Error = Fault;
    fn units(&self, parts: Parts, _: u32) -> (u64, u64) {
        (u64::from(parts.first), u64::from(parts.end()))
    }
    fn reserve(&mut self, _: u32, _: u64, _: u64) -> Result<(), Fault> {
        Ok(())
    }
    fn open(&mut self, _: u32, _: Rank, _: Label) {}
    fn send(&mut self, hop: u32, _: Place, _: Synchronous) -> Result<(), Fault> {
        self.start(hop, Event::Send)
    }
    fn recv(&mut self, hop: u32, _: Place) -> Result<(), Fault> {
        self.start(hop, Event::Recv)
    }
    fn reduce(&mut self, _: Place, _: Place) -> Result<(), Fault> {
        Ok(())
    }
    fn copy(&mut self, _: Place, _: Place) -> Result<(), Fault> {
        Ok(())
    }
    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Fault> {
        if !wait {
            return Ok(());
        }
        if self.under_way.is_empty() {
            return Err(Fault::Stalled(0));
        }
        self.events.push(Event::Completed);
        completed.extend(self.under_way.drain(..).map(|hop| (hop, 1)));
        Ok(())
    }
}

/// A rank sends its vector to one rank and then receives the result from another.
fn events(in_place: bool) -> Vec<Event> {
    let hop = |action, peer| {
        let round = Round { stage: 0, step: 0 };
        Hop { action, peer, parts: Parts::vector(0, 1), round, tag: 0, turn: 0, after: Vec::new() }
    };
    let plan = RankPlan::new(0, 1, vec![hop(Action::Send, 1), hop(Action::Recv, 2)]);
    let program = Program::new(plan, true).unwrap();
    let (mut credits, mut transport) = (Credits::default(), Slow::default());
    let pacing = Pacing { segment: 1, window: 8, flow: None };
    let executor = Executor::new(&program, pacing, (in_place, true), &mut credits, &mut transport).unwrap();
    executor.run(&mut transport).unwrap();
    transport.events
}

/// The library may read the buffer of a send until it is complete.
#[test]
fn in_place_the_result_is_received_when_the_contribution_has_left() {
    assert_eq!(events(true), [Event::Send, Event::Completed, Event::Recv, Event::Completed]);
}

#[test]
fn into_another_buffer_the_result_is_received_at_once() {
    assert_eq!(events(false)[2..], [Event::Completed]);
}
