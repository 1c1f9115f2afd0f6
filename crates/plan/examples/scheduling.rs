//! How long ordering an Alltoall takes, and how near to the bound of the busiest link the orders are.
//!
//! ```text
//! cargo run --release -p nagare-plan --example scheduling [most nodes]
//! ```
//! Times include routes, groups, the choice among orders and the tokens; one rank per host, 1 MiB per pair.

use nagare_plan::fabric::{Fabric, Generator, HostId, Placement, SHIPPED, TierRates, shipped};
use nagare_plan::tasks::{Groups, Lanes, Preference, Routes, Tasks, Waits, choose, greedy};
use nagare_plan::topology::{Hierarchy, Topology, Wires};
use std::sync::Arc;
use std::time::Instant;

/// A communicator of one rank on each of `hosts`.
fn topology(fabric: &Arc<Fabric>, hosts: &[HostId]) -> Option<Topology> {
    let levels = fabric.levels();
    let mut names: Vec<String> = levels.iter().map(|l| l.name.clone()).collect();
    let of = |of_host: &[u32]| hosts.iter().map(|h| of_host[h.0 as usize]).collect::<Vec<u32>>();
    let mut groups: Vec<Vec<u32>> = levels.iter().map(|l| of(&l.of_host)).collect();
    names.push("node".to_owned());
    groups.push(hosts.iter().map(|h| h.0).collect());
    let topology = Topology::new(names, groups, vec![0; hosts.len()]).ok()?;
    Some(topology.on_network(Arc::clone(fabric), hosts))
}

/// Schedules an Alltoall over `hosts` and prints one line.
fn show(name: &str, fabric: Fabric, hosts: &[HostId]) {
    let Some(topology) = topology(&Arc::new(fabric), hosts) else { return };
    let hierarchy = Hierarchy::new(&topology);
    let nodes = hierarchy.node_count();
    let start = Instant::now();
    let routes = Routes::new(&mut Wires::new(&topology, &hierarchy), nodes);
    let looked_up = start.elapsed().as_secs_f64() * 1e3;
    let tasks = Tasks::alltoall(&routes, &vec![1; nodes as usize], 1 << 20);
    let groups = Groups::new(&tasks);
    let sequence = greedy(&tasks, &groups, Preference::Synchronisation);
    let ordered = start.elapsed().as_secs_f64() * 1e3;
    let alone = Lanes::Groups(&groups).run(&tasks, &sequence);
    let start = Instant::now();
    let order = choose(&tasks);
    let chosen = start.elapsed().as_secs_f64() * 1e3;
    let waits = Waits::new(&tasks, &order, 1);
    let told = start.elapsed().as_secs_f64() * 1e3;
    let of_bound = |makespan: u64| makespan as f64 / tasks.bound();
    println!(
        "{name:<22} {nodes:>5} {looked_up:>9.2} {ordered:>9.2} {chosen:>9.2} {told:>9.2} {:>8.3} {:>8.3} {:>8} {:>8}",
        of_bound(alone.makespan),
        of_bound(order.makespan),
        waits.tokens(),
        waits.implied()
    );
}

fn main() {
    let most: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(512);
    println!(
        "{:<22} {:>5} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}",
        "network", "nodes", "routes ms", "greedy ms", "chosen ms", "tokens ms", "greedy", "chosen", "tokens", "implied"
    );
    for &(name, _) in SHIPPED {
        let Some(Ok(fabric)) = shipped(name).map(|text| Fabric::from_toml(text, name)) else { continue };
        let hosts = fabric.host_count().min(32);
        for (how, placement) in
            [("by slot", Placement::by_slot(&fabric, hosts, 1)), ("balanced", Placement::balanced(&fabric, hosts, 1))]
        {
            if let Ok(placement) = placement {
                show(&format!("{name} {how}"), fabric.clone(), placement.hosts());
            }
        }
    }
    let machines = |n: u32| {
        let side = f64::from(n).cbrt().round() as u32;
        [
            ("star", Generator::Star { hosts: n }),
            ("tree", Generator::Tree { children: vec![8, 8, n / 64] }),
            (
                "fat tree",
                Generator::FatTree {
                    ports: 2 * (f64::from(n) / 2.0).cbrt().ceil() as u32,
                    levels: 3,
                    hosts_per_leaf: None,
                },
            ),
            ("torus", Generator::Torus { dims: vec![side, side, n / side / side], hosts_per_switch: 1 }),
        ]
    };
    for (size, (name, generator)) in
        [64, 512, 4096].into_iter().filter(|&n| n <= most).flat_map(|n| machines(n).map(|m| (n, m)))
    {
        let built = generator.builder(name, &TierRates::uniform(100.0, 1.0)).and_then(|b| b.build());
        if let Ok(fabric) = built {
            let hosts: Vec<HostId> = fabric.hosts().take(size as usize).collect();
            show(name, fabric, &hosts);
        }
    }
}
