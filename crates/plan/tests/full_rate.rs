//! Chains, rings and gateway two-trees played over the routes of real networks: what meets on a link, and how much each
//! link carries.

use crate::support::network;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allreduce, Bcast, Reduce};
use nagare_plan::fabric::{CheckReport, DirectedLink, Fabric, Generator, Placement, TierRates, check};
use nagare_plan::schedule::Schedule;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::support::formulas::schedule;
use crate::support::rounds::rounds;

/// The largest load of a host link and of a link between switches, in parts of the vector.
fn busiest(fabric: &Fabric, report: &CheckReport) -> [u64; 2] {
    let of_host = |link: DirectedLink| fabric.is_host(fabric.start(link)) || fabric.is_host(fabric.end(link));
    let most = |hosts| report.links.iter().filter(|l| of_host(l.link) == hosts).map(|l| l.bytes).max().unwrap_or(0);
    [most(true), most(false)]
}

/// A communicator on a fabric, and every schedule of one algorithm with all roots that make a difference.
fn each_schedule(
    (name, how, ranks, ppn): (&str, &str, usize, usize),
    algorithm: Algorithm,
    found: &mut dyn FnMut(&Fabric, &Placement, &Schedule),
) {
    let fabric = network::load(name);
    let placement = network::place(&fabric, how, ranks, ppn);
    let planner = network::planner(&fabric, &placement);
    for collective in [Bcast, Reduce, Allreduce].into_iter().filter(|&c| algorithm.implements(c)) {
        let roots = if collective.is_rooted() { ranks as u32 } else { 1 };
        for root in 0..roots {
            found(&fabric, &placement, &schedule(&planner, collective, algorithm, root));
        }
    }
}

const TREES: [(&str, &str, usize, usize); 8] = [
    ("tree8", "by slot", 8, 1),
    ("tree8", "by slot", 16, 2),
    ("tree8", "by node", 16, 2),
    ("star16", "by slot", 16, 1),
    ("star16", "by node", 32, 2),
    ("wan2x8", "by slot", 16, 1),
    ("wan2x8", "by node", 32, 2),
    ("wan2x8", "by slot", 13, 1),
];

#[test]
fn on_tree_networks_the_gateway_two_tree_never_conflicts_and_no_link_carries_the_vector_twice() {
    for place in TREES {
        each_schedule(place, Algorithm::GatewayTwoTree, &mut |fabric, placement, schedule| {
            let report = check(fabric, placement, &rounds(schedule, placement)).unwrap();
            assert_eq!(report.conflicts, [], "{place:?} {} root {}", schedule.collective, schedule.root);
            let most = if schedule.collective == Allreduce { 4 } else { 2 };
            assert!(busiest(fabric, &report).iter().all(|&halves| halves <= most), "{place:?}");
        });
    }
}

#[test]
fn on_trees_and_on_the_mesh_no_two_transfers_of_a_chain_share_a_link() {
    let mesh = [("mlfm36", "by slot", 32, 1), ("mlfm36", "balanced", 32, 1), ("fattree", "by slot", 16, 1)];
    for place in TREES.into_iter().chain(mesh) {
        each_schedule(place, Algorithm::Chain, &mut |fabric, placement, schedule| {
            // One stage per direction: in a full pipeline all its transfers are under way.
            let report = check(fabric, placement, &rounds(schedule, placement)).unwrap();
            assert_eq!(report.conflicts, [], "{place:?} {} root {}", schedule.collective, schedule.root);
            let most = if schedule.collective == Allreduce { 2 } else { 1 };
            assert!(busiest(fabric, &report).iter().all(|&vectors| vectors <= most), "{place:?}");
        });
    }
}

#[test]
fn the_ring_loads_every_link_as_little_as_an_allreduce_can_a_host() {
    let mesh = [("mlfm36", "by slot", 32, 1), ("mlfm36", "balanced", 32, 1), ("fattree", "by slot", 16, 1)];
    for place in TREES.into_iter().chain(mesh) {
        each_schedule(place, Algorithm::Ring, &mut |fabric, placement, schedule| {
            let report = check(fabric, placement, &rounds(schedule, placement)).unwrap();
            assert_eq!(report.conflicts, [], "{place:?}");
            let nodes = placement.hosts().iter().collect::<BTreeSet<_>>().len() as u64;
            let [host, inner] = busiest(fabric, &report);
            assert_eq!(host, 2 * (nodes - 1), "parts of 1/N of the vector");
            assert!(inner <= host, "{place:?}");
        });
    }
}

/// Inside a group of the mesh there are three paths, and its routes were made for the edges of `grouped_two_tree`.
#[test]
fn what_the_gateway_two_tree_does_on_the_mesh() {
    for (how, bcast, reduce, allreduce) in [("by slot", 3, 4, 5), ("balanced", 3, 3, 6)] {
        let mut most = HashMap::new();
        let mut clear = 0;
        each_schedule(("mlfm36", how, 32, 1), Algorithm::GatewayTwoTree, &mut |fabric, placement, schedule| {
            let report = check(fabric, placement, &rounds(schedule, placement)).unwrap();
            let [host, inner] = busiest(fabric, &report);
            assert_eq!(host, if schedule.collective == Allreduce { 4 } else { 2 }, "host links keep their promise");
            let most = most.entry(schedule.collective).or_insert(0);
            *most = inner.max(*most);
            clear += u32::from(report.conflicts.is_empty());
            // Between groups there is one path, and at most two halves take it.
            let spines = |c: &nagare_plan::fabric::Conflict| {
                let group = |rank: u32| placement.host(rank).unwrap().0 / 9;
                [c.first, c.second].iter().all(|t| group(t.from) != group(t.to))
            };
            assert!(!report.conflicts.iter().any(spines), "two transfers between groups meet");
        });
        assert_eq!(most, HashMap::from([(Bcast, bcast), (Reduce, reduce), (Allreduce, allreduce)]), "{how}");
        assert_eq!(clear, 0, "{how}: schedules without conflict");
    }
}

fn torus(dims: &[u32], hosts_per_switch: u32) -> (Arc<Fabric>, Placement) {
    let generator = Generator::Torus { dims: dims.to_vec(), hosts_per_switch };
    let fabric = generator.builder("torus", &TierRates::uniform(100.0, 1.0)).unwrap().build().unwrap();
    let placement = Placement::by_slot(&fabric, fabric.host_count(), 1).unwrap();
    (Arc::new(fabric), placement)
}

/// The pairs of ranks that talk, by the lane they do it on.
fn streams(schedule: &Schedule, lanes: u32) -> BTreeSet<(u32, u32, u32)> {
    schedule.moves().iter().map(|m| (m.from, m.to, m.round.step % lanes)).collect()
}

/// Streams on every directed link, by walking the routes.
fn streams_on_links(
    fabric: &Fabric,
    placement: &Placement,
    streams: &BTreeSet<(u32, u32, u32)>,
) -> HashMap<DirectedLink, u32> {
    let mut on_link = HashMap::new();
    for &(from, to, _) in streams {
        for link in fabric.route(placement.host(from).unwrap(), placement.host(to).unwrap()) {
            *on_link.entry(link).or_insert(0) += 1;
        }
    }
    on_link
}

/// Tori up to three dimensions, with sizes 1 and 2, even and odd.
fn tori() -> impl Iterator<Item = Vec<u32>> {
    let sizes = 1..=6u32;
    let two = sizes.clone().flat_map(|a| (1..=6).map(move |b| vec![a, b]));
    let three = (1..=4u32).flat_map(|a| (1..=4).flat_map(move |b| (1..=5).map(move |c| vec![a, b, c])));
    sizes.map(|a| vec![a]).chain(two).chain(three).filter(|dims| dims.iter().product::<u32>() > 1)
}

#[test]
fn on_a_torus_with_an_even_dimension_two_lanes_share_no_directed_link() {
    let mut seen = 0;
    for dims in tori() {
        let switches: u32 = dims.iter().product();
        // A cycle of one dimension closes, whatever its size.
        let closes = dims.iter().any(|d| d % 2 == 0) || dims.iter().filter(|&&d| d > 1).count() == 1;
        for hosts_per_switch in [1, 3] {
            let (fabric, placement) = torus(&dims, hosts_per_switch);
            let planner = network::planner(&fabric, &placement);
            let hosts = switches * hosts_per_switch;
            let lanes = if hosts > 2 { 2 } else { 1 };
            let roots = BTreeSet::from([0, 1, hosts / 2, hosts - 1]);
            let rooted = roots.iter().flat_map(|&r| [(Algorithm::Chain, Bcast, r), (Algorithm::Chain, Reduce, r)]);
            for (algorithm, collective, root) in rooted.chain([(Algorithm::Ring, Allreduce, 0)]) {
                let what = format!("{dims:?} × {hosts_per_switch} {algorithm} {collective} root {root}");
                let schedule = schedule(&planner, collective, algorithm, root);
                let ring = algorithm == Algorithm::Ring;
                assert!(schedule.plans.iter().all(|p| p.parts == lanes * if ring { hosts } else { 1 }), "{what}");
                let on_link = streams_on_links(&fabric, &placement, &streams(&schedule, lanes));
                let report = check(&fabric, &placement, &rounds(&schedule, &placement)).unwrap();
                let of = u64::from(schedule.plans[0].parts);
                let [host, _] = busiest(&fabric, &report);
                // Host links: the vector once; for the ring what Allreduce needs at least.
                assert_eq!(host, if ring { 2 * u64::from(lanes) * u64::from(hosts - 1) } else { of }, "{what}");
                let is_host = |l: DirectedLink| fabric.is_host(fabric.start(l)) || fabric.is_host(fabric.end(l));
                for (&link, &streams) in on_link.iter().filter(|(l, _)| !is_host(**l)) {
                    // Two switches alone: both lanes go the same way, each on a cable of its own.
                    let most = match (closes, switches) {
                        (true, 2) => fabric.parallel(link),
                        (true, _) => 1,
                        (false, _) => 2,
                    };
                    assert!(streams <= most, "{what}: {streams} streams on {}", fabric.link_name(link));
                }
                seen += u32::from(closes);
            }
        }
    }
    assert!(seen > 500, "{seen}");
}

#[test]
fn the_cycle_of_the_torus_takes_neighbours_only() {
    let (fabric, placement) = torus(&[4, 4], 1);
    let planner = network::planner(&fabric, &placement);
    let ring = schedule(&planner, Allreduce, Algorithm::Ring, 0);
    for m in ring.moves() {
        let route = fabric.route(placement.host(m.from).unwrap(), placement.host(m.to).unwrap());
        assert_eq!(route.len(), 3, "host, one link of the torus, host");
    }
    // Sixteen links out of 32 in each direction, each for one of the two rings.
    let on_link = streams_on_links(&fabric, &placement, &streams(&ring, 2));
    assert_eq!(on_link.iter().filter(|(_, streams)| **streams == 1).count(), 2 * 16);
}
