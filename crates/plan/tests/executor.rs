//! The executor with real data between threads: results, order, bounded memory, late ranks, tokens, inconsistent plans.
//! One file, since all tests run the same executor on the same threads, buffers and hand-made hops.

use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::collective::Collective;
use nagare_plan::execute::{
    Completed, Credits, Executor, Fault, Label, Layout, Pacing, Place, Region, Synchronous, ThreadTransport, Traffic,
    Transport, World,
};
use nagare_plan::schedule::{Action, Hop, Parts, Program, ProgramError, Rank, RankPlan, Round, Run, Space};
use nagare_plan::topology::Topology;
use std::sync::Arc;
use std::time::Duration;

/// Two groups of uneven nodes.
fn planner(ranks: u32) -> Planner {
    let node = |r: u32| r / 3;
    let nodes = (0..ranks).map(node).collect();
    let groups = (0..ranks).map(|r| u32::from(node(r) > 1)).collect();
    Planner::new(
        Topology::new(vec!["group".into(), "node".into()], vec![groups, nodes], vec![0; ranks as usize]).unwrap(),
    )
}

/// Runs all plans in threads, `delay(rank)` before each starts; returns each rank's transport and traffic.
fn run(
    plans: &[RankPlan],
    collective: Collective,
    root: Rank,
    input: &(dyn Fn(Rank) -> Vec<u64> + Sync),
    pacing: Pacing,
    delay: &(dyn Fn(Rank) -> Duration + Sync),
) -> (Arc<World>, Vec<(ThreadTransport, Traffic)>) {
    let world = World::new(plans.len() as u32, false);
    let in_place = collective == Collective::Bcast;
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = plans
            .iter()
            .map(|plan| {
                let world = &world;
                scope.spawn(move || {
                    let rank = plan.rank;
                    let has_output = collective.has_output(root, rank);
                    let program = Program::new(plan.clone(), has_output).unwrap();
                    let input = input(rank);
                    let (layout, output) = buffers(collective, input.len(), plans.len(), plan);
                    let transport = ThreadTransport::with_layout(world, rank, layout, input, output);
                    let mut transport = if in_place { transport.in_place() } else { transport };
                    std::thread::sleep(delay(rank));
                    let mut credits = Credits::default();
                    let buffers = (in_place, has_output);
                    let executor = Executor::new(&program, pacing, buffers, &mut credits, &mut transport).unwrap();
                    let traffic = executor.run(&mut transport).unwrap();
                    (transport, traffic)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    (world, results)
}

/// How the buffers of a rank with `input` units are laid out, and the units of its result.
fn buffers(collective: Collective, input: usize, ranks: usize, plan: &RankPlan) -> (Layout, usize) {
    let block = (input / ranks) as u64;
    let table: Vec<(u64, u64)> = (0..ranks as u64).map(|peer| (peer * block, block)).collect();
    match collective {
        Collective::Reduce | Collective::Bcast | Collective::Allreduce => {
            (Layout::Vector { units: input as u64 }, input)
        }
        Collective::Alltoall => (Layout::Blocks { block }, input),
        Collective::Alltoallv | Collective::Alltoallw => (Layout::Table { input: table.clone(), output: table }, input),
        Collective::Gather => (Layout::Blocks { block: input as u64 }, input * ranks),
        Collective::Scatter => (Layout::Blocks { block }, input / ranks),
        Collective::Gatherv => {
            let all = (0..ranks as u64).map(|peer| (peer * input as u64, input as u64)).collect();
            (Layout::Table { input: vec![(0, input as u64)], output: all }, input * ranks)
        }
        Collective::Scatterv => (Layout::Table { input: table, output: vec![(0, block)] }, input / ranks),
        Collective::Allgather | Collective::Allgatherv => {
            let bounds = (0..=ranks as u64).map(|r| r * input as u64).collect();
            (Layout::cut(collective, bounds, plan), input * ranks)
        }
        Collective::ReduceScatterBlock | Collective::ReduceScatter => {
            let bounds = (0..=ranks as u64).map(|r| r * block).collect();
            (Layout::cut(collective, bounds, plan), block as usize)
        }
    }
}

fn no_delay(_: Rank) -> Duration {
    Duration::ZERO
}

#[test]
fn every_algorithm_moves_real_data_between_threads() {
    let pacing = Pacing { segment: 16, window: 4, flow: None };
    for ranks in [2, 3, 7, 12] {
        let planner = planner(ranks);
        for length in [0, 1, 15, 16, 17, 1000] {
            let root = ranks - 1;
            let value = |rank: Rank, i: usize| (u64::from(rank) + 1) * 1_000_003 + i as u64;
            for spec in ALGORITHMS {
                for &collective in spec.collectives {
                    let plans = planner.schedule(collective, spec.algorithm, root).unwrap().plans;
                    let exchanged =
                        matches!(collective, Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw);
                    let blocks = exchanged
                        || collective.scatters()
                        || matches!(collective, Collective::Scatter | Collective::Scatterv);
                    let units = if blocks { length * ranks as usize } else { length };
                    let input = |rank: Rank| (0..units).map(|i| value(rank, i)).collect();
                    let (_, results) = run(&plans, collective, root, &input, pacing, &no_delay);
                    for (rank, (transport, _)) in results.iter().enumerate() {
                        let (_, units) = buffers(collective, units, ranks as usize, &plans[rank]);
                        let expected: Vec<u64> = (0..units)
                            .map(|i| match collective {
                                Collective::Bcast => value(root, i),
                                Collective::Scatter | Collective::Scatterv => value(root, rank * length + i),
                                Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
                                    value((i / length) as Rank, rank * length + i % length)
                                }
                                Collective::Gather
                                | Collective::Gatherv
                                | Collective::Allgather
                                | Collective::Allgatherv => value((i / length) as Rank, i % length),
                                Collective::ReduceScatterBlock | Collective::ReduceScatter => {
                                    (0..ranks).map(|r| value(r, rank * length + i)).sum()
                                }
                                Collective::Reduce | Collective::Allreduce => (0..ranks).map(|r| value(r, i)).sum(),
                            })
                            .collect();
                        if collective.has_output(root, rank as Rank) {
                            assert_eq!(transport.output, expected, "{collective} {} of {ranks}, {length}", spec.name);
                        }
                        if collective != Collective::Bcast {
                            assert_eq!(transport.input, input(rank as Rank), "the contribution is never written");
                        }
                    }
                }
            }
        }
    }
}

/// A parent must not send more than the window to a child that has not arrived, nor a child to its parent.
#[test]
fn a_late_rank_has_at_most_a_window_waiting_for_it() {
    let planner = planner(9);
    let pacing = Pacing { segment: 10, window: 6, flow: None };
    for collective in [Collective::Bcast, Collective::Reduce, Collective::Allreduce] {
        for late in [0, 4, 8] {
            let plans = planner.schedule(collective, Algorithm::GroupedTwoTree, 0).unwrap().plans;
            let input = |rank: Rank| vec![u64::from(rank); 4000];
            let delay = |rank| if rank == late { Duration::from_millis(300) } else { Duration::ZERO };
            let (world, results) = run(&plans, collective, 0, &input, pacing, &delay);
            let waiting = world.most_waiting();
            assert!(waiting <= 6, "{collective}, rank {late} late: {waiting} segments of one stream waited");
            assert!(waiting > 0, "nothing waited: the rank was not late");
            // Scratch memory: a window for each of at most four children.
            let scratch = results.iter().map(|(t, _)| t.reserved()).max().unwrap();
            assert!(scratch <= 6 * 6 * 10, "{scratch} units of scratch memory");
            assert_eq!(collective == Collective::Bcast, scratch == 0);
        }
    }
}

/// Many short calls must not pile up more than one long call may.
#[test]
fn the_window_holds_across_calls() {
    let planner = planner(3);
    let world = World::new(3, false);
    let plans = planner.schedule(Collective::Bcast, Algorithm::Chain, 0).unwrap().plans;
    let pacing = Pacing { segment: 10, window: 6, flow: None };
    std::thread::scope(|scope| {
        for plan in &plans {
            let world = &world;
            scope.spawn(move || {
                let program = Program::new(plan.clone(), true).unwrap();
                let mut credits = Credits::default();
                if plan.rank == 2 {
                    std::thread::sleep(Duration::from_millis(300));
                }
                for call in 0..100 {
                    let mut transport = ThreadTransport::new(world, plan.rank, vec![call; 20]).in_place();
                    let executor = Executor::new(&program, pacing, (true, true), &mut credits, &mut transport).unwrap();
                    executor.run(&mut transport).unwrap();
                    assert_eq!(transport.output, vec![call; 20]);
                }
            });
        }
    });
    let waiting = world.most_waiting();
    assert!((1..=6).contains(&waiting), "{waiting} segments waited");
}

#[test]
fn traffic_is_the_data_that_leaves_a_rank() {
    let planner = planner(8);
    let plans = planner.schedule(Collective::Bcast, Algorithm::TwoTree, 0).unwrap().plans;
    let input = |_: Rank| vec![5; 100];
    let (_, results) =
        run(&plans, Collective::Bcast, 0, &input, Pacing { segment: 10, window: 4, flow: None }, &no_delay);
    assert_eq!(results[0].1, Traffic { messages: 10, units: 100 }, "half a vector to each of the two tops");
    assert_eq!(results.iter().map(|r| r.1.units).sum::<u64>(), 7 * 100);
}

fn hop(action: Action, peer: Rank, parts: Parts, after: Vec<u32>) -> Hop {
    Hop { action, peer, parts, round: Round { stage: 0, step: 0 }, tag: 0, turn: 0, after }
}

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

#[test]
fn inconsistent_plans_are_refused_or_reported() {
    let plan = |hops| RankPlan::new(0, 2, hops);
    let wrong = [
        (plan(vec![hop(Action::Send, 1, Parts::vector(1, 2), vec![])]), true, "hop 0: parts 1..3 of 2"),
        (
            plan(vec![hop(Action::Send, 1, Parts::token(), vec![0])]),
            true,
            "hop 0 waits for hop 0, which is not earlier",
        ),
        (
            plan(vec![hop(Action::Recv, 1, Parts::vector(0, 1), vec![])]),
            false,
            "hop 0: receives into a rank without a result buffer",
        ),
        (
            plan(vec![
                hop(Action::Reduce, 1, Parts::vector(0, 2), vec![]),
                hop(Action::Send, 1, Parts::vector(0, 1), vec![]),
            ]),
            false,
            "hop 1: a rank without a result buffer combines parts that other hops cut differently",
        ),
        (
            plan(vec![
                hop(Action::Reduce, 1, Parts::vector(0, 1), vec![]),
                hop(Action::Send, 1, Parts::vector(0, 2), vec![]),
            ]),
            true,
            "hop 1: some of its parts have been combined or received, others are still the rank's contribution",
        ),
    ];
    let shuffles = |from: Parts, parts: Parts, runs: Vec<Run>| {
        let plan = plan(vec![hop(Action::Shuffle { from, table: 0 }, 0, parts, vec![])]);
        RankPlan { staged: 4, shuffles: vec![runs], ..plan }
    };
    let stage = Parts { space: Space::Stage, first: 0, count: 4 };
    let output = Parts { space: Space::Output, first: 0, count: 2 };
    let run = |from, to, count| Run { from, to, count };
    let in_its_own_way = "hop 0: writes where it reads, or twice in one place";
    let shuffled = [
        (shuffles(stage, output, vec![run(0, 0, 1), run(3, 1, 2)]), true, "hop 0: parts 3..5 of 4"),
        (shuffles(stage, output, vec![run(0, 1, 2)]), true, "hop 0: parts 1..3 of 2"),
        (shuffles(stage, output, vec![run(0, 1, 1), run(2, 1, 1)]), true, in_its_own_way),
        (shuffles(stage, stage, vec![run(0, 1, 2)]), true, in_its_own_way),
        (
            shuffles(output, Parts { space: Space::Input, ..output }, vec![run(0, 1, 1)]),
            true,
            "hop 0: writes to the input",
        ),
        (shuffles(stage, output, vec![run(0, 1, 1)]), false, "hop 0: receives into a rank without a result buffer"),
    ];
    for (plan, has_output, message) in wrong.into_iter().chain(shuffled) {
        let error: ProgramError = Program::new(plan, has_output).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    // Two ranks that both wait for a receive that nobody sends to.
    let waits = plan(vec![
        hop(Action::Recv, 1, Parts::vector(0, 1), vec![]),
        hop(Action::Send, 1, Parts::vector(1, 1), vec![0]),
    ]);
    let program = Program::new(waits, true).unwrap();
    let world = World::new(2, false);
    let mut transport = ThreadTransport::new(&world, 0, vec![1, 2]);
    let mut credits = Credits::default();
    let pacing = Pacing { segment: 1, window: 2, flow: None };
    let mut executor = Executor::new(&program, pacing, (false, true), &mut credits, &mut transport).unwrap();
    assert_eq!(executor.progress(&mut transport), Ok(false));
    assert_eq!(executor.traffic(), Traffic::default());
}

/// A rank that expects another length than is sent takes no segment: not even one that is as long as it expects.
#[test]
fn ranks_that_disagree_on_the_length_never_finish() {
    let data = Parts::vector(0, 1);
    let pacing = Pacing { segment: 4, window: 8, flow: None };
    for (sent, expected) in [(8, 4), (4, 8), (8, 7), (7, 8), (9, 8), (4, 3)] {
        let world = World::new(2, false);
        let plans = [
            RankPlan::new(0, 1, vec![hop(Action::Send, 1, data, vec![])]),
            RankPlan::new(1, 1, vec![hop(Action::Recv, 0, data, vec![])]),
        ];
        let programs = plans.map(|plan| Program::new(plan, true).unwrap());
        let mut credits = [Credits::default(), Credits::default()];
        let mut transports = [(0, sent), (1, expected)]
            .map(|(rank, units)| ThreadTransport::new(&world, rank, vec![u64::from(rank) + 6; units]).in_place());
        let mut executors: Vec<Executor> = programs
            .iter()
            .zip(&mut credits)
            .zip(&mut transports)
            .map(|((program, credits), transport)| {
                Executor::new(program, pacing, (true, true), credits, transport).unwrap()
            })
            .collect();
        let mut taken = false;
        for _ in 0..10 {
            for (rank, executor) in executors.iter_mut().enumerate() {
                let done = executor.progress(&mut transports[rank]).unwrap();
                taken |= rank == 1 && done;
            }
        }
        assert!(!taken, "{expected} units were taken of {sent}");
        assert_eq!(transports[1].output, vec![7; expected], "nothing arrived");
    }
}
