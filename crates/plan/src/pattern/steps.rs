//! What exchanges have in common: a rank's own block is copied, then it sends and receives one block per step.
//!
//! ```text
//!   step        1        2        3        4       with two steps under way the send of step 3 starts when this rank's
//!   send       ├────────┤├───────┤                 send and receive of step 1 are complete, whatever other ranks do
//!   receive    ├──────┤ ├─────────┤
//!                                 ├───── …
//! ```

use crate::schedule::{ACTIVE_HOPS, Action, Hop, Parts, Rank, RankPlan, Round, Space};

/// One step of an exchange as one rank sees it; `None` where it is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the step, the same on all ranks.
    pub step: u32,
    /// The rank it sends to.
    pub to: Option<Rank>,
    /// The rank it receives from.
    pub from: Option<Rank>,
}

/// Plan of `rank`, one of `ranks`, for an exchange of `steps`; with `in_flight`, at most so many of them are under way
/// at the same time, and 1 completes each before the next.
pub fn stepwise(rank: Rank, ranks: u32, steps: impl IntoIterator<Item = Step>, in_flight: Option<u32>) -> RankPlan {
    let block = |space, of: Rank| Parts { space, first: of, count: 1 };
    let hop = |action, peer, parts, step, after| Hop {
        action,
        peer,
        parts,
        round: Round { stage: 0, step },
        tag: 0,
        turn: step,
        after,
    };
    let copy = Action::Copy { from: block(Space::Input, rank) };
    let mut hops = vec![hop(copy, rank, block(Space::Output, rank), 0, Vec::new())];
    // As many lanes as steps may be under way, and in each what its next send waits for: what its steps have left.
    let mut lanes = vec![Vec::new(); in_flight.map_or(0, |steps| steps.clamp(1, ACTIVE_HOPS as u32)) as usize];
    let mut exchanges = 0;
    for Step { step, to, from } in steps {
        if to.is_none() && from.is_none() {
            continue;
        }
        let lane = (!lanes.is_empty()).then(|| exchanges % lanes.len());
        exchanges += 1;
        let first = hops.len() as u32;
        // The send first: it may wait for receives before it in the list, which must not be of its own step.
        if let Some(peer) = to {
            let after = lane.map_or_else(Vec::new, |lane| std::mem::take(&mut lanes[lane]));
            hops.push(hop(Action::Send, peer, block(Space::Input, peer), step, after));
        }
        hops.extend(from.map(|peer| hop(Action::Recv, peer, block(Space::Output, peer), step, Vec::new())));
        if let Some(lane) = lane {
            lanes[lane].extend(first..hops.len() as u32);
        }
    }
    RankPlan::new(rank, ranks, hops)
}
