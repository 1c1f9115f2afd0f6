//! Alltoall in an order in which no link gets more than it carries; tokens keep the order.
//!
//! ```text
//!   nodes a (ranks 0 1) and b (ranks 2 3 4), task a→b:  0→2 1→3   0→3 1→4   0→4 1→2   each rank: one at a time
//!   then c→d over a link they share:                    b tells c when it has everything: 2→c₀ 3→c₁ 4→c₀
//! ```
//! The hops of all ranks follow the rounds of the tasks, so that ranks never wait for one another in a circle. Before a
//! task come the tokens it waits for; a rank's first send waits for them, every further send for the one before. Ranks
//! of a node exchange their blocks beside the tasks of their node. Source: the thesis on contention-free communication
//! in docs/provenance.md.

use super::{Algorithm, Candidacy, Senders, Spec, spec::pairs};
use crate::collective::Collective;
use crate::cost::{Meeting, Waits};
use crate::pattern::{ABREAST, Exchange, Pace, Task, Token, Wait};
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use std::collections::HashMap;

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::ContentionFree,
    name: "contention_free",
    collectives: &[Collective::Alltoall, Collective::Alltoallv, Collective::Alltoallw],
    needs: "a fabric; else groups, taken for a tree of equal links",
    summary: "nodes exchange in an order in which no link gets more than it carries; tokens keep the order",
    source: "a Japanese thesis on wide-area Ethernet",
    round: "step",
    plan: |context, role| contention_free(context.exchange(), role.rank),
    stages: |context, _| contention_free_stages(context.exchange()),
    chunks: None,
    senders: Some(|context| match context.needs_tokens(u64::MAX) {
        true => Senders { meeting: Meeting::OneNode, ahead: 1 },
        false => Senders { meeting: Meeting::TwoNodes, ahead: ABREAST },
    }),
    fits: Some(|context, _, block| !context.suits_a_ring(block)),
    cost: |context, _| {
        // Before every node it sends to a node waits for a token.
        let tokens = if context.needs_tokens(u64::MAX) { context.grouped().node_count() - 1 } else { 0 };
        pairs(context, Waits { idle: f64::from(tokens), hidden: 0.0 }, |_, _| true)
    },
    candidacy: Candidacy::Trial,
};

/// Exchanges inside a node that may be under way at a rank.
const INSIDE_AHEAD: u32 = 2;

/// Stages of rounds: tasks, tokens, exchanges inside a node.
const STEP: u16 = 0;
const TOKEN: u16 = 1;
const INSIDE: u16 = 2;

/// Names of the stages of a plan.
pub fn contention_free_stages(exchange: &Exchange) -> Vec<String> {
    let inside = exchange.node_ranks.widest() > 1;
    let names = ["step", "token", "inside"];
    names[..if inside { 3 } else { 2 }].iter().map(|&name| name.to_owned()).collect()
}

/// Plan of `rank` for Alltoall.
pub fn contention_free(exchange: &Exchange, rank: Rank) -> RankPlan {
    let (node, slot) = exchange.node_ranks.node_and_slot(rank);
    let mut plan = Plan {
        exchange,
        node,
        slot,
        hops: Vec::new(),
        of_step: HashMap::new(),
        waits: HashMap::new(),
        sends: Vec::new(),
        receives: Vec::new(),
        inside: Vec::new(),
    };
    let own = Action::Copy { from: block(Space::Input, rank) };
    plan.push(own, rank, Round { stage: STEP, step: 0 }, (0, 0), Vec::new());
    for (round, event) in plan.events() {
        plan.add(round, event);
    }
    RankPlan::new(rank, exchange.node_ranks.ranks(), plan.hops)
}

fn block(space: Space, of: Rank) -> Parts {
    Parts { space, first: of, count: 1 }
}

/// The one so many before the next.
fn before<T: Copy>(so_far: &[T], ahead: u32) -> Option<T> {
    so_far.len().checked_sub(ahead.max(1) as usize).map(|at| so_far[at])
}

/// Something that a rank does.
#[derive(Clone, Copy)]
enum Event {
    /// The exchange with this one inside the node.
    Inside(u32),
    /// Something that a step waits for.
    Wait(Task, Wait),
    /// A send of a step to that rank.
    Send(Task, Rank),
    /// A receive of a step from that rank.
    Receive(Task, Rank),
}

impl Event {
    /// Its place among those of a round. A send must not wait for the receive that goes with it.
    fn order(self) -> u32 {
        match self {
            Self::Inside(_) | Self::Wait(..) => 0,
            Self::Send(..) => 1,
            Self::Receive(..) => 2,
        }
    }
}

/// A plan that is being written.
struct Plan<'e> {
    exchange: &'e Exchange,
    node: u32,
    slot: u32,
    hops: Vec<Hop>,
    /// Hops that are complete when this rank is done with the step at a place: its last send, or all its receives.
    of_step: HashMap<u32, Vec<u32>>,
    /// Hops that the first send of the step at a place waits for.
    waits: HashMap<u32, Vec<u32>>,
    /// Sends to other nodes so far.
    sends: Vec<u32>,
    /// Receives from other nodes so far.
    receives: Vec<u32>,
    /// Send and receive of every exchange inside the node so far.
    inside: Vec<[u32; 2]>,
}

impl Plan<'_> {
    /// All that this rank does, round by round: tasks that take place at the same time go on side by side, so that a
    /// rank that stays close to what it receives sends meanwhile. In a round a node sends in one step at most, and
    /// receives in one; the first round of a step is later than the last of any step that it waits for. All ranks take
    /// part in their steps in this one order, and send before they receive in a round, so that they never wait for one
    /// another in a circle.
    fn events(&self) -> Vec<(u32, Event)> {
        let (exchange, node, slot) = (self.exchange, self.node, self.slot);
        let mut events = Vec::new();
        let mut rounds = 0;
        exchange.each(node, |step, waits| {
            let concerns = |wait: &&Wait| step.from == node || wait.token.is_some_and(|token| token.from == node);
            events.extend(waits.iter().filter(concerns).map(|&wait| (step.round, Event::Wait(step, wait))));
            let [from, to] = [step.from, step.to].map(|of| exchange.node_ranks.on(of));
            if step.from == node {
                // To rank l, l + 1, … of the other node, counted around.
                let count = to.len() as u32;
                let first = step.round + slot / count * count;
                events.extend((0..count).map(|k| (first + k, Event::Send(step, to[((slot + k) % count) as usize]))));
            } else if step.to == node {
                // In the order in which they are sent.
                let own = to.len() as u32;
                for round in 0..(from.len() as u32).next_multiple_of(own) {
                    let sender = round / own * own + (slot + own - round % own) % own;
                    let peer = from.get(sender as usize);
                    events.extend(peer.map(|&peer| (step.round + round, Event::Receive(step, peer))));
                }
            }
            rounds = rounds.max(step.round + exchange.width());
        });
        // Evenly over the rounds, in the same ones for all ranks of the node.
        let inside = exchange.size(node) - 1;
        let round_of = |step: u32| (u64::from(rounds) * u64::from(step) / u64::from(inside + 1)) as u32;
        events.extend((1..=inside).map(|step| (round_of(step), Event::Inside(step))));
        events.sort_by_key(|&(round, event)| (round, event.order()));
        events
    }

    fn add(&mut self, round: u32, event: Event) {
        match event {
            Event::Inside(step) => self.inside(step),
            Event::Wait(step, wait) => self.wait(step, wait),
            Event::Send(step, peer) => self.send(step, round, peer),
            Event::Receive(step, peer) => self.receive(step, round, peer),
        }
    }

    fn push(&mut self, action: Action, peer: Rank, round: Round, (tag, turn): (u32, u32), after: Vec<u32>) -> u32 {
        let parts = match (action, round.stage) {
            (_, TOKEN) => Parts::token(),
            (Action::Send, _) => block(Space::Input, peer),
            _ => block(Space::Output, peer),
        };
        self.hops.push(Hop { action, peer, parts, round, tag, turn, after });
        self.hops.len() as u32 - 1
    }

    /// The hops of this rank for the step at a place; none if it has no part in it.
    fn known(&self, place: u32) -> Vec<u32> {
        self.of_step.get(&place).cloned().unwrap_or_default()
    }

    /// What `step` waits for: a step in which its node has taken part, or a token, which this rank sends or receives.
    fn wait(&mut self, step: Task, wait: Wait) {
        match wait.token {
            Some(token) => self.token(token, wait.on, step),
            None => {
                let known = self.known(wait.on);
                self.waits.entry(step.place).or_default().extend(known);
            }
        }
    }

    /// The token of the receiver of the step at place `on` to the sender of `step`: rank i of the one, i mod its size,
    /// to rank i of the other.
    fn token(&mut self, token: Token, on: u32, step: Task) {
        let [senders, receivers] = [token.from, step.from].map(|node| self.exchange.node_ranks.on(node));
        let count = senders.len().max(receivers.len());
        let own = if self.node == token.from { senders.len() } else { receivers.len() };
        for i in (self.slot as usize..count).step_by(own) {
            let round = Round { stage: TOKEN, step: token.round + i as u32 };
            if self.node == token.from {
                let received = self.known(on);
                self.push(Action::Send, receivers[i % receivers.len()], round, (token.tag, 0), received);
            } else {
                let hop = self.push(Action::Recv, senders[i % senders.len()], round, (token.tag, 0), Vec::new());
                self.waits.entry(step.place).or_default().push(hop);
            }
        }
    }

    /// A send of a step. With tokens the first waits for what the step waits for, each other one for the one before.
    fn send(&mut self, step: Task, round: u32, peer: Rank) {
        let previous = self.of_step.remove(&step.place);
        let waits = self.waits.remove(&step.place).unwrap_or_default();
        let (abreast, after) = match self.exchange.pace {
            Pace::Tokens { .. } => (1, previous.unwrap_or(waits)),
            Pace::Steps { in_flight } => {
                (1, [&self.sends, &self.receives].into_iter().filter_map(|so_far| before(so_far, in_flight)).collect())
            }
            Pace::Free { abreast } => (abreast.max(1), waits),
        };
        let turn = 1 + self.sends.len() as u32 / abreast;
        let hop = self.push(Action::Send, peer, Round { stage: STEP, step: round }, (0, turn), after);
        self.sends.push(hop);
        self.of_step.insert(step.place, vec![hop]);
    }

    /// A receive of a step.
    fn receive(&mut self, step: Task, round: u32, peer: Rank) {
        let round = Round { stage: STEP, step: round };
        let hop = self.push(Action::Recv, peer, round, (0, 1 + step.place), Vec::new());
        self.receives.push(hop);
        self.of_step.entry(step.place).or_default().push(hop);
    }

    /// Exchange `step` inside the node: to the rank so many slots on, from the one as many before.
    fn inside(&mut self, step: u32) {
        let peers = self.exchange.node_ranks.on(self.node);
        let size = peers.len() as u32;
        let [to, from] = [self.slot + step, self.slot + size - step].map(|slot| peers[(slot % size) as usize]);
        let round = Round { stage: INSIDE, step };
        let turn = (0, 1 + self.sends.len() as u32);
        let after = before(&self.inside, INSIDE_AHEAD).map_or_else(Vec::new, |exchange| exchange.to_vec());
        // The send first, as in every step: it must not wait for the receive that goes with it.
        let send = self.push(Action::Send, to, round, turn, after);
        let receive = self.push(Action::Recv, from, round, turn, Vec::new());
        self.inside.push([send, receive]);
    }
}
