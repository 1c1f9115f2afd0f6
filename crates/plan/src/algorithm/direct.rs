//! Gather straight to the root, as many senders at a time as the links carry, and Scatter straight from it.
//!
//! ```text
//!   root    token→1   token→2   ⟨1 received⟩ token→3   ⟨2 received⟩ token→4 …
//!   1, 2    ════════▶ ════════▶        a block received starts the sender after the next: the root's link never idles,
//!                                      and what two have under way fits its queue
//! ```
//! Where the root's link carries k hosts at once, there are k such rows beside one another; a thin link that several
//! hosts share is in one of them (`tasks/starts.rs`). A sender waits for what was received before that which leaves it
//! its share of links. Ranks on the root's node need no link and no token. Where nothing else decides, nodes follow one
//! another in hierarchy order, and so the senders behind a shared link. Source: the thesis on contention-free
//! communication in docs/provenance.md. In a Scatter the root's own link keeps the order: it sends to one after
//! another, to those that are farthest on the line first. Nobody but the two ends of a message knows its length, so
//! that blocks may be of any size.

use super::{Algorithm, Candidacy, Senders, Spec, spec::pairs};
use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Meeting, Waits};
use crate::pattern::ABREAST;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};
use crate::tasks::{Routes, Start, Task, Tasks, starts};
use crate::topology::{Hierarchy, Line, NodeRanks};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Direct,
    name: "direct",
    collectives: &[Collective::Gather, Collective::Gatherv, Collective::Scatter, Collective::Scatterv],
    needs: "nothing",
    summary: "blocks straight to the root, which lets twice as many send at a time as the links carry, or from it, one \
              after another",
    source: "a Japanese thesis on wide-area Ethernet",
    round: "step",
    plan: |context, role| {
        if scatters(role.collective) {
            return scatter(context.grouped(), context.line(), context.node_ranks(), role.root, role.rank);
        }
        gather(context, role.root, role.rank)
    },
    stages: |_, collective| {
        let stages: &[&str] = if scatters(collective) { &["step"] } else { &["step", "token"] };
        stages.iter().map(|&stage| stage.to_owned()).collect()
    },
    chunks: None,
    senders: Some(|_| Senders { meeting: Meeting::ToOne, ahead: ABREAST }),
    // Elsewhere the root's link is one that every order keeps busy.
    fits: Some(|context, collective, _| collective == Collective::Gather && gains(context)),
    cost: |context, collective| {
        if scatters(collective) {
            return pairs(context, Waits::default(), |from, _| from == 0);
        }
        // While a token goes to a sender another block arrives.
        let senders = context.topology().ranks() - context.node_ranks().on(context.grouped().node_of(0)).len() as u32;
        pairs(context, Waits { idle: 1.0, hidden: f64::from(senders) }, |_, to| to == 0)
    },
    candidacy: Candidacy::Trial,
};

/// Senders on other nodes whose starts are worked out, within a millisecond; of more, two at a time have their turn.
const MOST_SENDERS: usize = 128;

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

/// A sender on another node.
struct Sender {
    rank: Rank,
    /// Number from 0 of those that start at the same time.
    step: u32,
    /// What must be received before its turn, by place in the list of senders.
    after: Vec<usize>,
}

/// The senders on other nodes by their turns. Each is let go one turn ahead, so that its bytes are there when its turn
/// comes: when what that turn follows may start, not when it is done.
fn turns(context: &Context, remote: &[Rank], home: u32) -> Vec<Sender> {
    let in_turn = |(place, &rank): (usize, &Rank)| Sender { rank, step: place as u32, after: ahead(place, 2) };
    if remote.len() > MOST_SENDERS {
        return remote.iter().enumerate().map(in_turn).collect();
    }
    let hierarchy = context.grouped();
    let routes = Routes::to(&mut context.wires(), hierarchy.node_count(), home);
    let task = |&rank: &Rank| Task { from: hierarchy.node_of(rank), to: home, bytes: 1 };
    let starts = starts(&Tasks::new(&routes, remote.iter().map(task))).0;
    debug_assert_eq!(starts.len(), remote.len(), "a sender without a start would wait for ever");
    let mut place_of = vec![0; remote.len()];
    (0..).zip(&starts).for_each(|(place, start)| place_of[start.task as usize] = place);
    let (mut tick, mut step) = (0, 0);
    let sender = |start: &Start| {
        step += u32::from(start.tick > tick);
        tick = start.tick;
        let before = start.follows.iter().flat_map(|&task| &starts[place_of[task as usize]].follows);
        let mut after: Vec<usize> = before.map(|&task| place_of[task as usize]).collect();
        after.sort_unstable();
        after.dedup();
        Sender { rank: remote[start.task as usize], step, after }
    };
    starts.iter().map(sender).collect()
}

/// Whether the widest host, as a root, has room for two senders at a time or more: then the predicted time is at most
/// half of what they take one after another. A tree of senders, as libraries have it, keeps no such root busy.
fn gains(context: &Context) -> bool {
    let mut wires = context.wires();
    let nodes = context.grouped().node_count();
    let per_byte: Vec<f64> = (0..nodes).map(|node| wires.of_host(node)).collect();
    let Some(root) = (0..nodes).reduce(|a, b| if per_byte[b as usize] < per_byte[a as usize] { b } else { a }) else {
        return false;
    };
    let alike = per_byte.iter().all(|&other| other <= per_byte[root as usize]);
    if alike || context.topology().ranks() as usize > MOST_SENDERS {
        return false;
    }
    let routes = Routes::to(&mut wires, nodes, root);
    let tasks = Tasks::new(&routes, (0..nodes).map(|from| Task { from, to: root, bytes: 1 }));
    let one_by_one: u64 = (0..tasks.len() as u32).map(|task| tasks.transfer(task)).sum();
    2 * starts(&tasks).1 <= one_by_one
}

/// The one so many places before, if there is one.
fn ahead(place: usize, places: usize) -> Vec<usize> {
    place.checked_sub(places).into_iter().collect()
}

/// Plan of `rank` for Gather to `root`.
fn gather(context: &Context, root: Rank, rank: Rank) -> RankPlan {
    let (hierarchy, node_ranks) = (context.grouped(), context.node_ranks());
    let home = hierarchy.node_of(root);
    let hop = |action, peer, parts, (stage, step), after| {
        let tag = if stage == 0 { BLOCK } else { TOKEN };
        Hop { action, peer, parts, round: Round { stage, step }, tag, turn: 0, after }
    };
    let input = Parts { space: Space::Input, first: 0, count: 1 };
    let block = |of| Parts { space: Space::Output, first: of, count: 1 };
    let (inside, remote): (Vec<Rank>, Vec<Rank>) =
        others(hierarchy, context.line(), node_ranks, root).partition(|&rank| hierarchy.node_of(rank) == home);
    let mut hops = Vec::new();
    if let Some(step) = inside.iter().position(|&sender| sender == rank) {
        hops.push(hop(Action::Send, root, input, (0, step as u32), Vec::new()));
        return RankPlan::new(rank, node_ranks.ranks(), hops);
    }
    let first = inside.len() as u32;
    let turns = turns(context, &remote, home);
    if let Some(own) = turns.iter().find(|sender| sender.rank == rank) {
        let step = first + own.step;
        hops.push(hop(Action::Recv, root, Parts::token(), (1, step), Vec::new()));
        hops.push(hop(Action::Send, root, input, (0, step), vec![0]));
        return RankPlan::new(rank, node_ranks.ranks(), hops);
    }
    hops.push(hop(Action::Copy { from: input }, root, block(root), (0, 0), Vec::new()));
    hops.extend((0..).zip(&inside).map(|(step, &rank)| hop(Action::Recv, rank, block(rank), (0, step), Vec::new())));
    let mut received = Vec::with_capacity(turns.len());
    for sender in &turns {
        let step = first + sender.step;
        let after = sender.after.iter().map(|&place| received[place]).collect();
        hops.push(hop(Action::Send, sender.rank, Parts::token(), (1, step), after));
        received.push(hops.len() as u32);
        hops.push(hop(Action::Recv, sender.rank, block(sender.rank), (0, step), Vec::new()));
    }
    RankPlan::new(rank, node_ranks.ranks(), hops)
}
