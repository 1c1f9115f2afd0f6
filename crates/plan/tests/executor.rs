//! The executor with real data between threads: results of all algorithms, late ranks, bounded memory.

use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::collective::Collective;
use nagare_plan::execute::{Credits, Executor, Layout, Pacing, ThreadTransport, Traffic, World};
use nagare_plan::schedule::{Program, Rank, RankPlan};
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
