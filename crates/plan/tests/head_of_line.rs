//! Head-of-line blocking: the model and the figures of docs/algorithms.md, "Exchanges in time".

use crate::support::document;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::fabric::{StepTraffic, steps};
use nagare_plan::schedule::{Move, Parts, Round, Space};
use nagare_plan::topology::Topology;
use std::collections::BTreeMap;

use crate::support::document::number;

fn message(step: u32, from: u32, to: u32) -> Move {
    let parts = Parts { space: Space::Input, first: to, count: 1 };
    Move { round: Round { stage: 0, step }, from, to, parts, of: 64 }
}

/// The plain ring: in step i rank r sends to r + i.
fn flat_ring(ranks: u32) -> Vec<Move> {
    (1..ranks).flat_map(|i| (0..ranks).map(move |r| message(i, r, (r + i) % ranks))).collect()
}

/// The two-level ring for even nodes, from the document: step j·p + k goes j nodes and k local ranks on.
fn two_level_ring(nodes: u32, ppn: u32) -> Vec<Move> {
    let of_step = |j: u32, k: u32| {
        (0..nodes * ppn).map(move |r| {
            let (s, l) = (r / ppn, r % ppn);
            message(j * ppn + k, r, (s + j) % nodes * ppn + (l + k) % ppn)
        })
    };
    let steps = (0..nodes).flat_map(|j| (0..ppn).map(move |k| (j, k))).skip(1);
    steps.flat_map(|(j, k)| of_step(j, k)).collect()
}

fn nodes_of(ranks: u32, ppn: u32) -> Vec<u32> {
    (0..ranks).map(|r| r / ppn).collect()
}

/// Whether every node sends to one node at most and receives from one at most.
fn is_aligned(step: &StepTraffic) -> bool {
    let mut from: BTreeMap<u32, u32> = BTreeMap::new();
    step.sent.iter().all(|(source, to)| to.len() == 1 && *from.entry(to[0].0).or_insert(*source) == *source)
}

#[test]
fn the_flat_ring_with_eight_ranks_per_node() {
    let table = [1.0, 1.123, 1.231, 1.306, 1.333, 1.306, 1.231, 1.123];
    let documented: Vec<f64> = document::table("i mod 8").iter().map(|row| number(&row[1])).collect();
    assert_eq!(documented, table);
    let planner = Planner::new(Topology::of_nodes(nodes_of(32, 8)).unwrap());
    let moves = planner.schedule(Alltoall, Algorithm::RingExchange, 0).unwrap().moves();
    let ends = |moves: &[Move]| moves.iter().map(|m| (m.round.step, m.from, m.to)).collect::<Vec<_>>();
    assert_eq!(ends(&moves), ends(&flat_ring(32)));
    let steps = steps(&moves, &nodes_of(32, 8));
    assert_eq!(steps.len(), 31);
    for step in &steps {
        let i = step.round.step;
        // In the first and last steps part of the messages stay in the node: only one other node is left.
        let wraps = !(8..=24).contains(&i);
        let expected = if wraps { 1.0 } else { table[i as usize % 8] };
        assert!((step.relative_time() - expected).abs() < 5e-4, "step {i}: {}", step.relative_time());
        assert_eq!(is_aligned(step), wraps || i % 8 == 0, "step {i}");
    }
    // Step 11 = 8 + 3: five of a node's messages go one node on, three go two nodes on.
    let of_step_11 = StepTraffic {
        round: Round { stage: 0, step: 11 },
        sent: (0..4)
            .map(|n: u32| {
                (n, {
                    let mut to = vec![((n + 1) % 4, 5), ((n + 2) % 4, 3)];
                    to.sort_unstable();
                    to
                })
            })
            .collect(),
    };
    assert_eq!(steps[10], of_step_11);
}

#[test]
fn the_formula_for_two_shares_holds_for_every_ring() {
    for ppn in 1..=16u32 {
        let ranks = 5 * ppn;
        for step in steps(&flat_ring(ranks), &nodes_of(ranks, ppn)) {
            let i = step.round.step;
            if (ppn..=ranks - ppn).contains(&i) {
                let alpha = f64::from(i % ppn) / f64::from(ppn);
                let ta = 1.0 / (1.0 - alpha * (1.0 - alpha));
                assert!((step.relative_time() - ta).abs() < 1e-12, "ppn {ppn} step {i}");
            }
        }
    }
}

#[test]
fn schedules_aligned_to_nodes_never_block() {
    for (nodes, ppn) in [(2, 3), (4, 8), (5, 4), (9, 2)] {
        for step in steps(&two_level_ring(nodes, ppn), &nodes_of(nodes * ppn, ppn)) {
            assert!(is_aligned(&step) && step.relative_time() == 1.0, "{nodes} × {ppn} {step:?}");
        }
    }
    for layout in [vec![8, 8, 8, 8], vec![5, 1, 3], vec![2, 3, 2], vec![1, 7, 4, 4, 2]] {
        let nodes: Vec<u32> = (0..).zip(&layout).flat_map(|(n, &p)| std::iter::repeat_n(n, p)).collect();
        let planner = Planner::new(Topology::of_nodes(nodes.clone()).unwrap());
        let moves = planner.schedule(Alltoall, Algorithm::Xor, 0).unwrap().moves();
        for step in steps(&moves, &nodes) {
            assert!(is_aligned(&step) && step.relative_time() == 1.0, "{layout:?} {step:?}");
        }
    }
}

/// The share of slots in which a port has a message at the head of some queue, by playing all cases of three nodes that
/// each pick one of three others with equal chance.
#[test]
fn three_ways_by_counting_cases() {
    let nodes: Vec<u32> = (0..6).flat_map(|n| [n; 3]).collect();
    // Nodes 0, 1, 2 send one message to each of the nodes 3, 4, 5.
    let moves: Vec<Move> = (0..3u32).flat_map(|n| (0..3).map(move |k| message(0, 3 * n + k, 3 * (3 + k)))).collect();
    let busy = (0..27).filter(|case| [case % 3, case / 3 % 3, case / 9].contains(&0)).count();
    let expected = 27.0 / busy as f64;
    let step = &steps(&moves, &nodes)[0];
    assert!((step.relative_time() - expected).abs() < 1e-12 && !is_aligned(step), "{}", step.relative_time());
}

#[test]
fn many_to_one_is_load_and_no_blocking() {
    let moves: Vec<Move> = (1..4).map(|from| message(0, from, 0)).collect();
    let step = &steps(&moves, &[0, 1, 2, 3])[0];
    assert!(!is_aligned(step));
    assert_eq!(step.relative_time(), 1.0);
    assert_eq!(steps(&[message(0, 0, 1)], &[0, 0])[0].relative_time(), 1.0);
}
