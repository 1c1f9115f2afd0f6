//! Head-of-line blocking in a switch: what a step costs when the ranks of one node send to several nodes.
//!
//! ```text
//!   flat ring, 8 ranks per node, step 11: α = 3/8 of each node's messages go two nodes on, 5/8 one node on
//!
//!   node A ──5/8──►  port of B        a port is idle when neither of the two nodes has a message for it at the head of
//!   node Z ──3/8──►                   its queue: α(1 − α) of the time. The step takes Ta = 1 / (1 − α(1 − α)) = 1.306
//! ```
//! With any number of nodes: a port that the nodes s have at the head of their queues with probability pₛ is busy 1 −
//! Π(1 − pₛ) of the time. Messages inside a node pass no switch and do not count. Source: A. Naruse and others, 2010
//! (docs/provenance.md).

use std::collections::BTreeMap;

use crate::schedule::{Move, Round};

/// What one step makes the nodes send.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTraffic {
    /// The step.
    pub round: Round,
    /// Per sending node, in order: the nodes it sends to, in order, with the parts each gets.
    pub sent: Vec<(u32, Vec<(u32, u64)>)>,
}

/// The traffic of every step, in order; `nodes[rank]` is the rank's node. A step may have none at all.
pub fn steps(moves: &[Move], nodes: &[u32]) -> Vec<StepTraffic> {
    let mut by_step: BTreeMap<Round, BTreeMap<u32, BTreeMap<u32, u64>>> = BTreeMap::new();
    for m in moves {
        let step = by_step.entry(m.round).or_default();
        let (Some(&from), Some(&to)) = (nodes.get(m.from as usize), nodes.get(m.to as usize)) else { continue };
        if from != to && m.parts.count > 0 {
            *step.entry(from).or_default().entry(to).or_default() += u64::from(m.parts.count);
        }
    }
    let listed = |sent: BTreeMap<u32, BTreeMap<u32, u64>>| {
        sent.into_iter().map(|(from, to)| (from, to.into_iter().collect())).collect()
    };
    by_step.into_iter().map(|(round, sent)| StepTraffic { round, sent: listed(sent) }).collect()
}

impl StepTraffic {
    /// Time of the step relative to what the same bytes take without blocking (`Ta`); 1 is the best.
    pub fn relative_time(&self) -> f64 {
        // Parts each node receives, and the share of the time in which nobody has any for it at the head.
        let mut ports: BTreeMap<u32, (u64, f64)> = BTreeMap::new();
        let mut most_sent = 0;
        for (_, to) in &self.sent {
            let all: u64 = to.iter().map(|&(_, parts)| parts).sum();
            most_sent = all.max(most_sent);
            for &(node, parts) in to {
                let (received, idle) = ports.entry(node).or_insert((0, 1.0));
                *received += parts;
                *idle *= 1.0 - parts as f64 / all as f64;
            }
        }
        let unblocked = ports.values().map(|port| port.0).max().unwrap_or(0).max(most_sent);
        let slowest = ports.values().map(|&(received, idle)| received as f64 / (1.0 - idle)).fold(0.0, f64::max);
        if unblocked == 0 { 1.0 } else { (slowest / unblocked as f64).max(1.0) }
    }
}
