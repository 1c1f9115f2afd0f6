//! On multi-layer full meshes no two messages of a round of `grouped_two_tree` meet, whatever the root. What a message
//! takes is worked out from the numbers of hosts alone here, and counted link by link.

use crate::support::network::{load, place, planner, shuffled};
use crate::support::rounds::rounds;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast, Reduce};
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::{Fabric, Generator, HostId, Placement, TierRates, check};
use nagare_plan::schedule::Schedule;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The mesh of switches with `ports` ports as the generator makes it, without tables.
fn mesh(ports: u32) -> Arc<Fabric> {
    let builder = Generator::Mlfm { ports }.builder("mesh", &TierRates::uniform(20.0, 5.0)).unwrap();
    Arc::new(builder.build().unwrap())
}

fn schedule(planner: &Planner, collective: Collective, root: u32) -> Schedule {
    planner.schedule(collective, Algorithm::GroupedTwoTree, root).unwrap()
}

/// The switches that a message between two hosts passes, by number: of leaves, and of positions whose spine it is.
/// Hosts, leaves and positions are numbered in order, `half` of the one on or at each of the next.
fn passes(half: u32, from: u32, to: u32) -> Option<[(u32, [u32; 2]); 2]> {
    let leaf = |host: u32| host / half;
    let position = |host: u32| host / half / half;
    if leaf(from) == leaf(to) {
        return None;
    }
    let other = if position(from) == position(to) {
        // Of the spines at this position, in the order of the others, the one that the host's number picks.
        let others: Vec<u32> = (0..=half).filter(|&other| other != position(to)).collect();
        others[(to % half) as usize]
    } else {
        position(to)
    };
    let mut spine = [position(from), other];
    spine.sort_unstable();
    Some([(leaf(from), spine), (leaf(to), spine)])
}

/// Messages beyond one, over all rounds and links between switches, of ranks on `hosts`.
fn meetings(half: u32, schedule: &Schedule, hosts: &[HostId]) -> usize {
    let mut carried: BTreeMap<_, usize> = BTreeMap::new();
    for m in schedule.moves() {
        let [from, to] = [m.from, m.to].map(|rank| hosts[rank as usize].0);
        let Some([up, down]) = passes(half, from, to) else { continue };
        *carried.entry((m.round, true, up)).or_default() += 1;
        *carried.entry((m.round, false, down)).or_default() += 1;
    }
    carried.values().map(|messages| messages - 1).sum()
}

#[test]
fn whole_meshes_of_six_eight_and_ten_ports_and_every_root() {
    for (ports, hosts) in [(6, 36), (8, 80), (10, 150)] {
        let fabric = mesh(ports);
        let placement = place(&fabric, "by slot", hosts, 1);
        let planner = planner(&fabric, &placement);
        for (collective, root) in [Reduce, Bcast].into_iter().flat_map(|c| (0..hosts as u32).map(move |r| (c, r))) {
            let schedule = schedule(&planner, collective, root);
            assert_eq!(meetings(ports / 2, &schedule, placement.hosts()), 0, "{ports} {collective:?} {root}");
            if root % 13 == 0 {
                let checked = check(&fabric, &placement, &rounds(&schedule, &placement)).unwrap();
                assert_eq!(checked.conflicts, [], "{ports} {collective:?} {root}");
                play(&schedule, 15, Pacing { segment: 3, window: 2, flow: None }, true).unwrap();
            }
        }
        play(&schedule(&planner, Allreduce, 0), 15, Pacing { segment: 3, window: 2, flow: None }, true).unwrap();
    }
}

/// Meshes of larger switches: one group in each of them has been looked at.
#[test]
fn whole_meshes_of_twelve_to_sixteen_ports() {
    for (ports, hosts) in [(12u32, 252), (14, 392), (16, 576)] {
        let fabric = mesh(ports);
        let placement = place(&fabric, "by slot", hosts, 1);
        let planner = planner(&fabric, &placement);
        for root in [0, 1, ports / 2, hosts as u32 - 1] {
            let schedule = schedule(&planner, Reduce, root);
            assert_eq!(meetings(ports / 2, &schedule, placement.hosts()), 0, "{ports} root {root}");
        }
    }
}

#[test]
fn parts_of_meshes_and_every_root() {
    for ports in [6, 8, 10] {
        let fabric = mesh(ports);
        for (how, ranks, ppn) in [("by slot", 32, 1), ("balanced", 32, 1), ("by slot", 19, 1), ("balanced", 48, 2)] {
            let placement = place(&fabric, how, ranks, ppn);
            let planner = planner(&fabric, &placement);
            for root in 0..ranks as u32 {
                let schedule = schedule(&planner, Bcast, root);
                let hosts = placement.hosts();
                assert_eq!(meetings(ports / 2, &schedule, hosts), 0, "{ports}, {ranks} {how}, {ppn}, root {root}");
            }
        }
    }
}

/// Ranks that follow no switch, and one group alone.
#[test]
fn hosts_in_any_order_and_every_root() {
    let fabric = mesh(8);
    let all: Vec<HostId> = fabric.hosts().collect();
    for hosts in [shuffled(all.clone()), shuffled(all)[..40].to_vec(), (16..32).map(HostId).collect()] {
        let names: Vec<&str> = hosts.iter().map(|&host| fabric.node_name(host)).collect();
        let placement = Placement::listed(&fabric, &names).unwrap();
        let planner = planner(&fabric, &placement);
        for root in 0..hosts.len() as u32 {
            let schedule = schedule(&planner, Reduce, root);
            assert_eq!(meetings(4, &schedule, &hosts), 0, "{} ranks, root {root}", hosts.len());
        }
    }
}

/// Its tables clear the first root of each group; the others stand in other orders.
#[test]
fn the_shipped_mesh_and_every_root() {
    let fabric = load("mlfm36");
    for (how, ranks) in [("by slot", 36), ("by slot", 32), ("balanced", 32), ("by slot", 9), ("by slot", 7)] {
        let placement = place(&fabric, how, ranks, 1);
        let planner = planner(&fabric, &placement);
        for (collective, root) in [Reduce, Bcast].into_iter().flat_map(|c| (0..ranks as u32).map(move |r| (c, r))) {
            let rounds = rounds(&schedule(&planner, collective, root), &placement);
            let conflicts = check(&fabric, &placement, &rounds).unwrap().conflicts;
            assert_eq!(conflicts, [], "{ranks} {how}, root {root}");
        }
    }
}
