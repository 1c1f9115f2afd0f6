//! Properties of every schedule, for all sizes from two ranks on (a single rank has nothing to plan), roots and
//! groupings.

use crate::support::amount::everything;
use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::collective::Collective;
use nagare_plan::execute::{Flow, Pacing, play};
use nagare_plan::schedule::{Action, Rank, Round, Schedule, Space};
use nagare_plan::topology::Topology;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

const SMALL: Pacing = Pacing { segment: 3, window: 2, flow: None };

/// First part, number of parts and round of the hops of one side of a stream.
type Ends = Vec<(u32, u32, Round)>;

/// Every receive has exactly one send of the same parts, in the same order per stream; no rank sends or receives twice
/// in one round; peers exist and differ from the rank.
fn check_shape(schedule: &Schedule) {
    let ranks = schedule.plans.len() as Rank;
    let mut streams: HashMap<(Rank, Rank, u32), [Ends; 2]> = HashMap::new();
    let mut busy = HashSet::new();
    for plan in &schedule.plans {
        for hop in &plan.hops {
            let sends = match hop.action {
                Action::Copy { .. } | Action::Shuffle { .. } => {
                    assert_eq!(hop.peer, plan.rank);
                    continue;
                }
                Action::Send => true,
                Action::Recv | Action::Reduce => false,
            };
            assert!(hop.peer < ranks && hop.peer != plan.rank, "{schedule:?}");
            assert!(busy.insert((plan.rank, sends, hop.round)), "rank {} is busy twice in {:?}", plan.rank, hop.round);
            let (from, to) = if sends { (plan.rank, hop.peer) } else { (hop.peer, plan.rank) };
            // A block is named after the destination at the sender, after the source at the receiver, after its place
            // where it is staged.
            let first = if hop.parts.space == Space::Vector { hop.parts.first } else { 0 };
            streams.entry((from, to, hop.tag)).or_default()[usize::from(sends)].push((
                first,
                hop.parts.count,
                hop.round,
            ));
        }
    }
    for (stream, [received, sent]) in streams {
        assert_eq!(received, sent, "{stream:?}");
        assert_eq!(sent.len(), 1, "two hops of {stream:?} cannot be told apart when both are under way");
    }
}

fn check_all(planner: &Planner, root: Rank, units: u64) {
    for spec in ALGORITHMS {
        // Without a root the plans are the same whatever is asked for.
        for &collective in spec.collectives.iter().filter(|c| c.is_rooted() || root == 0) {
            let schedule = planner.schedule(collective, spec.algorithm, root).expect("implemented");
            check_shape(&schedule);
            // Blocks of all ranks are a long vector already.
            let units = if collective.has_blocks_of_all() { units.min(2) } else { units };
            if let Err(error) = play(&schedule, units, SMALL, true) {
                panic!("{collective} {} root {root} units {units}: {error}\n{:?}", spec.name, planner.topology());
            }
        }
    }
}

/// A deterministic uneven grouping: `ranks` ranks in groups and nodes of varying size.
fn uneven(ranks: u32, seed: u32) -> Topology {
    let mut group = Vec::new();
    let mut node = Vec::new();
    let (mut g, mut n) = (0, 0);
    while (group.len() as u32) < ranks {
        for _ in 0..=(g * 7 + seed) % 4 {
            for _ in 0..=(n * 5 + seed) % 5 {
                group.push(g);
                node.push(n);
            }
            n += 1;
        }
        g += 1;
    }
    group.truncate(ranks as usize);
    node.truncate(ranks as usize);
    Topology::new(vec!["group".into(), "node".into()], vec![group, node], vec![0; ranks as usize]).expect("nested")
}

#[test]
#[ignore = "long: make test-all"]
fn every_size_up_to_64_and_some_up_to_130_are_right_for_some_roots() {
    some_roots((2..=64).chain((65..=130).step_by(13)));
}

#[test]
fn every_size_up_to_24_and_some_up_to_130_are_right_for_some_roots() {
    some_roots((2..=24).chain((25..=64).step_by(13)).chain([130]));
}

fn some_roots(sizes: impl Iterator<Item = u32>) {
    for ranks in sizes {
        let planner = Planner::new(uneven(ranks, ranks));
        for root in HashSet::from([0, ranks / 2, ranks - 1]) {
            check_all(&planner, root, 7);
        }
    }
}

#[test]
fn every_root_is_right_for_some_sizes() {
    for ranks in [2, 3, 5, 8, 13, 16, 31, 33] {
        // All groupings of few ranks, one of many.
        let seeds = if ranks < 20 || everything() { 0..3 } else { ranks % 3..ranks % 3 + 1 };
        for seed in seeds {
            let planner = Planner::new(uneven(ranks, seed));
            for root in 0..ranks {
                check_all(&planner, root, 5);
            }
        }
    }
}

/// Numbers of ranks of random placements: what a case takes grows with their square and more.
fn some_ranks() -> Range<usize> {
    2..if everything() { 70 } else { 40 }
}

proptest! {
    #![proptest_config(nagare_mutate::cases(20))]

    /// Ranks in any order over any nodes and groups, any vector length (also none), any segment and window.
    #[test]
    fn random_placements(
        nodes in prop::collection::vec(0u32..12, some_ranks()),
        groups_of_nodes in prop::collection::vec(0u32..4, 12),
        cores in prop::collection::vec(0u32..8, 70),
        root in 0u32..70,
        units in 0u64..40,
        segment in 1u64..9,
        window in 2u64..7,
        flow in (1u64..30, 0u64..9, 0u64..60),
        rendezvous: bool,
    ) {
        let (unconfirmed, confirmed, behind) = flow;
        let ranks = nodes.len();
        let groups = nodes.iter().map(|&n| groups_of_nodes[n as usize]).collect();
        let topology = Topology::new(
            vec!["group".into(), "node".into()],
            vec![groups, nodes],
            cores[..ranks].to_vec(),
        ).expect("nested");
        let planner = Planner::new(topology);
        for spec in ALGORITHMS {
            for &collective in spec.collectives {
                let schedule = planner.schedule(collective, spec.algorithm, root % ranks as u32).expect("implemented");
                check_shape(&schedule);
                // Exchanges are also bounded as a whole, however tightly.
                let flow = planner.exchange_pacing(spec.algorithm, 1).map(|_| Flow { unconfirmed, confirmed, behind });
                for flow in [None, flow] {
                    let played = play(&schedule, units, Pacing { segment, window, flow }, rendezvous);
                    prop_assert_eq!(played, Ok(()), "{} {} {:?}", collective, spec.name, flow);
                }
            }
        }
    }

    /// Also with uneven nodes: in every step all ranks of a node send to one node, and each node receives from one
    /// only; every pair of ranks meets once.
    #[test]
    fn two_level_ring_node_property(
        nodes in prop::collection::vec(0u32..9, 2..80),
        cores in prop::collection::vec(0u32..16, 80),
    ) {
        let cores = cores[..nodes.len()].to_vec();
        let planner = Planner::new(Topology::new(vec!["node".into()], vec![nodes], cores).expect("one level"));
        let moves = planner.schedule(Collective::Alltoall, Algorithm::TwoLevelRing, 0).expect("implemented").moves();
        let node = planner.topology().nodes();
        let (mut sends_to, mut hears_from) = (HashMap::new(), HashMap::new());
        for m in &moves {
            let (from, to) = (node[m.from as usize], node[m.to as usize]);
            prop_assert_eq!(*sends_to.entry((m.round, from)).or_insert(to), to);
            prop_assert_eq!(*hears_from.entry((m.round, to)).or_insert(from), from);
        }
        let pairs: HashSet<_> = moves.iter().map(|m| (m.from, m.to)).collect();
        let ranks = node.len();
        prop_assert_eq!((pairs.len(), moves.len()), (ranks * (ranks - 1), ranks * (ranks - 1)));
    }

    /// In every step all ranks of a node talk to ranks of one single node; steps are symmetric and meet every rank
    /// once.
    #[test]
    fn xor_node_property(nodes in prop::collection::vec(0u32..9, 1..80), cores in prop::collection::vec(0u32..16, 80)) {
        let ranks = nodes.len() as u32;
        let cores = cores[..ranks as usize].to_vec();
        let planner = Planner::new(Topology::new(vec!["node".into()], vec![nodes], cores).expect("one level"));
        let v = planner.context().virtual_ranks();
        prop_assert!(v.steps().is_power_of_two());
        let node = planner.topology().nodes();
        for step in 0..v.steps() {
            let mut partner_node = HashMap::new();
            for rank in 0..ranks {
                let Some(partner) = v.partner(rank, step) else { continue };
                prop_assert_eq!(v.partner(partner, step), Some(rank));
                let talks_to = node[partner as usize];
                prop_assert_eq!(*partner_node.entry(node[rank as usize]).or_insert(talks_to), talks_to);
            }
        }
        for rank in 0..ranks {
            let met: HashSet<_> = (0..v.steps()).filter_map(|s| v.partner(rank, s)).collect();
            prop_assert_eq!(met.len() as u32, ranks);
        }
    }
}

#[test]
fn a_plan_made_alone_is_the_plan_made_with_all() {
    let topology = uneven(57, 3);
    let together = Planner::new(topology.clone());
    for spec in ALGORITHMS {
        for &collective in spec.collectives {
            let all = together.schedule(collective, spec.algorithm, 11).expect("implemented");
            for rank in 0..57 {
                let alone =
                    Planner::new(topology.clone()).plan(collective, spec.algorithm, 11, rank).expect("implemented");
                assert_eq!(alone, all.plans[rank as usize]);
            }
        }
    }
}

/// The formulas of the algorithm documentation: messages and data of the whole schedule.
#[test]
fn messages_follow_the_formulas() {
    for ranks in 2..=40u32 {
        let planner = Planner::new(uneven(ranks, 1));
        for algorithm in [Algorithm::TwoTree, Algorithm::GroupedTwoTree] {
            for (collective, directions) in
                [(Collective::Reduce, 1), (Collective::Bcast, 1), (Collective::Allreduce, 2)]
            {
                let moves = planner.schedule(collective, algorithm, 0).expect("implemented").moves();
                assert_eq!(moves.len() as u32, directions * 2 * (ranks - 1), "two half vectors over P-1 edges");
            }
        }
        let moves = planner.schedule(Collective::Alltoall, Algorithm::Xor, 0).expect("implemented").moves();
        assert_eq!(moves.len() as u32, ranks * (ranks - 1));
    }
}
