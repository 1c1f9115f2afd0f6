//! Halving and doubling along dimensions: the worked examples of the patent, what links carry, and that every
//! contribution arrives exactly once.

use crate::support::amount::everything;
use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::{Algorithm, halving_doubling};
use nagare_plan::collective::Collective::Allreduce;
use nagare_plan::execute::{ACTIVE_HOPS, Pacing, play};
use nagare_plan::fabric::{Generator, HostId, TierRates, timeline};
use nagare_plan::pattern::{Along, Pairs, RailOptions, Rails, lanes};
use nagare_plan::schedule::{Action, Hop, Program, RankPlan, Schedule};
use nagare_plan::topology::{DimensionOrder, Hierarchy, NodeRanks, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::by_hand::{Value, carry_out};
use crate::support::halving::{grid, lane, schedule};

impl Value for u64 {
    fn combined(&self, received: &Self) -> Self {
        self + received
    }
}

/// Node i of 1 to 16 holds sixteen copies of i.
#[test]
fn the_worked_example_value_by_value() {
    let rails = Rails::new(grid(&[2, 2, 2, 2]), vec![lane(&[0, 1, 2, 3])], 1, Pairs::Bits);
    let schedule = schedule(&[1; 16], &rails, 1);
    let begin: Vec<Vec<u64>> = (1..=16).map(|i| vec![i; 16]).collect();
    // Node numbers count along Z first, so partners along W are eight apart; the document numbers them along W first.
    let document = |node: usize| (node as u64).reverse_bits() >> 60;
    let begin: Vec<Vec<u64>> = (0..16).map(|node| begin[document(node) as usize].clone()).collect();
    let steps: [&[u64]; 4] = [&[3, 7, 11, 15, 19, 23, 27, 31], &[10, 26, 42, 58], &[36, 100], &[136]];
    for (step, sums) in (0..).zip(steps) {
        let held = carry_out(&schedule, begin.clone(), |hop| hop.round.stage == 0 && hop.round.step <= step);
        let mut found = BTreeMap::new();
        for (node, held) in held.iter().enumerate() {
            let received =
                schedule.plans[node].hops.iter().find(|h| h.action == Action::Reduce && h.round.step == step);
            let range = received.unwrap().parts;
            assert_eq!(range.count, 8 >> step, "half of what it had");
            let values: BTreeSet<u64> = held[range.first as usize..range.end() as usize].iter().copied().collect();
            assert_eq!(values.len(), 1);
            // The nodes with one sum hold the whole vector together.
            found.entry(*values.first().unwrap()).or_insert_with(Vec::new).push(range.first);
            // Whoever agrees in the document's numbers but for the lowest bits: the 2 << step numbers that begin at
            // this one.
            let first = document(node) / (2 << step) * (2 << step);
            assert_eq!(values.first(), Some(&(first..first + (2 << step)).map(|node| node + 1).sum()));
        }
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), sums);
        for mut parts in found.into_values() {
            parts.sort_unstable();
            assert_eq!(parts, (0..2 << step).map(|k| k * (8 >> step)).collect::<Vec<_>>());
        }
    }
    for step in 0..4 {
        let held = carry_out(&schedule, begin.clone(), |hop| hop.round.stage == 0 || hop.round.step <= step);
        for held in &held {
            assert_eq!(held.iter().filter(|&&v| v == 136).count(), 2 << step, "doubled");
        }
    }
    assert_eq!(carry_out(&schedule, begin, |_| true), vec![vec![136; 16]; 16]);
}

/// 4 × 4 × 4 × 4 nodes with four aggregators: what one holds after each dimension, in parts of 1/1024.
#[test]
fn sizes_shrink_through_all_dimensions() {
    let all = lanes(&grid(&[4, 4, 4, 4]), &[0, 1, 2, 3], 50.0, 4);
    let rails = Rails::new(grid(&[4, 4, 4, 4]), all, 4, Pairs::Near);
    let schedule = schedule(&[8; 256], &rails, 1);
    for plan in &schedule.plans {
        assert_eq!(plan.parts, 1024);
        let inside: Vec<&Hop> = plan.hops.iter().filter(|h| h.round.stage == 0).collect();
        assert!(inside.iter().all(|h| h.parts.count == 256), "an aggregator's quarter");
        let stage = |stage, action| -> Vec<u32> {
            let of_stage = plan.hops.iter().filter(|h| h.round.stage == stage && h.action == action);
            of_stage.map(|h| h.parts.count).collect()
        };
        let halving = stage(1, Action::Reduce);
        if halving.is_empty() {
            continue;
        }
        assert_eq!(halving, [128, 64, 32, 16, 8, 4, 2, 1], "left after two steps: 1/16, 1/64, 1/256, 1/1024");
        // What is sent is what is held.
        assert_eq!(stage(2, Action::Send), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(stage(2, Action::Recv), [1, 2, 4, 8, 16, 32, 64, 128], "and back: 1/256, 1/64, 1/16, 1/4");
    }
    let talking = schedule.plans.iter().filter(|p| p.hops.iter().any(|h| h.round.stage == 1)).count();
    assert_eq!(talking, 4 * 256);
    // Halving and doubling dimension by dimension: every dimension begins with the whole quarter again.
    let along = Along::new(4, Pairs::Near);
    let mut sizes = Vec::new();
    for _dimension in 0..4 {
        let held: Vec<u32> = (0..along.steps()).map(|step| along.leg(0, step).received.len() * 64).collect();
        sizes.extend(held.iter().copied().chain(held.iter().rev().map(|size| size * 2)));
    }
    assert_eq!(sizes.iter().min(), Some(&64), "1/16");
    // What an aggregator sends in all: in a doubling it sends what it received in the halving.
    let one_by_one: u32 = 4 * 2 * (0..along.steps()).map(|step| along.leg(0, step).sent.len() * 64).sum::<u32>();
    let aggregator = schedule.plans.iter().find(|p| p.hops.iter().any(|h| h.round.stage == 1)).unwrap();
    let sends = aggregator.hops.iter().filter(|h| [1, 2].contains(&h.round.stage) && h.action == Action::Send);
    let nested: u32 = sends.map(|h| h.parts.count).sum();
    assert_eq!((nested, one_by_one), (510, 1536), "of 256 that it aggregates");
}

/// Contributions to a part, by rank, and in which order they were combined.
#[derive(Clone, Debug, PartialEq)]
struct Combined {
    from: [u64; 4],
    order: u64,
}

impl Value for Combined {
    fn combined(&self, received: &Self) -> Self {
        let both = |i: usize| {
            assert_eq!(self.from[i] & received.from[i], 0, "a contribution is counted twice");
            self.from[i] | received.from[i]
        };
        // Not commutative and not associative, as rounding is not.
        let order = self.order.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ received.order.wrapping_mul(3);
        Self { from: [both(0), both(1), both(2), both(3)], order }
    }
}

/// Every rank has every contribution to every part once, all combined in the same order.
fn check_exactly_once(schedule: &Schedule, what: &str) {
    let ranks = schedule.plans.len();
    let parts = schedule.plans[0].parts;
    let own = |rank: usize, part: u32| {
        let mut from = [0; 4];
        from[rank / 64] = 1 << (rank % 64);
        Combined { from, order: (rank as u64 + 1) << 32 | u64::from(part) }
    };
    let begin = (0..ranks).map(|rank| (0..parts).map(|part| own(rank, part)).collect()).collect();
    let held = carry_out(schedule, begin, |_| true);
    for (rank, of_rank) in held.iter().enumerate() {
        for (part, value) in of_rank.iter().enumerate() {
            let contributions: u32 = value.from.iter().map(|word| word.count_ones()).sum();
            assert_eq!(contributions as usize, ranks, "{what}: part {part} at rank {rank}");
            assert_eq!(value, &held[0][part], "{what}: part {part} at rank {rank} is combined in another order");
        }
    }
}

/// Ranks per node: 1, 2, 3, and uneven.
fn boards(nodes: u32) -> [Vec<u32>; 4] {
    let each = |ranks| vec![ranks; nodes as usize];
    [each(1), each(2), each(3), (0..nodes).map(|node| 2 + (node * node + node / 2) % 2).collect()]
}

/// All sizes up to 5 × 5 × 3.
fn grids() -> impl Iterator<Item = Vec<u32>> {
    (1..=5).flat_map(|a| (1..=5).flat_map(move |b| (1..=3).map(move |c| vec![a, b, c])))
}

/// Rails with one lane, or with as many as there are rotations, or twice as many.
fn some_rails(sizes: &[u32], host_mbit: f64, aggregators: u32, pairs: Pairs) -> Rails {
    let grid = grid(sizes);
    let all = lanes(&grid, &grid.ordered(DimensionOrder::Given), host_mbit, aggregators);
    Rails::new(grid, all, aggregators, pairs)
}

#[test]
fn every_contribution_arrives_exactly_once_and_all_results_are_alike() {
    for sizes in grids() {
        for ranks_on in boards(sizes.iter().product()) {
            let fewest = *ranks_on.iter().min().unwrap();
            for (host_mbit, aggregators) in [(50.0, 1), (400.0, 1), (150.0, fewest), (50.0, fewest)] {
                for (pairs, chunks) in [(Pairs::Near, 2), (Pairs::Bits, 1)] {
                    let rails = some_rails(&sizes, host_mbit, aggregators, pairs);
                    let what =
                        format!("{sizes:?} × {ranks_on:?}, host {host_mbit}, {aggregators} aggregators, {pairs:?}");
                    check_exactly_once(&schedule(&ranks_on, &rails, chunks), &what);
                }
            }
        }
    }
}

#[test]
fn every_schedule_ends_though_every_send_waits_for_its_receive() {
    let mut turn = 0;
    for sizes in grids() {
        // One rank alone has nothing to do.
        for ranks_on in boards(sizes.iter().product()).into_iter().filter(|ranks| *ranks != [1]) {
            if ranks_on.len() > 30 && ranks_on.iter().sum::<u32>() > 100 {
                continue;
            }
            let fewest = *ranks_on.iter().min().unwrap();
            // All combinations turn up many times, each with other sizes.
            turn += 1;
            let aggregators = if turn % 2 == 0 { 1 } else { fewest };
            let rails = some_rails(&sizes, [50.0, 400.0, 100.0][turn % 3], aggregators, Pairs::Near);
            let schedule = schedule(&ranks_on, &rails, [1, 2, 4][turn / 2 % 3]);
            let pacing = Pacing { segment: 1 + turn as u64 % 3, window: 2, flow: None };
            // Vectors of hardly any elements, and those that leave many parts empty or have more than one unit each.
            let parts = schedule.plans[0].parts as usize;
            let units = [turn % 4, parts / 3, parts + parts / 3][turn / 4 % 3] as u64;
            if let Err(error) = play(&schedule, units, pacing, true) {
                panic!("{sizes:?} × {ranks_on:?}, {aggregators} aggregators, {units} units: {error}");
            }
        }
    }
}

/// Nodes on a switch, in any number: halving and doubling take ⌈log2⌉ steps each, whatever the number, and every node
/// sends as little as there can be.
#[test]
fn any_number_of_nodes_on_a_switch_takes_as_few_steps_as_there_can_be() {
    // All small numbers, and of the larger ones those on both sides of a power of two and one in between.
    let large = |nodes: &u32| everything() || *nodes <= 17 || [24, 31, 32, 33].contains(nodes);
    for nodes in (1..=37u32).filter(large) {
        for ranks_on in boards(nodes).into_iter().filter(|ranks| *ranks != [1]) {
            let of_nodes = (0..).zip(&ranks_on).flat_map(|(node, &ranks)| std::iter::repeat_n(node, ranks as usize));
            let aggregators = *ranks_on.iter().min().unwrap();
            let options = RailOptions { aggregators: Some(aggregators), ..RailOptions::default() };
            let planner = Planner::new(Topology::of_nodes(of_nodes.collect()).unwrap()).with_rails(options);
            assert_eq!(planner.context().rails().steps(), nodes.next_power_of_two().ilog2());
            let ranks: u32 = ranks_on.iter().sum();
            let plan = |rank| planner.plan_cut(Allreduce, Algorithm::HalvingDoubling, 0, rank, 2).unwrap();
            let plans: Vec<RankPlan> = (0..ranks).map(plan).collect();
            let of_rank = |rank| planner.context().grouped().node_of(rank);
            let (mut sent, mut messages) = (vec![0; nodes as usize], 0);
            for (plan, hop) in plans.iter().flat_map(|plan| plan.hops.iter().map(move |hop| (plan, hop))) {
                if hop.action == Action::Send && of_rank(plan.rank) != of_rank(hop.peer) {
                    sent[of_rank(plan.rank) as usize] += hop.parts.count;
                    messages += 1;
                }
            }
            let parts = plans[0].parts;
            assert_eq!(sent, vec![2 * parts / nodes * (nodes - 1); nodes as usize], "{nodes} nodes");
            // Both chunks of every aggregator in both directions; the lines of an odd size are the last dimension's.
            let of_steps = 4 * aggregators * nodes * nodes.next_power_of_two().ilog2();
            assert!((of_steps..=of_steps + 6 * aggregators * nodes).contains(&messages), "{nodes} nodes: {messages}");
            let (algorithm, stages) = ("halving_doubling".to_owned(), Vec::new());
            let schedule = Schedule { collective: Allreduce, algorithm, root: 0, stages, plans };
            if ranks <= 256 {
                check_exactly_once(&schedule, &format!("{ranks_on:?}"));
            }
            for (segment, window) in [(1, 2), (7, 1)] {
                let pacing = Pacing { segment, window, flow: None };
                play(&schedule, u64::from(parts) * 2 + 3, pacing, true).unwrap_or_else(|e| panic!("{ranks_on:?}: {e}"));
            }
        }
    }
}

/// More hops under way than a rank works on at a time.
#[test]
fn many_aggregators_lanes_and_chunks_do_not_wait_for_one_another() {
    for (sizes, ranks_on, aggregators) in
        [(vec![4, 4], vec![8; 16], 8), (vec![3, 4], (6..18).collect::<Vec<u32>>(), 6), (vec![16], vec![8; 16], 5)]
    {
        let rails = some_rails(&sizes, 10_000.0, aggregators, Pairs::Near);
        let schedule = schedule(&ranks_on, &rails, 4);
        assert!(schedule.plans.iter().any(|plan| plan.hops.len() > 2 * ACTIVE_HOPS), "{sizes:?}");
        let units = u64::from(schedule.plans[0].parts) * 3;
        for segment in [1, 4] {
            assert_eq!(play(&schedule, units, Pacing { segment, window: 2, flow: None }, true), Ok(()), "{sizes:?}");
        }
    }
}

/// One line of nodes that goes around: a plan grows with the steps, not with the nodes times the parts.
#[test]
fn plans_grow_with_the_number_of_steps() {
    for (nodes, steps) in [(97, 96), (1009, 1008), (1024, 10)] {
        let rails = some_rails(&[nodes], 50.0, 1, Pairs::Near);
        let topology = Topology::of_nodes((0..nodes).collect()).unwrap();
        let node_ranks = NodeRanks::new(&Hierarchy::new(&topology), &topology);
        for chunks in [1, 4] {
            let plan = halving_doubling(&node_ranks, &rails, chunks, nodes / 2);
            assert_eq!(plan.hops.len() as u32, 4 * steps * chunks);
            let program = Program::new(plan, true).unwrap();
            assert!(program.dependencies.iter().all(|d| d.data.len() <= 2 * steps as usize));
        }
    }
}

/// Whole messages in time, relative to the least time of an Allreduce over the links of hosts. What a rank sends to
/// another goes one message after the other, as on one connection.
fn played(fabric: &str, ranks: usize, chunks: u32, bytes: u64) -> f64 {
    let fabric = network::load(fabric);
    let placement = network::place(&fabric, "by slot", ranks, 1);
    let planner = network::planner(&fabric, &placement);
    let plan = |rank| planner.plan_cut(Allreduce, Algorithm::HalvingDoubling, 0, rank, chunks).unwrap();
    let mut plans: Vec<RankPlan> = (0..ranks as u32).map(plan).collect();
    for plan in &mut plans {
        let mut last = BTreeMap::new();
        for (index, hop) in (0..).zip(&mut plan.hops).filter(|(_, hop)| hop.action == Action::Send) {
            hop.after.extend(last.insert(hop.peer, index));
        }
    }
    let (algorithm, stages) = ("halving_doubling".to_owned(), Vec::new());
    let schedule = Schedule { collective: Allreduce, algorithm, root: 0, stages, plans };
    let least = 2.0 * (1.0 - 1.0 / ranks as f64) * bytes as f64 * 8e-6 / fabric.host_mbit(HostId(0));
    timeline(&schedule, &fabric, placement.hosts(), bytes, None).unwrap().finish / least
}

/// On the torus two chunks hide the latency of the steps; on a tree one chunk is between groups while another is
/// inside.
#[test]
fn chunks_follow_one_another() {
    let cases = [
        ("torus16", 16, 64 << 10, [1.077, 1.019, 1.018]),
        ("torus16", 16, 1 << 20, [1.005, 1.001, 1.001]),
        ("tree8", 8, 1 << 20, [1.432, 1.217, 1.110]),
    ];
    for (fabric, ranks, bytes, expected) in cases {
        for (chunks, expected) in [1, 2, 4].into_iter().zip(expected) {
            let found = played(fabric, ranks, chunks, bytes);
            assert!((found - expected).abs() < 1e-3, "{fabric}, {bytes} bytes, {chunks} chunks: {found}");
        }
    }
}

#[test]
fn a_planner_lays_rails_as_it_is_told() {
    // Nodes of 3, 2 and 4 ranks: no more aggregators than the smallest has ranks.
    let topology = || Topology::of_nodes(vec![0, 0, 0, 1, 1, 2, 2, 2, 2]).unwrap();
    for (asked, found) in [(None, 1), (Some(0), 1), (Some(1), 1), (Some(2), 2), (Some(9), 2)] {
        let options = RailOptions { aggregators: asked, ..RailOptions::default() };
        let planner = Planner::new(topology()).with_rails(options);
        assert_eq!(planner.context().rails().aggregators(), found);
        let schedule = planner.schedule(Allreduce, Algorithm::HalvingDoubling, 0).unwrap();
        check_exactly_once(&schedule, "planner");
        let talkers = schedule.plans.iter().filter(|p| p.hops.iter().any(|h| h.round.stage == 1)).count();
        assert_eq!(talkers as u32, 3 * found);
    }
}

/// Whole tori and a part of one, with one or two hosts on a switch.
#[test]
fn communicators_on_tori_have_lanes_for_what_their_hosts_can_send() {
    for (dims, hosts_per_switch, hosts, lanes) in [
        (vec![4, 4], 1, 16, 2),
        (vec![4, 4], 2, 32, 4),
        (vec![4, 2, 3], 1, 24, 2),
        (vec![5], 1, 5, 2),
        (vec![4, 4], 1, 12, 2),
        (vec![1, 1], 1, 1, 1),
    ] {
        let generator = Generator::Torus { dims: dims.clone(), hosts_per_switch };
        let rates = TierRates { mbit: vec![100.0, 50.0], latency_us: vec![1.0] };
        let fabric = Arc::new(generator.builder("torus", &rates).unwrap().build().unwrap());
        let placement = network::place(&fabric, "by slot", hosts, 1);
        let planner = network::planner(&fabric, &placement);
        let what = format!("{dims:?} × {hosts_per_switch}, {hosts} hosts");
        assert_eq!(planner.context().rails().lanes().len(), lanes, "{what}");
        check_exactly_once(&planner.schedule(Allreduce, Algorithm::HalvingDoubling, 0).unwrap(), &what);
    }
    let fabric = network::load("torus16");
    let planner = network::planner(&fabric, &network::place(&fabric, "by slot", 16, 1));
    assert_eq!(planner.context().rails().lanes(), [lane(&[0, 1]), lane(&[1, 0])]);
}

#[test]
fn larger_vectors_have_more_chunks() {
    let planner = Planner::new(Topology::of_nodes((0..16).collect()).unwrap());
    let chunks = |bytes| planner.chunks(Allreduce, Algorithm::HalvingDoubling, bytes);
    let found: Vec<u32> = [0, 1, 32767, 32 << 10, 64 << 10, 128 << 10, u64::MAX].into_iter().map(chunks).collect();
    assert_eq!(found, [1, 1, 1, 2, 2, 4, 4]);
    assert!((0..200).map(|k| chunks(k << 13)).is_sorted());
    assert_eq!(planner.chunks(Allreduce, Algorithm::Ring, 1 << 20), 1);
    for (chunks, hops) in [(1, 16), (2, 32), (4, 64)] {
        let plan = planner.plan_cut(Allreduce, Algorithm::HalvingDoubling, 0, 3, chunks).unwrap();
        assert_eq!((plan.hops.len(), plan.parts), (hops, 16 * chunks));
    }
}
