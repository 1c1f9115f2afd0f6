//! What a row of the table of algorithms says.

use super::Algorithm;
use crate::collective::{Collective, Rank};
use crate::context::Context;
use crate::cost::{Demand, Meeting, Rounds, Streams, Talkers, Waits};
use crate::schedule::RankPlan;

/// An algorithm: a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Name in configuration, reports and on the command line.
    pub name: &'static str,
    /// What it can implement.
    pub collectives: &'static [Collective],
    /// What ranks and network need for it to differ from a simpler algorithm.
    pub needs: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where it comes from; in full in `docs/provenance.md`.
    pub source: &'static str,
    /// What a round of its schedules is called.
    pub round: &'static str,
    /// What one rank does.
    pub plan: fn(&Context, Role) -> RankPlan,
    /// Names of the stages of its schedules (see [`crate::schedule::Round::stage`]).
    pub stages: fn(&Context, Collective) -> Vec<String>,
    /// In how many chunks the share of a lane is cut for a vector of so many bytes; none where there are no lanes.
    pub chunks: Option<fn(&Context, u64) -> u32>,
    /// For an exchange whose ranks must not fill the queues of switches: how they use these.
    pub senders: Option<fn(&Context) -> Senders>,
    /// A default where this holds, without comparing times. The number: bytes of a block, as far as all ranks know.
    pub fits: Option<fn(&Context, Collective, u64) -> bool>,
    /// What it costs on this network, `None` if that cannot be said.
    pub cost: fn(&Context, Collective) -> Option<Demand>,
    /// What its predicted time makes of it.
    pub candidacy: Candidacy,
}

/// What an algorithm's predicted time makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidacy {
    /// The default, where it is the least.
    Default,
    /// One that the program's calls try beside the default, where it is little longer, or shorter; some also where
    /// nothing fits.
    Trial,
    /// Nothing: it is shown.
    None,
}

/// How the ranks of an exchange use queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Senders {
    /// Which of them can meet at a link.
    pub meeting: Meeting,
    /// Blocks that a rank may still have to receive, of those before a send in its list, when that send starts; at
    /// least 1.
    pub ahead: u32,
}

impl Spec {
    /// What a pipeline costs, by its plans for Bcast.
    pub(super) fn pipeline(&self, context: &Context, collective: Collective, who: (Talkers, Streams)) -> Demand {
        let bcast = |rank| (self.plan)(context, Role { collective: Collective::Bcast, root: 0, rank, chunks: 1 });
        Demand::pipeline(collective, context.grouped(), &mut context.predicted_wires(), who, bcast)
    }
}

/// What an exchange in steps costs, or what gathers or scatters in steps, by the plans of all ranks.
pub(super) fn steps(context: &Context, order: (Rounds, Waits), plan: impl Fn(Rank) -> RankPlan) -> Option<Demand> {
    Demand::steps((&context.all_places(), &mut context.predicted_wires()), order, plan)
}

/// What an order costs that keeps the busiest link busy, where so many pairs of ranks send a block each.
pub(super) fn pairs(context: &Context, waits: Waits, sends: impl Fn(Rank, Rank) -> bool) -> Option<Demand> {
    Demand::pairs((&context.all_places(), &mut context.predicted_wires()), waits, sends)
}

/// For which collective and rank to plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The collective, one of those of the algorithm.
    pub collective: Collective,
    /// Its root, 0 where it has none.
    pub root: Rank,
    /// The rank.
    pub rank: Rank,
    /// Chunks of the share of a lane, at least 1; a shared fact (see [`Spec::chunks`]).
    pub chunks: u32,
}
