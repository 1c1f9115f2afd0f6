//! The XOR exchange where slots are padded per NUMA node: in every step all ranks of a NUMA node talk to one NUMA node.
//! What they would do with the slots of a node numbered through is worked out here.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::pattern::{Partners, VirtualRanks};
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::{Topology, in_order};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::document::{number, table};

/// Step, sender and receiver.
type Moves = Vec<(u32, u32, u32)>;

/// Node and NUMA node of a rank.
type Place = (u32, u32);

/// Facts about ranks on these places, their cores in the order of ranks.
fn topology(places: &[Place]) -> Topology {
    let nodes = places.iter().map(|place| place.0).collect();
    let numas: Vec<u32> = places.iter().map(|place| place.1).collect();
    let cores: Vec<(u32, u64)> = numas.iter().copied().zip(0..).collect();
    Topology::new(vec!["node".into()], vec![nodes], in_order(&cores)).expect("one level").with_numa(numas)
}

/// `layout[node][numa]` ranks, dealt out to nodes and NUMA nodes in turn.
fn in_turn(layout: &[&[u32]]) -> Vec<Place> {
    let mut left: Vec<Vec<u32>> = layout.iter().map(|node| node.to_vec()).collect();
    let mut places = Vec::new();
    while left.iter().flatten().any(|&ranks| ranks > 0) {
        for (node, numas) in (0..).zip(&mut left) {
            for (numa, ranks) in (0..).zip(numas).filter(|(_, ranks)| **ranks > 0) {
                *ranks -= 1;
                places.push((node, 3 * numa));
            }
        }
    }
    places
}

fn exchange(places: &[Place], partners: Partners) -> Schedule {
    let planner = Planner::new(topology(places)).with_partners(partners);
    planner.schedule(Alltoall, Algorithm::Xor, 0).expect("implemented")
}

fn moves(schedule: &Schedule) -> Moves {
    schedule.moves().iter().map(|m| (m.round.step, m.from, m.to)).collect()
}

/// The exchange of ranks of one node whose virtual ranks are their positions, NUMA node after NUMA node.
fn numbered_through(layout: &[u32]) -> (Moves, Vec<Place>) {
    let places: Vec<Place> = (0..).zip(layout).flat_map(|(numa, &ranks)| vec![(0, numa); ranks as usize]).collect();
    let ranks = places.len() as u32;
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from ^ to, from, to)));
    (pairs.filter(|&(step, _, _)| step > 0).collect(), places)
}

/// Steps in which the ranks of some NUMA node send to several NUMA nodes or receive from several.
fn mixed(moves: &Moves, places: &[Place]) -> u32 {
    let mut partners: BTreeMap<(u32, bool, Place), BTreeSet<Place>> = BTreeMap::new();
    for &(step, from, to) in moves {
        let (from, to) = (places[from as usize], places[to as usize]);
        partners.entry((step, true, from)).or_default().insert(to);
        partners.entry((step, false, to)).or_default().insert(from);
    }
    let steps: BTreeSet<u32> = partners.iter().filter(|(_, of)| of.len() > 1).map(|(key, _)| key.0).collect();
    steps.len() as u32
}

/// Every pair once, and every block where it belongs.
fn check(schedule: &Schedule) {
    let (moves, ranks) = (moves(schedule), schedule.plans.len());
    let pairs: BTreeSet<(u32, u32)> = moves.iter().map(|&(_, from, to)| (from, to)).collect();
    assert_eq!((moves.len(), pairs.len()), (ranks * (ranks - 1), ranks * (ranks - 1)));
    for rendezvous in [false, true] {
        assert_eq!(play(schedule, 3, Pacing { segment: 2, window: 2, flow: None }, rendezvous), Ok(()));
    }
}

#[test]
fn four_numa_nodes_of_three_ranks() {
    let (through, places) = numbered_through(&[3; 4]);
    assert_eq!(mixed(&through, &places), 14, "of fifteen steps");
    let places = in_turn(&[&[3; 4]]);
    for partners in [Partners::One, Partners::Two] {
        let schedule = exchange(&places, partners);
        assert_eq!(mixed(&moves(&schedule), &places), 0);
        check(&schedule);
    }
    // Three of four slots in each of four NUMA nodes: sixteen steps, as without.
    let v = VirtualRanks::new(&topology(&places));
    assert_eq!(v.steps(), 16);
    for (rank, &(_, numa)) in (0..).zip(&places) {
        assert_eq!(v.of(rank) / 4, numa / 3, "rank {rank}");
    }
}

#[test]
fn uneven_numa_nodes_on_several_nodes() {
    let layouts: [&[&[u32]]; 7] = [
        &[&[2, 3]],
        &[&[3, 2, 3, 2]],
        &[&[3; 4], &[3; 4]],
        &[&[3, 3, 3], &[3, 2, 1, 3], &[1]],
        &[&[2, 3], &[3, 1], &[2, 2], &[1, 3], &[3, 3]],
        &[&[12; 4], &[12, 12, 12, 11]],
        &[&[1; 5], &[1; 8]],
    ];
    for layout in layouts {
        let places = in_turn(layout);
        let largest = layout.iter().map(|numas| numas.iter().sum::<u32>()).max().expect("a node");
        let steps = largest.next_power_of_two() * (layout.len() as u32).next_power_of_two();
        assert_eq!(VirtualRanks::new(&topology(&places)).steps(), steps, "{layout:?}");
        for partners in [Partners::One, Partners::Two] {
            let schedule = exchange(&places, partners);
            assert_eq!(mixed(&moves(&schedule), &places), 0, "{layout:?} {partners:?}");
            check(&schedule);
        }
    }
}

/// The table of docs/algorithms.md.
#[test]
fn slots_are_padded_where_that_costs_no_step() {
    for row in table("ranks per NUMA node") {
        let layout: Vec<u32> = row[0].split(' ').map(number).collect();
        let width = layout.iter().sum::<u32>().next_power_of_two();
        let each = layout.iter().max().expect("a NUMA node").next_power_of_two();
        let padded = each * (layout.len() as u32).next_power_of_two();
        let (through, places) = numbered_through(&layout);
        let schedule = exchange(&places, Partners::One);
        let found = [width, padded, mixed(&through, &places), mixed(&moves(&schedule), &places)];
        assert_eq!(found, [1, 2, 3, 4].map(|cell| number::<u32>(&row[cell])), "{row:?}");
        assert_eq!(VirtualRanks::new(&topology(&places)).steps(), width);
        if padded > width {
            assert_eq!(moves(&schedule).into_iter().collect::<BTreeSet<_>>(), through.into_iter().collect());
        }
    }
}

/// Ranks of a node of which no NUMA node is known are as on one.
#[test]
fn nodes_without_numa_nodes() {
    let bare = Topology::new(vec!["node".into()], vec![vec![0, 1, 0, 1, 0]], vec![0; 5]).expect("one level");
    assert_eq!(bare.numa_slots(), [(0, 0), (0, 0), (0, 1), (0, 1), (0, 2)]);
    assert_eq!(VirtualRanks::new(&bare), VirtualRanks::new(&bare.clone().with_numa(vec![7; 5])));
    let bound = topology(&[(0, 5), (1, 5), (0, 2), (1, 5), (0, 5)]);
    assert_eq!(bound.numa_slots(), [(1, 0), (0, 0), (0, 0), (0, 1), (1, 1)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numa_nodes(places in prop::collection::vec((0u32..5, 0u32..6), 2..40), two: bool) {
        let partners = if two { Partners::Two } else { Partners::One };
        let schedule = exchange(&places, partners);
        check(&schedule);
        // On which NUMA nodes of each node how many ranks are.
        let mut counts: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
        for &(node, numa) in &places {
            *counts.entry(node).or_default().entry(numa).or_default() += 1;
        }
        let most = |of: &dyn Fn(&BTreeMap<u32, u32>) -> u32| counts.values().map(of).max().expect("a node");
        let width = most(&|numas| numas.values().sum()).next_power_of_two();
        let numas = most(&|numas| numas.len() as u32).next_power_of_two();
        let each = most(&|numas| *numas.values().max().expect("a rank")).next_power_of_two();
        let steps = width * (counts.len() as u32).next_power_of_two();
        prop_assert_eq!(VirtualRanks::new(&topology(&places)).steps(), steps);
        if numas * each == width {
            prop_assert_eq!(mixed(&moves(&schedule), &places), 0);
        }
    }
}
