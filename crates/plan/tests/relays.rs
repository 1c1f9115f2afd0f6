//! Relays of a Gather against times worked out by hand.

use nagare_plan::fabric::{Fabric, FabricBuilder, HostId, LinkRate};
use nagare_plan::tasks::{Groups, Routes, Tasks, relays};
use nagare_plan::topology::{Hierarchy, Topology, Wires};
use std::sync::Arc;

/// Hosts `name switch mbit latency`, on switches s0 and s1 that are 480 µs apart.
fn two_switches(hosts: &[(&str, &str, f64, f64)]) -> Arc<Fabric> {
    let mut builder = FabricBuilder::new("test");
    hosts.iter().for_each(|h| builder.host(h.0).unwrap());
    ["s0", "s1"].iter().for_each(|s| builder.switch(s).unwrap());
    for &(host, switch, mbit, latency_us) in hosts {
        builder.link(host, switch, LinkRate { mbit, latency_us, parallel: 1 }).unwrap();
    }
    builder.link("s0", "s1", LinkRate { mbit: 1000.0, latency_us: 480.0, parallel: 1 }).unwrap();
    Arc::new(builder.build().unwrap())
}

/// The paths of a Gather of `bytes` per host to `root` in the order of `from`, by names.
fn paths(fabric: &Arc<Fabric>, bytes: u64, root: &str, from: &[&str]) -> Vec<String> {
    let hosts: Vec<HostId> = fabric.hosts().collect();
    // No levels but the node: nodes keep the order of hosts.
    let nodes = hosts.iter().map(|h| h.0).collect();
    let topology = Topology::new(vec!["node".into()], vec![nodes], vec![0; hosts.len()]).unwrap();
    let topology = topology.on_network(Arc::clone(fabric), &hosts);
    let hierarchy = Hierarchy::new(&topology);
    let routes = Routes::new(&mut Wires::new(&topology, &hierarchy), hosts.len() as u32);
    let node = |name: &str| fabric.find_host(name).unwrap().0;
    let tasks = Tasks::gather(&routes, &vec![1; hosts.len()], bytes, node(root));
    let groups = Groups::new(&tasks);
    let of = |name: &&str| (0..tasks.len() as u32).find(|&t| tasks.task(t).from == node(name)).unwrap();
    let sequence: Vec<u32> = from.iter().map(of).collect();
    let name = |node: &u32| fabric.node_name(HostId(*node));
    relays(&tasks, &groups, &sequence).iter().map(|p| p.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
}

/// 12 000 bytes at 100 Mbit/s, of which 1448/1514 are data: 1004 µs.
const BYTES: u64 = 12_000;

#[test]
fn through_a_neighbour_that_has_just_sent() {
    // v, w and x together, the root z far away. L(x→z) = 500, L(w→x) = 20, M/B = 1004.
    let hosts =
        [("v", "s0", 100.0, 10.0), ("w", "s0", 100.0, 10.0), ("x", "s0", 100.0, 10.0), ("z", "s1", 100.0, 10.0)];
    // x→z:  nothing to wait for; T = 1504 at x and on the way.
    // w→z:  α = 1504 + 500 + 1004 = 3008.  w→x: β = 1004, γ = 1024;  x→z: β = max(1504 + 1004, 1024) = 2508.
    // v→z:  T = 3008 now: α = 4512.        v→x: x has received w's until 1024: β = 1024 + 20 + 1004, γ = 2068;
    //       x→z: β = max(3008 + 1004, 2068) = 4012. Also through w: v→w 1004, w→x 1024 + 1004, x→z again 4012: no gain.
    assert_eq!(paths(&two_switches(&hosts), BYTES, "z", &["x", "w", "v"]), ["x z", "w x z", "v x z"]);
}

#[test]
fn the_first_part_may_be_led_through_others_too() {
    // x far away, the others with the root z; 1200 bytes: M/B = 100.4.
    let hosts =
        [("v", "s0", 100.0, 10.0), ("w", "s0", 100.0, 10.0), ("z", "s0", 100.0, 10.0), ("x", "s1", 100.0, 10.0)];
    // x→z:  T = 600.4. w→z:  α = 600.4 + 20 + 100.4 = 720.8.  w→x: γ = 100.4 + 500 = 600.4;  x→z: 600.4 + 100.4 =
    // 700.8. v→z:  T = 1200.8: α = 1321.2.  Through x: v→x waits for x to tell that it has w's: 600.4 + 500 + 100.4, γ
    // = 1700.8:
    //       too late.
    // Through w and x: v→w: γ = 120.4; w→x: 700.8, γ = 1200.8; x→z: max(1200.8 + 100.4, 1200.8) = 1301.2.
    assert_eq!(paths(&two_switches(&hosts), 1200, "z", &["x", "w", "v"]), ["x z", "w x z", "v w x z"]);
}

#[test]
fn not_through_a_slow_host() {
    // x has a tenth of the rate: w→x takes 10040 and x→z as long again; w alone waits 10540 + 500 and takes 1004.
    let hosts = [("w", "s0", 100.0, 10.0), ("x", "s0", 10.0, 10.0), ("z", "s1", 100.0, 10.0)];
    assert_eq!(paths(&two_switches(&hosts), BYTES, "z", &["x", "w"]), ["x z", "w z"]);
}

#[test]
fn the_first_task_waits_for_nothing() {
    let hosts = [("w", "s0", 100.0, 10.0), ("z", "s1", 100.0, 10.0)];
    assert_eq!(paths(&two_switches(&hosts), BYTES, "z", &["w"]), ["w z"]);
}
