//! The sequence of tasks of a communicator, from which the plans of all its ranks are made.

use crate::schedule::TAGS;
use crate::tasks::{Completion, Order, Routes, Task, Tasks, Waits, choose};
use crate::topology::{Hierarchy, NodeRanks, Topology, Wires};
use std::collections::BTreeSet;

/// Data has tag 0, tokens between two ranks have the others.
const TOKEN_TAGS: u32 = TAGS - 1;

/// Nodes up to which tasks are ordered, some seconds of work; beyond, node n sends to n + 1, n + 2, … without tokens.
const MOST_NODES: u32 = 1024;

/// Blocks that a rank of an exchange without tokens sends alternately. Measured on the torus, the mesh and a fat tree:
/// one is held up whenever another rank is late, with more than three there is nothing to gain.
pub const ABREAST: u32 = 3;

/// What keeps a rank from running ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Tokens: a task waits for the `window`-th before it on every link. With 1 no link carries more than it can.
    Tokens {
        /// Tasks that may share a link's turn, at least 1.
        window: u32,
    },
    /// The order alone: so many sends, and receives before them, of a rank may be under way.
    Steps {
        /// At least 1.
        in_flight: u32,
    },
    /// The order alone, and what the executor lets be under way.
    Free {
        /// Consecutive blocks of a rank that are sent alternately, at least 1: where one is held up, the others go on.
        abreast: u32,
    },
}

/// How an exchange is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeOptions {
    /// What keeps a rank from running ahead.
    pub pace: Pace,
    /// Bytes per pair of ranks that are scheduled for: what bytes cost beside latencies. One order serves all sizes:
    /// made for short blocks it hurries what has the longest latencies, and takes several times as long.
    pub bytes: u64,
}

impl Default for ExchangeOptions {
    /// Two tasks per turn: the next is under way while the token of the last one travels. Blocks of 1 MiB, which count
    /// for more than latencies also on 1 Gbit/s over 5 ms.
    fn default() -> Self {
        Self { pace: Pace::Tokens { window: 2 }, bytes: 1 << 20 }
    }
}

/// A task in the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its place in the sequence, as far as one node sees it.
    pub place: u32,
    /// Sending node.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// The first of its rounds.
    pub round: u32,
}

/// A token between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Sending node.
    pub from: u32,
    /// The first of its rounds.
    pub round: u32,
    /// Tells it apart from the other tokens between the two nodes.
    pub tag: u32,
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Place of the step that must be done.
    pub on: u32,
    /// How the sender is told; `None` where it took part in that step.
    pub token: Option<Token>,
}

/// All steps.
#[derive(Clone, Debug)]
enum Sequence {
    /// In order; `first_wait` has one more entry.
    Listed { steps: Vec<Step>, first_wait: Vec<u32>, waits: Vec<Wait> },
    /// Node n sends to n + 1, then to n + 2, ….
    Rotation,
}

/// The order of a communicator's tasks, and its nodes.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Ranks by node and slot.
    pub(crate) node_ranks: NodeRanks,
    /// What keeps a rank from running ahead.
    pub(crate) pace: Pace,
    sequence: Sequence,
    /// Rounds of a step: no rank sends or receives more often in it.
    width: u32,
}

impl Exchange {
    /// Schedules the exchange between the nodes of `hierarchy`, made from `topology`; O(nodes² · links of a route).
    pub fn new(topology: &Topology, hierarchy: &Hierarchy, options: ExchangeOptions) -> Self {
        let nodes = hierarchy.node_count();
        let node_ranks = NodeRanks::new(hierarchy, topology);
        let of_nodes: Vec<u32> = (0..nodes).map(|node| node_ranks.on(node).len() as u32).collect();
        // Rank l of a node of p ranks has its k-th send to a node of q ranks in round k + q·⌊l / q⌋ of the step.
        let sizes: BTreeSet<u32> = of_nodes.iter().copied().collect();
        let rounds = |&p: &u32| sizes.iter().map(move |&q| p.next_multiple_of(q)).max();
        let width = sizes.iter().filter_map(rounds).max().unwrap_or(1);
        let sequence = Sequence::Rotation;
        let mut exchange = Self { node_ranks, pace: options.pace, sequence, width };
        if nodes > MOST_NODES {
            exchange.pace = Pace::Free { abreast: 1 };
            return exchange;
        }
        let routes = Routes::new(&mut Wires::new(topology, hierarchy), nodes);
        let tasks = Tasks::alltoall(&routes, &of_nodes, options.bytes);
        exchange.follow(&tasks, &choose(&tasks));
        exchange
    }

    /// Takes over an order. Steps that start at the same time are one round, or more where a node would send or receive
    /// twice in it.
    fn follow(&mut self, tasks: &Tasks<'_>, order: &Order) {
        let kept = match self.pace {
            Pace::Tokens { window } => Some(Waits::new(tasks, order, window)),
            Pace::Steps { .. } | Pace::Free { .. } => None,
        };
        let (mut steps, mut first_wait, mut waits): (Vec<Step>, _, Vec<Wait>) = (Vec::new(), vec![0], Vec::new());
        let mut free = vec![[0u32; 2]; self.node_ranks.nodes() as usize];
        let (mut time, mut first, mut end, mut tokens) = (0, 0, 0, 0);
        for (place, &task) in (0..).zip(&order.sequence) {
            let Task { from, to, .. } = tasks.task(task);
            if order.start[task as usize] != time {
                (time, first) = (order.start[task as usize], end);
            }
            let round = free[from as usize][0].max(free[to as usize][1]).max(first);
            (free[from as usize][0], free[to as usize][1]) = (round + 1, round + 1);
            end = end.max(round + 1);
            for wait in kept.iter().flat_map(|kept| kept.of(place)) {
                let token = match wait.completion {
                    Completion::Sent | Completion::Received => None,
                    Completion::Token { nth } => {
                        let teller = steps[wait.on as usize].to;
                        let token = Token { from: teller, round: tokens, tag: 1 + nth % TOKEN_TAGS };
                        tokens += self.size(teller).max(self.size(from));
                        Some(token)
                    }
                };
                waits.push(Wait { on: wait.on, token });
            }
            steps.push(Step { place, from, to, round: round * self.width });
            first_wait.push(waits.len() as u32);
        }
        self.sequence = Sequence::Listed { steps, first_wait, waits };
    }

    /// Ranks of a node.
    pub(crate) fn size(&self, node: u32) -> u32 {
        self.node_ranks.on(node).len() as u32
    }

    /// Rounds of a step.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Calls `found` with the steps that `node` may have a part in, in order, and what they wait for.
    pub(crate) fn each(&self, node: u32, mut found: impl FnMut(Step, &[Wait])) {
        match &self.sequence {
            Sequence::Listed { steps, first_wait, waits } => {
                for (step, range) in steps.iter().zip(first_wait.windows(2)) {
                    found(*step, &waits[range[0] as usize..range[1] as usize]);
                }
            }
            Sequence::Rotation => {
                let nodes = self.node_ranks.nodes();
                for offset in 1..nodes {
                    let mut froms = [node, (node + nodes - offset) % nodes];
                    froms.sort_unstable();
                    for (place, from) in (2 * (offset - 1)..).zip(froms) {
                        let round = (offset - 1) * self.width;
                        found(Step { place, from, to: (from + offset) % nodes, round }, &[]);
                    }
                }
            }
        }
    }
}
