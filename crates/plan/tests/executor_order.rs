//! In which order the executor does what plans made by hand ask for, whatever arrives first.

use nagare_plan::execute::{
    Completed, Credits, Executor, Fault, Label, Pacing, Place, Region, Synchronous, ThreadTransport, Transport, World,
};
use nagare_plan::schedule::{Action, Parts, Program, Rank, RankPlan, Run, Space};

use crate::support::hops::hop;

/// Rank 0 may send to rank 2 only when rank 1's transfer to rank 2 is done: a token from the first receiver tells it.
#[test]
fn tokens_order_what_shares_no_data() {
    let data = Parts::vector(0, 1);
    let plan = |rank, hops| RankPlan::new(rank, 1, hops);
    let plans = [
        plan(0, vec![hop(Action::Recv, 2, Parts::token(), vec![]), hop(Action::Send, 2, data, vec![0])]),
        plan(1, vec![hop(Action::Send, 2, data, vec![])]),
        plan(
            2,
            vec![
                hop(Action::Reduce, 1, data, vec![]),
                hop(Action::Send, 0, Parts::token(), vec![0]),
                hop(Action::Reduce, 0, data, vec![]),
            ],
        ),
    ];
    let world = World::new(3, false);
    let programs = plans.map(|plan| Program::new(plan, true).unwrap());
    let mut transports = [0, 1, 2].map(|rank| ThreadTransport::new(&world, rank, vec![10u64.pow(rank); 50]));
    let pacing = Pacing { segment: 7, window: 64, flow: None };
    let mut credits = [(); 3].map(|()| Credits::default());
    let mut executors: Vec<_> = programs
        .iter()
        .zip(&mut transports)
        .zip(&mut credits)
        .map(|((program, transport), credits)| {
            Executor::new(program, pacing, (false, true), credits, transport).unwrap()
        })
        .collect();
    let mut progress = |rank: usize| {
        let done = executors[rank].progress(&mut transports[rank]).unwrap();
        (done, executors[rank].traffic().messages)
    };
    // As long as rank 1 has sent nothing, there is no token, and rank 0 holds back whatever the others do.
    for _ in 0..10 {
        assert_eq!((progress(2), progress(0)), ((false, 0), (false, 0)));
    }
    progress(1);
    while ![progress(0), progress(1), progress(2)].iter().all(|p| p.0) {}
    assert_eq!(progress(0).1, 50u64.div_ceil(7));
    assert_eq!(progress(2).1, 1, "one token");
    assert_eq!(transports[2].output, vec![111; 50]);
    assert!(world.unreceived().is_empty());
}

/// A shuffle waits for what it reads and for what it would overwrite, block by block, and what reads its places waits
/// for it.
#[test]
fn a_shuffle_is_ordered_by_the_blocks_it_moves() {
    let block = |space, first| Parts { space, first, count: 1 };
    let stage = Parts { space: Space::Stage, first: 0, count: 4 };
    let hops = vec![
        hop(Action::Recv, 1, block(Space::Stage, 0), vec![]),
        hop(Action::Recv, 2, block(Space::Stage, 1), vec![]),
        hop(Action::Send, 1, block(Space::Stage, 3), vec![]),
        hop(Action::Shuffle { from: stage, table: 0 }, 0, stage, vec![]),
        hop(Action::Send, 2, block(Space::Stage, 2), vec![]),
        hop(Action::Send, 3, block(Space::Stage, 3), vec![]),
    ];
    let runs = vec![Run { from: 0, to: 3, count: 1 }];
    let plan = RankPlan { staged: 4, shuffles: vec![runs], ..RankPlan::new(0, 4, hops) };
    let program = Program::new(plan, true).unwrap();
    let whole: Vec<&[u32]> = program.dependencies.iter().map(|d| d.whole.as_slice()).collect();
    let none: &[u32] = &[];
    // The shuffle reads block 0 and overwrites block 3; blocks 1 and 2 lie between them but have nothing to do with it.
    assert_eq!(whole, [none, none, none, &[0, 2], none, &[3]]);
}

/// What arrives first must not decide the order of combination, or results would differ from run to run.
#[test]
fn combination_is_in_plan_order_whatever_arrives_first() {
    #[derive(Default)]
    struct Reversed {
        wanted: Vec<u32>,
        received: Vec<Place>,
        combined: Vec<Place>,
    }
    impl Transport for Reversed {
        type Error = Fault;
        fn units(&self, _: Parts, _: u32) -> (u64, u64) {
            (0, 4)
        }
        fn reserve(&mut self, _: u32, _: u64, _: u64) -> Result<(), Fault> {
            Ok(())
        }
        fn open(&mut self, _: u32, _: Rank, _: Label) {}
        fn send(&mut self, _: u32, _: Place, _: Synchronous) -> Result<(), Fault> {
            Ok(())
        }
        fn recv(&mut self, hop: u32, into: Place) -> Result<(), Fault> {
            // Segments of one unit.
            for start in into.start..into.start + into.units {
                self.wanted.push(hop);
                self.received.push(Place { start, units: 1, ..into });
            }
            Ok(())
        }
        fn reduce(&mut self, from: Place, _: Place) -> Result<(), Fault> {
            self.combined.push(from);
            Ok(())
        }
        fn copy(&mut self, _: Place, _: Place) -> Result<(), Fault> {
            Ok(())
        }
        fn poll(&mut self, _: bool, completed: &mut Completed) -> Result<(), Fault> {
            // All of the second child's, then all of the first's.
            completed.extend(self.wanted.pop().map(|hop| (hop, 1)));
            Ok(())
        }
    }
    let data = Parts::vector(0, 1);
    let hops = vec![hop(Action::Reduce, 1, data, vec![]), hop(Action::Reduce, 2, data, vec![])];
    let program = Program::new(RankPlan::new(0, 1, hops), true).unwrap();
    let run = |in_place| {
        let mut transport = Reversed::default();
        let pacing = Pacing { segment: 1, window: 8, flow: None };
        let mut credits = Credits::default();
        let executor = Executor::new(&program, pacing, (in_place, true), &mut credits, &mut transport).unwrap();
        executor.run(&mut transport).unwrap();
        transport
    };
    let transport = run(true);
    let scratch: Vec<_> = transport.combined.iter().map(|p| p.region).collect();
    assert_eq!(scratch.len(), 8);
    // Of each segment first the first child's (scratch 0 to 3), then the second's (4 to 7), though arrivals were
    // reversed.
    let order: Vec<u32> = scratch
        .iter()
        .map(|r| match r {
            Region::Scratch(slot) => *slot,
            other => panic!("combined from {other:?}"),
        })
        .collect();
    for segment in 0..4 {
        let first = order.iter().position(|&s| s == segment).unwrap();
        let second = order.iter().position(|&s| s == segment + 4).unwrap();
        assert!(first < second, "segment {segment}: {order:?}");
    }
    // Where the result is a buffer of its own, the first child's segments arrive there, and the contribution is added.
    let transport = run(false);
    let all = |region| (0..4).map(|start| Place { region, start, units: 1 }).collect::<Vec<_>>();
    let of = |mut places: Vec<Place>, region| {
        places.retain(|place| place.region == region);
        places
    };
    assert_eq!(of(transport.received, Region::Output), all(Region::Output));
    assert_eq!(of(transport.combined, Region::Input), all(Region::Input));
}
