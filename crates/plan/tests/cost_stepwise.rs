//! Halving and doubling in the cost model: by hand, against schedules played in time, and against its rivals.

use crate::support::network;
use crate::support::wire::{SHARE, close, per_byte};
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allgather, Allreduce, ReduceScatter, ReduceScatterBlock};
use nagare_plan::cost::{self, Demand, Message, Segments::AtMost, Shape};
use nagare_plan::fabric::{Fabric, Placement, timeline};
use nagare_plan::pattern::{Pairs, RailOptions, Rails, level_lanes};
use nagare_plan::schedule::{Action, Hop, Schedule};
use nagare_plan::topology::{DimensionOrder, Grid, Topology, Wires};
use std::sync::Arc;

fn on(fabric: &Arc<Fabric>, how: &str, ranks: usize, ppn: usize) -> (Planner, Placement) {
    let placement = network::place(fabric, how, ranks, ppn);
    (network::planner(fabric, &placement), placement)
}

fn generated(what: &str) -> Arc<Fabric> {
    let text = format!("message_latency = 60\nmessage_gap = 20\n[generator]\n{what}\nlatency = 5");
    Arc::new(Fabric::from_toml(&text, "test.toml").unwrap())
}

fn star(hosts: u32) -> Arc<Fabric> {
    generated(&format!("kind = 'star'\nhosts = {hosts}\nbandwidth = 100"))
}

#[test]
fn eight_hosts_on_one_switch_by_hand() {
    let (planner, _) = on(&star(8), "by slot", 8, 1);
    let demand = planner.demand(Allreduce, Algorithm::HalvingDoubling).unwrap();
    let b = per_byte(100.0);
    close(demand.per_byte, 2.0 * 7.0 / 8.0 * b);
    close(demand.vectors, 2.0 * 7.0 / 8.0);
    let message = planner.message();
    assert_eq!(message, Message { latency: 60e3, gap: 20e3 });
    // Long: six steps of n/2, n/4, n/8, n/8, n/4, n/2, all of which keep the hosts' links busy with chunks that do not
    // take turns perfectly, and the way of the last segment.
    let (n, s) = (4e6, 4096.0);
    let steps: f64 = [2.0, 4.0, 8.0].map(|part| 2.0 * f64::hypot(1.2 * n / part * b, n / part / s * 20e3)).iter().sum();
    let way = |bytes: f64| 10e3 + f64::min(bytes + 66.0, 1514.0) * b + 60e3;
    close(demand.time(message, n, s), steps + way(s));
    // Short: one chunk, and a step takes its message's way; of the last only what it sends and the way count.
    let passed = |bytes: f64| bytes * b + way(bytes) + 20e3;
    let all: f64 = [2.0, 4.0, 8.0].map(|part| 2.0 * passed(1024.0 / part)).iter().sum();
    let last = f64::hypot(512.0 * b, 20e3) + way(512.0);
    close(demand.time(message, 1024.0, 4096.0), all - passed(512.0) + last);
}

/// One half has half of the steps, of the bytes and, for long vectors, of the time.
#[test]
fn half_of_it_costs_half() {
    for (name, ranks) in [("star16", 16), ("torus16", 16), ("tree8", 8), ("wan2x8", 12), ("mlfm36", 36)] {
        let (planner, _) = on(&network::load(name), "by slot", ranks, 1);
        let mut wires = Wires::new(planner.topology(), planner.context().grouped());
        let whole = &Demand::stepwise(Allreduce, planner.context().rails(), 1, &mut wires).unwrap();
        for collective in [ReduceScatterBlock, Allgather] {
            let half = Demand::stepwise(collective, planner.context().rails(), 1, &mut wires).unwrap();
            close(2.0 * half.vectors, whole.vectors);
            let [halves, both] = [&half, whole].map(|demand| match &demand.shape {
                Shape::Stepwise(steps) => steps.steps.iter().map(|s| s.times).sum::<f64>(),
                other => panic!("{other:?}"),
            });
            close(2.0 * halves, both);
            let [halves, both] = [&half, whole].map(|demand| demand.time(planner.message(), 64e6, 65536.0));
            assert!((0.45..0.6).contains(&(halves / both)), "{name} {collective}: {halves} of {both}");
        }
    }
}

/// Blocks of all ranks are the vector; the choice is between the halves of the two.
#[test]
fn the_choice_for_one_half_is_by_cost() {
    let (planner, _) = on(&network::load("tree8"), "by slot", 16, 2);
    for collective in [ReduceScatterBlock, ReduceScatter, Allgather] {
        let of = |algorithm, block| planner.predicted(collective, algorithm, block, AtMost(65536)).unwrap();
        for block in [64, 4096, 1 << 20] {
            for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling] {
                let found = of(algorithm, block);
                let demand = planner.demand(collective, algorithm).unwrap();
                let bytes = 16.0 * block as f64;
                // With the header of every segment.
                let sent = bytes * (1.0 + 80.0 / bytes.min(found.segment as f64));
                close(found.time, demand.time(planner.message(), sent, found.segment as f64 + 80.0));
            }
        }
        let choice = |block| planner.fitting(collective, block, AtMost(65536));
        assert_eq!((choice(1 << 10), choice(1 << 20)), (Some(Algorithm::HalvingDoubling), Some(Algorithm::Ring)));
        // The ring's halves: seven of fourteen steps.
        let half = planner.demand(collective, Algorithm::Ring).unwrap();
        close(2.0 * half.per_byte, planner.demand(Allreduce, Algorithm::Ring).unwrap().per_byte);
    }
}

/// Seconds that the schedule takes in time, every link shared fairly and headers added. A node sends the chunks of a
/// step one after another, as the executor does by their turns; what is played has whole messages.
fn played(fabric: &Fabric, planner: &Planner, placement: &Placement, bytes: u64) -> f64 {
    let chunks = planner.chunks(Allreduce, Algorithm::HalvingDoubling, bytes);
    let plan = |rank| planner.plan_cut(Allreduce, Algorithm::HalvingDoubling, 0, rank, chunks).unwrap();
    let plans = (0..planner.topology().ranks()).map(plan).collect();
    let mut schedule = Schedule { plans, ..planner.schedule(Allreduce, Algorithm::HalvingDoubling, 0).unwrap() };
    for plan in &mut schedule.plans {
        let sends = |h: &&Hop| {
            h.action == Action::Send && placement.hosts()[h.peer as usize] != placement.hosts()[plan.rank as usize]
        };
        let earlier = plan.hops.clone();
        for hop in plan.hops.iter_mut().filter(|h| sends(&&**h)) {
            let before = |other: &Hop| other.turn < hop.turn && other.turn / chunks == hop.turn / chunks;
            let found = (0..).zip(&earlier).filter(|(_, other)| sends(other) && before(other)).map(|(index, _)| index);
            hop.after = found.collect();
        }
    }
    timeline(&schedule, fabric, placement.hosts(), bytes, None).unwrap().finish / SHARE
}

#[test]
fn predicted_is_what_is_played() {
    for (name, how, ranks, ppn) in [
        ("star16", "by slot", 16, 1),
        ("star16", "by slot", 32, 2),
        ("star16", "by slot", 12, 1),
        ("tree8", "by slot", 16, 2),
        ("tree8", "by slot", 8, 1),
        ("wan2x8", "by slot", 16, 1),
        ("wan2x8", "by slot", 12, 1),
        ("torus16", "by slot", 16, 1),
        ("mlfm36", "by slot", 36, 1),
        ("mlfm36", "balanced", 32, 1),
        ("fattree", "by slot", 16, 1),
    ] {
        let fabric = network::load(name);
        let (planner, placement) = on(&fabric, how, ranks, ppn);
        let Shape::Stepwise(steps) = &planner.demand(Allreduce, Algorithm::HalvingDoubling).unwrap().shape else {
            panic!("no steps")
        };
        let chunks = planner.chunks(Allreduce, Algorithm::HalvingDoubling, 1 << 20);
        let bytes = steps.steps.iter().map(|step| step.times * step.per_byte * f64::from(1 << 20)).sum::<f64>();
        let ratio =
            bytes * steps.overlap[chunks.ilog2() as usize] / 1e9 / played(&fabric, &planner, &placement, 1 << 20);
        assert!((0.95..1.06).contains(&ratio), "{name} {how} {ranks}x{ppn}: {ratio}");
    }
}

/// Dimensions in the order of every lane.
fn orders(planner: &Planner) -> Vec<Vec<usize>> {
    planner.context().rails().lanes().iter().map(|lane| lane.order.clone()).collect()
}

/// Near first, far first, half of the vector each.
fn ways(planner: &Planner) -> impl Iterator<Item = Rails> {
    let grid = Grid::new(planner.context().grouped(), planner.topology());
    let lanes = level_lanes(&grid.ordered(DimensionOrder::Given), 1);
    lanes.into_iter().map(move |lanes| Rails::new(grid.clone(), lanes, 1, Pairs::default()))
}

/// The fastest of them with `most` chunks.
fn fastest(planner: &Planner, most: u32) -> Vec<Vec<usize>> {
    let mut wires = Wires::new(planner.topology(), planner.context().grouped());
    let rails = cost::fastest(ways(planner), most, planner.message(), &mut wires).unwrap();
    rails.lanes().iter().map(|lane| lane.order.clone()).collect()
}

/// The table of decisions/0011, in vectors over one link: two leaves of four hosts, all links equal.
#[test]
fn what_chunks_gain_in_every_order() {
    let (planner, _) = on(&network::load("tree8"), "by slot", 8, 1);
    let mut wires = Wires::new(planner.topology(), planner.context().grouped());
    let found: Vec<[f64; 4]> = ways(&planner)
        .map(|rails| {
            let demand = Demand::stepwise(Allreduce, &rails, 4, &mut wires).unwrap();
            let Shape::Stepwise(steps) = &demand.shape else { panic!("{:?}", demand.shape) };
            let all: f64 = steps.steps.iter().map(|step| step.times * step.per_byte).sum();
            [demand.per_byte, all, all * steps.overlap[1], all * steps.overlap[2]].map(|time| time / per_byte(100.0))
        })
        .collect();
    let expected = [[1.75, 2.5, 2.0, 1.75], [4.0, 4.75, 4.0, 4.0], [2.5, 3.0, 2.75, 2.625]];
    for (found, expected) in found.into_iter().flatten().zip(expected.into_iter().flatten()) {
        close(found, expected);
    }
}

/// Two leaves of four hosts. Near first: n/2, n/4 inside, then n/8 of four hosts over the uplink, and back.
#[test]
fn the_order_of_levels_follows_from_the_uplink() {
    let tree = |uplink| {
        let what = format!("kind = 'tree'\nchildren = [4, 2]\nbandwidth = [100, {uplink}]");
        on(&generated(&what), "by slot", 8, 1).0
    };
    let (near, far) = (vec![1, 0], vec![0, 1]);
    // One chunk: near first takes 2(1/2 + 1/4) n on the hosts' links and 2(4/8) n on the uplink, after one another.
    // With half of the vector far first the hosts' links take 2(7/8) n and are never idle, but 2(4/16 + 4/4) n crosses:
    // too much for a narrow uplink, and over one of twice the hosts' rate no gain, since lanes that share links take a
    // fifth longer.
    for (uplink, most) in [(10, 1), (100, 1), (200, 1), (100, 4)] {
        assert_eq!(fastest(&tree(uplink), most), std::slice::from_ref(&near), "{uplink} {most}");
    }
    // In chunks every order has that, and does not lose more by a second lane.
    assert_eq!(fastest(&tree(200), 4), [near.clone(), far.clone()]);
    let b = per_byte(100.0);
    for (uplink, busiest) in [(10, 10.0 * 2.0 * 4.0 / 8.0), (100, 2.0 * 7.0 / 8.0)] {
        let planner = tree(uplink);
        assert_eq!(orders(&planner), std::slice::from_ref(&near));
        close(planner.demand(Allreduce, Algorithm::HalvingDoubling).unwrap().per_byte, busiest * b);
    }
    // What is asked for is done.
    let options = RailOptions { order: DimensionOrder::Given, ..RailOptions::default() };
    assert_eq!(orders(&tree(10).with_rails(options)), [far]);
}

fn choice(planner: &Planner, bytes: u64) -> Algorithm {
    planner.cheapest(Allreduce, bytes, AtMost(65536)).unwrap().0
}

/// Few steps for short vectors; the ring for long ones where an uplink is idle in most of the steps of halving. Once it
/// pays it pays for all longer vectors.
#[test]
fn halving_for_short_vectors_and_the_ring_for_long_ones() {
    for (name, ranks, ppn) in [("tree8", 16, 2), ("tree8", 8, 1), ("wan2x8", 16, 1), ("mlfm36", 36, 1)] {
        let (planner, _) = on(&network::load(name), "by slot", ranks, ppn);
        let choices: Vec<Algorithm> = (14..=26).map(|k| choice(&planner, 1 << k)).collect();
        let (short, long) = choices.split_at(choices.partition_point(|&a| a == Algorithm::HalvingDoubling));
        assert!((1..6).contains(&short.len()), "{name} {ranks}: {choices:?}");
        assert!(long.iter().all(|&a| a == Algorithm::Ring), "{name} {ranks}: {choices:?}");
    }
}

/// On one switch both send 2n(N-1)/N over every host's link, halving in fewer steps: later than the ring by no more
/// than its chunks lose where they share a link, and earlier where a step is as long as its message's latency.
#[test]
fn on_one_switch_halving_loses_to_the_ring_what_its_partners_lose() {
    for ranks in [16, 12] {
        let (planner, _) = on(&network::load("star16"), "by slot", ranks, 1);
        let time = |algorithm, bytes| planner.predicted(Allreduce, algorithm, bytes, AtMost(65536)).unwrap().time;
        for bytes in (12..=26).map(|k| 1 << k) {
            let ratio = time(Algorithm::HalvingDoubling, bytes) / time(Algorithm::Ring, bytes);
            assert!(ratio < 1.21, "{ranks} ranks, {bytes} bytes: {ratio}");
        }
        assert!(time(Algorithm::HalvingDoubling, 4096) < 0.5 * time(Algorithm::Ring, 4096));
    }
}

/// Links of a torus that only a user knows of are in no prediction, so what is said decides; a Cartesian grid is the
/// program's, not the network's.
#[test]
fn a_torus_that_is_told_is_used_without_a_comparison() {
    let nodes = || Topology::of_nodes((0..16).collect()).unwrap();
    let told = Planner::new(nodes().on_torus(Arc::new("4x4".parse().unwrap())).unwrap());
    let flat = Planner::new(nodes());
    for (collective, bytes) in
        [(Allreduce, 64 << 10), (Allreduce, 16 << 20), (Allgather, 1 << 10), (ReduceScatter, 1 << 20)]
    {
        assert_eq!(
            told.fitting(collective, bytes, AtMost(65536)),
            Some(Algorithm::HalvingDoubling),
            "{collective} {bytes}"
        );
    }
    assert_eq!(flat.fitting(Allreduce, 64 << 10, AtMost(65536)), None, "one switch, as far as is known");
    assert_eq!(flat.fitting(Allreduce, 16 << 20, AtMost(65536)), Some(Algorithm::Ring));
}
