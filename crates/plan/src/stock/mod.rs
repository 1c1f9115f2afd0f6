//! What the MPI library's own algorithms take for a reduction, predicted: what no measured call may tell where sums
//! round ([decision 0017](../../../../docs/decisions/0017-learning.md)).
//!
//! ```text
//!   library, ranks, bytes ──► choice.rs: its algorithms ──► scheme.rs: who sends to whom, in rounds
//!                                                                │
//!                              links of the network (Wires) ─────┴─► nanoseconds
//! ```
//!
//! The library's algorithms know no nodes, so that ranks of one node share its link. Their rounds are taken to follow
//! one another without a gap, and their messages to lose no packet: what they take is rarely less. Over TCP, Open MPI
//! asks before it sends more than its eager limit, and the answer to the peer's question waits behind the own bytes on
//! the one connection: two ranks that exchange long messages send them one after the other. (Measured between two hosts
//! at 50 Mbit/s, 4.1.4: an exchange of 64 to 256 KiB takes 2.0 times as long as a message one way, of 16 to 32 KiB as
//! long; of 512 KiB and more one or the other.)

mod choice;
mod scheme;

pub use choice::Library;

use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Message, together};
use choice::{Part, Shape, parts};
use scheme::{Scheme, Transfers, rounds};
use std::sync::OnceLock;

/// Transfers of all rounds up to which they are looked at: some 50 ms of work.
const MOST_TRANSFERS: usize = 1 << 17;

/// The members among which an algorithm sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// All ranks.
    Ranks,
    /// One rank of every node; what happens inside nodes costs nothing here.
    Nodes,
}

/// Equal rounds after one another, on the network.
#[derive(Clone, Debug)]
struct Round {
    times: f64,
    /// Nanoseconds of the busiest link per byte of the vector.
    per_byte: f64,
    /// Messages that the busiest host sends or receives.
    messages: f64,
    /// Latency of the slowest way, and what its switches hold up per byte of a packet.
    latency: f64,
    forward: f64,
    /// Bytes of a message per byte of the vector.
    share: f64,
    /// Whether pairs send each other.
    exchanges: bool,
}

/// The MPI library on the network of one communicator.
#[derive(Debug)]
pub struct Stock {
    library: Library,
    /// Largest message, bytes, that two ranks send each other at the same time.
    most_both_ways: u64,
    /// By scheme, among ranks and then among nodes; nothing where there are more transfers than are looked at. On the
    /// heap, as all that a planner has.
    costs: Box<[OnceLock<Option<Vec<Round>>>]>,
}

impl Stock {
    /// Of `library`; `most_both_ways`: the largest message, bytes, that two ranks send each other at the same time.
    pub fn new(library: Library, most_both_ways: u64) -> Self {
        Self { library, most_both_ways, costs: (0..2 * Scheme::COUNT).map(|_| OnceLock::new()).collect() }
    }

    /// Nanoseconds that the library takes for a reduction of a vector of `bytes`, those of all blocks together; `None`
    /// where nothing is known of what it does.
    pub fn time(&self, context: &Context, message: Message, collective: Collective, bytes: u64) -> Option<f64> {
        let hierarchy = context.grouped();
        let (ranks, nodes) = (context.topology().ranks(), hierarchy.node_count());
        let mut on_node = vec![0u32; nodes as usize];
        (0..ranks).for_each(|rank| on_node[hierarchy.node_of(rank) as usize] += 1);
        let is_even = on_node.iter().all(|&count| count == on_node[0]);
        let parts = parts(self.library, collective, Shape { ranks, nodes, is_even }, bytes)?;
        let times = parts.into_iter().map(|part| self.part(context, message, part, bytes as f64));
        times.sum()
    }

    fn part(&self, context: &Context, message: Message, part: Part, bytes: f64) -> Option<f64> {
        let Part { scheme, among, pipelined } = part;
        let cost = &self.costs[scheme as usize + Scheme::COUNT * usize::from(among == Among::Nodes)];
        let cost = cost.get_or_init(|| on_network(context, scheme, among)).as_ref()?;
        let Some(segment) = pipelined else {
            return Some(cost.iter().map(|round| self.round(round, message, bytes)).sum());
        };
        // Segments follow one another through all rounds: the rounds share the links.
        let segments = (bytes / segment as f64).max(1.0);
        let first: f64 = cost.iter().map(|round| self.round(round, message, bytes / segments)).sum();
        let per_byte: f64 = cost.iter().map(|round| round.times * round.per_byte).sum();
        Some(first + bytes * (1.0 - 1.0 / segments) * per_byte)
    }

    fn round(&self, round: &Round, message: Message, bytes: f64) -> f64 {
        if round.messages == 0.0 {
            return 0.0;
        }
        let length = bytes * round.share;
        let turns = if round.exchanges && length > self.most_both_ways as f64 { 2.0 } else { 1.0 };
        let way = message.latency + round.latency + round.forward * length.min(PACKET);
        round.times * (turns * together(bytes * round.per_byte, round.messages * message.gap) + way)
    }
}

/// What a switch holds up at most, bytes.
const PACKET: f64 = 1514.0;

/// The rounds of a scheme on the network.
fn on_network(context: &Context, scheme: Scheme, among: Among) -> Option<Vec<Round>> {
    let hierarchy = context.grouped();
    let nodes: Vec<u32> = match among {
        Among::Ranks => (0..context.topology().ranks()).map(|rank| hierarchy.node_of(rank)).collect(),
        Among::Nodes => (0..hierarchy.node_count()).collect(),
    };
    let rounds = rounds(scheme, nodes.len() as u32, MOST_TRANSFERS)?;
    let mut wires = context.wires();
    let mut load = vec![0.0; wires.count()];
    let mut messages = vec![[0u32; 2]; hierarchy.node_count() as usize];
    let on = |transfers: Transfers| {
        let mut round = Round {
            times: f64::from(transfers.times),
            per_byte: 0.0,
            messages: 0.0,
            latency: 0.0,
            forward: 0.0,
            share: transfers.share,
            exchanges: transfers.pairs.first().is_some_and(|&(a, b)| transfers.pairs.contains(&(b, a))),
        };
        load.fill(0.0);
        messages.fill([0, 0]);
        for (from, to) in transfers.pairs {
            let (from, to) = (nodes[from as usize], nodes[to as usize]);
            if from == to {
                continue;
            }
            let way = wires.way(from, to);
            for &link in &way.links {
                load[link as usize] += transfers.share;
                round.per_byte = round.per_byte.max(load[link as usize] * wires.per_byte(link));
            }
            messages[from as usize][0] += 1;
            messages[to as usize][1] += 1;
            round.latency = round.latency.max(way.latency);
            round.forward = round.forward.max(way.forward);
        }
        round.messages = f64::from(messages.iter().flatten().copied().max().unwrap_or(0));
        round
    };
    Some(rounds.into_iter().map(on).collect())
}

#[cfg(test)]
mod tests;
