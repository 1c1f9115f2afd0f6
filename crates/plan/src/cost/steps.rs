//! What an exchange in steps loses to links that carry several messages of a step.
//!
//! ```text
//!   ring on tree8, messages over the uplink per step: 1 2 3 4 3 2 1      one is what every host link carries
//!   time 1 + 2 + 3 + 4 + 3 + 2 + 1 = 16 = what the uplink must carry in any case: nothing is lost
//! ```

use crate::topology::Wires;

/// Time of a ring of nodes, step after step, over the time that its busiest link needs in any order; at least 1. Every
/// node sends every other node the same. Taken to lose nothing on more nodes than can be looked at.
pub fn ring_excess(wires: &mut Wires, nodes: u32) -> f64 {
    if nodes > super::MOST_PAIRED {
        return 1.0;
    }
    let mut total = vec![0.0f64; wires.count()];
    let mut in_steps = 0.0;
    for step in 1..nodes {
        let mut load = vec![0.0f64; wires.count()];
        for node in 0..nodes {
            for (link, share) in wires.way(node, (node + step) % nodes).links {
                load[link as usize] += share;
            }
        }
        let time = |(link, &messages): (u32, &f64)| messages * wires.per_byte(link);
        in_steps += (0..).zip(&load).map(time).fold(0.0, f64::max);
        (0..).zip(&load).for_each(|(link, messages)| total[link as usize] += time((link, messages)));
    }
    let busiest = total.into_iter().fold(0.0, f64::max);
    if busiest > 0.0 { in_steps / busiest } else { 1.0 }
}
