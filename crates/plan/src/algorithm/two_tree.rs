//! One two-tree over all ranks: the grouped two-tree without groups.

use super::{Algorithm, Candidacy, Spec, grouped_two_tree};
use crate::collective::Collective;
use crate::cost::{Streams, Talkers};

/// Most ranks whose plans are looked at for a predicted time.
const MOST_RANKS: u32 = 1 << 14;

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::TwoTree,
    name: "two_tree",
    collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
    needs: "nothing",
    summary: "one two-tree over all ranks, blind to groups; half the vector along each tree, pipelined",
    source: "Sanders, Speck, Träff 2009",
    round: "colour",
    plan: |context, role| grouped_two_tree::plan(role.collective, context.flat(), None, (role.root, role.rank)),
    stages: |context, collective| grouped_two_tree::stage_names(collective, context.flat()),
    chunks: None,
    senders: None,
    fits: None,
    // Without groups, and with one rank on each node, it is the grouped two-tree, but for who stands where. Every rank
    // has a plan.
    cost: |context, collective| {
        let differs = context.grouped().depth() > 1 && context.topology().ranks() <= MOST_RANKS;
        differs.then(|| SPEC.pipeline(context, collective, (Talkers::Ranks, Streams::Shared)))
    },
    candidacy: Candidacy::Default,
};
