//! The plain ring: in step k every rank sends to the rank k on and receives from the rank k back.
//!
//! ```text
//!   for k in 1..P:   rank r sends to rank (r + k) mod P and receives from rank (r - k) mod P in step k
//!
//!   three nodes with ranks 0 1, 2 3 and 4 5, step 1:     0→1   1→2   2→3   3→4   4→5   5→0
//! ```
//! Ranks are those of the communicator, wherever they are. No step is idle and no rank sends or receives twice in one,
//! but unless k is a multiple of the ranks per node, those of a node send to two nodes, and two nodes send to it; a
//! switch with head-of-line blocking loses up to a quarter of its rate by that. So it is a rival to measure, not what a
//! job begins with: `two_level_ring` was made from it. Source: the ring that A. Naruse and others, 2010
//! (docs/provenance.md), compare theirs with.

use super::{Algorithm, Candidacy, Senders, Spec, spec::steps};
use crate::collective::Collective;
use crate::cost::{Meeting, Rounds, Waits};
use crate::pattern::{ABREAST, Step, Steps, step_stages, stepwise};
use crate::schedule::{Rank, RankPlan};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::RingExchange,
    name: "ring_exchange",
    collectives: &[Collective::Alltoall, Collective::Alltoallv, Collective::Alltoallw],
    needs: "nothing",
    summary: "exchange around a ring of all ranks, blind to nodes; no step is idle",
    source: "Naruse and others 2010",
    round: "step",
    plan: |context, role| plan(role.rank, context.topology().ranks(), context.steps()),
    stages: |context, _| step_stages(context.topology().ranks(), context.steps()),
    chunks: None,
    senders: Some(|_| Senders { meeting: Meeting::Anyone, ahead: ABREAST }),
    fits: None,
    cost: |context, _| {
        let ranks = context.topology().ranks();
        steps(context, (Rounds::InTurn, Waits::default()), |rank| plan(rank, ranks, None))
    },
    candidacy: Candidacy::None,
};

/// What `rank` does in step `step`.
fn step_of(rank: Rank, ranks: u32, step: u32) -> Step {
    Step { step, to: Some((rank + step) % ranks), from: Some((rank + ranks - step) % ranks) }
}

/// Plan of `rank` for an exchange.
fn plan(rank: Rank, ranks: u32, pace: Option<Steps>) -> RankPlan {
    stepwise(rank, ranks, (1..ranks).map(|step| step_of(rank, ranks, step)), pace)
}
