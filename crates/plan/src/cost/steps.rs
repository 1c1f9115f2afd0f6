//! What an exchange in steps loses to links that carry several messages of a step, and how alike its nodes are.
//!
//! ```text
//!   ring on tree8, messages over the uplink per step: 1 2 3 4 3 2 1      one is what every host link carries
//!   time 1 + 2 + 3 + 4 + 3 + 2 + 1 = 16 = what the uplink must carry in any case: nothing is lost
//!
//!   leaves of 4 and 2 hosts: a host of the first sends 2 messages over the uplink, one of the second sends 4
//! ```

use super::exchange::MOST_RANKS;
use super::rounds::{Place, Round, RoundCosts};
use crate::topology::Wires;

/// Time of a ring of nodes at `places`, step after step, over the time that its busiest link needs in any order; at
/// least 1. Every node sends every other node the same. Taken to lose nothing on more nodes than can be looked at.
pub fn ring_excess(places: &[Place], wires: &mut Wires) -> f64 {
    let nodes = places.len() as u32;
    if nodes > super::MOST_PAIRED {
        return 1.0;
    }
    let step = |step: u32| Round::of(1, 1.0, (0..nodes).map(|node| (node, (node + step) % nodes)).collect());
    let costs = RoundCosts::new((1..nodes).map(step), places, wires);
    if costs.per_byte > 0.0 { costs.in_turn() / costs.per_byte } else { 1.0 }
}

/// How alike the nodes of a ring at `places` are: the time that the fastest needs for what it sends over that of the
/// slowest, if none waits for another and each link carries as many messages at a time as in the mean of the steps in
/// which it carries any.
/// Every node sends every other node the same. 1 where all are alike, where nobody tells routes, and on more than
/// [`MOST_RANKS`] nodes; looks at all pairs of them twice.
pub fn ring_evenness(places: &[Place], wires: &mut Wires) -> f64 {
    let nodes = places.len();
    if nodes > MOST_RANKS as usize || !wires.are_routed() {
        return 1.0;
    }
    let to = |node: usize, step: usize| places[(node + step) % nodes];
    // Of every link its messages, the steps in which it carries some, and the last of these.
    let mut carried = vec![(0.0, 0u32, 0); wires.count()];
    for (step, node) in (1..nodes).flat_map(|step| (0..nodes).map(move |node| (step, node))) {
        for (link, share) in wires.between(places[node], to(node, step)).links {
            let (messages, steps, last) = &mut carried[link as usize];
            *messages += share;
            *steps += u32::from(*last != step);
            *last = step;
        }
    }
    let of_message = |wires: &mut Wires, node: usize, step: usize| {
        let way = wires.between(places[node], to(node, step)).links.into_iter();
        let at_a_time = |link: u32| carried[link as usize].0 / f64::from(carried[link as usize].1);
        way.map(|(link, _)| at_a_time(link) * wires.per_byte(link)).fold(0.0, f64::max)
    };
    let mut of_node = |node| (1..nodes).map(|step| of_message(wires, node, step)).sum::<f64>();
    let times: Vec<f64> = (0..nodes).map(&mut of_node).collect();
    let [least, most] = [f64::min, f64::max].map(|of| times.iter().copied().reduce(of).unwrap_or(0.0));
    if most > 0.0 { least / most } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, HostId};
    use crate::topology::{Hierarchy, Topology};
    use std::sync::Arc;

    /// Of a rank on each of so many hosts; their first ones are on one switch, the others on another.
    fn evenness(first: u32, hosts: u32, between: u32) -> f64 {
        let last = hosts - 1;
        let text = format!(
            "hosts = ['n[0-{last}]']\nswitches = ['s[0-1]']\nlatency = 1\nbandwidth = 100\n\
             [[link]]\nfrom = 'n[0-{}]'\nto = 's0'\n[[link]]\nfrom = 'n[{first}-{last}]'\nto = 's1'\n\
             [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = {between}\n",
            first - 1
        );
        let fabric = Arc::new(Fabric::from_toml(&text, "two leaves").expect("a fabric"));
        let placed: Vec<HostId> = (0..hosts).map(HostId).collect();
        let topology = Topology::of_nodes((0..hosts).collect()).expect("a topology").on_network(fabric, &placed);
        let hierarchy = Hierarchy::new(&topology);
        let places: Vec<Place> = (0..hosts).map(|host| (host, 0)).collect();
        ring_evenness(&places, &mut Wires::new(&topology, &hierarchy))
    }

    #[test]
    fn nodes_are_alike_if_they_need_as_long() {
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        // Two hosts and one, and a link of half their rate, which carries a message in each of two steps: of the two
        // each sends one message over it and one to the other, 2 + 1, the one sends 2 + 2.
        close(evenness(2, 3, 50), 3.0 / 4.0);
        close(evenness(2, 3, 100), 1.0);
        // Four and two, messages over the link from step to step 1 2 2 2 1, on average 8 / 5: of the four each sends 2
        // there and 3 to others of its own, of the two 4 and 1.
        close(evenness(4, 6, 50), (2.0 * 2.0 * 1.6 + 3.0) / (4.0 * 2.0 * 1.6 + 1.0));
        close(evenness(3, 6, 50), 1.0);
    }
}
