//! The pipelined chain: every rank forwards to the next in hierarchy order.
//!
//! ```text
//!   Bcast     root → 1 → 2 → … → P-1        Reduce    root ← 1 ← 2 ← … ← P-1        (places on the line, root first)
//! ```
//! Every link of a tree network is crossed once per direction, so a long vector flows at the rate of the thinnest link; the
//! price is the fill, P - 2 segments. The line is the hierarchy order turned so that it starts at the root: it then enters and
//! leaves every group at most twice, the root's own at its two ends. Source: algorithms document, section 1.6.

use super::order::Line;
use crate::collective::Collective;
use crate::schedule::{Action, Hop, Parts, Rank, RankPlan, Round};

/// Plan of `rank` for Reduce, Bcast or Allreduce with `root` (Allreduce: use root 0).
pub fn chain(collective: Collective, line: &Line, root: Rank, rank: Rank) -> RankPlan {
    let place = line.place(rank, root);
    let towards_root = (place > 0).then(|| line.before(rank, 1));
    let away = (place + 1 < line.ranks()).then(|| line.after(rank, 1));
    let mut hops = Vec::new();
    let mut push = |action, peer: Option<Rank>, stage: u16| {
        hops.extend(peer.map(|peer| Hop {
            action,
            peer,
            parts: Parts::vector(0, 1),
            round: Round { stage, step: 0 },
            tag: u32::from(stage),
            after: Vec::new(),
        }));
    };
    let mut stage = 0;
    if collective != Collective::Bcast {
        push(Action::Reduce, away, stage);
        push(Action::Send, towards_root, stage);
        stage += 1;
    }
    if collective != Collective::Reduce {
        push(Action::Recv, towards_root, stage);
        push(Action::Send, away, stage);
    }
    RankPlan { rank, parts: 1, hops }
}
