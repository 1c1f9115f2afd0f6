//! Circulant graph: the vector in ⌈log2 N⌉ parts, each along a tree of its own, in one round more than the fewest.
//!
//! ```text
//!   N = 8, every node sends a block        part 0                 part 1                 part 2
//!     round 0, 3, 6 …   1 place on         0 → 1 → 2              0 → 2 → 3 → 5          0 → 4 → 5 → 1 7
//!     round 1, 4, 7 …   2 places on            1 → 3 → 4 7            2 → 4                  4 → 6 → 2
//!     round 2, 5, 8 …   4 places on            1 → 5 → 6              2 → 6 → 7 → 1              7 → 3
//! ```
//! Every node is an inner node of most trees, receives each part once and sends at most as much as it receives: n
//! blocks are at all N nodes after n + ⌈log2 N⌉ rounds (a chain: n + N - 2, a two-tree: n + about 2 ⌈log2 N⌉). A round
//! is a shift of all places, which meets on no link of a switch or of a fat tree whose leaves are whole. Which tree an
//! edge belongs to: `tree/circulant.rs`. Reduce is the same edges backwards in time, Allreduce both, pipelined. Inside
//! a node see [`Node`](crate::pattern::Node). Source: Träff 2024 (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec};
use crate::collective::Collective;
use crate::cost::{Streams, Talkers};
use crate::pattern::{End, Ends, along_trees, stage_names_up_and_down};
use crate::schedule::{Rank, RankPlan};
use crate::topology::{Hierarchy, Line};
use crate::tree::{Circulant, CirculantEdge};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Circulant,
    name: "circulant",
    collectives: &[Collective::Reduce, Collective::Bcast, Collective::Allreduce],
    needs: "nothing",
    summary: "a tree for each of ⌈log2 nodes⌉ parts, in one round more than the fewest; each round is a shift",
    source: "Träff 2024",
    round: "round",
    plan: |context, role| plan(role.collective, context.grouped(), context.line(), role.root, role.rank),
    stages: |context, collective| stage_names_up_and_down(collective, context.grouped()),
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, collective| Some(SPEC.pipeline(context, collective, (Talkers::Leaders, Streams::Shared))),
    candidacy: Candidacy::Default,
};

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` (Allreduce: use root 0).
fn plan(collective: Collective, hierarchy: &Hierarchy, line: &Line, root: Rank, rank: Rank) -> RankPlan {
    let circulant = Circulant::new(line.nodes());
    let parts = circulant.rounds().max(1);
    along_trees((collective, hierarchy), (root, rank), parts, true, || {
        let home = hierarchy.node_of(root);
        let place = line.place(hierarchy.node_of(rank), home, 0);
        let end = |edge: CirculantEdge| End {
            peer: hierarchy.leader(line.after(home, edge.peer, 0), root),
            part: edge.tree,
            step: edge.round,
        };
        let parents = if place == 0 { Vec::new() } else { circulant.parents(place) };
        let mut children = circulant.children(place);
        // A block takes a late edge a phase of rounds after the others of its number.
        children.sort_by_key(|edge| (edge.late, edge.round));
        Ends { parents: parents.into_iter().map(end).collect(), children: children.into_iter().map(end).collect() }
    })
}
