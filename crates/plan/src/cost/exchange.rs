//! What exchanges of blocks, and the gathering or scattering of blocks, do to the network.
//!
//! ```text
//!   in turn    step 1 ├───────┤          each step as long as its busiest link is busy
//!              step 2         ├────┤
//!   together   all    ├──────────┤       as long as the busiest link of all is busy
//! ```
//! Messages are counted at the busiest host of every round. Steps follow one another without a wait: a rank does not
//! know when others have ended theirs. Time in queues that overflow is not predicted.

use super::demand::{Demand, Shape, Waits};
use super::incast::Incast;
use super::rounds::{Place, Round, RoundCost, RoundCosts, Transfer};
use crate::collective::Rank;
use crate::schedule::{Action, RankPlan};
use crate::topology::{Way, Wires};
use std::collections::BTreeMap;

/// Ranks up to which the messages of all pairs of them are looked at: some 10 ms of work.
pub const MOST_RANKS: u32 = 128;

/// How rounds follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Each after the one before.
    InTurn,
    /// All at once, or in an order in which the busiest link is never idle.
    Together,
}

impl Demand {
    /// Of an exchange, Gather or Scatter, per byte of a block, by the plans of all ranks; `None` for more ranks than
    /// are looked at. Hops of one stage and step are a round.
    pub fn steps(
        (places, wires): (&[Place], &mut Wires),
        (order, waits): (Rounds, Waits),
        plan: impl Fn(Rank) -> RankPlan,
    ) -> Option<Self> {
        let ranks = places.len() as Rank;
        if ranks > MOST_RANKS {
            return None;
        }
        let mut rounds: BTreeMap<(u16, u32), Vec<Transfer>> = BTreeMap::new();
        for from in 0..ranks {
            for hop in plan(from).hops.iter().filter(|hop| hop.action == Action::Send) {
                let transfer = Transfer { from, to: hop.peer, share: f64::from(hop.parts.count) };
                rounds.entry((hop.round.stage, hop.round.step)).or_default().push(transfer);
            }
        }
        let rounds = rounds.into_values().map(|transfers| Round { times: 1, transfers });
        Some(Self::of_rounds((places, wires), rounds, (order, waits)))
    }

    /// The same where so many pairs of ranks send a block each, in an order that keeps the busiest link busy.
    pub fn pairs(
        (places, wires): (&[Place], &mut Wires),
        waits: Waits,
        sends: impl Fn(Rank, Rank) -> bool,
    ) -> Option<Self> {
        let ranks = places.len() as Rank;
        if ranks > MOST_RANKS {
            return None;
        }
        let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
        let round = Round::of(1, 1.0, pairs.filter(|&(from, to)| from != to && sends(from, to)).collect());
        Some(Self::of_rounds((places, wires), [round], (Rounds::Together, waits)))
    }

    fn of_rounds(
        (places, wires): (&[Place], &mut Wires),
        rounds: impl IntoIterator<Item = Round>,
        (order, waits): (Rounds, Waits),
    ) -> Self {
        let costs = RoundCosts::new(rounds, places, wires);
        let sum = |of: fn(&RoundCost) -> f64| costs.rounds.iter().map(of).sum::<f64>();
        let most = |of: fn(&RoundCost) -> f64| costs.rounds.iter().map(of).fold(0.0, f64::max);
        let per_byte = match order {
            Rounds::InTurn => costs.in_turn(),
            Rounds::Together => costs.per_byte,
        };
        let way = Way { latency: most(|round| round.latency), forward: most(|round| round.forward), ..Way::default() };
        let shape = Shape::Blocks { messages: sum(|round| round.times * round.messages), waits, way };
        Self { per_byte, vectors: sum(|round| round.times * round.sent), incast: Incast::default(), shape }
    }
}
