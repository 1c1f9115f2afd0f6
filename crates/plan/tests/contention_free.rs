//! The contention-free Alltoall: every block arrives once, whatever the places of ranks; with strict tokens no link
//! ever carries more than it can; and the order is near the bound of the busiest link.

use crate::support::ideal;
use crate::support::network;
use nagare_plan::algorithm::{contention_free, contention_free_stages};
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::{Fabric, Generator, Placement, TierRates, timeline};
use nagare_plan::pattern::{Exchange, ExchangeOptions, Pace};
use nagare_plan::schedule::{Action, Flow, Schedule};
use nagare_plan::topology::{Hierarchy, Topology};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const STRICT: Pace = Pace::Tokens { window: 1 };

/// Divides by the rates of all fabrics here without remainder.
const BYTES: u64 = 600_000;

fn schedule(topology: &Topology, pace: Pace) -> Schedule {
    of_exchange(topology, &Exchange::new(topology, &Hierarchy::new(topology), ExchangeOptions { pace, bytes: BYTES }))
}

fn of_exchange(topology: &Topology, exchange: &Exchange) -> Schedule {
    Schedule {
        collective: Alltoall,
        algorithm: "contention_free".into(),
        root: 0,
        stages: contention_free_stages(exchange),
        plans: (0..topology.ranks()).map(|rank| contention_free(exchange, rank)).collect(),
    }
}

/// The schedule of all placed ranks.
fn on_network(fabric: &Arc<Fabric>, placement: &Placement, pace: Pace) -> Schedule {
    schedule(network::planner(fabric, placement).topology(), pace)
}

/// Communicators on all networks that come with Nagare: name, placement, hosts, and how near to the bound they must be.
const SHIPPED: [(&str, &str, usize, f64); 10] = [
    ("tree8", "by slot", 8, 1.0),
    ("star16", "by slot", 16, 1.0),
    ("mlfm36", "by slot", 32, 1.05),
    ("mlfm36", "balanced", 32, 1.05),
    ("mlfm36", "by slot", 36, 1.05),
    ("torus16", "by slot", 16, 1.0),
    // Nine phases would be the bound; ten are found.
    ("torus16", "by slot", 11, 10.0 / 9.0),
    ("wan2x8", "by slot", 16, 1.0),
    ("wan2x8", "by slot", 13, 1.0),
    ("fattree", "by slot", 16, 1.0),
];

/// Where every node sends and receives at the same time, every rank does: what a rank must have received before it may
/// send on, if it is to stay close to the others, is what it has sent itself.
#[test]
fn ranks_of_a_node_send_while_they_receive() {
    let fabric = network::load("star16");
    for (hosts, ppn) in [(4, 8), (16, 3), (5, 2)] {
        for pace in [STRICT, Pace::Free { abreast: 3 }, Pace::Steps { in_flight: 2 }] {
            let schedule = on_network(&fabric, &network::place(&fabric, "by slot", hosts * ppn, ppn), pace);
            for plan in &schedule.plans {
                let (mut sent, mut received) = (0u32, 0);
                for hop in plan.hops.iter().filter(|hop| hop.round.stage == 0) {
                    match hop.action {
                        Action::Send => {
                            assert_eq!(sent, received, "{hosts} x {ppn}, {pace:?}, rank {}", plan.rank);
                            sent += 1;
                        }
                        Action::Recv => received += 1,
                        _ => {}
                    }
                }
                assert_eq!((sent, received), ((hosts * ppn - ppn) as u32, sent));
            }
        }
    }
}

/// Exchanges inside a node stand between those with other nodes, none far from its share of the list.
#[test]
fn exchanges_inside_a_node_are_spread_over_the_list() {
    let fabric = network::load("tree8");
    for (hosts, ppn) in [(2, 8), (3, 16), (8, 4)] {
        for pace in [STRICT, Pace::Free { abreast: 3 }] {
            let schedule = on_network(&fabric, &network::place(&fabric, "by slot", hosts * ppn, ppn), pace);
            for plan in &schedule.plans {
                let stages: Vec<u16> =
                    plan.hops.iter().map(|hop| hop.round.stage).filter(|&stage| stage != 1).collect();
                let inside = 2 * (ppn - 1);
                let (mut seen, between) = (0, stages.len() - inside);
                for (at, _) in stages.iter().enumerate().filter(|&(_, &stage)| stage == 2) {
                    let others = at - seen;
                    let (done, share) = (others as f64 / between as f64, seen as f64 / inside as f64);
                    assert!((done - share).abs() < 0.3, "{hosts} x {ppn}, {pace:?}, rank {}: {stages:?}", plan.rank);
                    seen += 1;
                }
            }
        }
    }
}

#[test]
fn with_strict_tokens_no_link_carries_more_than_it_can_and_the_end_is_near_the_bound() {
    for (name, how, hosts, near) in SHIPPED {
        let fabric = network::load(name);
        for ppn in [1, 2, 4] {
            let placement = network::place(&fabric, how, hosts * ppn, ppn);
            let schedule = on_network(&fabric, &placement, STRICT);
            let run = ideal::run(&fabric, &placement, &schedule, BYTES);
            for (&link, &most) in &run.most {
                let link_name = fabric.link_name(link);
                assert!(most <= fabric.mbit(link) * (1.0 + 1e-9), "{name} {how} {ppn}: {most} Mbit/s on {link_name}");
            }
            let of_bound = run.makespan as f64 / run.bound;
            assert!(of_bound <= near + 1e-9, "{name} {how}, {hosts} hosts of {ppn}: {of_bound} of the bound");
        }
    }
}

#[test]
fn a_wider_window_only_lets_links_be_shared_and_is_no_slower() {
    let fabric = network::load("tree8");
    let placement = network::place(&fabric, "by slot", 8, 1);
    let run =
        |window| ideal::run(&fabric, &placement, &on_network(&fabric, &placement, Pace::Tokens { window }), BYTES);
    let (strict, wide) = (run(1), run(2));
    assert!(wide.makespan <= strict.makespan);
    let most = |run: &ideal::Run| run.most.values().copied().fold(0.0, f64::max);
    assert_eq!((most(&strict), most(&wide)), (100.0, 200.0));
}

#[test]
fn a_fat_link_carries_several_thin_flows_at_once() {
    // Four hosts of 100 Mbit/s on each leaf, uplinks of 400: without sharing it would take four times as long.
    let rates = TierRates { mbit: vec![100.0, 400.0], latency_us: vec![5.0] };
    let fabric = Generator::Tree { children: vec![4, 3] }.builder("fat", &rates).unwrap().build().unwrap();
    let fabric = Arc::new(fabric);
    let placement = network::place(&fabric, "by slot", 12, 1);
    let run = ideal::run(&fabric, &placement, &on_network(&fabric, &placement, STRICT), BYTES);
    let between = |link| !fabric.is_host(fabric.start(link)) && !fabric.is_host(fabric.end(link));
    let most: BTreeMap<_, _> = run.most.iter().filter(|(link, _)| between(**link)).collect();
    assert!(most.values().all(|&&most| most == 400.0), "{most:?}");
    assert!(run.makespan as f64 <= 1.05 * run.bound, "{} of {}", run.makespan, run.bound);
}

/// What a rank is told before it sends: at most a token per link of the route.
#[test]
fn tokens_are_few_and_of_their_own() {
    for (name, how, hosts, _) in SHIPPED {
        let fabric = network::load(name);
        let placement = network::place(&fabric, how, hosts, 1);
        let schedule = on_network(&fabric, &placement, STRICT);
        let sent = |tokens: bool| {
            let hops = schedule.plans.iter().flat_map(|p| &p.hops);
            hops.filter(|h| h.action == Action::Send && (h.parts.count == 0) == tokens).count()
        };
        assert_eq!(sent(false), hosts * (hosts - 1));
        assert!(sent(true) <= 2 * sent(false), "{name} {how}: {} tokens", sent(true));
        let stock = on_network(&fabric, &placement, Pace::Steps { in_flight: 2 });
        assert!(
            stock
                .plans
                .iter()
                .flat_map(|p| &p.hops)
                .all(|h| matches!(h.action, Action::Copy { .. }) || h.parts.count == 1)
        );
    }
}

#[test]
fn without_tokens_so_many_sends_of_a_rank_are_under_way() {
    let topology = Topology::of_nodes((0..9).map(|rank| rank / 2).collect()).unwrap();
    for in_flight in 1..4 {
        for plan in schedule(&topology, Pace::Steps { in_flight }).plans {
            let sends: Vec<u32> = (0..)
                .zip(&plan.hops)
                .filter(|(_, h)| h.action == Action::Send && h.round.stage == 0)
                .map(|(i, _)| i)
                .collect();
            for (nth, &send) in sends.iter().enumerate() {
                let waits = &plan.hops[send as usize].after;
                match nth.checked_sub(in_flight as usize) {
                    Some(earlier) => assert!(waits.contains(&sends[earlier])),
                    None => assert!(waits.iter().all(|w| !sends.contains(w))),
                }
            }
        }
    }
}

/// One order for all sizes, made for long blocks: played with blocks of 4 to 64 KiB it takes little longer than one
/// made for that size, on long and fast links far less, since a short block's latencies hide what bytes the links have
/// to carry.
#[test]
fn the_order_for_long_blocks_serves_short_ones() {
    let clusters = |mbit: u32| {
        let text = format!(
            "name = \"clusters\"\nhosts = [\"n[0-15]\"]\nswitches = [\"c[0-1]\"]\nbandwidth = {mbit}\nlatency = 5\n\
             [[link]]\nfrom = \"n[0-7]\"\nto = \"c0\"\n[[link]]\nfrom = \"n[8-15]\"\nto = \"c1\"\n\
             [[link]]\nfrom = \"c0\"\nto = \"c1\"\nlatency = 5000\n"
        );
        Arc::new(Fabric::from_toml(&text, "clusters").expect("valid"))
    };
    let shipped = ["tree8-shallow", "star16-shallow", "wan2x8", "torus16"].map(network::load);
    for (fabric, longest) in
        [(&clusters(100), 1.0), (&clusters(1000), 0.25)].into_iter().chain(shipped.iter().map(|f| (f, 1.0)))
    {
        let placement = network::place(fabric, "by slot", fabric.host_count(), 1);
        let topology = network::planner(fabric, &placement);
        let topology = topology.topology();
        let time = |planned: u64, bytes: u64| {
            let options = ExchangeOptions { pace: STRICT, bytes: planned };
            let schedule = of_exchange(topology, &Exchange::new(topology, &Hierarchy::new(topology), options));
            timeline(&schedule, fabric, placement.hosts(), bytes, None).expect("played").finish
        };
        for bytes in [4 << 10, 16 << 10, 64 << 10] {
            let relative = time(ExchangeOptions::default().bytes, bytes) / time(bytes, bytes);
            let most = if bytes == 64 << 10 { longest } else { 1.1 };
            assert!(relative <= most + 1e-9, "{} {bytes}: {relative}", fabric.name());
        }
    }
}

#[test]
fn nodes_beyond_the_limit_take_turns_without_an_order() {
    let nodes = 1500;
    let topology = Topology::of_nodes((0..nodes).collect()).unwrap();
    let exchange = Exchange::new(&topology, &Hierarchy::new(&topology), ExchangeOptions::default());
    for rank in [0, 700, nodes - 1] {
        let plan = contention_free(&exchange, rank);
        let peers = |action| plan.hops.iter().filter(move |h| h.action == action).map(|h| h.peer);
        let all: HashSet<u32> = (0..nodes).filter(|&r| r != rank).collect();
        assert_eq!(peers(Action::Send).collect::<HashSet<_>>(), all);
        assert_eq!(peers(Action::Recv).collect::<HashSet<_>>(), all);
        assert_eq!(plan.hops.len() as u32, 2 * (nodes - 1) + 1);
    }
}

fn paces() -> impl Strategy<Value = Pace> {
    prop_oneof![
        (1u32..4).prop_map(|window| Pace::Tokens { window }),
        (1u32..4).prop_map(|in_flight| Pace::Steps { in_flight }),
        (1u32..4).prop_map(|abreast| Pace::Free { abreast }),
    ]
}

/// What ranks may have under way; ranks that are kept close to what they receive wait for one another the most.
fn flows() -> impl Strategy<Value = Option<Flow>> {
    let bounds = (3u64..30, 1u64..10, 0u64..30);
    prop::option::of(bounds.prop_map(|(unconfirmed, confirmed, behind)| Flow { unconfirmed, confirmed, behind }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any number of ranks on any nodes in any groups.
    #[test]
    fn every_block_arrives_once(
        nodes in prop::collection::vec(0u32..10, 1..60),
        groups_of_nodes in prop::collection::vec(0u32..4, 10),
        cores in prop::collection::vec(0u32..8, 60),
        pace in paces(),
        units in 0u64..9,
        flow in flows(),
        rendezvous: bool,
    ) {
        let ranks = nodes.len();
        let groups = nodes.iter().map(|&n| groups_of_nodes[n as usize]).collect();
        let names = vec!["group".into(), "node".into()];
        let topology = Topology::new(names, vec![groups, nodes], cores[..ranks].to_vec()).expect("nested");
        let schedule = schedule(&topology, pace);
        prop_assert_eq!(play(&schedule, units, Pacing { segment: 3, window: 2, flow }, rendezvous), Ok(()));
        let blocks = schedule.moves().iter().filter(|m| m.parts.count > 0).count();
        prop_assert_eq!(blocks, ranks * (ranks - 1));
    }

    /// The same on networks, where links have rates and latencies, with ranks in any order.
    #[test]
    fn every_block_arrives_once_on_networks(
        (name, hosts) in prop::sample::select(
            vec![("mlfm36", 36u32), ("torus16", 16), ("wan2x8", 16), ("fattree", 16)],
        ),
        on in prop::collection::vec(0u32..36, 1..50),
        pace in paces(),
        flow in flows(),
    ) {
        let fabric = network::load(name);
        let placement = Placement::from_hosts(on.iter().map(|h| nagare_plan::fabric::HostId(h % hosts)).collect());
        let schedule = on_network(&fabric, &placement, pace);
        prop_assert_eq!(play(&schedule, 2, Pacing { segment: 3, window: 2, flow }, true), Ok(()));
    }
}
