//! Generators and routes: sizes, and properties of every route.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nagare_plan::fabric::{
    Adapter, DirectedLink, Fabric, FabricBuilder, Generator, HostId, LinkRate, NodeId, Placement, Router, Routing,
    SHIPPED, TierRates,
};
use nagare_plan::topology::{Hierarchy, Topology, Wires};
use proptest::prelude::*;

fn generated(generator: &Generator) -> Fabric {
    generator.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap().build().unwrap()
}

#[test]
fn sizes_of_the_mesh() {
    for (ports, hosts, switches) in [(6, 36, 18), (8, 80, 30), (10, 150, 45), (36, 6156, 513)] {
        let fabric = generated(&Generator::Mlfm { ports });
        assert_eq!((fabric.host_count(), fabric.switch_count()), (hosts, switches));
        let full = fabric.switches().all(|s| fabric.links_of(s).len() == ports as usize);
        assert!(full, "every port of every switch is used");
        let level = &fabric.levels()[0];
        let half = ports as usize / 2;
        assert_eq!((level.name.as_str(), level.sizes()), ("group", vec![half * half; half + 1]));
    }
}

#[test]
fn wiring_of_the_mesh() {
    let fabric = generated(&Generator::Mlfm { ports: 6 });
    for (position, spines) in [("a", "ABC"), ("b", "ADE"), ("c", "BDF"), ("d", "CEF")] {
        for layer in 1..=3 {
            let leaf = fabric.find(&format!("{position}{layer}")).unwrap();
            let up = fabric.links_of(leaf).iter().map(|&l| fabric.end(l)).filter(|&n| !fabric.is_host(n));
            assert_eq!(up.map(|n| fabric.node_name(n)).collect::<String>(), spines);
        }
    }
    let leaf_of = |name| fabric.node_name(fabric.end(fabric.links_of(fabric.find_host(name).unwrap())[0]));
    assert_eq!(["n0", "n3", "n8", "n9", "n35"].map(leaf_of), ["a1", "a2", "a3", "b1", "d3"]);
}

#[test]
fn a_torus_dimension_of_two_has_twice_the_bandwidth_and_of_one_no_links() {
    let fabric = generated(&Generator::Torus { dims: vec![2, 1, 3], hosts_per_switch: 1 });
    let between = || fabric.links().iter().filter(|l| !fabric.is_host(l.a) && !fabric.is_host(l.b));
    let pairs: Vec<_> = between().filter(|l| l.parallel == 2).collect();
    let ring: Vec<_> = between().filter(|l| l.parallel == 1).collect();
    assert_eq!((pairs.len(), ring.len()), (3, 6));
    let link = fabric.link_between(fabric.find("t000").unwrap(), fabric.find("t100").unwrap()).unwrap();
    assert_eq!(fabric.mbit(link), 20.0);
}

#[test]
fn thousands_of_hosts_need_no_table_of_all_pairs() {
    let fabric = generated(&Generator::Mlfm { ports: 36 });
    let mut router = Router::new(&fabric);
    let placement = Placement::by_slot(&fabric, 6156, 1).unwrap();
    for (i, &host) in placement.hosts().iter().enumerate() {
        let to = HostId((i as u32 + 1000) % 6156);
        assert_eq!(router.route(host, to).len(), 4);
    }
}

#[test]
fn the_destination_picks_among_equal_next_hops_in_link_order() {
    let fabric = generated(&Generator::FatTree { ports: 6, levels: 2, hosts_per_leaf: None });
    for destination in 3..18u32 {
        let route = fabric.route(HostId(0), HostId(destination));
        let spine = fabric.node_name(fabric.end(route[1]));
        assert_eq!(spine, format!("s{}", destination % 3));
    }
}

/// Most flows of one shift of all hosts on a directed link, over all shifts.
fn worst_shift(fabric: &Fabric) -> usize {
    let (hosts, mut router) = (fabric.host_count() as u32, Router::new(fabric));
    let mut most = 0;
    for distance in 1..hosts {
        let mut flows = vec![0; fabric.directed_link_count()];
        for host in 0..hosts {
            let route = router.route(HostId(host), HostId((host + distance) % hosts));
            route.into_iter().for_each(|link| flows[link.index()] += 1);
        }
        most = most.max(flows.into_iter().max().unwrap_or(0));
    }
    most
}

/// Zahavi 2010: on whole fat trees no two flows of a shift meet; with the plain rule they do, in trees of three tiers.
#[test]
fn shifts_are_free_of_conflicts_on_fat_trees() {
    for (ports, levels, plain) in [(4, 2, 1), (8, 2, 1), (4, 3, 2), (8, 3, 4)] {
        let generator = Generator::FatTree { ports, levels, hosts_per_leaf: None };
        let mut builder = generator.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap();
        assert_eq!(worst_shift(&builder.clone().build().unwrap()), 1, "{ports} ports, {levels} levels");
        builder.set_routing(Routing::Destination);
        assert_eq!(worst_shift(&builder.build().unwrap()), plain, "{ports} ports, {levels} levels");
    }
}

#[test]
fn a_fixed_route_takes_the_place_of_the_rule_and_only_there() {
    let generator = Generator::FatTree { ports: 4, levels: 2, hosts_per_leaf: None };
    let mut builder = generator.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap();
    builder.route("l0", "n2", "s1").unwrap();
    let fabric = builder.build().unwrap();
    let spine = |from, to| fabric.node_name(fabric.end(fabric.route(HostId(from), HostId(to))[1]));
    assert_eq!((spine(0, 2), spine(1, 2)), ("s1", "s1"));
    assert_eq!((spine(4, 2), spine(0, 4), spine(0, 3)), ("s0", "s0", "s1"));
}

fn generators() -> impl Strategy<Value = Generator> {
    prop_oneof![
        (1u32..40).prop_map(|hosts| Generator::Star { hosts }),
        prop::collection::vec(1u32..5, 2..5).prop_map(|children| Generator::Tree { children }),
        (1u32..5, 2u32..4, prop::option::of(1u32..6)).prop_map(|(half, levels, hosts_per_leaf)| Generator::FatTree {
            ports: 2 * half,
            levels,
            hosts_per_leaf
        }),
        (3u32..6).prop_map(|half| Generator::Mlfm { ports: 2 * half }),
        (prop::collection::vec(1u32..6, 1..4), 1u32..3)
            .prop_map(|(dims, hosts_per_switch)| Generator::Torus { dims, hosts_per_switch }),
    ]
}

/// Hops between any two nodes by relaxation over the list of links, hosts not forwarding: nothing of the library's
/// search.
fn hops(fabric: &Fabric, from: HostId) -> Vec<usize> {
    let far = usize::MAX;
    let mut hops = vec![far; fabric.host_count() + fabric.switch_count()];
    hops[from.0 as usize] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for link in fabric.links() {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                let forwards = !fabric.is_host(a) || a == NodeId::from(from);
                let (a, b) = (hops[a.0 as usize], &mut hops[b.0 as usize]);
                if forwards && a != far && a + 1 < *b {
                    (*b, changed) = (a + 1, true);
                }
            }
        }
    }
    hops
}

fn nodes(fabric: &Fabric, route: &[DirectedLink], from: HostId) -> Vec<NodeId> {
    std::iter::once(from.into()).chain(route.iter().map(|&l| fabric.end(l))).collect()
}

/// Routes as docs/fabrics.md says them, hop by hop: the library's tables are compared with them.
struct Documented<'f> {
    fabric: &'f Fabric,
    out: Vec<Vec<DirectedLink>>,
    divisors: Vec<usize>,
    fixed: HashMap<(NodeId, HostId), DirectedLink>,
}

impl<'f> Documented<'f> {
    fn new(fabric: &'f Fabric, routing: Routing) -> Self {
        let mut out = vec![Vec::new(); fabric.host_count() + fabric.switch_count()];
        for (index, link) in (0..).zip(fabric.links()) {
            out[link.a.0 as usize].push(DirectedLink(2 * index));
            out[link.b.0 as usize].push(DirectedLink(2 * index + 1));
        }
        let mut divisors = vec![1; out.len()];
        if routing == Routing::DModK {
            // The tier of a switch: hops to the nearest host.
            let mut tiers = vec![usize::MAX; out.len()];
            for host in fabric.hosts() {
                tiers.iter_mut().zip(hops(fabric, host)).for_each(|(tier, hops)| *tier = hops.min(*tier));
            }
            let uplinks = |&node: &usize| {
                out[node].iter().filter(|&&l| tiers[fabric.end(l).0 as usize] == tiers[node] + 1).count()
            };
            let most = |tier| (0..out.len()).filter(|&node| tiers[node] == tier).map(|n| uplinks(&n)).max();
            for switch in fabric.switches().map(|switch| switch.0 as usize) {
                divisors[switch] = (1..tiers[switch]).filter_map(most).product();
            }
        }
        let fixed = fabric.fixed_routes().into_iter().map(|(switch, host, link)| ((switch, host), link)).collect();
        Self { fabric, out, divisors, fixed }
    }

    /// `hops`: from every node to the host of the destination.
    fn route(&self, hops: &[usize], source: Adapter, destination: Adapter) -> Vec<DirectedLink> {
        let (from, to) = (source.host, destination.host);
        let (mut at, mut route) = (NodeId::from(from), Vec::new());
        while at != NodeId::from(to) {
            let nearer = |link: &&DirectedLink| {
                let end = self.fabric.end(**link);
                hops[end.0 as usize] < hops[at.0 as usize] && (!self.fabric.is_host(end) || end == to.into())
            };
            let equal: Vec<DirectedLink> = self.out[at.0 as usize].iter().filter(nearer).copied().collect();
            let fixed = self.fixed.get(&(at, to)).copied().filter(|&link| !self.fabric.is_host(self.fabric.end(link)));
            let link = if at == NodeId::from(from) {
                equal[source.number as usize % equal.len()]
            } else if let Some(fixed) = fixed {
                fixed
            } else if self.fabric.is_host(self.fabric.end(equal[0])) {
                let own = self.out[to.0 as usize][destination.number as usize].reverse();
                if equal.contains(&own) { own } else { equal[0] }
            } else {
                let number = to.0 as usize / self.divisors[at.0 as usize] + destination.number as usize;
                equal[number % equal.len()]
            };
            at = self.fabric.end(link);
            route.push(link);
        }
        route
    }
}

/// All routes, from one router, from tables and one by one, are the documented ones.
fn assert_documented(fabric: &Fabric, routing: Routing) {
    let documented = Documented::new(fabric, routing);
    let mut router = Router::new(fabric);
    let hops: Vec<Vec<usize>> = fabric.hosts().map(|to| hops(fabric, to)).collect();
    let adapters = |host| (0..fabric.adapters(host)).map(move |number| Adapter { host, number });
    let all: Vec<Adapter> = fabric.hosts().flat_map(adapters).collect();
    for (from, to) in all.iter().flat_map(|&from| all.iter().map(move |&to| (from, to))) {
        let expected = documented.route(&hops[to.host.0 as usize], from, to);
        assert_eq!(router.route(from, to), expected, "{} by {routing:?}: {from:?} to {to:?}", fabric.name());
        assert_eq!(fabric.routes_to(to).from(fabric, from), expected, "{} by {routing:?}", fabric.name());
    }
}

#[test]
fn routes_of_shipped_and_generated_fabrics_are_the_documented_ones() {
    for (name, text) in SHIPPED {
        let is_fat_tree = text.contains("kind = \"fat-tree\"");
        let routing = if is_fat_tree { Routing::DModK } else { Routing::Destination };
        assert_documented(&Fabric::from_toml(text, name).unwrap(), routing);
    }
    let fat_tree = |ports, levels, hosts_per_leaf| Generator::FatTree { ports, levels, hosts_per_leaf };
    let generators = [
        Generator::Star { hosts: 70 },
        Generator::Tree { children: vec![3, 4, 2] },
        fat_tree(8, 2, None),
        fat_tree(6, 3, None),
        fat_tree(4, 3, Some(5)),
        Generator::Mlfm { ports: 6 },
        Generator::Torus { dims: vec![4, 3, 2], hosts_per_switch: 2 },
    ];
    for generator in generators {
        for routing in [Routing::Destination, Routing::DModK] {
            let mut builder = generator.builder("generated", &TierRates::uniform(10.0, 1.0)).unwrap();
            builder.set_routing(routing);
            assert_documented(&builder.build().unwrap(), routing);
        }
    }
}

/// A chain of `switches` with further links between them, and hosts with one to three links, to one or several of them;
/// `fixed`: switch, host and next switch, left out where there is no such link or nothing would arrive.
fn on_several_switches(
    switches: usize,
    further: &[(usize, usize)],
    hosts: &[Vec<usize>],
    fixed: &[(usize, usize, usize)],
    routing: Routing,
) -> Fabric {
    let mut builder = FabricBuilder::new("several");
    builder.set_routing(routing);
    let rate = LinkRate { mbit: 10.0, latency_us: 1.0, parallel: 1 };
    let switch = |index: usize| format!("s{}", index % switches);
    (0..switches).for_each(|index| builder.switch(&switch(index)).unwrap());
    (1..switches).for_each(|index| builder.link(&switch(index - 1), &switch(index), rate).unwrap());
    for (index, on) in hosts.iter().enumerate() {
        let host = format!("n{index}");
        builder.host(&host).unwrap();
        on.iter().for_each(|&on| builder.link(&switch(on), &host, rate).unwrap());
    }
    // Links there are already, and of switches to themselves, are refused.
    for &(from, to) in further {
        let _ = builder.link(&switch(from), &switch(to), rate);
    }
    for &(at, host, next) in fixed {
        let mut tried = builder.clone();
        let host = format!("n{}", host % hosts.len());
        if tried.route(&switch(at), &host, &switch(next)).is_ok() && tried.clone().build().is_ok() {
            builder = tried;
        }
    }
    builder.build().unwrap()
}

/// Hosts are on one switch together, and each on one of the others too: every pair of switches needs a search.
#[test]
fn routes_are_looked_up_where_few_sets_of_switches_have_nodes() {
    let is_routed = |hosts: usize, others: usize| {
        let on: Vec<Vec<usize>> = (0..hosts).map(|host| vec![0, 1 + host % others]).collect();
        let fabric = Arc::new(on_several_switches(1 + others, &[], &on, &[], Routing::Destination));
        let nodes = Topology::of_nodes((0..hosts as u32).collect()).unwrap();
        let topology = nodes.on_network(Arc::clone(&fabric), &fabric.hosts().collect::<Vec<_>>());
        matches!(Wires::new(&topology, &Hierarchy::new(&topology)), Wires::Routed { .. })
    };
    // Sets, times switches and links in both directions: below and above 2^24.
    let work = |hosts: usize, others: usize| others * (1 + others + 2 * (2 * hosts + others));
    for (hosts, others, routed) in [(8192, 1, true), (8192, 400, true), (1400, 1400, true), (1700, 1700, false)] {
        assert_eq!(work(hosts, others) <= 1 << 24, routed);
        assert_eq!(is_routed(hosts, others), routed, "{hosts} hosts on {others} switches");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn routes_are_connected_shortest_and_loop_free(generator in generators(), seed in any::<u32>()) {
        let fabric = generated(&generator);
        let count = fabric.host_count() as u32;
        let mut router = Router::new(&fabric);
        let from = HostId(seed % count);
        let hops = hops(&fabric, from);
        for to in fabric.hosts() {
            let route = router.route(from, to);
            prop_assert_eq!(&route, &fabric.route(from, to));
            prop_assert_eq!(route.len(), hops[to.0 as usize]);
            let visited = nodes(&fabric, &route, from);
            prop_assert_eq!(*visited.last().unwrap(), NodeId::from(to));
            for (link, pair) in route.iter().zip(visited.windows(2)) {
                prop_assert_eq!(fabric.start(*link), pair[0]);
            }
            prop_assert_eq!(visited.iter().collect::<HashSet<_>>().len(), visited.len());
        }
    }

    #[test]
    fn routes_of_hosts_on_several_switches_are_the_documented_ones(
        switches in 1usize..7,
        further in prop::collection::vec((0usize..7, 0usize..7), 0..8),
        hosts in prop::collection::vec(prop::collection::vec(0usize..7, 1..4), 1..12),
        fixed in prop::collection::vec((0usize..7, 0usize..12, 0usize..7), 0..10),
        routing in prop::sample::select(vec![Routing::Destination, Routing::DModK]),
    ) {
        assert_documented(&on_several_switches(switches, &further, &hosts, &fixed, routing), routing);
    }

    #[test]
    fn the_next_hop_depends_on_the_destination_alone(generator in generators(), seed in any::<u32>()) {
        let fabric = generated(&generator);
        let to = HostId(seed % fabric.host_count() as u32);
        let table = fabric.routes_to(to);
        for from in fabric.hosts() {
            for link in table.from(&fabric, from).into_iter().skip(1) {
                prop_assert_eq!(table.next_of_switch(&fabric, fabric.start(link)), Some(link));
            }
        }
    }

    #[test]
    fn levels_are_nested_partitions_that_say_something(generator in generators()) {
        let fabric = generated(&generator);
        let levels = fabric.levels();
        for level in &levels {
            prop_assert_eq!(level.of_host.len(), fabric.host_count());
            prop_assert!(level.sizes().iter().all(|&s| s > 0));
            prop_assert!(level.group_count() > 1 && level.group_count() < fabric.host_count());
        }
        for pair in levels.windows(2) {
            prop_assert!(pair[0].group_count() < pair[1].group_count());
            let mut outer_of = vec![None; pair[1].group_count()];
            for (outer, inner) in pair[0].of_host.iter().zip(&pair[1].of_host) {
                let known = outer_of[*inner as usize].get_or_insert(*outer);
                prop_assert_eq!(*known, *outer);
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}", at in 0usize..400, cut in 0usize..30) {
        let file = nagare_plan::fabric::shipped("wan2x8").unwrap();
        let start = (0..=at.min(file.len())).rev().find(|&i| file.is_char_boundary(i)).unwrap();
        let end = (start + cut).min(file.len());
        let broken = format!("{}{}{}", &file[..start], text, file.get(end..).unwrap_or(""));
        if let Err(error) = Fabric::from_toml(&broken, "x") {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
