//! What `docs/algorithms.md` says about the schedules for the full rate and about the shipped fabrics: depths, formulas
//! and loads of links, computed here from groups and routes.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allreduce, Bcast, Reduce};
use nagare_plan::fabric::{CheckReport, DirectedLink, Fabric, check};
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::Topology;
use std::collections::HashMap;

use crate::support::document::{number, table};
use crate::support::formulas::schedule;
use crate::support::rounds::rounds;

/// One rank per node, nodes in groups of the given sizes.
fn groups_of(sizes: &[u32]) -> Planner {
    let group: Vec<u32> = (0u32..).zip(sizes).flat_map(|(g, &size)| vec![g; size as usize]).collect();
    let ranks = group.len() as u32;
    let names = vec!["group".to_owned(), "node".to_owned()];
    Planner::new(Topology::new(names, vec![group, (0..ranks).collect()], vec![0; ranks as usize]).unwrap())
}

/// Edges on the longest way of a part from the root in a Bcast.
fn depth(bcast: &Schedule) -> u32 {
    let moves = bcast.moves();
    let parent: HashMap<(u32, u32), u32> = moves.iter().map(|m| ((m.parts.first, m.to), m.from)).collect();
    let way = |part, rank| std::iter::successors(parent.get(&(part, rank)), |&&r| parent.get(&(part, r))).count();
    parent.keys().map(|&(part, rank)| way(part, rank) as u32).max().unwrap_or(0)
}

#[test]
fn depths_of_the_gateway_two_tree() {
    for row in table("nodes in groups") {
        let sizes: Vec<u32> = match row[0].split_once('×') {
            Some((groups, size)) => vec![number(size.trim()); number(groups.trim())],
            None => row[0].split(' ').map(number).collect(),
        };
        let planner = groups_of(&sizes);
        let of = |algorithm| depth(&schedule(&planner, Bcast, algorithm, 0));
        let chain = sizes.iter().sum::<u32>() - 1;
        let found = [of(Algorithm::GatewayTwoTree), of(Algorithm::GroupedTwoTree), chain];
        assert_eq!(found, [1, 2, 3].map(|c| number::<u32>(&row[c])), "{row:?}");
    }
}

/// 3·log₂ G + log₂ S edges for G groups of S ≥ 4 nodes, powers of two, and a bound for all others.
#[test]
fn depth_of_the_gateway_two_tree_is_logarithmic() {
    for (g, s) in (0..6u32).flat_map(|g| (2..6u32).map(move |s| (g, s))) {
        let bcast = schedule(&groups_of(&vec![1 << s; 1 << g]), Bcast, Algorithm::GatewayTwoTree, 0);
        assert_eq!(depth(&bcast), 3 * g + s, "2^{g} × 2^{s}");
    }
    let log2_ceil = |x: u32| x.next_power_of_two().ilog2();
    for (groups, size) in (1..=24u32).flat_map(|g| (1..=40u32).map(move |s| (g, s))) {
        for root in [0, groups * size / 2] {
            let planner = groups_of(&vec![size; groups as usize]);
            let found = depth(&schedule(&planner, Bcast, Algorithm::GatewayTwoTree, root));
            let bound = 4 * log2_ceil(groups) + 2 * log2_ceil(size);
            assert!(found <= bound, "{groups} × {size} root {root}: {found} > {bound}");
        }
    }
}

#[test]
fn gateway_two_tree_formulas() {
    for sizes in [vec![4, 4], vec![8, 8, 8, 8], vec![9, 9, 9, 5], vec![1, 3, 1], vec![2, 7, 4, 1, 6], vec![5]] {
        let planner = groups_of(&sizes);
        let ranks: u32 = sizes.iter().sum();
        for root in 0..ranks {
            for (collective, directions) in [(Bcast, 1), (Reduce, 1), (Allreduce, 2)] {
                let moves = schedule(&planner, collective, Algorithm::GatewayTwoTree, root).moves();
                assert_eq!(moves.len() as u32, 2 * directions * (ranks - 1));
                assert!(moves.iter().all(|m| (m.parts.count, m.of) == (1, 2)));
            }
        }
    }
}

/// Transfers of a part, what a leader sends and receives at most; any root.
#[test]
fn circulant_formulas() {
    for nodes in [2, 3, 5, 8, 13, 17, 32, 100] {
        let planner = nodes_of(nodes * 2, 2);
        let parts = 32 - (nodes - 1).leading_zeros();
        for (collective, directions) in [(Bcast, 1), (Reduce, 1), (Allreduce, 2)] {
            let root = if collective == Allreduce { 0 } else { nodes };
            let schedule = schedule(&planner, collective, Algorithm::Circulant, root);
            let moves = schedule.moves();
            let between: Vec<_> = moves.iter().filter(|m| m.from / 2 != m.to / 2).collect();
            assert!(between.iter().all(|m| (m.parts.count, m.of) == (1, parts)), "{nodes}");
            assert_eq!(between.len() as u32, directions * parts * (nodes - 1), "{nodes} {collective}");
            for node in 0..nodes {
                let sent = between.iter().filter(|m| m.from / 2 == node).count() as u32;
                let received = between.iter().filter(|m| m.to / 2 == node).count() as u32;
                assert!(sent.max(received) <= directions * parts, "{nodes} {collective} node {node}");
            }
        }
    }
}

/// `ranks` ranks on nodes of `ppn`.
fn nodes_of(ranks: u32, ppn: u32) -> Planner {
    Planner::new(Topology::of_nodes((0..ranks).map(|r| r / ppn).collect()).unwrap())
}

#[test]
fn chain_and_ring_formulas() {
    for (ranks, ppn) in [(2, 1), (3, 1), (13, 1), (8, 2), (13, 2), (30, 4), (5, 8)] {
        let planner = nodes_of(ranks, ppn);
        let nodes = ranks.div_ceil(ppn);
        let node = |rank: u32| rank / ppn;
        let log2_floor = |x: u32| x.checked_ilog2().map_or(0, |k| k + 1);
        for (collective, directions) in [(Bcast, 1), (Reduce, 1), (Allreduce, 2)] {
            let chain = schedule(&planner, collective, Algorithm::Chain, ranks - 1);
            let moves = chain.moves();
            assert_eq!(moves.len() as u32, directions * (ranks - 1), "P - 1 transfers of n");
            assert!(moves.iter().all(|m| (m.parts.count, m.of) == (1, 1)));
            let between = moves.iter().filter(|m| node(m.from) != node(m.to)).count() as u32;
            assert_eq!(between, directions * (nodes - 1));
            if collective == Bcast {
                let inside = log2_floor(u32::min(ppn, ranks) - 1);
                assert!(depth(&chain) <= nodes - 1 + inside, "{ranks} on {nodes}: {}", depth(&chain));
            }
        }
        let ring = schedule(&planner, Allreduce, Algorithm::Ring, 0);
        let (between, inside): (Vec<_>, Vec<_>) = ring.moves().into_iter().partition(|m| node(m.from) != node(m.to));
        assert!(ring.plans.iter().all(|p| p.parts == nodes));
        assert_eq!(between.len() as u32, 2 * nodes * (nodes - 1), "2N(N-1) transfers of n/N");
        assert_eq!(inside.len() as u32, 2 * nodes * (ranks - nodes), "every part, there and back, in every node");
        for of_node in 0..nodes {
            let sent: u32 = between.iter().filter(|m| node(m.from) == of_node).map(|m| m.parts.count).sum();
            assert_eq!(sent, 2 * (nodes - 1), "2n(N-1)/N leaves every node");
        }
    }
}

/// The picture of the cycle of `torus16`: hosts row by row, as arrows from each to the next.
#[test]
fn the_picture_of_the_torus_is_its_cycle() {
    let fabric = network::load("torus16");
    let planner = network::planner(&fabric, &network::place(&fabric, "by slot", 16, 1));
    let after = |node: u32| planner.context().line().after(node, 1, 0);
    let cycle: Vec<String> = std::iter::successors(Some(0), |&n| Some(after(n)).filter(|&next| next != 0))
        .map(|node| node.to_string())
        .collect();
    let text = include_str!("../../../docs/algorithms.md");
    let documented = format!("{} → 0", cycle.join(" → "));
    assert!(text.contains(&documented), "{documented}");
}

/// The largest load of a host link and of a link between switches, in vectors.
fn busiest(fabric: &Fabric, report: &CheckReport, parts: u32) -> [f64; 2] {
    let of_host = |link: DirectedLink| fabric.is_host(fabric.start(link)) || fabric.is_host(fabric.end(link));
    let most = |hosts| report.links.iter().filter(|l| of_host(l.link) == hosts).map(|l| l.bytes).max().unwrap_or(0);
    [true, false].map(|hosts| most(hosts) as f64 / f64::from(parts))
}

#[test]
fn busiest_links_of_shipped_fabrics() {
    for row in table("fabric") {
        let algorithm = Algorithm::from_name(&row[3]).expect("an algorithm");
        let fabric = network::load(&row[0]);
        let placement = network::place(&fabric, &row[2], number(&row[1]), 1);
        let bcast = schedule(&network::planner(&fabric, &placement), Bcast, algorithm, 0);
        let report = check(&fabric, &placement, &rounds(&bcast, &placement)).unwrap();
        let loads = busiest(&fabric, &report, bcast.plans[0].parts);
        let loads = loads.map(|load| (load * 100.0).round() / 100.0);
        assert_eq!(loads, [4, 5].map(|c| number::<f64>(&row[c])), "{row:?}");
        assert_eq!(report.conflicts.len(), number::<usize>(&row[6]), "{row:?}");
    }
}
