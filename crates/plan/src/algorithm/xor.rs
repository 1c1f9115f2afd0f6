//! XOR exchange with virtual ranks: in step t the partner is the process whose virtual rank is `vrank XOR t`.
//!
//! ```text
//!   three nodes with 2, 3 and 2 ranks: slots padded to 4, nodes to 4
//!   vrank = node · 4 + slot       node 0: 0 1 - -    node 1: 4 5 6 -    node 2: 8 9 - -    (node 3 is missing)
//!   step t = 4·a + b: every rank of node n exchanges with node n XOR a only, slot s with slot s XOR b; without a
//!   partner the step is idle
//! ```
//! With two partners a step has two XOR values, t and u: half of the ranks send along t and receive along u, half the
//! other way.
//!
//! ```text
//!   8 nodes of one rank, t = 4 with u = 5        0 ─► 4 ─► 1 ─► 5 ─► 0      2 ─► 6 ─► 3 ─► 7 ─► 2
//! ```
//! Thanks to the padding all ranks of a node talk to one node per step, even where nodes have different numbers of
//! ranks: the high bits of t alone choose the partner's node. Off powers of two it costs idle steps. Where slots are
//! padded per NUMA node as well, the bits below choose the partner's NUMA node, for all ranks of one alike.
//!
//! ```text
//!   one node with two NUMA nodes of 2 and 3 ranks       NUMA node 0: 0 1 - -    NUMA node 1: 4 5 6 -
//! ```
//! Source: US patent 11656920 (docs/provenance.md).

use super::{Algorithm, Candidacy, Senders, Spec, spec::steps};
use crate::collective::Collective;
use crate::cost::{Meeting, Rounds, Waits};
use crate::pattern::{ABREAST, Partners, Step, Steps, VirtualRanks, step_stages, stepwise};
use crate::schedule::{Rank, RankPlan};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Xor,
    name: "xor",
    collectives: &[Collective::Alltoall, Collective::Alltoallv, Collective::Alltoallw],
    needs: "nothing; fewest steps with powers of two",
    summary: "pairwise exchange with virtual rank XOR step; all ranks of a node talk to one node per step",
    source: "US patent 11656920",
    round: "step",
    plan: |context, role| plan(context.virtual_ranks(), role.rank, context.options().partners, context.steps()),
    stages: |context, _| step_stages(context.topology().ranks(), context.steps()),
    chunks: None,
    senders: Some(|_| Senders { meeting: Meeting::Anyone, ahead: ABREAST }),
    fits: None,
    cost: |context, _| {
        let (virtual_ranks, partners) = (context.virtual_ranks(), context.options().partners);
        steps(context, (Rounds::InTurn, Waits::default()), |rank| plan(virtual_ranks, rank, partners, None))
    },
    candidacy: Candidacy::Trial,
};

/// Plan of `rank` for an exchange: one exchange per step with its partner or partners.
fn plan(virtual_ranks: &VirtualRanks, rank: Rank, partners: Partners, pace: Option<Steps>) -> RankPlan {
    let steps = (1..virtual_ranks.steps()).map(|step| {
        let (to, from) = match partners {
            Partners::One => (virtual_ranks.partner(rank, step), virtual_ranks.partner(rank, step)),
            Partners::Two => virtual_ranks.two_partners(rank, step),
        };
        Step { step, to, from }
    });
    stepwise(rank, virtual_ranks.ranks(), steps, pace)
}
