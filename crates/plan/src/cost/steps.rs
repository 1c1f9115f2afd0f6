//! What an exchange in steps loses to links that carry several messages of a step.
//!
//! ```text
//!   ring on tree8, messages over the uplink per step: 1 2 3 4 3 2 1      one is what every host link carries
//!   time 1 + 2 + 3 + 4 + 3 + 2 + 1 = 16 = what the uplink must carry in any case: nothing is lost
//! ```

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
