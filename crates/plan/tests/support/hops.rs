//! Hops made by hand, for plans that no algorithm makes.

use nagare_plan::schedule::{Action, Hop, Parts, Rank, Round};

/// A hop of the first round that begins after these of its rank.
pub fn hop(action: Action, peer: Rank, parts: Parts, after: Vec<u32>) -> Hop {
    Hop { action, peer, parts, round: Round { stage: 0, step: 0 }, tag: 0, turn: 0, after }
}
