//! What `docs/algorithms.md` says about the executor: messages of segments, and what its window bounds.

use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allreduce, Bcast, Reduce};
use nagare_plan::execute::{Credits, Executor, Pacing, ThreadTransport, World};
use nagare_plan::schedule::{Action, Program, Schedule};

use crate::support::formulas::{planner_of, regular, schedule};

/// Messages, units and scratch units of a run; `late` starts when nothing else moves any more.
fn run(s: &Schedule, units: u64, pacing: Pacing, late: u32) -> (u64, u64, Vec<u64>, usize) {
    let world = World::new(s.plans.len() as u32, false);
    let has_output = |rank| s.collective != Reduce || rank == s.root;
    let bcast = s.collective == Bcast;
    let programs: Vec<Program> = s.plans.iter().map(|p| Program::new(p.clone(), has_output(p.rank)).unwrap()).collect();
    let mut transports: Vec<ThreadTransport> = (0..s.plans.len() as u32)
        .map(|rank| ThreadTransport::new(&world, rank, vec![1; units as usize]))
        .map(|t| if bcast { t.in_place() } else { t })
        .collect();
    let mut credits = vec![Credits::default(); s.plans.len()];
    let mut executors: Vec<Executor> = programs
        .iter()
        .zip(&mut transports)
        .zip(&mut credits)
        .map(|((p, t), c)| Executor::new(p, pacing, (bcast, has_output(p.plan.rank)), c, t).unwrap())
        .collect();
    let (mut is_late, mut all_done) = (true, false);
    while !all_done {
        let before = world.started();
        all_done = true;
        for (rank, (executor, transport)) in (0..).zip(executors.iter_mut().zip(&mut transports)) {
            all_done &= !(is_late && rank == late) && executor.progress(transport).unwrap();
        }
        is_late &= world.started() != before || world.has_news();
    }
    let sum = |of: fn(&nagare_plan::execute::Traffic) -> u64| executors.iter().map(|e| of(&e.traffic())).sum();
    let reserved = transports.iter().map(|t| t.reserved() as u64).collect();
    (sum(|t| t.messages), sum(|t| t.units), reserved, world.most_waiting())
}

#[test]
fn segments_window_and_memory() {
    let levels = regular(&[4, 4, 2]);
    let (ranks, planner) = (32u64, planner_of(&levels));
    for (units, segment, window) in [(1000, 8, 4), (1001, 7, 6), (37, 64, 16), (500, 3, 2)] {
        let pacing = Pacing { segment, window, flow: None };
        for algorithm in [Algorithm::TwoTree, Algorithm::GroupedTwoTree, Algorithm::GatewayTwoTree, Algorithm::Chain] {
            let whole = algorithm == Algorithm::Chain;
            let parts: Vec<u64> = if whole { vec![units] } else { vec![units / 2, units - units / 2] };
            let per_edge: u64 = parts.iter().map(|h| h.div_ceil(segment)).sum();
            for (collective, directions) in [(Bcast, 1), (Reduce, 1), (Allreduce, 2)] {
                let s = schedule(&planner, collective, algorithm, 5);
                let (messages, moved, reserved, most_waiting) = run(&s, units, pacing, 21);
                assert_eq!(messages, directions * (ranks - 1) * per_edge);
                assert_eq!(moved, directions * (ranks - 1) * units);
                assert!(most_waiting as u64 <= window, "{most_waiting} messages waited unreceived");
                for (plan, reserved) in s.plans.iter().zip(reserved) {
                    let combining: Vec<_> = plan.hops.iter().filter(|h| h.action == Action::Reduce).collect();
                    let combinations = combining.len() as u64;
                    // Into a result, the first of each part needs none.
                    let has_result = collective == Allreduce || plan.rank == 5;
                    let first = |n: usize| combining[..n].iter().all(|h| h.parts != combining[n].parts);
                    let in_scratch: Vec<_> =
                        (0..combining.len()).filter(|&n| !(has_result && first(n))).map(|n| combining[n]).collect();
                    let rings = in_scratch.len() as u64;
                    let longest = in_scratch.iter().map(|h| parts[h.parts.first as usize]).max().unwrap_or(0);
                    let ring = window.min(longest.div_ceil(segment));
                    let most = match algorithm {
                        Algorithm::TwoTree | Algorithm::Chain => 2,
                        Algorithm::GatewayTwoTree => 4,
                        _ => 2 * 3,
                    };
                    assert!(combinations <= most);
                    assert_eq!(reserved, rings * ring * segment.min(longest), "{collective} {algorithm}");
                }
            }
        }
    }
}
