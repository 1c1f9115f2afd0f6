//! Gather straight to the root, one sender after another, and Scatter straight from it.
//!
//! ```text
//!   root    token→1   token→2   ⟨1 received⟩ token→3   ⟨2 received⟩ token→4 …
//!   1, 2    ════════▶ ════════▶        a block received starts the sender after the next: the root's link never idles,
//!                                      and at most two blocks meet in its queue
//! ```
//! Ranks on the root's node need no link and no token. Nodes follow one another in hierarchy order, and so the senders
//! behind a shared link. Source: the thesis on contention-free communication in docs/provenance.md: all tasks of a
//! Gather use the root's link, so they are one group. In a Scatter the root's own link keeps the order: it sends to one
//! after another, to those that are farthest on the line first. Nobody but the two ends of a message knows its length,
//! so that blocks may be of any size.

use super::{Algorithm, Senders, Spec};
use crate::collective::Collective;
use crate::cost::Meeting;
use crate::pattern::ABREAST;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use crate::topology::{Hierarchy, Line, NodeRanks};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Direct,
    name: "direct",
    collectives: &[Collective::Gather, Collective::Gatherv, Collective::Scatter, Collective::Scatterv],
    needs: "nothing",
    summary: "blocks straight to the root, which lets two senders send at a time, or from it, one after another",
    source: "a Japanese thesis on wide-area Ethernet",
    round: "step",
    plan: |context, role| {
        let plan = if scatters(role.collective) { scatter } else { gather };
        plan(context.grouped(), context.line(), context.node_ranks(), role.root, role.rank)
    },
    stages: |_, collective| {
        let stages: &[&str] = if scatters(collective) { &["step"] } else { &["step", "token"] };
        stages.iter().map(|&stage| stage.to_owned()).collect()
    },
    chunks: None,
    senders: Some(|_| Senders { meeting: Meeting::TwoNodes, abreast: ABREAST }),
    fits: None,
    cost: None,
};

/// Senders whose turn it is at the same time: the second fills the time that the token of the third travels.
const SENDERS: usize = 2;

/// Tags of blocks and of tokens.
const BLOCK: u32 = 0;
const TOKEN: u32 = 1;

fn scatters(collective: Collective) -> bool {
    matches!(collective, Collective::Scatter | Collective::Scatterv)
}

/// All ranks but the root by the places of their nodes on the line, of which that of the root's comes first.
fn others<'r>(
    hierarchy: &Hierarchy,
    line: &'r Line,
    node_ranks: &'r NodeRanks,
    root: Rank,
) -> impl Iterator<Item = Rank> + use<'r> {
    let home = hierarchy.node_of(root);
    let order = (0..line.nodes()).flat_map(move |place| node_ranks.on(line.after(home, place, 0)).iter().copied());
    order.filter(move |&rank| rank != root)
}

/// Plan of `rank` for Scatter from `root`.
fn scatter(hierarchy: &Hierarchy, line: &Line, node_ranks: &NodeRanks, root: Rank, rank: Rank) -> RankPlan {
    let receivers: Vec<Rank> = others(hierarchy, line, node_ranks, root).collect();
    let own = Parts { space: Space::Output, first: 0, count: 1 };
    let hop = |action, peer, parts, step| Hop {
        action,
        peer,
        parts,
        round: Round { stage: 0, step },
        tag: BLOCK,
        turn: step,
        after: Vec::new(),
    };
    let steps = (0..).zip(receivers.into_iter().rev());
    let block = |of| Parts { space: Space::Input, first: of, count: 1 };
    let hops = if rank == root {
        let sends = steps.map(|(step, receiver)| hop(Action::Send, receiver, block(receiver), step));
        sends.chain([hop(Action::Copy { from: block(root) }, root, own, 0)]).collect()
    } else {
        let own_step = steps.filter(|&(_, receiver)| receiver == rank);
        own_step.map(|(step, _)| hop(Action::Recv, root, own, step)).collect()
    };
    RankPlan::new(rank, node_ranks.ranks(), hops)
}

/// Plan of `rank` for Gather to `root`.
fn gather(hierarchy: &Hierarchy, line: &Line, node_ranks: &NodeRanks, root: Rank, rank: Rank) -> RankPlan {
    let home = hierarchy.node_of(root);
    let hop = |action, peer, parts, (stage, step), after| {
        let tag = if stage == 0 { BLOCK } else { TOKEN };
        Hop { action, peer, parts, round: Round { stage, step }, tag, turn: 0, after }
    };
    let input = Parts { space: Space::Input, first: 0, count: 1 };
    let senders = (0..).zip(others(hierarchy, line, node_ranks, root));
    let inside = node_ranks.on(home).len() - 1;
    let mut hops = Vec::new();
    if rank != root {
        let step = senders.into_iter().find(|&(_, sender)| sender == rank).map_or(0, |(step, _)| step);
        let mut after = Vec::new();
        if hierarchy.node_of(rank) != home {
            hops.push(hop(Action::Recv, root, Parts::token(), (1, step), Vec::new()));
            after.push(0);
        }
        hops.push(hop(Action::Send, root, input, (0, step), after));
        return RankPlan::new(rank, node_ranks.ranks(), hops);
    }
    let block = |of| Parts { space: Space::Output, first: of, count: 1 };
    hops.push(hop(Action::Copy { from: input }, root, block(root), (0, 0), Vec::new()));
    let mut received = Vec::new();
    for (step, sender) in senders {
        let remote = (step as usize).checked_sub(inside);
        if let Some(nth) = remote {
            let after = nth.checked_sub(SENDERS).map_or_else(Vec::new, |earlier| vec![received[inside + earlier]]);
            hops.push(hop(Action::Send, sender, Parts::token(), (1, step), after));
        }
        received.push(hops.len() as u32);
        hops.push(hop(Action::Recv, sender, block(sender), (0, step), Vec::new()));
    }
    RankPlan::new(rank, node_ranks.ranks(), hops)
}
