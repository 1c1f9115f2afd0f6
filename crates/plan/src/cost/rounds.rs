//! Messages in rounds, and what each round does to the links between nodes.
//!
//! ```text
//!   round 0   0→1  2→3     of every link the bytes ─► nanoseconds per byte of the busiest one
//!   round 1   1→2          of every host the messages and their bytes, of every way the latency ─► the most
//! ```

use crate::topology::Wires;

/// Where a member is: its node, and the adapter of the node that it uses.
pub type Place = (u32, u32);

/// A message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Sender, a member.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Of the vector; of an exchange, of a block.
    pub share: f64,
}

/// Transfers at the same time, `times` after one another; where several rounds have more than one, these take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// How often.
    pub times: u32,
    /// All of them.
    pub transfers: Vec<Transfer>,
}

impl Transfer {
    /// The same in the other direction.
    pub fn turn(&mut self) {
        (self.from, self.to) = (self.to, self.from);
    }
}

impl Round {
    /// Of equal transfers between `pairs`.
    pub fn of(times: u32, share: f64, pairs: Vec<(u32, u32)>) -> Self {
        Self { times, transfers: pairs.into_iter().map(|(from, to)| Transfer { from, to, share }).collect() }
    }
}

/// Rounds on a network.
#[derive(Clone, Debug)]
pub struct RoundCosts {
    /// Of every round.
    pub rounds: Vec<RoundCost>,
    /// Nanoseconds of the busiest link per byte of the vector, over all of them.
    pub per_byte: f64,
}

/// Equal rounds after one another, on the network.
#[derive(Clone, Debug)]
pub struct RoundCost {
    /// How many.
    pub times: f64,
    /// Nanoseconds of the busiest link per byte of the vector.
    pub per_byte: f64,
    /// Messages that the busiest host sends or receives.
    pub messages: f64,
    /// Of the vector, what the busiest host sends or receives.
    pub sent: f64,
    /// Latency of the slowest way, nanoseconds.
    pub latency: f64,
    /// What the switches of a way hold up per byte of a packet, at most, nanoseconds.
    pub forward: f64,
    /// Bytes of the longest message per byte of the vector.
    pub share: f64,
    /// Whether pairs send each other, and nothing to others meanwhile.
    pub exchanges: bool,
}

impl RoundCosts {
    /// Of `rounds` among members at `places`.
    pub fn new(rounds: impl IntoIterator<Item = Round>, places: &[Place], wires: &mut Wires) -> Self {
        let nodes = places.iter().map(|&(node, _)| node as usize + 1).max().unwrap_or(0);
        let mut load = vec![0.0; wires.count()];
        let mut all = vec![0.0; wires.count()];
        let mut messages = vec![[0u32; 2]; nodes];
        let mut sent = vec![[0.0f64; 2]; nodes];
        let mut on = |round: Round| {
            let mut cost = RoundCost {
                times: f64::from(round.times),
                per_byte: 0.0,
                messages: 0.0,
                sent: 0.0,
                latency: 0.0,
                forward: 0.0,
                share: round.transfers.iter().map(|transfer| transfer.share).fold(0.0, f64::max),
                exchanges: exchanges(&round.transfers, places.len()),
            };
            load.fill(0.0);
            messages.fill([0, 0]);
            sent.fill([0.0; 2]);
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
                sent[from as usize][0] += share;
                sent[to as usize][1] += share;
                cost.latency = cost.latency.max(way.latency);
                cost.forward = cost.forward.max(way.forward);
            }
            cost.messages = f64::from(messages.iter().flatten().copied().max().unwrap_or(0));
            cost.sent = sent.iter().flatten().copied().fold(0.0, f64::max);
            cost
        };
        let rounds = rounds.into_iter().map(&mut on).collect();
        let of_link = |(link, load): (usize, &f64)| load * wires.per_byte(link as u32);
        let per_byte = all.iter().enumerate().map(of_link).fold(0.0, f64::max);
        Self { rounds, per_byte }
    }

    /// Nanoseconds per byte of the vector where rounds follow one another: of each its busiest link's.
    pub fn in_turn(&self) -> f64 {
        self.rounds.iter().map(|round| round.times * round.per_byte).sum()
    }
}

/// Whether pairs of members, of whom there are so many, send each other one message. All transfers of a round are of
/// one kind.
fn exchanges(transfers: &[Transfer], members: usize) -> bool {
    let back = |first: &Transfer| transfers.iter().any(|t| (t.from, t.to) == (first.to, first.from));
    transfers.len() <= members && transfers.first().is_some_and(back)
}
