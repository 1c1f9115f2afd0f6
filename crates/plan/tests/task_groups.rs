//! Groups, the greedy order and phases against small examples worked out by hand, and optimal phases on trees.

use crate::support::network;
use nagare_plan::fabric::{Fabric, FabricBuilder, LinkRate, Placement};
use nagare_plan::tasks::{
    Completion, Groups, Lanes, Preference, Routes, Task, Tasks, Waits, choose, greedy, phases, tree_phases,
};
use nagare_plan::topology::{Hierarchy, Wires};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// A network of `a b mbit latency` links; names that start with `s` are switches.
fn fabric(links: &[(&str, &str, f64, f64)]) -> Arc<Fabric> {
    let mut builder = FabricBuilder::new("test");
    let mut ends: Vec<&str> = links.iter().flat_map(|l| [l.0, l.1]).collect();
    ends.sort_unstable();
    ends.dedup();
    for end in ends {
        if end.starts_with('s') { builder.switch(end) } else { builder.host(end) }.unwrap();
    }
    for &(a, b, mbit, latency_us) in links {
        builder.link(a, b, LinkRate { mbit, latency_us, parallel: 1 }).unwrap();
    }
    Arc::new(builder.build().unwrap())
}

/// The routes between all hosts; node n is host n.
fn routes(fabric: &Arc<Fabric>) -> Routes {
    let placement = Placement::by_slot(fabric, fabric.host_count(), 1).unwrap();
    let planner = network::planner(fabric, &placement);
    let topology = planner.topology();
    let hierarchy = Hierarchy::new(topology);
    let nodes = hierarchy.node_count();
    assert!((0..nodes).all(|rank| hierarchy.node_of(rank) == rank));
    Routes::new(&mut Wires::new(topology, &hierarchy), nodes)
}

fn tasks<'r>(routes: &'r Routes, list: &[(u32, u32, u64)]) -> Tasks<'r> {
    Tasks::new(routes, list.iter().map(|&(from, to, bytes)| Task { from, to, bytes }))
}

/// Groups of a task, by the links of its route in order.
fn groups_of(tasks: &Tasks<'_>, groups: &Groups, task: u32) -> Vec<u32> {
    groups.of(tasks.places(task)).to_vec()
}

/// Hosts p q r with 100, 40 and 40 Mbit/s before a link of 150, then hosts x and y of 1000.
///
/// ```text
///   p ─100─┐             ┌─1000─ x
///   q ──40─ s0 ──150── s1
///   r ──40─┘             └─1000─ y
/// ```
fn funnel(latency_us: f64) -> Arc<Fabric> {
    fabric(&[
        ("p", "s0", 100.0, 1.0),
        ("q", "s0", 40.0, 1.0),
        ("r", "s0", 40.0, 1.0),
        ("s0", "s1", 150.0, latency_us),
        ("s1", "x", 1000.0, 1.0),
        ("s1", "y", 1000.0, 1.0),
    ])
}

#[test]
fn groups_by_input_bandwidth() {
    let fabric = funnel(1.0);
    let routes = routes(&fabric);
    let [p, q, r, x, y] = ["p", "q", "r", "x", "y"].map(|name| fabric.find_host(name).unwrap().0);
    // In this order, so that the largest is not the first.
    let tasks = tasks(&routes, &[(q, x, 1 << 20), (r, x, 1 << 20), (p, x, 1 << 20), (q, y, 1 << 20), (r, y, 1 << 20)]);
    let groups = Groups::new(&tasks);
    let [qx, rx, px, qy, ry] = [0, 1, 2, 3, 4].map(|task| groups_of(&tasks, &groups, task));
    // On the link between the switches p opens group 0 and leaves 50, q opens another and leaves 10, r does not fit.
    assert_eq!((rx[1], ry[1]), (px[1], px[1]));
    assert_ne!(qx[1], px[1]);
    // Whoever has a group of a link stays in it.
    assert_eq!(qx[1], qy[1]);
    // All come to x at 150: each is a group of its own.
    assert!(qx[2] != rx[2] && rx[2] != px[2] && qx[2] != px[2]);
    // The first link of a host is its own, and takes one task at a time.
    assert_eq!((qx[0], rx[0]), (qy[0], ry[0]));
    // s0 → s1 two, p, q and r one each, x three, y two.
    assert_eq!(groups.len(), 2 + 3 + 3 + 2);
}

#[test]
fn little_data_on_a_long_link_is_not_serialised() {
    // 150 Mbit/s · 50 ms = 937 500 bytes, of which 1448/1514 are data: 896 600.
    let fabric = funnel(50_000.0);
    let routes = routes(&fabric);
    let [p, q, r, x] = ["p", "q", "r", "x"].map(|name| fabric.find_host(name).unwrap().0);
    let distinct = |bytes: u64| {
        let tasks = tasks(&routes, &[(p, x, bytes), (q, x, bytes), (r, x, bytes)]);
        let groups = Groups::new(&tasks);
        let mut here: Vec<u32> = (0..3).map(|task| groups_of(&tasks, &groups, task)[1]).collect();
        here.sort_unstable();
        here.dedup();
        here.len()
    };
    assert_eq!(distinct(298_000), 3);
    assert_eq!(distinct(300_000), 2);
}

#[test]
fn the_greedy_order_of_three_hosts() {
    // a and b near each other, c far away. Alltoall: the links of c and between the switches have the most to do, and
    // of a's tasks the one to b is next although the one to c is longer: before that a token would have to come from c.
    let fabric = fabric(&[
        ("a", "s0", 100.0, 10.0),
        ("b", "s0", 100.0, 10.0),
        ("s0", "s1", 100.0, 500.0),
        ("c", "s1", 100.0, 10.0),
    ]);
    let routes = routes(&fabric);
    let tasks = Tasks::alltoall(&routes, &[1, 1, 1], 12_000);
    let groups = Groups::new(&tasks);
    assert_eq!(groups.len(), 8, "one group per directed link");
    let order = greedy(&tasks, &groups, Preference::Synchronisation);
    let names = ["a", "b", "c"];
    let pairs: Vec<String> = order
        .iter()
        .map(|&t| format!("{}{}", names[tasks.task(t).from as usize], names[tasks.task(t).to as usize]))
        .collect();
    assert_eq!(pairs, ["ca", "bc", "ab", "cb", "ac", "ba"]);
    // The links between the switches are busy from the start to the end.
    let run = Lanes::Groups(&groups).run(&tasks, &order);
    assert_eq!(run.makespan, 2 * tasks.transfer(0));
    // One token each: about the link into b, the link between the switches, the link into a. That c has sent ca before
    // cb, a ab before ac and b bc before ba, they know.
    let waits = Waits::new(&tasks, &run, 1);
    let told: Vec<(String, String)> = (0..6)
        .flat_map(|place| waits.of(place).iter().map(move |w| (place, *w)))
        .filter(|(_, w)| matches!(w.completion, Completion::Token { .. }))
        .map(|(place, w)| {
            let name = |place: u32| {
                let t = tasks.task(run.sequence[place as usize]);
                format!("{}{}", names[t.from as usize], names[t.to as usize])
            };
            (name(w.on), name(place))
        })
        .collect();
    assert_eq!(told, [("ab", "cb"), ("bc", "ac"), ("ca", "ba")].map(|(a, b)| (a.to_owned(), b.to_owned())));
}

/// On trees the greedy order keeps the busiest link busy; on the mesh, the torus and the fat tree it does not, and
/// phases are chosen.
#[test]
fn how_near_to_the_bound_the_greedy_order_is() {
    let of = |name: &str, how: &str, hosts: usize| {
        let fabric = network::load(name);
        let placement = network::place(&fabric, how, hosts, 1);
        let planner = network::planner(&fabric, &placement);
        let hierarchy = Hierarchy::new(planner.topology());
        let routes = Routes::new(&mut Wires::new(planner.topology(), &hierarchy), hosts as u32);
        let tasks = Tasks::alltoall(&routes, &vec![1; hosts], 64 << 10);
        let groups = Groups::new(&tasks);
        let order = greedy(&tasks, &groups, Preference::Synchronisation);
        let greedy = Lanes::Groups(&groups).run(&tasks, &order).makespan as f64 / tasks.bound();
        (greedy, choose(&tasks).makespan as f64 / tasks.bound())
    };
    for (name, hosts) in [("tree8", 8), ("star16", 16), ("wan2x8", 16)] {
        let (greedy, chosen) = of(name, "by slot", hosts);
        assert!(greedy <= 1.05 && chosen == greedy, "{name}: {greedy} {chosen}");
    }
    for (name, how, hosts) in
        [("mlfm36", "by slot", 32), ("mlfm36", "balanced", 32), ("torus16", "by slot", 16), ("fattree", "by slot", 16)]
    {
        let (greedy, chosen) = of(name, how, hosts);
        assert!(greedy > 1.2 && chosen <= 1.05, "{name} {how}: {greedy} {chosen}");
    }
}

/// A tree of switches with links of one rate: parents of switches 1, 2, …, and the switch of every host.
fn trees() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    (1usize..7, prop::collection::vec(0usize..1000, 6), prop::collection::vec(0usize..1000, 2..24)).prop_map(
        |(switches, parents, hosts)| {
            let parents = (1..switches).map(|s| parents[s - 1] % s).collect();
            // Hosts in the order of switches, so that node n is host n.
            let mut hosts: Vec<usize> = hosts.into_iter().map(|h| h % switches).collect();
            hosts.sort_unstable();
            (parents, hosts)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Faraj and Yuan: on a tree with equal links an Alltoall needs as many phases as the busiest link has messages,
    /// the product of the numbers of hosts on its two sides.
    #[test]
    fn on_trees_phases_are_as_few_as_the_load_of_the_busiest_link((parents, on) in trees()) {
        let switches = parents.len() + 1;
        let mut below = vec![0; switches];
        for &switch in &on {
            let mut at = switch;
            loop {
                below[at] += 1;
                if at == 0 { break }
                at = parents[at - 1];
            }
        }
        let hosts = on.len();
        let load = below.iter().map(|m| m * (hosts - m)).max().unwrap().max(hosts - 1);
        let mut builder = FabricBuilder::new("tree");
        let rate = LinkRate { mbit: 100.0, latency_us: 1.0, parallel: 1 };
        (0..hosts).for_each(|h| builder.host(&format!("n{h}")).unwrap());
        (0..switches).for_each(|s| builder.switch(&format!("s{s}")).unwrap());
        (0..).zip(&on).for_each(|(h, s)| builder.link(&format!("n{h}"), &format!("s{s}"), rate).unwrap());
        (1..).zip(&parents).for_each(|(s, p)| builder.link(&format!("s{s}"), &format!("s{p}"), rate).unwrap());
        let fabric = Arc::new(builder.build().unwrap());
        let placement = Placement::by_slot(&fabric, hosts, 1).unwrap();
        let planner = network::planner(&fabric, &placement);
        let hierarchy = Hierarchy::new(planner.topology());
        let routes = Routes::new(&mut Wires::new(planner.topology(), &hierarchy), hosts as u32);
        let tasks = Tasks::alltoall(&routes, &vec![1; hosts], 64 << 10);
        let sequence = tree_phases(&tasks).expect("a tree");
        let run = Lanes::free(&tasks).run(&tasks, &sequence);
        prop_assert_eq!(run.makespan, load as u64 * tasks.transfer(0));
        // The repair, which knows nothing of trees, comes near: it gives up a fifth above where it first looks.
        let found = Lanes::free(&tasks).run(&tasks, &phases(&tasks).expect("phases")).makespan;
        prop_assert!(found >= run.makespan && found * 3 <= run.makespan * 4, "{} for {}", found, run.makespan);
        let met: HashMap<(u32, u32), usize> = sequence.iter().fold(HashMap::new(), |mut met, &task| {
            *met.entry((tasks.task(task).from, tasks.task(task).to)).or_default() += 1;
            met
        });
        prop_assert!(met.len() == hosts * (hosts - 1) && met.values().all(|&times| times == 1));
    }
}
