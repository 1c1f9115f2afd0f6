//! The options of the XOR exchange, and its numbering for sub-communicators.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::timeline;
use nagare_plan::pattern::{Partners, Steps, VirtualRanks};
use nagare_plan::schedule::{Action, RankPlan, Schedule};
use nagare_plan::topology::{Topology, in_order};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const PARTNERS: [Partners; 2] = [Partners::One, Partners::Two];

fn topology(nodes: &[u32], cores: &[u32]) -> Topology {
    Topology::new(vec!["node".into()], vec![nodes.to_vec()], cores[..nodes.len()].to_vec()).expect("one level")
}

fn exchange(topology: &Topology, steps: Steps, partners: Partners) -> Schedule {
    let planner = Planner::new(topology.clone()).with_steps(steps).with_partners(partners);
    planner.schedule(Alltoall, Algorithm::Xor, 0).expect("implemented")
}

/// `ppn` consecutive ranks on each node.
fn even(nodes: u32, ppn: u32) -> Topology {
    Topology::of_nodes((0..nodes * ppn).map(|r| r / ppn).collect()).expect("one level")
}

/// Hops that are complete before hop `index` starts, because it or what it waits for waits for them.
fn before(plan: &RankPlan, index: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = plan.hops[index as usize].after.clone();
    while let Some(hop) = open.pop() {
        if found.insert(hop) {
            open.extend(&plan.hops[hop as usize].after);
        }
    }
    found
}

/// The steps of a rank that are not idle are dealt out to lanes; a send waits for everything earlier in its lane, so no
/// more sends are under way than there are lanes, and with one lane each step is complete before the next.
#[test]
fn a_send_waits_for_every_step_of_its_lane() {
    for nodes in [vec![0; 7], vec![0, 0, 1, 1, 1, 2, 2], vec![0, 1, 2, 3, 4, 5, 6, 7, 8], vec![0, 1, 1, 1, 1, 1, 2]] {
        for (lanes, partners) in [1, 2, 3, 8].into_iter().flat_map(|s| PARTNERS.map(|p| (s, p))) {
            for plan in exchange(&topology(&nodes, &[0; 9]), Steps::InFlight(lanes), partners).plans {
                // The copy is no step.
                let steps: BTreeSet<u32> = plan.hops[1..].iter().map(|h| h.round.step).collect();
                let number = |hop: u32| steps.iter().position(|&s| s == plan.hops[hop as usize].round.step).unwrap();
                for index in 1..plan.hops.len() as u32 {
                    let earlier =
                        |h: &u32| number(*h) < number(index) && (number(index) - number(*h)) % lanes as usize == 0;
                    let in_lane: BTreeSet<u32> = (1..index).filter(earlier).collect();
                    // Receives are posted ahead.
                    let sends = plan.hops[index as usize].action == Action::Send;
                    let expected = if sends { in_lane } else { BTreeSet::new() };
                    assert_eq!(before(&plan, index), expected, "{nodes:?} {lanes} {partners:?} hop {index}");
                }
            }
        }
    }
}

/// One step at a time takes a message and its latency each; two, every second one.
#[test]
fn synchronised_steps_take_their_latencies_one_after_another() {
    let fabric = network::load("star16");
    let placement = network::place(&fabric, "by slot", 16, 1);
    let bytes = 65536;
    let (message, latency) = (8.0 * 65536.0 / 50e6, 90e-6);
    for partners in PARTNERS {
        for (in_flight, latencies) in [(1, 15.0), (2, 8.0), (5, 3.0), (32, 1.0)] {
            let planner = network::planner(&fabric, &placement).with_steps(Steps::InFlight(in_flight));
            let planner = planner.with_partners(partners);
            let schedule = planner.schedule(Alltoall, Algorithm::Xor, 0).unwrap();
            let found = timeline(&schedule, &fabric, placement.hosts(), bytes, None).unwrap();
            let expected = 15.0 * message + latencies * latency;
            assert!((found.finish - expected).abs() < 1e-9, "{in_flight} {partners:?}: {} {expected}", found.finish);
            assert!(found.conflicts().is_empty(), "{in_flight} {partners:?}");
        }
    }
}

#[test]
fn two_partners_are_two_and_on_two_nodes() {
    for (nodes, ppn) in [(1, 4), (2, 2), (4, 1), (8, 1), (4, 4), (8, 2)] {
        let t = even(nodes, ppn);
        let v = VirtualRanks::new(&t);
        for (rank, step) in (0..nodes * ppn).flat_map(|r| (1..v.steps()).map(move |s| (r, s))) {
            let (to, from) = v.two_partners(rank, step);
            let (to, from) = (to.expect("a rank"), from.expect("a rank"));
            assert_eq!(to == from, step == 1, "{nodes} × {ppn} rank {rank} step {step}");
            let node = |rank: u32| rank / ppn;
            // Of the steps to the node beside, and inside the node, both partners are on one node.
            assert_eq!(node(to) == node(from), step < 2 * ppn, "{nodes} × {ppn} rank {rank} step {step}");
            assert_eq!(node(to) == node(rank), step < ppn);
        }
    }
    // The picture in the code: 0 → 4 → 1 → 5 → 0.
    let v = VirtualRanks::new(&even(8, 1));
    let to = |rank| v.two_partners(rank, 4).0.unwrap();
    assert_eq!([0, 4, 1, 5].map(to), [4, 1, 5, 0]);
    assert_eq!([2, 6, 3, 7].map(to), [6, 3, 7, 2]);
}

/// Every pair once, sends and receives of a step fit, and all ranks of a node send to one node and receive from one.
fn check_exchange(schedule: &Schedule, nodes: &[u32]) {
    let ranks = nodes.len() as u32;
    let mut ends: [BTreeSet<(u32, u32, u32)>; 2] = Default::default();
    let mut towards: HashMap<(bool, u32, u32), u32> = HashMap::new();
    for plan in &schedule.plans {
        for hop in plan.hops.iter().filter(|h| !matches!(h.action, Action::Copy { .. }) && h.parts.count > 0) {
            let sends = hop.action == Action::Send;
            let pair = if sends { (plan.rank, hop.peer) } else { (hop.peer, plan.rank) };
            assert!(ends[usize::from(sends)].insert((hop.round.step, pair.0, pair.1)));
            let other = nodes[hop.peer as usize];
            let key = (sends, hop.round.step, nodes[plan.rank as usize]);
            assert_eq!(*towards.entry(key).or_insert(other), other, "step {}", hop.round.step);
        }
    }
    assert_eq!(ends[0], ends[1]);
    let pairs: BTreeSet<(u32, u32)> = ends[0].iter().map(|&(_, from, to)| (from, to)).collect();
    assert_eq!((pairs.len(), ends[0].len() as u32), (ends[0].len(), ranks * (ranks - 1)));
}

proptest! {
    #![proptest_config(nagare_mutate::cases(60))]

    #[test]
    fn every_option_is_right_on_any_nodes(
        nodes in prop::collection::vec(0u32..9, 1..40),
        cores in prop::collection::vec(0u32..16, 40),
        steps in prop_oneof![(1u32..6).prop_map(Steps::InFlight), Just(Steps::Together)],
        rendezvous: bool,
    ) {
        let t = topology(&nodes, &cores);
        for partners in PARTNERS {
            let schedule = exchange(&t, steps, partners);
            check_exchange(&schedule, t.nodes());
            let played = play(&schedule, 5, Pacing { segment: 2, window: 2, flow: None }, rendezvous);
            prop_assert_eq!(played, Ok(()), "{:?}, {:?}", steps, partners);
        }
    }

    /// Claim 5: those that remain are numbered anew, in the order of their nodes and of cores inside a node, without
    /// the holes that those who left would leave.
    #[test]
    fn sub_communicators_are_numbered_anew(
        nodes in prop::collection::vec(0u32..9, 1..60),
        cores in prop::collection::vec(0u32..16, 60),
        keys in prop::collection::vec(0u32..100, 60),
        keep in prop::collection::vec(any::<bool>(), 60),
    ) {
        let whole = topology(&nodes, &cores);
        // As MPI_Comm_split: those that stay, in the order of their keys.
        let mut members: Vec<u32> = (0..nodes.len() as u32).filter(|&r| keep[r as usize]).collect();
        members.sort_by_key(|&r| (keys[r as usize], r));
        prop_assume!(!members.is_empty());
        let part = whole.restricted(&members);
        let v = VirtualRanks::new(&part);

        // From the members alone: nodes by their smallest new rank, ranks of a node by core and then by new rank.
        let mut first_of: BTreeMap<u32, u32> = BTreeMap::new();
        members.iter().zip(0..).for_each(|(&old, new)| {
            first_of.entry(nodes[old as usize]).or_insert(new);
        });
        let mut by_first: Vec<(u32, u32)> = first_of.into_iter().map(|(node, first)| (first, node)).collect();
        by_first.sort_unstable();
        let on = |node: u32| -> Vec<u32> {
            let is_on = |&r: &u32| nodes[members[r as usize] as usize] == node;
            let mut on: Vec<u32> = (0..members.len() as u32).filter(is_on).collect();
            on.sort_by_key(|&r| (cores[members[r as usize] as usize], r));
            on
        };
        let width = by_first.iter().map(|&(_, node)| on(node).len()).max().unwrap().next_power_of_two() as u32;
        prop_assert_eq!(v.steps(), width * by_first.len().next_power_of_two() as u32);
        for (number, &(_, node)) in (0..).zip(&by_first) {
            for (slot, rank) in (0..).zip(on(node)) {
                prop_assert_eq!(v.of(rank), number * width + slot);
            }
        }
        // The same as if the members had been alone from the start, and right.
        let alone = topology(
            &members.iter().map(|&r| nodes[r as usize]).collect::<Vec<_>>(),
            &members.iter().map(|&r| cores[r as usize]).collect::<Vec<_>>(),
        );
        prop_assert_eq!(&v, &VirtualRanks::new(&alone));
        for partners in PARTNERS {
            let schedule = exchange(&part, Steps::InFlight(1), partners);
            check_exchange(&schedule, part.nodes());
            prop_assert_eq!(play(&schedule, 3, Pacing { segment: 2, window: 2, flow: None }, true), Ok(()));
        }
    }
}

/// Two nodes of two NUMA nodes of four cores, which the operating system numbers across NUMA nodes; rank r is bound to
/// core r mod 8 of its node. Numbered by core alone, neighbours would be on different NUMA nodes.
#[test]
fn ranks_of_a_node_are_in_the_order_of_numa_nodes() {
    let places: Vec<(u32, u64)> = (0..16u32).map(|r| (r % 2, u64::from(r % 8))).collect();
    let numa = |rank: u32| places[rank as usize].0;
    let nodes: Vec<u32> = (0..16).map(|r| r / 8).collect();
    let t = topology(&nodes, &in_order(&places));
    assert_eq!(t.slots(), [0, 4, 1, 5, 2, 6, 3, 7, 0, 4, 1, 5, 2, 6, 3, 7]);
    let v = VirtualRanks::new(&t);
    for (rank, step) in (0..16).flat_map(|r| (1..16).map(move |s| (r, s))) {
        // Steps 1 to 3 stay in the NUMA node; in all others of a node all its ranks go to the other one, or none does.
        let same = numa(v.partner(rank, step).unwrap()) == numa(rank);
        assert_eq!(same, step & 4 == 0, "rank {rank} step {step}");
    }
    assert_eq!(in_order(&[(1, 0), (0, 9), (1, 0), (0, u64::MAX), (0, 3)]), [3, 1, 3, 2, 0]);
    assert_eq!(in_order(&[]), Vec::<u32>::new());
}

#[test]
fn half_of_every_node_leaves_no_idle_step() {
    // Eight ranks on each of four nodes; the even ranks alone are four on each: 16 numbers, not 32 with every second
    // missing.
    let whole = even(4, 8);
    assert_eq!(VirtualRanks::new(&whole).steps(), 32);
    let part = whole.restricted(&(0..32).step_by(2).collect::<Vec<_>>());
    let v = VirtualRanks::new(&part);
    assert_eq!(v.steps(), 16);
    assert!((0..16).all(|rank| (0..16).all(|step| v.partner(rank, step).is_some())));
}
