//! What the rounds of a scheme do to the links of a communicator.

use super::part::Among;
use super::round::{Round, Transfer};
use super::scheme::{Scheme, rounds};
use crate::context::Context;

/// Transfers of all rounds up to which they are looked at: some 50 ms of work.
const MOST_TRANSFERS: usize = 1 << 17;

/// A scheme on the network.
#[derive(Clone, Debug)]
pub struct SchemeCost {
    /// Its rounds.
    pub rounds: Vec<RoundCost>,
    /// Nanoseconds of the busiest link per byte of the vector, over all of them.
    pub per_byte: f64,
}

/// Equal rounds after one another, on the network.
#[derive(Clone, Debug)]
pub struct RoundCost {
    pub times: f64,
    /// Nanoseconds of the busiest link per byte of the vector.
    pub per_byte: f64,
    /// Messages that the busiest host sends or receives.
    pub messages: f64,
    /// Latency of the slowest way, and what its switches hold up per byte of a packet.
    pub latency: f64,
    pub forward: f64,
    /// Bytes of the longest message per byte of the vector.
    pub share: f64,
    /// Whether pairs send each other, and nothing to others meanwhile.
    pub exchanges: bool,
}

/// The rounds of a scheme on the network; `None` if there are more transfers than are looked at.
pub fn on_network(context: &Context, scheme: Scheme, among: Among) -> Option<SchemeCost> {
    let hierarchy = context.grouped();
    let members: Vec<u32> = match among {
        Among::Ranks => (0..context.topology().ranks()).collect(),
        Among::Nodes => (0..hierarchy.node_count()).map(|node| hierarchy.leader(node, 0)).collect(),
    };
    // Node and adapter of each.
    let place = |&rank: &u32| (hierarchy.node_of(rank), context.topology().adapter(rank));
    let places: Vec<(u32, u32)> = members.iter().map(place).collect();
    let rounds = rounds(scheme, places.len() as u32, MOST_TRANSFERS)?;
    let mut wires = context.predicted_wires();
    let mut load = vec![0.0; wires.count()];
    let mut all = vec![0.0; wires.count()];
    let mut messages = vec![[0u32; 2]; hierarchy.node_count() as usize];
    let mut on = |round: Round| {
        let mut cost = RoundCost {
            times: f64::from(round.times),
            per_byte: 0.0,
            messages: 0.0,
            latency: 0.0,
            forward: 0.0,
            share: round.transfers.iter().map(|transfer| transfer.share).fold(0.0, f64::max),
            exchanges: exchanges(&round.transfers, places.len()),
        };
        load.fill(0.0);
        messages.fill([0, 0]);
        for Transfer { from, to, share } in round.transfers {
            let ((from, own), (to, other)) = (places[from as usize], places[to as usize]);
            if from == to {
                continue;
            }
            let way = wires.between((from, own), (to, other));
            for &(link, part) in &way.links {
                load[link as usize] += share * part;
                all[link as usize] += share * part * cost.times;
                cost.per_byte = cost.per_byte.max(load[link as usize] * wires.per_byte(link));
            }
            messages[from as usize][0] += 1;
            messages[to as usize][1] += 1;
            cost.latency = cost.latency.max(way.latency);
            cost.forward = cost.forward.max(way.forward);
        }
        cost.messages = f64::from(messages.iter().flatten().copied().max().unwrap_or(0));
        cost
    };
    let rounds = rounds.into_iter().map(&mut on).collect();
    let of_link = |(link, load): (usize, &f64)| load * wires.per_byte(link as u32);
    let per_byte = all.iter().enumerate().map(of_link).fold(0.0, f64::max);
    Some(SchemeCost { rounds, per_byte })
}

/// Whether pairs of members, of whom there are so many, send each other one message. All transfers of a round are of
/// one kind.
fn exchanges(transfers: &[Transfer], members: usize) -> bool {
    let back = |first: &Transfer| transfers.iter().any(|t| (t.from, t.to) == (first.to, first.from));
    transfers.len() <= members && transfers.first().is_some_and(back)
}
