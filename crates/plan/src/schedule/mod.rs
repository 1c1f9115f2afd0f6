//! The one intermediate form of all algorithms: what each rank sends, receives and combines, and in which order.
//!
//! ```text
//!   algorithm::* ──►  RankPlan { hops }  ──►  Program (dependencies)  ──►  execute::Executor  ──►  Transport
//!                        │
//!                        └──►  tables, JSON, the checker, the symbolic verification
//! ```
//!
//! A collective works on *parts*. For Reduce, Bcast and Allreduce the user's vector is cut into `parts` parts of equal
//! size (two for a two-tree: one per tree). For Alltoall, Gather and Scatter part j is the block of rank j; blocks that
//! only pass through a rank are staged there. For Allgather and Reduce_scatter every block is cut into the same number
//! of slices, and part `rank · slices + slice` is one of these; in the staging space they lie as [`RankPlan::order`]
//! says.
//! A [`Hop`] moves a run of parts between this rank and one peer. Hops on disjoint parts are independent; hops on
//! overlapping parts happen in list order, **per segment**: a hop may work on its first segment as soon as the earlier
//! hops are done with that segment. This one rule gives pipelined trees, chains, rings, and halving and doubling;
//! `after` adds the order between hops that share no data (steps of an exchange, tokens).

mod connections;
mod pacing;
mod program;
mod table;

pub use crate::collective::Rank;
pub use connections::Connection;
pub use pacing::{ACTIVE_HOPS, Flow, Pacing};
pub use program::{Dependencies, Program, ProgramError, Source};
pub use table::{SendTable, send_tables};

use crate::collective::Collective;
use serde::{Deserialize, Serialize};

/// Which of a rank's buffers parts are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// The one vector of Reduce, Bcast and Allreduce: this rank's contribution until something is received or combined
    /// into it.
    Vector,
    /// The send blocks of Alltoall and of Scatter's root, one part per destination rank; the one block of Gather and
    /// Allgather; the vector of Reduce_scatter. Never written.
    Input,
    /// The receive blocks of Alltoall, Allgather and of Gather's root, one part per source rank; the one block of
    /// Scatter and Reduce_scatter.
    Output,
    /// Blocks on their way through this rank, in memory of Nagare.
    Stage,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 4] = [Self::Vector, Self::Input, Self::Output, Self::Stage];
}

/// A run of consecutive parts of one space; empty runs are tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parts {
    /// Where the parts are.
    pub space: Space,
    /// First part.
    pub first: u32,
    /// Number of parts; 0 makes the hop a token, a message without data that only orders others.
    pub count: u32,
}

impl Parts {
    /// `count` parts of the vector from `first` on.
    pub const fn vector(first: u32, count: u32) -> Self {
        Self { space: Space::Vector, first, count }
    }

    /// A token.
    pub const fn token() -> Self {
        Self::vector(0, 0)
    }

    /// One past the last part.
    pub const fn end(self) -> u32 {
        self.first + self.count
    }

    /// Whether the two runs share a part of the same space.
    pub fn overlaps(self, other: Self) -> bool {
        self.space == other.space && self.first < other.end() && other.first < self.end()
    }
}

/// What a hop does with its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    /// Send them to the peer.
    Send,
    /// Receive them from the peer, replacing what is there.
    Recv,
    /// Receive the peer's and combine them with ours by the operation of the call.
    Reduce,
    /// Copy `from` to the hop's parts inside this rank; the peer is the rank itself.
    Copy {
        /// The source, of the same number of parts.
        from: Parts,
    },
    /// Copy single blocks inside this rank, from any places to any places; the peer is the rank itself, and the hop's
    /// parts reach from the first place that is written to the last.
    Shuffle {
        /// From the first place that is read to the last.
        from: Parts,
        /// Which blocks go where: an entry of [`RankPlan::shuffles`].
        table: u32,
    },
}

impl Action {
    /// What is copied inside the rank, for a copy or a shuffle.
    pub const fn copied(self) -> Option<Parts> {
        match self {
            Self::Copy { from } | Self::Shuffle { from, .. } => Some(from),
            Self::Send | Self::Recv | Self::Reduce => None,
        }
    }
}

/// Blocks of a shuffle that are neighbours before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Run {
    /// First part that is read, in the space of the shuffle's `from`.
    pub from: u32,
    /// First part that is written, in the space of the hop's parts.
    pub to: u32,
    /// Number of parts.
    pub count: u32,
}

/// Which round of the schedule a hop belongs to: transfers of one round may happen at the same time.
///
/// In a pipelined tree a round is one colour of one level and recurs for every block; in a stepwise exchange it is a
/// step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round {
    /// Level of the hierarchy, counted in the order in which data passes the levels.
    pub stage: u16,
    /// Colour within the level, or step.
    pub step: u32,
}

/// Number of stream tags: an eighth of the tags that every MPI library has (MPI 4.0 section 9.1.2); the other bits of a
/// tag tell calls and lengths apart. Where a connection has more streams than there are tags, streams with the same tag
/// send in the order of their turns and receive in the order of the list; the two orders are the same.
pub const TAGS: u32 = 1 << 12;

/// One transfer seen from one of its two ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hop {
    /// Send, receive, combine, copy or shuffle.
    #[serde(flatten)]
    pub action: Action,
    /// The rank at the other end.
    pub peer: Rank,
    /// What is moved.
    pub parts: Parts,
    /// The round it belongs to.
    pub round: Round,
    /// Tells apart the streams between the same two ranks in the same direction; both ends use the same value, below
    /// [`TAGS`].
    pub tag: u32,
    /// Of several sends that are ready the lowest turn goes first, of one turn the lowest segment: streams of one turn
    /// are served alternately, as the halves of a vector, those of different turns one after another, as the parts of a
    /// ring.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// Hops of this plan, by index and all earlier in the list, that must be complete before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<u32>,
}

// The signature serde asks for.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(turn: &u32) -> bool {
    *turn == 0
}

/// What one rank does in one collective: a pure function of the facts all ranks share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPlan {
    /// The rank this is for.
    pub rank: Rank,
    /// Number of parts of the vector, or of the user's blocks with all their slices.
    pub parts: u32,
    /// Number of blocks the staging space has room for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub staged: u32,
    /// Allgather and Reduce_scatter: the part that every part of the staging space is; empty where nothing is staged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<u32>,
    /// What the shuffles among the hops do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shuffles: Vec<Vec<Run>>,
    /// In order of priority; the order is the same partial order on all ranks.
    pub hops: Vec<Hop>,
}

impl RankPlan {
    /// A plan without a staging space.
    pub const fn new(rank: Rank, parts: u32, hops: Vec<Hop>) -> Self {
        Self { rank, parts, staged: 0, order: Vec::new(), shuffles: Vec::new(), hops }
    }

    /// The runs of a shuffle; none of other hops.
    pub fn runs(&self, hop: &Hop) -> &[Run] {
        match hop.action {
            Action::Shuffle { table, .. } => self.shuffles.get(table as usize).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Number of parts that `space` has.
    pub const fn parts_of(&self, space: Space) -> u32 {
        match space {
            Space::Vector | Space::Input | Space::Output => self.parts,
            Space::Stage => self.staged,
        }
    }
}

/// The plans of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// What it implements.
    pub collective: Collective,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Root, 0 where the collective has none.
    pub root: Rank,
    /// Name of each stage (see [`Round::stage`]).
    pub stages: Vec<String>,
    /// One plan per rank, in rank order.
    pub plans: Vec<RankPlan>,
}

/// A transfer of a whole schedule, both ends known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Round it happens in.
    pub round: Round,
    /// Sender.
    pub from: Rank,
    /// Receiver.
    pub to: Rank,
    /// Parts moved, as the sender counts them.
    pub parts: Parts,
    /// Number of parts a whole buffer has.
    pub of: u32,
}

impl Schedule {
    /// Parts of a block: 1 but for Allgather and Reduce_scatter.
    pub fn slices(&self) -> u32 {
        let parts = self.plans.first().filter(|_| self.collective.has_blocks_of_all()).map_or(0, |plan| plan.parts);
        (parts / (self.plans.len() as u32).max(1)).max(1)
    }

    /// All transfers, ordered by round and then by sender.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves: Vec<Move> = self
            .plans
            .iter()
            .flat_map(|plan| {
                plan.hops.iter().filter(|hop| hop.action == Action::Send).map(|hop| Move {
                    round: hop.round,
                    from: plan.rank,
                    to: hop.peer,
                    parts: hop.parts,
                    of: plan.parts,
                })
            })
            .collect();
        moves.sort_by_key(|m| (m.round, m.from, m.to));
        moves
    }
}
