//! Hosts with several adapters: who uses which, and what that makes of bytes, times and limits.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Allreduce;
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Adapter, Fabric, HostId, Placement, Round, Transfer, adapter_of, bytes_of, check, timeline};
use nagare_plan::pattern::{NodeTrees, RailOptions};
use nagare_plan::schedule::Move;
use nagare_plan::topology::{Hierarchy, NodeRanks, Topology};
use std::sync::Arc;

/// Four hosts with a link to each of `switches`, which may be one switch several times.
fn hosts_on(switches: &[&str]) -> Arc<Fabric> {
    let mut text = "hosts = [\"n[0-3]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 20\n".to_owned();
    for switch in switches {
        text += &format!("[[link]]\nfrom = \"n[0-3]\"\nto = \"{switch}\"\n");
    }
    if !switches.contains(&"b") {
        text = text.replace(", \"b\"", "");
    }
    Arc::new(Fabric::from_toml(&text, "adapters").unwrap())
}

fn planner(fabric: &Arc<Fabric>, ppn: usize, aggregators: Option<u32>) -> (Planner, Placement) {
    let placement = network::place(fabric, "by slot", 4 * ppn, ppn);
    let options = RailOptions { aggregators, ..RailOptions::default() };
    (network::planner(fabric, &placement).with_rails(options), placement)
}

#[test]
fn processes_are_spread_over_adapters_as_aggregators_over_processes() {
    for (width, adapters) in (1..20).flat_map(|width| (1..10).map(move |adapters| (width, adapters))) {
        let of: Vec<u32> = (0..width).map(|slot| adapter_of(slot, width, adapters)).collect();
        let used = adapters.min(width);
        assert!(of.is_sorted() && of[0] == 0 && of[of.len() - 1] == used - 1, "{width} on {adapters}: {of:?}");
        let topology = Topology::of_nodes(vec![0; width as usize]).unwrap();
        let node_ranks = NodeRanks::new(&Hierarchy::new(&topology), &topology);
        let adapter = |aggregator| of[NodeTrees::aggregator(&node_ranks, 0, aggregator, used) as usize];
        assert!((0..used).all(|aggregator| adapter(aggregator) == aggregator), "{width} on {adapters}: {of:?}");
    }
    assert_eq!((adapter_of(0, 0, 0), adapter_of(u32::MAX, u32::MAX, u32::MAX)), (0, u32::MAX - 1));
}

#[test]
fn a_placement_and_a_topology_agree_and_a_process_keeps_its_adapter() {
    let fabric = hosts_on(&["a", "b"]);
    let (planner, placement) = planner(&fabric, 3, None);
    let adapters = placement.adapters(&fabric);
    let expected = (0..12).map(|rank| Adapter { host: HostId(rank / 3), number: u32::from(rank % 3 > 0) });
    assert_eq!(adapters, expected.collect::<Vec<_>>());
    let topology = planner.topology();
    assert!((0..12).all(|rank| topology.adapter(rank) == adapters[rank as usize].number));
    // Those that remain do not move to others.
    let some = topology.restricted(&[5, 2, 3]);
    assert_eq!([0, 1, 2].map(|rank| some.adapter(rank)), [1, 1, 0]);
    assert_eq!(topology.aggregators(), 2);
    assert_eq!((some.aggregators(), topology.restricted(&[0, 3, 6]).aggregators()), (1, 1));
    // One link each: nothing is said.
    assert_eq!(hosts_on(&["a"]).adapters(HostId(0)), 1);
    let plain = self::planner(&hosts_on(&["a"]), 3, None).0.topology().clone();
    assert_eq!(plain.with_numa((0..12).map(|rank| rank % 3 % 2).collect()).aggregators(), 2);
}

#[test]
fn adapters_beside_numa_nodes_are_counted_where_no_network_says_more() {
    // Two nodes of four ranks, the second with three on one NUMA node.
    let topology = || Topology::of_nodes(vec![0, 0, 0, 0, 1, 1, 1, 1]).unwrap().with_numa(vec![0, 0, 1, 1, 0, 1, 1, 1]);
    let of = |beside: [u32; 8]| topology().with_adapters_beside(beside.to_vec()).aggregators();
    assert_eq!(topology().aggregators(), 2);
    assert_eq!(of([0; 8]), 2, "nothing is known");
    assert_eq!(of([1; 8]), 2);
    assert_eq!(of([2; 8]), 3, "no more than ranks: 2 + 2 and 1 + 2");
    assert_eq!(of([2, 2, 0, 0, 2, 2, 2, 2]), 2, "a NUMA node without one has no aggregator");
    assert_eq!(of([1, 1, 0, 0, 1, 0, 0, 0]), 2, "with one adapter a node has as many as without");
    assert_eq!(of([2, 2, 0, 0, 0, 0, 0, 0]), 2, "of some nodes nothing is known");
    let halves = topology().with_adapters_beside(vec![2; 8]).restricted(&[0, 1, 5, 6]);
    assert_eq!(halves.aggregators(), 2);
    // Not bound: all ranks are on the first.
    assert_eq!(
        Topology::of_nodes(vec![0, 0, 1, 1])
            .unwrap()
            .with_numa(vec![0; 4])
            .with_adapters_beside(vec![2; 4])
            .aggregators(),
        2
    );
    let fabric = hosts_on(&["a", "b"]);
    let on_network = self::planner(&fabric, 3, None).0.topology().clone().with_numa(vec![0; 12]);
    assert_eq!(on_network.with_adapters_beside(vec![3; 12]).aggregators(), 2);
}

/// Bytes on the links of hosts, in both directions, for 1 MiB.
fn carried(fabric: &Fabric, placement: &Placement, planner: &Planner) -> Vec<u64> {
    let schedule = planner.schedule(Allreduce, Algorithm::HalvingDoubling, 0).unwrap();
    let transfer = |m: &Move| Transfer { from: m.from, to: m.to, bytes: bytes_of(m.parts, m.of, 1, 1 << 20) };
    let round = Round { label: "all".to_owned(), transfers: schedule.moves().iter().map(transfer).collect() };
    let report = check(fabric, placement, &[round]).unwrap();
    let mut carried = vec![0; fabric.directed_link_count()];
    report.links.iter().for_each(|link| carried[link.link.index()] = link.bytes);
    carried
}

#[test]
fn every_aggregator_uses_an_adapter_of_its_own_and_two_take_half_the_time_of_one() {
    for switches in [["a", "b"], ["a", "a"]] {
        let fabric = hosts_on(&switches);
        let of = |aggregators| {
            let (planner, placement) = planner(&fabric, 2, aggregators);
            let schedule = planner.schedule(Allreduce, Algorithm::HalvingDoubling, 0).unwrap();
            let adapters = placement.adapters(&fabric);
            let played = timeline(&schedule, &fabric, &adapters, 1 << 20, None).unwrap().finish;
            let predicted =
                planner.predicted(Allreduce, Algorithm::HalvingDoubling, 1 << 20, Segments::AtMost(1 << 16));
            (carried(&fabric, &placement, &planner), played, predicted.unwrap().time)
        };
        let (one, two) = (of(Some(1)), of(None));
        // 2n(N − 1)/N for each host and direction, over the first links or over both.
        let each: u64 = 2 * (1 << 20) * 3 / 4;
        assert_eq!(one.0, [vec![each; 8], vec![0; 8]].concat());
        assert_eq!(two.0, vec![each / 2; 16]);
        assert!(one.1 > 1.9 * two.1 && one.2 > 1.9 * two.2, "{switches:?}: {one:?} {two:?}");
    }
}
