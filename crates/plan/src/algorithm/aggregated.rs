//! Send-side aggregation: first an exchange inside the node, then one message per node and rank instead of one per
//! rank.
//!
//! ```text
//!   two nodes with ranks 0 1 and 2 3; xy is the block of x for y
//!
//!           has           inside the node     copied together      between nodes     has
//!   0   00 01 02 03    0→1  01 03          02 12 (for rank 2)     0→2  02 12       00 10 20 30
//!   1   10 11 12 13    1→0  10 12          03 13 (for rank 3)     1→3  03 13       01 11 21 31
//!   2   20 21 22 23    2→3  21 23          20 30 (for rank 0)     2→0  20 30       02 12 22 32
//!   3   30 31 32 33    3→2  30 32          21 31 (for rank 1)     3→1  21 31       03 13 23 33
//! ```
//! On every node slot l serves the ranks in slot l of all nodes; ranks in slots that the node has not got are served by
//! their slot mod its number of ranks. To the slot that serves them a rank sends its blocks in one message, and that
//! slot sends each of these ranks one message with a block of every rank of the node. Nodes follow one another as in
//! the two-level ring.
//!
//! Both kinds of messages are in rank order. So what comes from a node whose ranks are consecutive is received in
//! place, and what ranks dealt out to nodes in turn send inside the node needs no copy either. A node of one rank has
//! nothing to aggregate and sends every block directly. Source: A. Naruse and others, 2010 (docs/provenance.md).

use super::{Algorithm, Candidacy, Spec, spec::steps};
use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Rounds, Waits};
use crate::pattern::{LEADER_STAGES, Staging, first_of_run, place_of, sorted, through_leaders};
use crate::schedule::{Rank, RankPlan, Round, Space};
use crate::topology::NodeRanks;

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Aggregated,
    name: "aggregated",
    collectives: &[Collective::Alltoall],
    needs: "several ranks per node, else it is a direct exchange",
    summary: "for small blocks: an exchange inside nodes, then one message to each node's rank in the same slot, or \
              one per pair of nodes from leaders",
    source: "Naruse and others 2010",
    round: "step",
    plan: |context, role| plan_of(context, role.rank),
    stages: |context, _| match context.options().rails.aggregators {
        Some(_) => LEADER_STAGES.map(str::to_owned).to_vec(),
        None => STAGES.map(str::to_owned).to_vec(),
    },
    chunks: None,
    senders: None,
    fits: None,
    cost: |context, _| {
        // What goes to other nodes waits for what comes from the own.
        let waits = Waits { idle: 1.0, hidden: 0.0 };
        steps(context, (Rounds::InTurn, waits), |rank| plan_of(context, rank))
    },
    candidacy: Candidacy::Trial,
};

/// Stages, and their numbers.
const STAGES: [&str; 2] = ["inside nodes", "between nodes"];
const INSIDE: u16 = 0;
const BETWEEN: u16 = 1;

/// Plan of `rank`, by leaders where the user says how many.
fn plan_of(context: &Context, rank: Rank) -> RankPlan {
    match context.options().rails.aggregators {
        Some(leaders) => through_leaders(context.node_ranks(), rank, leaders),
        None => plan(context.node_ranks(), rank),
    }
}

/// Plan of `rank` for Alltoall. It stages at most `P + 2·w·D` blocks, where w is the number of ranks of its node and D
/// that of the ranks it serves, itself included; P more at most where nodes have ranks that are not consecutive.
fn plan(node_ranks: &NodeRanks, rank: Rank) -> RankPlan {
    let (node, slot) = node_ranks.node_and_slot(rank);
    let own = node_ranks.on(node);
    let served = served(node_ranks, own.len());
    let mut plan = Staging::new(rank, node_ranks.ranks());
    let messages = if own.len() > 1 { inside(&mut plan, rank, slot as usize, own, &served) } else { Vec::new() };
    between(&mut plan, node_ranks, rank, &messages);
    plan.finish()
}

/// For every slot of a node with `width` ranks the ranks that it serves.
fn served(node_ranks: &NodeRanks, width: usize) -> Vec<Vec<Rank>> {
    let mut served = vec![Vec::new(); width];
    for rank in 0..node_ranks.ranks() {
        served[node_ranks.node_and_slot(rank).1 as usize % width].push(rank);
    }
    served
}

/// The exchange inside the node; the ranks of other nodes that `rank` serves, each with where its message is staged.
fn inside(plan: &mut Staging, rank: Rank, slot: usize, own: &[Rank], served: &[Vec<Rank>]) -> Vec<(Rank, u32)> {
    let width = own.len();
    let mine = &served[slot];
    let sources = sorted(own);
    let column = |of: Rank| place_of(&sources, of);

    // A message holds a block of every rank of the node, in rank order.
    let others = || mine.iter().copied().filter(|&to| to != rank);
    let messages = plan.room((mine.len() - 1) * width);
    let message = |nth: u32| messages + nth * width as u32;
    let own_blocks = (0..).zip(others()).map(|(nth, to)| (to, message(nth) + column(rank)));

    // What other slots serve is sent from where it is, or from a copy in which it is together.
    let outgoing: Vec<(Space, u32)> = (0..width)
        .map(|to| match first_of_run(&served[to]) {
            Some(first) => (Space::Input, first),
            None if to == slot => (Space::Stage, 0),
            None => (Space::Stage, plan.room(served[to].len())),
        })
        .collect();
    let copied = (0..width).filter(|&to| to != slot && outgoing[to].0 == Space::Stage);
    let copied = copied.flat_map(|to| served[to].iter().copied().zip(outgoing[to].1..));
    plan.shuffle(Space::Input, Space::Stage, copied.chain(own_blocks), INSIDE);

    // Blocks of `from` for all that this slot serves; if that is this rank alone, it is the block to be received.
    let incoming: Vec<(Space, u32)> = (0..width)
        .map(|from| match mine.len() {
            1 => (Space::Output, own[from]),
            _ if from == slot => (Space::Stage, 0),
            blocks => (Space::Stage, plan.room(blocks)),
        })
        .collect();
    for turn in 1..width {
        let (to, from) = ((slot + turn) % width, (slot + width - turn) % width);
        let round = Round { stage: INSIDE, step: turn as u32 };
        plan.send(own[to], outgoing[to], served[to].len(), round);
        plan.recv(own[from], incoming[from], mine.len(), round);
    }
    if mine.len() > 1 {
        let neighbours = || (0..width).filter(|&from| from != slot);
        let place = |from: usize, to: Rank| incoming[from].1 + place_of(mine, to);
        let collected = (0..)
            .zip(others())
            .flat_map(|(nth, to)| neighbours().map(move |from| (place(from, to), message(nth) + column(own[from]))));
        plan.shuffle(Space::Stage, Space::Stage, collected, INSIDE);
        plan.shuffle(Space::Stage, Space::Output, neighbours().map(|from| (place(from, rank), own[from])), INSIDE);
    }
    (0..).zip(others()).map(|(nth, to)| (to, message(nth))).collect()
}

/// One message to every rank of another node that `rank` serves, and one from every other node.
fn between(plan: &mut Staging, node_ranks: &NodeRanks, rank: Rank, messages: &[(Rank, u32)]) {
    let ((node, slot), nodes) = (node_ranks.node_and_slot(rank), node_ranks.nodes());
    let (slot, width) = (slot as usize, node_ranks.on(node).len());
    plan.shuffle(Space::Input, Space::Output, [(rank, rank)], BETWEEN);
    for distance in 1..nodes {
        let round = |other_slot: usize, width: usize| {
            let turn = (other_slot / width) as u32;
            Round { stage: BETWEEN, step: distance * node_ranks.widest() + turn }
        };
        let targets = node_ranks.on((node + distance) % nodes);
        for to in (slot..targets.len()).step_by(width) {
            let peer = targets[to];
            let staged = messages.binary_search_by_key(&peer, |m| m.0).map(|at| (Space::Stage, messages[at].1));
            plan.send(peer, staged.unwrap_or((Space::Input, peer)), width, round(to, width));
        }
        let sources = node_ranks.on((node + nodes - distance) % nodes);
        plan.recv_all(&sorted(sources), sources[slot % sources.len()], round(slot, sources.len()));
    }
}
