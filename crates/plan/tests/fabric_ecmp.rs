//! Hashed routes: what is to be expected on every link, compared with all shortest paths counted one by one.

use std::collections::{BTreeMap, BTreeSet};

use nagare_plan::collective::Collective;
use nagare_plan::cost::{Demand, Meeting, room};
use nagare_plan::fabric::{
    Adapter, DirectedLink, Fabric, Generator, HostId, NodeId, Placement, Round, Router, Routing, TierRates, Transfer,
    certify, check, shipped,
};
use nagare_plan::topology::{Hierarchy, Line, Topology, Wires};
use std::sync::Arc;

fn hashed(generator: &Generator) -> Fabric {
    let mut builder = generator.builder("test", &TierRates::uniform(10.0, 1.0)).unwrap();
    builder.set_routing(Routing::Ecmp);
    builder.build().unwrap()
}

fn fat_tree(ports: u32, levels: u32) -> Fabric {
    hashed(&Generator::FatTree { ports, levels, hosts_per_leaf: None })
}

/// Two hosts on two switches each, and one on one, with three more between: ways that part and meet at several places.
/// And one with two links to one switch.
fn several_links() -> Fabric {
    let text = "routing = \"ecmp\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s[0-3]\", \"m[0-2]\"]\n\
                bandwidth = 10\n\
                [[link]]\nfrom = \"a\"\nto = [\"s0\", \"s1\"]\n[[link]]\nfrom = \"b\"\nto = [\"s2\", \"s3\"]\n\
                [[link]]\nfrom = \"c\"\nto = \"s1\"\n[[link]]\nfrom = \"s0\"\nto = [\"m[0-1]\"]\n\
                [[link]]\nfrom = \"s1\"\nto = [\"m[0-2]\"]\n[[link]]\nfrom = [\"s2\", \"s3\"]\nto = [\"m[0-2]\"]\n\
                [[link]]\nfrom = \"d\"\nto = \"s0\"\n[[link]]\nfrom = \"d\"\nto = \"s0\"\n";
    Fabric::from_toml(text, "several").unwrap()
}

fn fabrics() -> Vec<Fabric> {
    let torus = hashed(&Generator::Torus { dims: vec![3, 4], hosts_per_switch: 2 });
    let mesh = hashed(&Generator::Mlfm { ports: 6 });
    vec![fat_tree(4, 2), fat_tree(4, 3), fat_tree(6, 3), torus, mesh, several_links(), planes()]
}

/// Two planes that have no link to each other, of two leaves and two spines each.
fn planes() -> Fabric {
    let mut text =
        "routing = \"ecmp\"\nhosts = [\"n[0-3]\"]\nswitches = [\"a[0-3]\", \"b[0-3]\"]\nbandwidth = 10\n".to_owned();
    for plane in ["a", "b"] {
        for (from, to) in [("n[0-1]", "0"), ("n[2-3]", "1")] {
            text += &format!("[[link]]\nfrom = \"{from}\"\nto = \"{plane}{to}\"\n");
        }
        text += &format!("[[link]]\nfrom = \"{plane}[0-1]\"\nto = [\"{plane}2\", \"{plane}3\"]\n");
    }
    Fabric::from_toml(&text, "planes").unwrap()
}

fn adapters(fabric: &Fabric) -> Vec<Adapter> {
    let of = |host| (0..fabric.adapters(host)).map(move |number| Adapter { host, number });
    fabric.hosts().flat_map(of).collect()
}

/// Hops from every node to a host, hosts not forwarding, by relaxation over the list of links.
fn hops(fabric: &Fabric, to: HostId) -> Vec<usize> {
    let mut hops = vec![usize::MAX; fabric.host_count() + fabric.switch_count()];
    hops[to.0 as usize] = 0;
    for _ in 0..hops.len() {
        for (a, b) in fabric.links().iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]) {
            if hops[b.0 as usize] != usize::MAX && (b == NodeId::from(to) || !fabric.is_host(b)) {
                hops[a.0 as usize] = hops[a.0 as usize].min(hops[b.0 as usize] + 1);
            }
        }
    }
    hops
}

/// The links of a node on shortest paths to a host.
fn nearer(fabric: &Fabric, hops: &[usize], at: NodeId) -> Vec<DirectedLink> {
    let nearer = |link: &&DirectedLink| hops[fabric.end(**link).0 as usize] + 1 == hops[at.0 as usize];
    let forwards = |link: &&DirectedLink| !fabric.is_host(fabric.end(**link)) || hops[at.0 as usize] == 1;
    fabric.links_of(at).iter().filter(nearer).filter(forwards).copied().collect()
}

/// Every way from a switch to an adapter with its probability, one recursion for each.
fn beyond(fabric: &Fabric, hops: &[usize], at: NodeId, to: Adapter, p: f64) -> Vec<(Vec<DirectedLink>, f64)> {
    if fabric.is_host(at) {
        return vec![(Vec::new(), p)];
    }
    let own = fabric.links_of(to.host)[to.number as usize].reverse();
    let mut next = nearer(fabric, hops, at);
    if hops[at.0 as usize] == 1 {
        next = vec![if next.contains(&own) { own } else { next[0] }];
    }
    let arrives = |link: &DirectedLink| {
        let ways = beyond(fabric, hops, fabric.end(*link), to, 1.0);
        *link == own || ways.iter().any(|(way, _)| way.last() == Some(&own))
    };
    if next.iter().any(arrives) {
        next.retain(arrives);
    }
    let each = p / next.len() as f64;
    let beyond = next.iter().flat_map(|&link| {
        let rest = beyond(fabric, hops, fabric.end(link), to, each);
        rest.into_iter().map(move |(path, p)| ([vec![link], path].concat(), p))
    });
    beyond.collect()
}

/// Every way from an adapter to another; none inside a host.
fn paths(fabric: &Fabric, hops: &[usize], from: Adapter, to: Adapter) -> Vec<(Vec<DirectedLink>, f64)> {
    if from.host == to.host {
        return vec![(Vec::new(), 1.0)];
    }
    let links = nearer(fabric, hops, from.host.into());
    let first = links[from.number as usize % links.len()];
    let rest = beyond(fabric, hops, fabric.end(first), to, 1.0);
    rest.into_iter().map(|(path, p)| ([vec![first], path].concat(), p)).collect()
}

fn expected(paths: &[(Vec<DirectedLink>, f64)]) -> BTreeMap<DirectedLink, f64> {
    let mut load = BTreeMap::new();
    for (path, p) in paths {
        path.iter().for_each(|&link| *load.entry(link).or_insert(0.0) += p);
    }
    load
}

#[test]
fn shares_are_those_of_all_shortest_paths() {
    for fabric in fabrics() {
        let mut router = Router::new(&fabric);
        let all = adapters(&fabric);
        for &to in &all {
            let hops = hops(&fabric, to.host);
            for &from in &all {
                let paths = paths(&fabric, &hops, from, to);
                let load = expected(&paths);
                let shares = router.shares(from, to);
                assert_eq!(shares.len(), load.len(), "{from:?} to {to:?}: every link once");
                for &(link, share) in &shares {
                    assert!((share - load[&link]).abs() < 1e-12, "{}: {share}", fabric.link_name(link));
                    // Links that all paths have are certain, whatever the sum of their parts is.
                    let is_certain = paths.iter().all(|(path, _)| path.contains(&link));
                    assert_eq!(share == 1.0, is_certain, "{}", fabric.link_name(link));
                }
                let route = router.route(from, to);
                assert!(paths.iter().any(|(path, _)| *path == route), "the route is one of them");
            }
        }
    }
}

/// Two leaves under two spines, every host on both: what there is to choose is between spines, and an adapter's switch.
#[test]
fn a_message_leaves_by_its_senders_adapter_and_arrives_by_its_receivers() {
    let planes = planes();
    let mut router = Router::new(&planes);
    let at = |host, number| Adapter { host: HostId(host), number };
    let mut names = |from, to| -> Vec<(String, f64)> {
        router.shares(from, to).into_iter().map(|(link, share)| (planes.link_name(link), share)).collect()
    };
    for number in [0, 1] {
        for (source, plane) in [(0, 'a'), (1, 'b')] {
            let way = [
                (format!("n0 -> {plane}0"), 1.0),
                (format!("{plane}0 -> {plane}2"), 0.5),
                (format!("{plane}0 -> {plane}3"), 0.5),
                (format!("{plane}2 -> {plane}1"), 0.5),
                (format!("{plane}3 -> {plane}1"), 0.5),
                (format!("{plane}1 -> n2"), 1.0),
            ];
            assert_eq!(names(at(0, source), at(2, number)), way);
        }
    }
    // Of two switches as near only that of the adapter.
    let fabric = several_links();
    let mut router = Router::new(&fabric);
    for (number, switch) in [(0, "s2"), (1, "s3")] {
        let shares = router.shares(HostId(2), at(1, number));
        let ends: BTreeSet<&str> = shares.iter().map(|&(link, _)| fabric.node_name(fabric.end(link))).collect();
        assert_eq!(ends, BTreeSet::from(["b", "m0", "m1", "m2", "s1", switch]));
        assert_eq!(shares[7..], [(fabric.links_of(HostId(1))[number as usize].reverse(), 1.0)]);
    }
    // Adapters on one switch have their own links.
    let last = |number| router.shares(HostId(0), at(3, number)).pop();
    let own = |number: usize| Some((fabric.links_of(HostId(3))[number].reverse(), 1.0));
    assert_eq!([0, 1].map(last), [0, 1].map(own));
}

#[test]
fn next_hops_are_the_first_links_of_all_shortest_paths() {
    for fabric in fabrics() {
        for to in adapters(&fabric) {
            let hops = hops(&fabric, to.host);
            for (switch, next) in fabric.switches().zip(fabric.next_hops(to)) {
                if hops[switch.0 as usize] == usize::MAX {
                    assert_eq!(next, []);
                    continue;
                }
                let paths = beyond(&fabric, &hops, switch, to, 1.0);
                let first: BTreeSet<DirectedLink> = paths.iter().flat_map(|(path, _)| path.first().copied()).collect();
                assert_eq!(next, first.into_iter().collect::<Vec<_>>(), "{}", fabric.node_name(switch));
            }
        }
    }
}

#[test]
fn drawn_ways_are_shortest_paths_as_often_as_expected() {
    const DRAWS: u64 = 4000;
    for fabric in [fat_tree(4, 3), several_links()] {
        let mut router = Router::new(&fabric);
        let (from, to) = (HostId(0), HostId(fabric.host_count() as u32 - 2));
        let paths = paths(&fabric, &hops(&fabric, to), from.into(), to.into());
        let mut drawn: BTreeMap<Vec<DirectedLink>, u64> = BTreeMap::new();
        (0..DRAWS).for_each(|connection| *drawn.entry(router.drawn(from, to, connection)).or_default() += 1);
        assert_eq!(drawn.len(), paths.len());
        for (path, p) in paths {
            let share = drawn[&path] as f64 / DRAWS as f64;
            assert!((share - p).abs() < 0.03, "{share} of {p}");
        }
    }
    // Where nothing is hashed, the route.
    let fabric = Fabric::from_toml(shipped("fattree").unwrap(), "fattree").unwrap();
    let mut router = Router::new(&fabric);
    let route = router.route(HostId(0), HostId(15));
    assert!((0..9).all(|connection| router.drawn(HostId(0), HostId(15), connection) == route));
    assert_eq!(router.shares(HostId(0), HostId(15)), route.iter().map(|&link| (link, 1.0)).collect::<Vec<_>>());
}

/// What every host sends every other, on a tree of k-port switches.
#[test]
fn an_alltoall_fills_the_links_of_a_tier_alike() {
    for ports in [4u64, 6] {
        let fabric = fat_tree(ports as u32, 3);
        let hosts = fabric.host_count() as u64;
        let placement = Placement::by_slot(&fabric, hosts as usize, 1).unwrap();
        let (half, bytes) = (ports / 2, 9000);
        let shift = |distance| {
            let to = |from| ((from + distance) % hosts) as u32;
            let transfers = (0..hosts).map(|from| Transfer { from: from as u32, to: to(from), bytes }).collect();
            Round { label: format!("shift {distance}"), transfers }
        };
        let rounds: Vec<Round> = (1..hosts).map(shift).collect();
        let report = check(&fabric, &placement, &rounds).unwrap();
        let tier = |name: &str| name.chars().next().unwrap();
        for link in &report.links {
            let blocks = match (tier(&link.from), tier(&link.to)) {
                ('n', 'l') | ('l', 'n') => hosts - 1,
                ('l', 'a') | ('a', 'l') => hosts - half,
                ('a', 'c') | ('c', 'a') => hosts - half * half,
                other => panic!("{other:?}"),
            };
            assert_eq!(link.bytes, blocks * bytes, "{link:?}");
        }
        assert_eq!(report.links.len(), fabric.directed_link_count());
        // A shift is free of conflicts only as long as no hash brings two of its messages together.
        assert!(report.conflicts.is_empty());
        assert!(report.links.iter().any(|link| link.may_meet(&fabric)));
        let up = report.links.iter().find(|link| (tier(&link.from), tier(&link.to)) == ('a', 'c')).unwrap();
        assert_eq!(up.most_at_once as u64, half * half);
        assert!((up.expected_at_once - 1.0).abs() < 1e-12, "{up:?}");
    }
}

#[test]
fn predictions_count_the_expected_load() {
    // A ring in an order that leaves every leaf at every step: all shares of both its uplinks.
    let fabric = fat_tree(4, 2);
    let hosts: Vec<u32> = (0..8).map(|n| n % 4 * 2 + n / 4).collect();
    let topology = Topology::of_nodes((0..8).collect()).unwrap();
    let topology =
        topology.on_network(Arc::new(fabric.clone()), &hosts.iter().map(|&host| HostId(host)).collect::<Vec<_>>());
    let hierarchy = Hierarchy::new(&topology);
    let mut wires = Wires::new(&topology, &hierarchy);
    let mut load = vec![0.0; fabric.directed_link_count()];
    for node in 0..8 {
        let (from, to) = (HostId(hosts[node]), HostId(hosts[(node + 1) % 8]));
        for (link, p) in expected(&paths(&fabric, &hops(&fabric, to), from.into(), to.into())) {
            load[link.index()] += p;
        }
        let way = wires.way(node as u32, (node as u32 + 1) % 8);
        let links: f64 = way.links.iter().map(|&(_, share)| share).sum();
        assert!((links - 4.0).abs() < 1e-12 && (way.latency - 4000.0).abs() < 1e-9, "{way:?}");
    }
    let busiest = load.into_iter().fold(0.0, f64::max);
    let demand = Demand::ring(Collective::Allgather, &Line::new(&hierarchy, &topology), &mut wires);
    let expected = busiest * 7.0 / 8.0 * 8e3 / (10.0 * 1448.0 / 1514.0);
    assert!((demand.per_byte / expected - 1.0).abs() < 1e-12, "{} {expected}", demand.per_byte);
}

#[test]
fn a_certificate_promises_nothing_that_a_hash_decides() {
    let fabric = fat_tree(4, 3);
    let placement = Placement::by_slot(&fabric, 16, 1).unwrap();
    let certified = |rounds: &[&[(u32, u32)]]| {
        let rounds = rounds.iter().enumerate().map(|(n, &sent)| (format!("round {n}"), sent));
        let found = certify(&fabric, &placement, rounds).unwrap();
        let example = found.counterexample.map(|c| (c.round, c.first, c.second, c.links.join(", ")));
        (found.in_conflict, found.may_conflict, example)
    };
    // Inside leaves there is one way, and from two leaves that are not below the same switch nothing can meet.
    assert_eq!(certified(&[&[(0, 1), (2, 3)], &[(0, 2), (4, 6)]]), (0, 0, None));
    // Two hosts of a leaf.
    let (leaf, up) = ([(0, 4), (1, 9)], "l0 -> a0, l0 -> a1, a0 -> c0, a0 -> c1, a1 -> c2, a1 -> c3".to_owned());
    assert_eq!(certified(&[&[(0, 1)], &leaf]), (0, 1, Some((1, (0, 4), (1, 9), up))));
    // What certainly meets comes first.
    let incast = [(0, 8), (4, 8)];
    let down = "l4 -> n8".to_owned();
    assert_eq!(certified(&[&leaf, &incast]), (1, 1, Some((1, (0, 8), (4, 8), down))));
}

/// The fewest connections that one of `pairs` connections is not expected to exceed where it meets each of `others`
/// with probability `share`: by the binomial distribution, its coefficients from Pascal's triangle.
fn most_expected(pairs: f64, others: usize, share: f64) -> u64 {
    let mut row = vec![1.0];
    for _ in 0..others {
        row = (0..=row.len()).map(|k| row.get(k).unwrap_or(&0.0) + if k > 0 { row[k - 1] } else { 0.0 }).collect();
    }
    let exactly = |k: usize| row[k] * share.powi(k as i32) * (1.0 - share).powi((others - k) as i32);
    let more = |found: usize| (found + 1..=others).map(exactly).sum::<f64>();
    1 + (0..=others).find(|&found| pairs * more(found) < 1.0).unwrap() as u64
}

/// An order that gives every link to one node at a time has what a hash brings together there as well.
#[test]
fn rooms_count_whom_a_hash_is_expected_to_bring() {
    let queue = 40;
    // Ports, levels, links to the core by which a leaf or pod parts what it sends.
    for (ports, levels, ways) in [(4, 2, 2), (4, 3, 4), (8, 2, 4), (8, 3, 16)] {
        let generator = Generator::FatTree { ports, levels, hosts_per_leaf: None };
        for per_host in [1, 3] {
            let [by_hash, by_rule] = [Routing::Ecmp, Routing::DModK].map(|routing| {
                let mut builder = generator.builder("tree", &TierRates::uniform(10.0, 1.0)).unwrap();
                builder.set_routing(routing);
                builder.set_queue(queue);
                let fabric = Arc::new(builder.build().unwrap());
                let nodes: Vec<u32> = (0..fabric.host_count() as u32 * per_host).map(|rank| rank / per_host).collect();
                let hosts: Vec<HostId> = nodes.iter().map(|&node| HostId(node)).collect();
                let topology = Topology::of_nodes(nodes).unwrap().on_network(fabric, &hosts);
                let hierarchy = Hierarchy::new(&topology);
                [Meeting::OneNode, Meeting::TwoNodes].map(|meeting| room(&topology, &hierarchy, meeting))
            });
            let ranks = u64::from(per_host) * if levels == 2 { ports * ports / 2 } else { ports.pow(3) / 4 } as u64;
            for (turns, by_hash, by_rule) in [(1, by_hash[0], by_rule[0]), (2, by_hash[1], by_rule[1])] {
                let own = turns * u64::from(per_host);
                let others = (own * ways).min(ranks) - 1;
                let senders = most_expected((ranks * ranks) as f64, others as usize, 1.0 / ways as f64);
                let of = |senders: u64| (u64::from(queue) * 1448 / senders).min(96 << 10);
                assert_eq!([by_hash, by_rule], [of(senders), of(own)], "{ports} {levels} {per_host} {turns}");
                assert!(senders > own);
            }
        }
    }
}
