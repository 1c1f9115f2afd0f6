//! The segmented ring: reduce-scatter, then allgather, around all ranks in hierarchy order.
//!
//! ```text
//!   P parts; in step t the rank at place i sends part i - t and combines part i - t - 1      (t = 0 … P-2)
//!   then it owns part i + 1; in step t it sends part i + 1 - t and receives part i - t        (t = 0 … P-2)
//! ```
//! Every rank sends and receives 2n(P-1)/P: what Allreduce needs at least on one link per rank. Every link between groups is
//! crossed by one pair of neighbours per direction. Source: algorithms document, section 1.6.

use super::order::Line;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};

/// Tags every MPI library has (MPI 4.0 section 9.1.2): neighbours have many parts under way at once, each with its own tag,
/// and hops this far apart never are.
const TAGS: u32 = 1 << 15;

/// Plan of `rank` for Allreduce.
pub fn ring(line: &Line, rank: Rank) -> RankPlan {
    let ranks = line.ranks();
    let place = line.place(rank, line.first());
    let (next, previous) = (line.after(rank, 1), line.before(rank, 1));
    let mut hops = Vec::new();
    let part = |offset: i64| (i64::from(place) + offset).rem_euclid(i64::from(ranks)) as u32;
    for (stage, (action, ahead)) in [(Action::Reduce, 0), (Action::Recv, 1)].into_iter().enumerate() {
        for step in 0..ranks.saturating_sub(1) {
            let mut push = |action, peer, part| {
                hops.push(Hop {
                    action,
                    peer,
                    parts: Parts::vector(part, 1),
                    round: Round { stage: stage as u16, step },
                    tag: (stage as u32 * ranks + step) % TAGS,
                    after: Vec::new(),
                });
            };
            let t = i64::from(step);
            push(action, previous, part(ahead - t - 1));
            push(Action::Send, next, part(ahead - t));
        }
    }
    RankPlan { rank, parts: ranks.max(1), hops }
}
