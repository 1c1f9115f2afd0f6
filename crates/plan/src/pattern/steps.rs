//! What exchanges have in common: a rank's own block is copied, then it sends and receives one block per step.
//!
//! ```text
//!   step        1        2        3        4       with two steps under way the send of step 3 starts when this rank's
//!   send       ├────────┤├───────┤                 send and receive of step 1 are complete, whatever other ranks do
//!   receive    ├──────┤ ├─────────┤
//!                                 ├───── …
//! ```
//! Without a bound on steps the blocks of three steps are sent alternately, as in a contention-free order: where one is
//! held up, since another rank is late, the others go on.
//!
//! Ranks that take their steps together send tokens between two steps, each to the ranks 1, 2, 4, … on, one after
//! another, and each waits for the step and for the tokens received so far. So a rank knows after the k-th that 2ᵏ
//! ranks have completed the step, itself and those before it, and after ⌈log₂ P⌉ that all have.
//!
//! ```text
//!   five ranks, what rank 0 knows to be done after tokens from ranks 4, 3 and 1:    ranks 4 0    ranks 2 3 4 0    all
//! ```

use super::ABREAST;
use crate::schedule::{ACTIVE_HOPS, Action, Hop, Parts, Rank, RankPlan, Round, Space, TAGS};
use std::str::FromStr;

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

/// How many steps of an exchange may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// So many of a rank, at least 1; 1 completes each before the next.
    InFlight(u32),
    /// One of all ranks: none begins it before all have completed the one before.
    Together,
}

/// The most steps that can be said.
const MOST: u32 = 32;

impl FromStr for Steps {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = || text.parse().ok().filter(|steps| (1..=MOST).contains(steps)).map(Self::InFlight);
        let steps = if text == "together" { Some(Self::Together) } else { number() };
        steps.ok_or("expected a number between 1 and 32, or together")
    }
}

impl Steps {
    /// How many of a rank.
    pub const fn of_a_rank(self) -> u32 {
        match self {
            Self::InFlight(steps) => steps,
            Self::Together => 1,
        }
    }
}

/// Stages of a plan of [`stepwise`]: the steps, and the tokens by how many ranks on they go.
pub fn step_stages(ranks: u32, pace: Option<Steps>) -> Vec<String> {
    let tokens = distances(ranks).filter(|_| pace == Some(Steps::Together));
    ["step".to_owned()].into_iter().chain(tokens.map(|on| format!("token +{on}"))).collect()
}

/// Plan of `rank`, one of `ranks`, for an exchange of `steps`, which are the same numbers on all ranks.
pub fn stepwise(rank: Rank, ranks: u32, steps: impl IntoIterator<Item = Step>, pace: Option<Steps>) -> RankPlan {
    let block = |space, of: Rank| Parts { space, first: of, count: 1 };
    let hop = |action, peer, parts, step, turn, after| Hop {
        action,
        peer,
        parts,
        round: Round { stage: 0, step },
        tag: 0,
        turn,
        after,
    };
    let copy = Action::Copy { from: block(Space::Input, rank) };
    let mut hops = vec![hop(copy, rank, block(Space::Output, rank), 0, 0, Vec::new())];
    // As many lanes as steps may be under way, and in each what its next send waits for: what its steps have left.
    let lane_count = pace.map_or(0, |pace| pace.of_a_rank().clamp(1, ACTIVE_HOPS as u32));
    let mut lanes = vec![Vec::new(); lane_count as usize];
    let (mut exchanges, mut sends) = (0, 0);
    let mut steps = steps.into_iter().peekable();
    while let Some(Step { step, to, from }) = steps.next() {
        let lane = (!lanes.is_empty()).then(|| exchanges % lanes.len());
        exchanges += usize::from(to.is_some() || from.is_some());
        let first = hops.len() as u32;
        // The send first: it may wait for receives before it in the list, which must not be of its own step.
        if let Some(peer) = to {
            let after = lane.map_or_else(Vec::new, |lane| std::mem::take(&mut lanes[lane]));
            let turn = if pace.is_some() { step } else { 1 + sends / ABREAST };
            hops.push(hop(Action::Send, peer, block(Space::Input, peer), step, turn, after));
            sends += 1;
        }
        hops.extend(from.map(|peer| hop(Action::Recv, peer, block(Space::Output, peer), step, step, Vec::new())));
        if let Some(lane) = lane {
            lanes[lane].extend(first..hops.len() as u32);
        }
        if pace == Some(Steps::Together) && steps.peek().is_some() {
            wait_for_all(rank, ranks, step, &mut hops, &mut lanes[0]);
        }
    }
    RankPlan::new(rank, ranks, hops)
}

/// Tokens after a step; `left` are the hops that must be complete before they go, and then before the next step.
fn wait_for_all(rank: Rank, ranks: u32, step: u32, hops: &mut Vec<Hop>, left: &mut Vec<u32>) {
    for (stage, on) in (1..).zip(distances(ranks)) {
        let token = |action, peer, after| Hop {
            action,
            peer,
            parts: Parts::token(),
            round: Round { stage, step },
            // Tokens between the same two ranks come in the order of their steps.
            tag: 1 + step % (TAGS - 1),
            turn: step,
            after,
        };
        // All later tokens wait for the first, and so for what it waited for.
        let after = if on == 1 { std::mem::take(left) } else { left.clone() };
        hops.push(token(Action::Send, (rank + on) % ranks, after));
        if on == 1 {
            left.push(hops.len() as u32 - 1);
        }
        hops.push(token(Action::Recv, (rank + ranks - on) % ranks, Vec::new()));
        left.push(hops.len() as u32 - 1);
    }
}

/// 1, 2, 4, … below the number of ranks.
fn distances(ranks: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).map(|bit| 1 << bit).take_while(move |&on| on < ranks)
}
