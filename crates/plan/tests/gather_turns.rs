//! Gather by turns: starts worked out by hand, and schedules of `direct` played on networks of one, two and three
//! clusters, whose root has a link like all others or a wider one.

use crate::support::document::table;
use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Gather;
use nagare_plan::cost::{Meeting, Segments, room};
use nagare_plan::execute::play;
use nagare_plan::fabric::{Fabric, Placement, timeline};
use nagare_plan::schedule::{Action, Pacing, Schedule};
use nagare_plan::tasks::{Routes, Task, Tasks, starts};
use nagare_plan::topology::{Hierarchy, Topology, Wires};
use std::collections::BTreeMap;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

/// Clusters of eight hosts at 100 Mbit/s, whose switches are linked to one router. Host n0 and the first cluster's link
/// have their own rates; the links between clusters have half of the latency each.
fn clusters(clusters: usize, root_mbit: u32, between_mbit: u32, between_us: u32) -> Arc<Fabric> {
    let last = 8 * clusters - 1;
    let mut text = format!(
        "name = \"clusters\"\nhosts = [\"n[0-{last}]\"]\nswitches = [\"r\", \"c[0-{}]\"]\nbandwidth = 100\n\
         latency = 5\nqueue = 128\n[[link]]\nfrom = \"n0\"\nto = \"c0\"\nbandwidth = {root_mbit}\n",
        clusters - 1
    );
    for cluster in 0..clusters {
        let (first, last) = (8 * cluster + usize::from(cluster == 0), 8 * cluster + 7);
        let mbit = if cluster == 0 { root_mbit } else { between_mbit };
        text += &format!("[[link]]\nfrom = \"n[{first}-{last}]\"\nto = \"c{cluster}\"\n");
        text +=
            &format!("[[link]]\nfrom = \"c{cluster}\"\nto = \"r\"\nbandwidth = {mbit}\nlatency = {}\n", between_us / 2);
    }
    Arc::new(Fabric::from_toml(&text, "clusters").expect("valid"))
}

/// One rank on every host.
fn schedule(fabric: &Arc<Fabric>, root: u32) -> (Schedule, Placement) {
    let placement = network::place(fabric, "by slot", fabric.host_count(), 1);
    let planner = network::planner(fabric, &placement);
    (planner.schedule(Gather, Algorithm::Direct, root).expect("implemented"), placement)
}

/// The picture of `tasks/starts.rs`.
#[test]
fn starts_by_hand() {
    let mut text = "name = \"picture\"\nhosts = [\"root\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\"]\n\
                    switches = [\"s\", \"t\"]\nbandwidth = 100\nlatency = 5\n\
                    [[link]]\nfrom = \"root\"\nto = \"s\"\nbandwidth = 300\n\
                    [[link]]\nfrom = \"t\"\nto = \"s\"\n"
        .to_owned();
    for (host, switch) in ["a", "b", "c", "d", "e", "f"].map(|h| (h, "s")).into_iter().chain([("g", "t"), ("h", "t")]) {
        text += &format!("[[link]]\nfrom = \"{host}\"\nto = \"{switch}\"\n");
    }
    let fabric = Arc::new(Fabric::from_toml(&text, "picture").expect("valid"));
    let planner = network::planner(&fabric, &network::place(&fabric, "by slot", 9, 1));
    let topology = planner.topology();
    let hierarchy = Hierarchy::new(topology);
    let node = |name: &str| hierarchy.node_of(fabric.find_host(name).expect("a host").0);
    let routes = Routes::to(&mut Wires::new(topology, &hierarchy), 9, node("root"));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let tasks = Tasks::new(&routes, names.map(|from| Task { from: node(from), to: node("root"), bytes: 1 }));
    let (starts, end) = starts(&tasks);
    let one = tasks.transfer(0);
    let found: Vec<(String, u64, Vec<&str>)> = starts
        .iter()
        .map(|s| {
            let follows = s.follows.iter().map(|&task| names[task as usize]).collect();
            (names[s.task as usize].to_owned(), s.tick / one, follows)
        })
        .collect();
    let by_hand = [
        ("g", 0, vec![]),
        ("a", 0, vec![]),
        ("b", 0, vec![]),
        ("c", 1, vec!["a"]),
        ("d", 1, vec!["b"]),
        ("e", 1, vec!["g"]),
        ("f", 2, vec!["c"]),
        ("h", 2, vec!["d"]),
    ];
    let started = |list: &[(String, u64, Vec<&str>)]| -> Vec<(String, u64)> {
        list.iter().map(|(name, tick, _)| (name.clone(), *tick)).collect()
    };
    let by_hand: Vec<(String, u64, Vec<&str>)> =
        by_hand.into_iter().map(|(name, tick, follows)| (name.to_owned(), tick, follows)).collect();
    assert_eq!(started(&found), started(&by_hand));
    assert_eq!(end, 3 * one);
    // Every start takes over from one task that ended then, and no two from the same.
    let mut followed: Vec<&str> = found.iter().flat_map(|(.., follows)| follows.iter().copied()).collect();
    followed.sort_unstable();
    followed.dedup();
    assert_eq!(followed.len(), 5);
    assert!(found.iter().all(|(_, tick, follows)| follows.len() == usize::from(*tick > 0)));
}

/// The table of docs/algorithms.md: the busiest link is busy nearly all the time, whatever is wide or thin. Two senders
/// at a time, as on networks whose rates nobody knows, would leave most of a wide root's link idle.
#[test]
fn the_busiest_link_is_busy() {
    let documented = table("network");
    let wan2x8 = network::load("wan2x8");
    let networks = [
        &wan2x8,
        &clusters(1, 400, 100, 1000),
        &clusters(2, 100, 100, 1000),
        &clusters(3, 100, 100, 1000),
        &clusters(3, 1000, 100, 1000),
        &clusters(3, 1000, 400, 1000),
    ];
    let of_nodes =
        |fabric: &Arc<Fabric>| Planner::new(Topology::of_nodes((0..fabric.host_count() as u32).collect()).unwrap());
    let played = networks.map(|fabric| {
        let placement = network::place(fabric, "by slot", fabric.host_count(), 1);
        [network::planner(fabric, &placement), of_nodes(fabric)].map(|planner| {
            let schedule = planner.schedule(Gather, Algorithm::Direct, 0).expect("implemented");
            let ratio = timeline(&schedule, fabric, placement.hosts(), MIB, None).expect("played").ratio();
            format!("{ratio:.2}")
        })
    });
    assert!(documented.iter().map(|row| &row[1..]).eq(played.iter().map(|ratios| &ratios[..])), "{played:?}");
}

/// On trees what is under way at a time never needs more than twice what a link carries: the senders whose turn it is,
/// and those after them.
#[test]
fn at_most_two_turns_at_a_time() {
    let tree = network::load("tree8");
    // From a wide host alone more may come than a thin one's link carries.
    for (fabric, roots) in [(&clusters(2, 400, 100, 10), 0..1), (&clusters(3, 1000, 400, 10), 0..1), (&tree, 0..8)] {
        for root in roots {
            let (schedule, placement) = schedule(fabric, root);
            let run = timeline(&schedule, fabric, placement.hosts(), MIB, None).expect("played");
            for link in run.links {
                let demand = link.overloads.iter().map(|overload| overload.demand).fold(0.0, f64::max);
                assert!(demand <= 2.0 + 1e-9, "{} {root}: {} → {}: {demand}", fabric.name(), link.from, link.to);
            }
        }
    }
}

/// The predicted time is what playing takes, but for latencies, and those who start together have the same step.
#[test]
fn the_predicted_time_is_the_played_one() {
    for fabric in [clusters(2, 400, 100, 10), clusters(3, 1000, 400, 10), clusters(3, 1000, 100, 10)] {
        let (schedule, placement) = schedule(&fabric, 0);
        let played = timeline(&schedule, &fabric, placement.hosts(), MIB, None).expect("played").finish;
        let planner = network::planner(&fabric, &placement);
        let hierarchy = Hierarchy::new(planner.topology());
        let nodes = hierarchy.node_count();
        let routes = Routes::to(&mut Wires::new(planner.topology(), &hierarchy), nodes, 0);
        let tasks = Tasks::new(&routes, (0..nodes).map(|from| Task { from, to: 0, bytes: MIB }));
        let (starts, end) = starts(&tasks);
        // Played bytes are those on the wire.
        let predicted = end as f64 * tasks.tick() * 1e-9 * 1448.0 / 1514.0;
        assert!((0.95..=1.1).contains(&(played / predicted)), "{played}, predicted {predicted}");
        let mut at_a_time: BTreeMap<u32, usize> = BTreeMap::new();
        for plan in &schedule.plans[1..] {
            let send = plan.hops.iter().find(|hop| hop.action == Action::Send).expect("a block");
            *at_a_time.entry(send.round.step).or_default() += 1;
        }
        let mut ticks: BTreeMap<u64, usize> = BTreeMap::new();
        starts.iter().for_each(|start| *ticks.entry(start.tick).or_default() += 1);
        assert!(at_a_time.into_values().eq(ticks.into_values()));
    }
}

/// A default where some host, as a root, has room for several senders; not where all hosts are alike.
#[test]
fn where_it_is_a_default() {
    let fitting_of = |fabric: &Arc<Fabric>, bytes| {
        let placement = network::place(fabric, "by slot", fabric.host_count(), 1);
        network::planner(fabric, &placement).fitting(Gather, bytes, Segments::AtMost(64 << 10))
    };
    let fitting = |fabric: &Arc<Fabric>| fitting_of(fabric, 64 << 10);
    assert_eq!(fitting(&clusters(1, 400, 100, 10)), Some(Algorithm::Direct));
    assert_eq!(fitting(&clusters(3, 1000, 100, 1000)), Some(Algorithm::Direct));
    // Also where the widest host is not that of rank 0, for which times are predicted.
    let wide = clusters(1, 400, 100, 10);
    let mut hosts = network::place(&wide, "by slot", wide.host_count(), 1).hosts().to_vec();
    hosts.rotate_left(1);
    let rotated = network::beside_open_mpi(network::planner(&wide, &Placement::from_hosts(hosts)));
    assert_eq!(rotated.fitting(Gather, 64 << 10, Segments::AtMost(64 << 10)), Some(Algorithm::Direct));
    // Wider, but what comes is no more than one link brings.
    assert_eq!(fitting(&clusters(1, 150, 100, 10)), None);
    for name in ["wan2x8", "star16", "tree8", "mlfm36", "fattree"] {
        assert_eq!(fitting(&network::load(name)), None, "{name}");
    }
    // On a torus of long blocks: of short ones the tokens take longer than the last block of a pipeline.
    let torus = network::load("torus16");
    assert_eq!(
        [4, 32, 64].map(|k| fitting_of(&torus, k << 10)),
        [Algorithm::Relay, Algorithm::Relay, Algorithm::Direct].map(Some)
    );
}

/// Wide roots and thin ones, several ranks on a host, hosts in an order that follows no switch, and a part of them.
#[test]
fn every_block_arrives_whatever_the_root() {
    for fabric in [clusters(3, 1000, 100, 1000), clusters(2, 400, 50, 1000)] {
        let places = [(fabric.host_count(), 1), (2 * fabric.host_count(), 2), (11, 1), (11, 3)];
        for (ranks, per_host) in places {
            let placement = network::place(&fabric, "by slot", ranks, per_host);
            let shuffled = Placement::from_hosts(network::shuffled(placement.hosts().to_vec()));
            for placement in [placement, shuffled] {
                let planner = network::planner(&fabric, &placement);
                for root in [0, 1, ranks as u32 / 2, ranks as u32 - 1] {
                    let schedule = planner.schedule(Gather, Algorithm::Direct, root).expect("implemented");
                    for units in [1, 7] {
                        let pacing = Pacing { segment: 3, window: 2, flow: None };
                        assert_eq!(play(&schedule, units, pacing, true), Ok(()), "{ranks} {per_host} root {root}");
                    }
                }
            }
        }
    }
}

/// All who may send at a time share the queue before the root: twice as many hosts as its link carries, or all ranks.
#[test]
fn what_is_under_way_fits_the_root_s_queue() {
    for (root_mbit, per_host, senders) in [(100, 1, 2), (100, 3, 6), (250, 1, 4), (300, 2, 12), (1000, 1, 16)] {
        let fabric = clusters(2, root_mbit, 1000, 1000);
        let placement = network::place(&fabric, "by slot", 16 * per_host, per_host);
        let planner = network::planner(&fabric, &placement);
        let hierarchy = Hierarchy::new(planner.topology());
        let found = room(planner.topology(), &hierarchy, Meeting::ToOne);
        assert_eq!(found, (128 * 1448 / senders).min(96 << 10), "{root_mbit} Mbit/s, {per_host} ranks per host");
    }
}
