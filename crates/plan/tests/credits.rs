//! What a rank may send that nobody has received yet, from call to call: what a peer sends back confirms the calls
//! before, and nothing else does.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::execute::{
    Completed, Credits, Executor, Fault, Label, Pacing, Place, Synchronous, ThreadTransport, Transport, World,
};
use nagare_plan::schedule::{Action, Hop, Parts, Program, Rank, RankPlan, Round};
use nagare_plan::topology::Topology;
use std::sync::Arc;

/// Nodes of three ranks.
fn planner(ranks: u32) -> Planner {
    Planner::new(Topology::of_nodes((0..ranks).map(|rank| rank / 3).collect()).unwrap())
}

/// The transport of a rank, counting the sends of which a segment is synchronous.
struct Counting {
    inner: ThreadTransport,
    synchronous: u32,
}

impl Transport for Counting {
    type Error = Fault;
    fn units(&self, parts: Parts, of: u32) -> (u64, u64) {
        self.inner.units(parts, of)
    }
    fn reserve(&mut self, slots: u32, units: u64, staged: u64) -> Result<(), Fault> {
        self.inner.reserve(slots, units, staged)
    }
    fn open(&mut self, hop: u32, peer: Rank, label: Label) {
        self.inner.open(hop, peer, label);
    }
    fn send(&mut self, hop: u32, from: Place, synchronous: Synchronous) -> Result<(), Fault> {
        self.synchronous += u32::from(synchronous != Synchronous::None);
        self.inner.send(hop, from, synchronous)
    }
    fn recv(&mut self, hop: u32, into: Place) -> Result<(), Fault> {
        self.inner.recv(hop, into)
    }
    fn reduce(&mut self, from: Place, into: Place) -> Result<(), Fault> {
        self.inner.reduce(from, into)
    }
    fn copy(&mut self, from: Place, into: Place) -> Result<(), Fault> {
        self.inner.copy(from, into)
    }
    fn poll(&mut self, wait: bool, completed: &mut Completed) -> Result<(), Fault> {
        self.inner.poll(wait, completed)
    }
}

/// A peer that has sent something in a call has received all of the calls before; one that only receives may be late.
#[test]
fn what_comes_back_in_short_calls_confirms_the_calls_before() {
    let pacing = Pacing { segment: 10, window: 42, flow: None };
    let synchronous = |collective, algorithm, ranks: u32| -> u32 {
        let world = World::new(ranks, false);
        let plans = planner(ranks).schedule(collective, algorithm, 0).unwrap().plans;
        let of_rank = |plan: &RankPlan| {
            let program = Program::new(plan.clone(), true).unwrap();
            let (mut credits, mut synchronous) = (Credits::default(), 0);
            for call in 1..=100 {
                let inner = ThreadTransport::new(&world, plan.rank, vec![call; 10]);
                let mut transport = Counting { inner, synchronous: 0 };
                let executor = Executor::new(&program, pacing, (false, true), &mut credits, &mut transport).unwrap();
                executor.run(&mut transport).unwrap();
                if collective == Collective::Allreduce {
                    assert_eq!(transport.inner.output, vec![call * u64::from(ranks); 10]);
                }
                synchronous += transport.synchronous;
            }
            synchronous
        };
        std::thread::scope(|scope| {
            let ranks: Vec<_> = plans.iter().map(|plan| scope.spawn(|| of_rank(plan))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).sum()
        })
    };
    for algorithm in [Algorithm::HalvingDoubling, Algorithm::GatewayTwoTree, Algorithm::Chain] {
        assert_eq!(synchronous(Collective::Allreduce, algorithm, 8), 0, "{algorithm}");
    }
    // One in (42 − 1) / 2 of a hundred, on the one way there is.
    assert_eq!(synchronous(Collective::Reduce, Algorithm::Chain, 2), 100 / 20);
}

/// A plan of a rank of two that sends its half of the vector, rank 1 the first one, and may receive the other one.
fn halves(rank: Rank, receives: bool) -> Program {
    let hop = |action, part| {
        let (peer, parts, round) = (1 - rank, Parts::vector(part, 1), Round { stage: 0, step: 0 });
        Hop { action, peer, parts, round, tag: 0, turn: 0, after: Vec::new() }
    };
    let mut hops = vec![hop(Action::Send, 1 - rank)];
    hops.extend(receives.then(|| hop(Action::Recv, rank)));
    Program::new(RankPlan::new(rank, 2, hops), true).unwrap()
}

/// Two ranks, of which rank 1 does only what it is told to.
struct Pair {
    world: Arc<World>,
    credits: [Credits; 2],
    pacing: Pacing,
}

impl Pair {
    const PACING: Pacing = Pacing { segment: 1, window: 24, flow: None };

    fn new() -> Self {
        Self { world: World::new(2, false), credits: Default::default(), pacing: Self::PACING }
    }

    /// Begins a call of a rank with so many units and goes as far as it gets alone: whether it comes to its end.
    fn call(&mut self, rank: Rank, program: &Program, units: usize) -> bool {
        let mut transport = ThreadTransport::new(&self.world, rank, vec![1; units]).in_place();
        let credits = &mut self.credits[rank as usize];
        let mut executor = Executor::new(program, self.pacing, (true, true), credits, &mut transport).unwrap();
        (0..4).any(|_| executor.progress(&mut transport).unwrap())
    }

    /// Messages of rank 0 that rank 1 has not received.
    fn waiting(&self) -> usize {
        self.world.unreceived().iter().filter(|&&(from, ..)| from == 0).map(|&(.., count)| count).sum()
    }
}

/// Two streams to one rank, of four segments each. What one of them has sent alone would leave room for more than a
/// window.
#[test]
fn what_all_streams_of_a_call_sent_counts() {
    let hop = |action, part| {
        let (parts, round) = (Parts::vector(part, 1), Round { stage: 0, step: 0 });
        Hop { action, peer: 1, parts, round, tag: 0, turn: 0, after: Vec::new() }
    };
    // Of twelve units the parts have four each.
    let program = |hops| Program::new(RankPlan::new(0, 3, hops), true).unwrap();
    let both = program(vec![hop(Action::Send, 1), hop(Action::Send, 2), hop(Action::Recv, 0)]);
    let mut pair = Pair { pacing: Pacing { window: 40, ..Pair::PACING }, ..Pair::new() };
    assert!(pair.call(1, &halves(1, false), 8) && pair.call(0, &both, 12));
    assert_eq!(pair.waiting(), 8);
    assert!(!pair.call(0, &program(vec![hop(Action::Send, 1)]), 600));
    assert!((9..=40).contains(&pair.waiting()), "{} segments wait", pair.waiting());
}

#[test]
fn what_a_call_sent_itself_is_not_confirmed_by_what_came_back() {
    let mut pair = Pair::new();
    assert!(pair.call(1, &halves(1, false), 8) && pair.call(0, &halves(0, true), 8));
    assert_eq!(pair.waiting(), 4, "none of rank 0's half is received");
    assert!(!pair.call(0, &halves(0, false), 200));
    assert!((9..=24).contains(&pair.waiting()), "{} segments wait", pair.waiting());
}

/// The first half of one unit is empty: no message comes back.
#[test]
fn an_empty_block_that_comes_back_confirms_nothing() {
    let mut pair = Pair::new();
    let ahead = (0..100).take_while(|_| pair.call(0, &halves(0, true), 1)).count();
    assert!((1..24).contains(&ahead) && pair.waiting() <= 24, "{ahead} calls, {} segments wait", pair.waiting());
}

/// What two ranks send each other holds up confirmations, so that there are twice as many.
#[test]
fn where_both_send_a_quarter_of_the_window_is_confirmed_at_a_time() {
    let synchronous = |receives: bool| {
        let world = World::new(2, false);
        let (program, mut credits) = (halves(0, receives), Credits::default());
        let inner = ThreadTransport::new(&world, 0, vec![1; 400]).in_place();
        let mut transport = Counting { inner, synchronous: 0 };
        let pacing = Pacing { window: 41, ..Pair::PACING };
        let mut executor = Executor::new(&program, pacing, (true, true), &mut credits, &mut transport).unwrap();
        assert!(!(0..4).any(|_| executor.progress(&mut transport).unwrap()));
        let waiting: usize = world.unreceived().iter().map(|&(.., count)| count).sum();
        drop(executor);
        (transport.synchronous, waiting)
    };
    assert_eq!(synchronous(true), (4, 40), "four groups of ten");
    assert_eq!(synchronous(false), (2, 40), "two of twenty");
}

/// Calls in which nothing comes back leave up to half a window; the call after them goes both ways.
#[test]
fn a_window_holds_where_calls_one_way_come_before_one_both_ways() {
    for window in 2..=130 {
        let ahead = |calls: usize| {
            let mut pair = Pair { pacing: Pacing { window, ..Pair::PACING }, ..Pair::new() };
            // Of two units rank 0 sends one. A call that waits for its confirmation does not end.
            let all_end = (0..calls).all(|_| pair.call(0, &halves(0, false), 2));
            assert!(!all_end || !pair.call(0, &halves(0, true), 2000));
            all_end.then(|| pair.waiting() as u64)
        };
        let most = (0..window as usize).map_while(ahead).max().unwrap();
        assert!(most <= window && most * 2 >= window, "window {window}: {most} segments wait");
    }
}
