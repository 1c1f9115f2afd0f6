//! Communicators on networks.

use nagare_plan::Planner;
use nagare_plan::fabric::{Fabric, HostId, Placement, shipped};
use nagare_plan::stock::{Library, Stock};
use nagare_plan::topology::{Topology, Transport};
use std::sync::Arc;

/// A fabric that comes with Nagare.
pub fn load(name: &str) -> Arc<Fabric> {
    Arc::new(Fabric::from_toml(shipped(name).expect("shipped"), name).expect("valid"))
}

/// `by slot`, `by node` or `balanced`.
pub fn place(fabric: &Fabric, how: &str, ranks: usize, ppn: usize) -> Placement {
    let of = match how {
        "by slot" => Placement::by_slot,
        "by node" => Placement::by_node,
        "balanced" => Placement::balanced,
        other => panic!("`{other}` is no placement"),
    };
    of(fabric, ranks, ppn).expect("room")
}

/// The planner of a communicator of all placed ranks.
pub fn planner(fabric: &Arc<Fabric>, placement: &Placement) -> Planner {
    Planner::new(topology(fabric, placement))
}

/// The same beside Open MPI 4.1 over its TCP.
pub fn beside_open_mpi(planner: Planner) -> Planner {
    planner.with_stock(Stock::new(Library::OpenMpi4, Some(Transport::OpenMpiTcp), 65280))
}

/// The facts about a communicator of all placed ranks.
pub fn topology(fabric: &Arc<Fabric>, placement: &Placement) -> Topology {
    let hosts = placement.hosts();
    let levels = fabric.levels();
    let mut names: Vec<String> = levels.iter().map(|l| l.name.clone()).collect();
    let mut groups: Vec<Vec<u32>> =
        levels.iter().map(|l| hosts.iter().map(|h| l.of_host[h.0 as usize]).collect()).collect();
    names.push("node".to_owned());
    groups.push(hosts.iter().map(|h| h.0).collect());
    let topology = Topology::new(names, groups, vec![0; hosts.len()]).expect("nested");
    topology.on_network(Arc::clone(fabric), hosts)
}

/// The same hosts in an order that follows no switch.
pub fn shuffled(mut hosts: Vec<HostId>) -> Vec<HostId> {
    let mut state = 1u64;
    for at in (1..hosts.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        hosts.swap(at, (state >> 33) as usize % (at + 1));
    }
    hosts
}
