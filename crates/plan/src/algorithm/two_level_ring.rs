//! The two-level ring: nodes in a ring, and in every step of it the ranks of two nodes in a ring.
//!
//! ```text
//!   for j in 0..nodes:  for k in 0..W:                          W: most ranks on a node; this is step j·W + k
//!     slot l of node s sends to slot (l + k) mod w of node s + j and receives from slot (l - k) mod w' of node s - j
//!     w, w': the larger of the two nodes' numbers of ranks; idle: a step k ≥ w, a slot that the smaller node lacks
//! ```
//! In every step all ranks of a node send to one node, and all that it receives comes from one node: no two nodes meet
//! at the port of a third, which is what a plain ring does whenever its step is no multiple of the ranks per node.
//! Nodes are in hierarchy order: with two groups of g nodes the link between them carries 1, 2, … g, … 2, 1 messages,
//! so it is never idle. Source: A. Naruse and others, 2010 (docs/provenance.md), there for the same number of ranks on
//! every node.

use super::{Algorithm, Candidacy, Senders, Spec, spec::steps};
use crate::collective::Collective;
use crate::cost::{Meeting, Rounds, Waits};
use crate::pattern::{Step, Steps, step_stages, stepwise};
use crate::schedule::{Rank, RankPlan};
use crate::topology::NodeRanks;

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::TwoLevelRing,
    name: "two_level_ring",
    collectives: &[Collective::Alltoall, Collective::Alltoallv, Collective::Alltoallw],
    needs: "nothing",
    summary: "exchange around a ring of nodes; all ranks of a node send to one node and receive from one node per step",
    source: "Naruse and others 2010",
    round: "step",
    plan: |context, role| plan(context.node_ranks(), role.rank, context.steps()),
    stages: |context, _| step_stages(context.topology().ranks(), context.steps()),
    chunks: None,
    senders: Some(|context| Senders { meeting: Meeting::TwoSteps, ahead: context.ahead_in_a_ring() }),
    fits: Some(|context, _, block| context.suits_a_ring(block)),
    cost: |context, _| {
        steps(context, (Rounds::InTurn, Waits::default()), |rank| plan(context.node_ranks(), rank, None))
    },
    candidacy: Candidacy::Trial,
};

/// What `rank` does in step `step`, counted as in the file's head.
fn step_of(node_ranks: &NodeRanks, rank: Rank, step: u32) -> Step {
    let (nodes, (node, slot)) = (node_ranks.nodes(), node_ranks.node_and_slot(rank));
    let (j, k) = (step / node_ranks.widest(), step % node_ranks.widest());
    // Slots of two nodes pair up in a ring as wide as the larger of them.
    let partner = |other: u32, turn: &dyn Fn(u32) -> u32| {
        let ranks = node_ranks.on(other);
        let width = (ranks.len() as u32).max(node_ranks.on(node).len() as u32);
        let slot = (k < width).then(|| turn(width))?;
        ranks.get(slot as usize).copied()
    };
    let to = partner((node + j) % nodes, &|width| (slot + k) % width);
    let from = partner((node + nodes - j) % nodes, &|width| (slot + width - k) % width);
    Step { step, to, from }
}

/// Plan of `rank` for an exchange.
fn plan(node_ranks: &NodeRanks, rank: Rank, pace: Option<Steps>) -> RankPlan {
    let steps = (1..node_ranks.nodes() * node_ranks.widest()).map(|step| step_of(node_ranks, rank, step));
    stepwise(rank, node_ranks.ranks(), steps, pace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Action;
    use crate::topology::{Hierarchy, Topology};

    fn node_ranks(nodes: &[u32]) -> NodeRanks {
        let topology = Topology::of_nodes(nodes.to_vec()).unwrap();
        NodeRanks::new(&Hierarchy::new(&topology), &topology)
    }

    /// The document's loop, literally: ranks are numbered node by node.
    #[test]
    fn the_worked_loop() {
        for (ns, nlp) in [(24, 8), (4, 3), (2, 1), (1, 5), (5, 2)] {
            let nodes: Vec<u32> = (0..ns * nlp).map(|rank| rank / nlp).collect();
            let node_ranks = node_ranks(&nodes);
            for rank in 0..ns * nlp {
                let (s, l) = (rank / nlp, rank % nlp);
                for j in 0..ns {
                    for k in 0..nlp {
                        let to = (s + j) % ns * nlp + (l + k) % nlp;
                        let from = (s + ns - j) % ns * nlp + (l + nlp - k) % nlp;
                        let step = j * nlp + k;
                        assert_eq!(step_of(&node_ranks, rank, step), Step { step, to: Some(to), from: Some(from) });
                    }
                }
            }
        }
    }

    /// Three sends in a row have one turn, and start their segments alternately; with a bound on steps each has one of
    /// its own.
    #[test]
    fn three_blocks_are_sent_alternately() {
        let nodes: Vec<u32> = (0..8).collect();
        let turns = |pace: Option<Steps>| -> Vec<u32> {
            let plan = plan(&node_ranks(&nodes), 3, pace);
            let sends = plan.hops.iter().filter(|hop| hop.action == Action::Send);
            sends.map(|hop| hop.turn).collect()
        };
        assert_eq!(turns(None), [1, 1, 1, 2, 2, 2, 3]);
        assert_eq!(turns(Some(Steps::InFlight(2))), [1, 2, 3, 4, 5, 6, 7]);
    }
}
