//! What exchanges have in common: a rank's own block is copied, then it sends and receives one block per step.
//!
//! ```text
//!   step        1        2        3        4            two steps in flight: the send of step 3 starts when this rank's
//!   send       ├────────┤├───────┤                      send and receive of step 1 are complete, whatever other ranks do
//!   receive    ├──────┤ ├─────────┤
//!                                 ├───── …
//! ```

use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round, Space};

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

/// Plan of `rank`, one of `ranks`, for an exchange of `steps`; at most `in_flight` of them are under way at the same time, and
/// 1 completes each before the next.
pub fn exchange(rank: Rank, ranks: u32, steps: impl IntoIterator<Item = Step>, in_flight: u32) -> RankPlan {
    let block = |space, of: Rank| Parts { space, first: of, count: 1 };
    let hop = |action, peer, parts, step, after| Hop {
        action,
        peer,
        parts,
        round: Round { stage: 0, step },
        tag: 0,
        turn: 0,
        after,
    };
    let copy = Action::Copy { from: block(Space::Input, rank) };
    let mut hops = vec![hop(copy, rank, block(Space::Output, rank), 0, Vec::new())];
    // First hop of every step that is not idle, the copy's included.
    let mut starts = vec![0];
    for Step { step, to, from } in steps {
        if to.is_none() && from.is_none() {
            continue;
        }
        starts.push(hops.len());
        let earlier = (starts.len() - 1).checked_sub(in_flight.max(1) as usize).filter(|&step| step > 0);
        let paced_by = earlier.map_or_else(Vec::new, |n| (starts[n] as u32..starts[n + 1] as u32).collect());
        // The send first: it may wait for receives before it in the list, which must not be of its own step.
        if let Some(to) = to {
            hops.push(hop(Action::Send, to, block(Space::Input, to), step, paced_by));
        }
        if let Some(from) = from {
            hops.push(hop(Action::Recv, from, block(Space::Output, from), step, Vec::new()));
        }
    }
    RankPlan::new(rank, ranks, hops)
}
