//! A Scatter from the Gather of the same shape: every transfer backwards, the last one first.
//!
//! ```text
//!   gather, a relay     send own    recv 2 ► stage    send stage
//!   scatter                         recv 2 ► stage    send stage    recv own
//! ```
//! What gathers without two transfers that wait for each other scatters so too, and where a link is never idle while
//! blocks come together, it is not while they part.

use crate::schedule::{Action, Hop, Parts, RankPlan, Round, Space};

/// The opposite of a plan that copies, sends and receives, and whose hops are ordered by their data alone. `last`: of
/// every stage the last step that a rank has.
pub fn mirrored(plan: RankPlan, last: &[u32]) -> RankPlan {
    debug_assert!(plan.hops.iter().all(|hop| hop.after.is_empty()), "an order beside that of the data");
    let last_turn = plan.hops.iter().map(|hop| hop.turn).max().unwrap_or(0);
    let mirrored = plan.hops.iter().rev().map(|hop| opposite(hop, last, last_turn)).collect();
    RankPlan { hops: mirrored, ..plan }
}

fn opposite(hop: &Hop, last: &[u32], last_turn: u32) -> Hop {
    let Round { stage, step } = hop.round;
    let round = Round { stage: last.len() as u16 - 1 - stage, step: last[stage as usize] - step };
    let parts = other_side(hop.parts);
    let (action, parts) = match hop.action {
        Action::Send => (Action::Recv, parts),
        Action::Recv => (Action::Send, parts),
        Action::Copy { from } => (Action::Copy { from: parts }, other_side(from)),
        // No Gather has these.
        action @ (Action::Reduce | Action::Shuffle { .. }) => (action, parts),
    };
    Hop { action, parts, round, turn: last_turn - hop.turn, after: Vec::new(), ..*hop }
}

/// What was received is sent.
const fn other_side(parts: Parts) -> Parts {
    let space = match parts.space {
        Space::Input => Space::Output,
        Space::Output => Space::Input,
        space @ (Space::Vector | Space::Stage) => space,
    };
    Parts { space, ..parts }
}
