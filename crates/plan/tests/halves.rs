//! Reduce_scatter and Allgather as halves of an Allreduce: grids, lanes, aggregators, chunks, in place; what they move
//! and copy.

use crate::support::network::{load, place, planner};
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allgather, ReduceScatter, ReduceScatterBlock};
use nagare_plan::execute::{Credits, Executor, Layout, Pacing, ThreadTransport, World, play};
use nagare_plan::fabric::{Fabric, Generator, TierRates};
use nagare_plan::pattern::RailOptions;
use nagare_plan::schedule::{Action, Program, Rank, Schedule, Space};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const HALVES: [Collective; 3] = [Allgather, ReduceScatterBlock, ReduceScatter];
const RIVALS: [Algorithm; 2] = [Algorithm::Ring, Algorithm::HalvingDoubling];
const PACING: Pacing = Pacing { segment: 3, window: 2, flow: None };

fn torus(dims: &[u32]) -> Arc<Fabric> {
    let generator = Generator::Torus { dims: dims.to_vec(), hosts_per_switch: 1 };
    Arc::new(generator.builder("torus", &TierRates::uniform(100.0, 1.0)).and_then(|b| b.build()).expect("a torus"))
}

/// Ranks on nodes, `node[rank]`, without a fabric.
fn nodes(node: Vec<u32>) -> Planner {
    let ranks = node.len();
    Planner::new(Topology::new(vec!["node".into()], vec![node], vec![0; ranks]).expect("one level"))
}

/// Shifts: nodes on a switch, in numbers whose messages pass the end of the line.
#[test]
fn every_block_is_right_on_any_number_of_nodes() {
    for (nodes, ppn) in [(5, 1), (5, 3), (7, 1), (7, 2), (9, 1), (11, 2), (13, 1), (14, 1)] {
        let topology = Topology::of_nodes((0..nodes * ppn).map(|rank| rank / ppn).collect()).unwrap();
        for aggregators in [1, ppn] {
            let options = RailOptions { aggregators: Some(aggregators), ..RailOptions::default() };
            let planner = Planner::new(topology.clone()).with_rails(options);
            for (collective, chunks) in HALVES.into_iter().flat_map(|c| [1, 2].map(|chunks| (c, chunks))) {
                let schedule = cut(&planner, collective, Algorithm::HalvingDoubling, chunks);
                for units in [0, 1, 13] {
                    let played = play(&schedule, units, PACING, true);
                    assert_eq!(played, Ok(()), "{collective} {nodes} x {ppn} {aggregators} {chunks}");
                }
            }
        }
    }
}

fn cut(planner: &Planner, collective: Collective, algorithm: Algorithm, chunks: u32) -> Schedule {
    let plan = |rank| planner.plan_cut(collective, algorithm, 0, rank, chunks).expect("implemented");
    let plans = (0..planner.topology().ranks()).map(plan).collect();
    let stages = planner.stages(collective, algorithm);
    Schedule { collective, algorithm: algorithm.name().to_owned(), root: 0, stages, plans }
}

#[test]
fn every_block_is_right_on_grids_with_aggregators_and_chunks() {
    for (dims, ppn) in [(&[4, 4][..], 1), (&[2, 2, 2], 3), (&[3, 2], 4), (&[5, 3], 1), (&[8], 2), (&[4, 3, 2], 1)] {
        let fabric = torus(dims);
        let hosts = dims.iter().product::<u32>() as usize;
        // With one rank on a host both orders are one, and a node has no more aggregators than ranks.
        for how in &["by slot", "by node"][..ppn.min(2)] {
            let placement = place(&fabric, how, hosts * ppn, ppn);
            for aggregators in 1..=ppn.min(3) as u32 {
                let options = RailOptions { aggregators: Some(aggregators), ..RailOptions::default() };
                let planner = planner(&fabric, &placement).with_rails(options);
                for (collective, algorithm) in HALVES.into_iter().flat_map(|c| RIVALS.map(|a| (c, a))) {
                    for chunks in [1, 2, 3] {
                        let schedule = cut(&planner, collective, algorithm, chunks);
                        for units in [0, 1, 13] {
                            let played = play(&schedule, units, PACING, true);
                            assert_eq!(
                                played,
                                Ok(()),
                                "{collective} {algorithm} {dims:?} {how} {aggregators} {chunks}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Runs all plans in one thread with input and output in one buffer; returns the results.
fn in_place(schedule: &Schedule, bounds: &[u64], buffer: impl Fn(Rank) -> Vec<u64>) -> Vec<Vec<u64>> {
    let world = World::new(schedule.plans.len() as u32, true);
    let programs: Vec<Program> =
        schedule.plans.iter().map(|plan| Program::new(plan.clone(), true).expect("consistent")).collect();
    let mut transports: Vec<ThreadTransport> = schedule
        .plans
        .iter()
        .map(|plan| {
            let layout = Layout::cut(schedule.collective, bounds.to_vec(), plan).in_place();
            ThreadTransport::with_layout(&world, plan.rank, layout, buffer(plan.rank), 0).in_place()
        })
        .collect();
    let mut credits = vec![Credits::default(); programs.len()];
    let mut executors: Vec<_> = programs
        .iter()
        .zip(&mut transports)
        .zip(&mut credits)
        .map(|((program, transport), credits)| {
            Executor::new(program, PACING, (true, true), credits, transport).expect("memory")
        })
        .collect();
    let mut waiting: Vec<usize> = (0..programs.len()).collect();
    for _ in 0..100_000 {
        waiting.retain(|&rank| !executors[rank].progress(&mut transports[rank]).expect("matching messages"));
    }
    assert!(waiting.is_empty(), "{waiting:?} cannot go on");
    drop(executors);
    transports.iter().map(|transport| transport.output.clone()).collect()
}

#[test]
fn in_place_nothing_is_overwritten_before_it_is_used() {
    let value = |rank: u64, unit: u64| 1000 * (rank + 1) * (rank + 1) + unit;
    for node in [vec![0, 0, 0, 1, 1, 2, 2, 2], vec![0, 1, 2, 0, 1, 2, 2], vec![0, 1, 2, 3]] {
        let ranks = node.len() as u64;
        let options = RailOptions { aggregators: Some(2), ..RailOptions::default() };
        let planner = nodes(node).with_rails(options);
        let bounds: Vec<u64> = (0..=ranks).map(|rank| (rank * rank * 7) / 3).collect();
        let total = bounds[ranks as usize];
        for (algorithm, chunks) in RIVALS.into_iter().flat_map(|a| [1, 3].map(|chunks| (a, chunks))) {
            let block = |rank: u64| bounds[rank as usize]..bounds[rank as usize + 1];
            let gathered = in_place(&cut(&planner, Allgather, algorithm, chunks), &bounds, |rank| {
                let own = block(rank.into());
                (0..total).map(|unit| if own.contains(&unit) { value(rank.into(), unit) } else { 0 }).collect()
            });
            let all: Vec<u64> = (0..ranks).flat_map(|r| block(r).map(move |unit| value(r, unit))).collect();
            assert!(gathered.iter().all(|result| *result == all), "{algorithm} {chunks}");
            let scattered = in_place(&cut(&planner, ReduceScatter, algorithm, chunks), &bounds, |rank| {
                (0..total).map(|unit| value(rank.into(), unit)).collect()
            });
            for (rank, result) in (0..).zip(scattered) {
                let sums: Vec<u64> = block(rank).map(|unit| (0..ranks).map(|r| value(r, unit)).sum()).collect();
                assert_eq!(result[..sums.len()], sums, "{algorithm} {chunks} rank {rank}");
            }
        }
    }
}

/// Blocks that a node sends to others, and receives, in all.
fn between_nodes(schedule: &Schedule, node: &[u32]) -> BTreeMap<(u32, bool), f64> {
    let mut blocks = BTreeMap::new();
    for m in schedule.moves() {
        let (from, to) = (node[m.from as usize], node[m.to as usize]);
        if from != to {
            let moved = f64::from(m.parts.count) * schedule.plans.len() as f64 / f64::from(m.of);
            *blocks.entry((from, true)).or_default() += moved;
            *blocks.entry((to, false)).or_default() += moved;
        }
    }
    blocks
}

/// The least there is: every node receives the blocks of all others once, or sends its share of theirs once.
#[test]
fn a_node_moves_what_it_must_and_no_more() {
    for sizes in [&[1; 16][..], &[1; 7], &[2; 8], &[3, 1, 2, 4, 1], &[4, 4, 2]] {
        let node: Vec<u32> = (0..).zip(sizes).flat_map(|(n, &size)| vec![n; size]).collect();
        let planner = nodes(node.clone());
        let ranks = node.len() as f64;
        for (collective, algorithm) in HALVES.into_iter().flat_map(|c| RIVALS.map(|a| (c, a))) {
            let moved = between_nodes(&planner.schedule(collective, algorithm, 0).expect("implemented"), &node);
            for (n, &size) in (0..).zip(sizes) {
                let others = ranks - size as f64;
                let toward = collective != Allgather;
                assert!((moved[&(n, toward)] - others).abs() < 1e-9, "{collective} {algorithm} {sizes:?} node {n}");
            }
            let total: f64 = moved.values().sum();
            assert!((total - 2.0 * ranks * (sizes.len() as f64 - 1.0)).abs() < 1e-6, "{collective} {algorithm}");
        }
    }
}

/// Around a ring with one rank per node every step moves one block, wherever it is: an Allgather needs no memory but
/// the result.
#[test]
fn a_ring_of_nodes_of_one_rank_gathers_straight_into_the_result() {
    let fabric = load("torus16");
    let on_torus = planner(&fabric, &place(&fabric, "by node", 16, 1));
    for planner in [nodes((0..12).collect()), on_torus] {
        for plan in planner.schedule(Allgather, Algorithm::Ring, 0).expect("implemented").plans {
            assert_eq!((plan.staged, plan.order.len(), plan.shuffles.len()), (0, 0, 0));
            let copies: Vec<_> = plan.hops.iter().filter(|hop| hop.action.copied().is_some()).collect();
            let own: u32 = copies.iter().map(|hop| hop.parts.count).sum();
            assert_eq!(own, plan.parts / planner.topology().ranks(), "the own block alone is copied");
        }
    }
}

/// The stage holds every slice once, all ranks have it in the same order, and every contribution is copied there once.
#[test]
fn the_stage_is_an_order_of_all_slices() {
    let fabric = torus(&[4, 2]);
    let planner = planner(&fabric, &place(&fabric, "by slot", 24, 3));
    for algorithm in RIVALS {
        let schedule = planner.schedule(ReduceScatter, algorithm, 0).expect("implemented");
        for plan in &schedule.plans {
            let staged: BTreeSet<u32> = plan.order.iter().copied().collect();
            assert_eq!((staged.len() as u32, plan.order.len() as u32), (plan.parts, plan.parts));
            assert_eq!((plan.staged, &plan.order), (plan.parts, &schedule.plans[0].order));
            let into_stage = plan.hops.iter().filter(|hop| hop.parts.space == Space::Stage);
            let copied: Vec<(u32, u32)> = into_stage
                .flat_map(|hop| match hop.action {
                    Action::Copy { from } => {
                        (0..from.count).map(|part| (from.first + part, hop.parts.first + part)).collect()
                    }
                    Action::Shuffle { .. } => {
                        let runs = plan.runs(hop).iter();
                        runs.flat_map(|run| (0..run.count).map(|part| (run.from + part, run.to + part))).collect()
                    }
                    _ => Vec::new(),
                })
                .collect();
            assert_eq!(copied.len() as u32, plan.parts);
            assert!(copied.iter().all(|&(from, to)| plan.order[to as usize] == from));
        }
    }
}
