//! Memory that planning and running take, bounded from above: so much can be set aside, since the code that makes plans cannot do without.

use crate::topology::Topology;

/// Bytes of all pieces taken one after the other, where only what is freed last is free again: everything known of a communicator of these
/// ranks, the choice between the algorithms of a collective, a plan and its dependencies, but for [`exchange`]. Measured (`src/reserve/tests.rs` of the
/// library) on stars, trees, fat trees and tori: at most 26 KiB per rank where every host is used, and with few of many hosts 160 bytes for each switch and direction of a link,
/// and 10 for each of them and each node.
pub fn planning(topology: &Topology) -> usize {
    let nodes = topology.node_count() as usize;
    let network = topology.network().map_or(0, |network| {
        let parts = network.fabric().switch_count() + network.fabric().directed_link_count();
        // Routes are looked up on no more than this (`topology::Wires`).
        192 * parts + 12 * (parts.saturating_mul(nodes)).min(1 << 23)
    });
    (1 << 20) + (32 << 10) * topology.ranks() as usize + network
}

/// Bytes of the pieces of a call that has its plan, between so many ranks.
pub fn running(ranks: u32) -> usize {
    (2 << 20) + (8 << 10) * ranks as usize
}

/// Bytes in use at a time while the order of a contention-free exchange is made.
pub fn exchange(topology: &Topology) -> usize {
    let nodes = topology.node_count() as usize;
    // By the links of a route: two without a network, a dozen on a large torus.
    let of_task = if topology.network().is_some() { 512 } else { 128 };
    of_task * nodes * nodes
}
