//! Plays a whole schedule in time on a network.
//!
//! ```text
//!   order.rs   which hop may go on, by `after`, data and the window of hops a rank works on
//!   step.rs    which sends wait so that ranks stay in step
//!   flows.rs   messages under way as fluids: every directed link is shared max-min fairly
//!   player.rs  goes from one end or arrival of a message to the next
//!   busy.rs    when each link was busy, and when more was on its way to it than it can carry
//! ```
//! A message of data starts when the hops of both its ends may start (as one beyond the eager limit does); its send is
//! finished when its last byte has left, its receive one latency later. A **token**, a message without bytes, starts
//! with its send and takes one latency. The latency is that of the links of the route and the file's `message_latency`.
//! Where connections are hashed over several ways, each pair of ranks takes one that is drawn, the same in every run.
//! Messages inside a host and copies take no time. What a link carries is data: no headers, no lost packets, no
//! processors.

mod busy;
mod flows;
mod order;
mod player;
mod step;

use serde::Serialize;
use thiserror::Error;

use self::order::Order;
use self::player::Player;
use super::ids::{Adapter, DirectedLink};
use super::model::Fabric;
use crate::schedule::{Parts, ProgramError, Rank, Schedule, Space};

/// A stretch of time in which more is on its way to a link than it can carry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overload {
    /// Seconds from the start.
    pub start: f64,
    /// Seconds from the start.
    pub end: f64,
    /// What comes in at most, relative to what the link carries.
    pub demand: f64,
    /// Messages at once, at most.
    pub messages: usize,
}

/// One direction of a link over the whole time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkTime {
    /// The link and direction.
    #[serde(skip)]
    pub link: DirectedLink,
    /// Where it starts.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Bandwidth over all cables, Mbit/s.
    pub mbit: f64,
    /// Bytes carried.
    pub bytes: u64,
    /// Share of the whole time in which some message was on it.
    pub busy: f64,
    /// Share of what it could have carried in the whole time.
    pub used: f64,
    /// When its input exceeded it, in order.
    pub overloads: Vec<Overload>,
}

impl LinkTime {
    /// Seconds in which the input exceeded the link.
    pub fn overloaded(&self) -> f64 {
        self.overloads.iter().map(|o| o.end - o.start).sum()
    }
}

/// A schedule played in time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// Seconds until the last rank is done.
    pub finish: f64,
    /// Seconds that the busiest link needs for its bytes at least.
    pub bound: f64,
    /// Messages with data between different hosts.
    pub messages: usize,
    /// Tokens between different hosts.
    pub tokens: usize,
    /// Every directed link that carries data, in link order.
    pub links: Vec<LinkTime>,
}

impl Timeline {
    /// The time taken relative to the bound; 1 is the best, also where no link carries anything.
    pub fn ratio(&self) -> f64 {
        if self.bound > 0.0 { self.finish / self.bound } else { 1.0 }
    }

    /// The links whose input exceeded them, longest first.
    pub fn conflicts(&self) -> Vec<&LinkTime> {
        let mut found: Vec<&LinkTime> = self.links.iter().filter(|l| !l.overloads.is_empty()).collect();
        found.sort_by(|a, b| b.overloaded().total_cmp(&a.overloaded()).then(a.link.cmp(&b.link)));
        found
    }
}

/// Input that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimelineError {
    /// A rank without a host, or with one that the fabric does not have.
    #[error("rank {0} takes part, but is on no host of the fabric")]
    NoHost(Rank),
    /// A plan is inconsistent in itself.
    #[error("rank {rank}: {error}")]
    Program {
        /// Whose plan.
        rank: Rank,
        /// Why.
        error: ProgramError,
    },
    /// A send without a receive, or the other way round.
    #[error("rank {from} sends to rank {to} with tag {tag} more or less often than that receives")]
    Unmatched {
        /// Sender.
        from: Rank,
        /// Receiver.
        to: Rank,
        /// Tag of the stream.
        tag: u32,
    },
    /// Ranks wait for one another.
    #[error("ranks {0:?} cannot go on")]
    Stuck(Vec<Rank>),
}

/// Bytes of a run of parts, of `of` parts in all, where vectors have `bytes` bytes and blocks, of `slices` parts,
/// `bytes` bytes each. Part i of k of a vector begins at byte ⌊i·bytes/k⌋; slices of a block are taken as equal,
/// rounded down together.
pub fn bytes_of(parts: Parts, of: u32, slices: u32, bytes: u64) -> u64 {
    let share = |part: u32, whole: u64, of: u32| (u128::from(whole) * u128::from(part) / u128::from(of.max(1))) as u64;
    if parts.space != Space::Vector {
        return share(parts.count, bytes, slices);
    }
    share(parts.end(), bytes, of) - share(parts.first, bytes, of)
}

/// Plays `schedule` with whole messages: `places[rank]` is the adapter or host of a rank, `bytes` the size of the
/// vector, or of one block of an exchange. With `behind` ranks keep in step as in
/// [`Flow::behind`](crate::schedule::Flow): a send starts when at most so many bytes are to be received by hops before
/// it. O(messages · (messages under way + links)).
///
/// # Errors
/// [`TimelineError`].
pub fn timeline(
    schedule: &Schedule,
    fabric: &Fabric,
    places: &[impl Into<Adapter> + Copy],
    bytes: u64,
    behind: Option<u64>,
) -> Result<Timeline, TimelineError> {
    let adapters: Vec<Adapter> = places.iter().map(|&place| place.into()).collect();
    let is_there = |adapter: &Adapter| (adapter.host.0 as usize) < fabric.host_count();
    let known = |rank: Rank| adapters.get(rank as usize).is_some_and(is_there);
    let ranks = schedule.plans.iter().flat_map(|p| p.hops.iter().map(|hop| hop.peer).chain([p.rank]));
    if let Some(rank) = { ranks }.find(|&rank| !known(rank)) {
        return Err(TimelineError::NoHost(rank));
    }
    let slices = schedule.slices();
    let order = Order::new(schedule, behind, |plan, hop| bytes_of(hop.parts, plan.parts, slices, bytes))?;
    let mut player = Player::new(fabric, &adapters, order);
    player.run()?;
    Ok(player.report())
}
