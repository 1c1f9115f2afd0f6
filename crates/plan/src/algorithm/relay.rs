//! Gather and Scatter along a pipeline of nodes: every node passes on what comes from behind it, or what is for those.
//!
//! ```text
//!   root ◄── node 1 ◄── node 2 ◄── node 3          node 1 sends its own blocks first, then node 2's, then node 3's:
//!          1 2 3       2 3         3                the root's link is busy from the first moment to the last
//! ```
//! Each node sends through the one before it, so no two messages ever wait for one link and no token is needed. (In the
//! thesis every task decides whether to go through another; where links are alike, that is never better.) Nodes follow
//! one another as in a chain (see [`mod@super::chain`]), on a torus half of them on either way around, since one link
//! of it is no faster than a part of the root's; only leaders talk between nodes, and the other ranks of a node hand
//! their blocks to its leader. At most [`SLOTS`] blocks are in a relay's memory. A Scatter is the same backwards: the
//! farthest block leaves first, and a node's own arrive last. Source: the thesis on contention-free communication in
//! docs/provenance.md.

use super::{Algorithm, Candidacy, Role, Spec, spec::steps};
use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{Rounds, Waits};
use crate::pattern::mirrored;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space, TAGS};
use crate::topology::{Hierarchy, Line, NodeRanks};

/// The row of the table.
pub const SPEC: Spec = Spec {
    algorithm: Algorithm::Relay,
    name: "relay",
    collectives: &[Collective::Gather, Collective::Scatter],
    needs: "nothing",
    summary: "a pipeline of nodes to or from the root: each sends its own blocks, then those that it receives, or the \
              other way round",
    source: "a Japanese thesis on wide-area Ethernet",
    round: "block",
    plan: plan_of,
    stages: |_, _| vec!["relay".to_owned()],
    chunks: None,
    senders: None,
    // Elsewhere than on a torus the root's link is one that every order keeps busy.
    fits: Some(|context, _, _| context.line().lanes() > 1 && context.line().nodes() <= MOST_RELAYED),
    cost: |context, collective| {
        // The farthest block goes from node to node, while nearer ones arrive.
        let waits = Waits { idle: 0.0, hidden: f64::from(last_of_first_lane(context.line()).saturating_sub(1)) };
        let role = |rank| Role { collective, root: 0, rank, chunks: 1 };
        steps(context, (Rounds::Together, waits), |rank| plan_of(context, role(rank)))
    },
    candidacy: Candidacy::None,
};

fn plan_of(context: &Context, role: Role) -> RankPlan {
    let gather = plan(context.grouped(), context.line(), context.node_ranks(), role.root, role.rank);
    match role.collective {
        Collective::Scatter => mirrored(gather, &[context.node_ranks().ranks() - 1]),
        _ => gather,
    }
}

/// Nodes up to which a pipeline through all of them is a default: farther ones arrive too late.
const MOST_RELAYED: u32 = 128;

/// Blocks that a relay has room for: one that arrives while another leaves, and two for ranks that are late.
const SLOTS: u32 = 4;

/// A block on its way: whose it is, and where its node is on which of the two ways around.
#[derive(Clone, Copy)]
struct Passing {
    owner: Rank,
    place: u32,
    lane: u32,
}

/// All blocks, in the order in which they reach the root: by place, and of one node its leader's first.
fn arriving(hierarchy: &Hierarchy, line: &Line, node_ranks: &NodeRanks, root: Rank) -> Vec<Passing> {
    let home = hierarchy.node_of(root);
    let first_lane = last_of_first_lane(line);
    let nodes = (0..=first_lane).flat_map(|place| {
        let second = (1..line.nodes() - first_lane).contains(&place).then_some(1);
        std::iter::once(0).chain(second).map(move |lane| (place, lane))
    });
    let of_node = |(place, lane): (u32, u32)| {
        let node = line.after(home, place, lane);
        let leader = hierarchy.leader(node, root);
        let others = node_ranks.on(node).iter().copied().filter(move |&rank| rank != leader);
        std::iter::once(leader).chain(others).map(move |owner| Passing { owner, place, lane })
    };
    nodes.flat_map(of_node).collect()
}

/// Place of the node farthest from the root on the first way around; with two ways half of the nodes are on each.
fn last_of_first_lane(line: &Line) -> u32 {
    if line.lanes() > 1 { line.nodes() / 2 } else { line.nodes() - 1 }
}

/// Plan of `rank` for Gather to `root`.
fn plan(hierarchy: &Hierarchy, line: &Line, node_ranks: &NodeRanks, root: Rank, rank: Rank) -> RankPlan {
    let home = hierarchy.node_of(root);
    let own = hierarchy.node_of(rank);
    let lane = u32::from(line.place(own, home, 0) > last_of_first_lane(line));
    let place = line.place(own, home, lane);
    let leads = rank == hierarchy.leader(own, root);
    let leader = |node| hierarchy.leader(node, root);
    let next = match (leads, place) {
        (false, _) => Some(leader(own)),
        (true, 0) => None,
        (true, _) => Some(leader(line.before(own, 1, lane))),
    };
    let block = |space, of| Parts { space, first: of, count: 1 };
    let mut hops = Vec::new();
    let mut staged = 0;
    for (nth, passing) in (0..).zip(arriving(hierarchy, line, node_ranks, root)) {
        let owner = passing.owner;
        let mut push = |action, peer, parts| {
            let round = Round { stage: 0, step: nth };
            hops.push(Hop { action, peer, parts, round, tag: nth % TAGS, turn: nth, after: Vec::new() });
        };
        if owner == rank {
            match next {
                Some(next) => push(Action::Send, next, block(Space::Input, 0)),
                None => push(Action::Copy { from: block(Space::Input, 0) }, rank, block(Space::Output, rank)),
            }
            continue;
        }
        // The root is on both ways.
        let behind = passing.place >= place && (passing.lane == lane || place == 0);
        if !leads || !behind {
            continue;
        }
        let from = if passing.place == place { owner } else { leader(line.after(own, 1, passing.lane)) };
        let into = next.map_or(block(Space::Output, owner), |_| block(Space::Stage, staged % SLOTS));
        push(Action::Recv, from, into);
        if let Some(next) = next {
            push(Action::Send, next, into);
            staged += 1;
        }
    }
    RankPlan { staged: staged.min(SLOTS), ..RankPlan::new(rank, node_ranks.ranks(), hops) }
}
