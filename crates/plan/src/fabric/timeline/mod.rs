//! Plays a whole schedule in time on a network.
//!
//! ```text
//!   order.rs   which hop may go on, by `after`, data and the window of hops a rank works on
//!   flows.rs   messages under way as fluids: every directed link is shared max-min fairly
//!   busy.rs    when each link was busy, and when more was on its way to it than it can carry
//! ```
//! A message of data starts when the hops of both its ends may start (as one beyond the eager limit does); its send is
//! finished when its last byte has left, its receive one latency later. A **token**, a message without bytes, starts with its send
//! and takes one latency. The latency is that of the links of the route and the file's `message_latency`. Messages inside a
//! host and copies take no time. What a link carries is data: no headers, no lost packets, no processors.

mod busy;
mod flows;
mod order;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use serde::Serialize;
use thiserror::Error;

use self::busy::Busy;
use self::flows::{Flows, Way};
use self::order::{Order, Ready};
use super::model::{DirectedLink, Fabric, HostId};
use super::routing::Router;
use crate::schedule::{Hop, Parts, ProgramError, Rank, RankPlan, Schedule, Space};

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

/// Bytes of a run of parts, of `of` parts in all, where vectors have `bytes` bytes and blocks `bytes` bytes each. Part i of k
/// of a vector begins at byte ⌊i·bytes/k⌋.
pub fn bytes_of(parts: Parts, of: u32, bytes: u64) -> u64 {
    if parts.space != Space::Vector {
        return bytes.saturating_mul(u64::from(parts.count));
    }
    let bound = |part: u32| (u128::from(bytes) * u128::from(part) / u128::from(of.max(1))) as u64;
    bound(parts.end()) - bound(parts.first)
}

/// Plays `schedule` with whole messages: `hosts[rank]` is the host of a rank, `bytes` the size of the vector, or of one block
/// of an exchange. O(messages · (messages under way + links)).
///
/// # Errors
/// [`TimelineError`].
pub fn timeline(schedule: &Schedule, fabric: &Fabric, hosts: &[HostId], bytes: u64) -> Result<Timeline, TimelineError> {
    timeline_of(schedule, fabric, hosts, |plan, hop| bytes_of(hop.parts, plan.parts, bytes))
}

/// The same with the bytes of every send told by `size`, for blocks of different sizes.
///
/// # Errors
/// [`TimelineError`].
pub fn timeline_of(
    schedule: &Schedule,
    fabric: &Fabric,
    hosts: &[HostId],
    size: impl Fn(&RankPlan, &Hop) -> u64,
) -> Result<Timeline, TimelineError> {
    let known = |rank: Rank| hosts.get(rank as usize).is_some_and(|host| (host.0 as usize) < fabric.host_count());
    let ranks = schedule.plans.iter().flat_map(|p| p.hops.iter().map(|hop| hop.peer).chain([p.rank]));
    if let Some(rank) = { ranks }.find(|&rank| !known(rank)) {
        return Err(TimelineError::NoHost(rank));
    }
    let order = Order::new(schedule, size)?;
    let mut player = Player::new(fabric, hosts, order);
    player.run()?;
    Ok(player.report())
}

/// The state of a run; times in microseconds.
struct Player<'f> {
    fabric: &'f Fabric,
    hosts: &'f [HostId],
    router: Router<'f>,
    ways: HashMap<(HostId, HostId), Rc<Way>>,
    order: Order,
    ready: Vec<Ready>,
    flows: Flows,
    busy: Busy,
    now: f64,
    /// Whether a message has ended at this time.
    ended: bool,
    /// Messages on their last latency, by the time of arrival.
    arriving: BinaryHeap<Reverse<(u64, u32)>>,
    carried: Vec<u64>,
    messages: usize,
    tokens: usize,
}

impl<'f> Player<'f> {
    fn new(fabric: &'f Fabric, hosts: &'f [HostId], order: Order) -> Self {
        let links = fabric.directed_link_count();
        let capacity = (0..links).map(|link| fabric.mbit(DirectedLink(link as u32)));
        let cable = (0..links).map(|link| fabric.links()[link / 2].mbit);
        Self {
            fabric,
            hosts,
            router: Router::new(fabric),
            ways: HashMap::new(),
            order,
            ready: Vec::new(),
            flows: Flows::new(capacity.collect(), cable.collect()),
            busy: Busy::new(links),
            now: 0.0,
            ended: false,
            arriving: BinaryHeap::new(),
            carried: vec![0; links],
            messages: 0,
            tokens: 0,
        }
    }

    fn run(&mut self) -> Result<(), TimelineError> {
        self.order.begin(&mut self.ready);
        loop {
            let started = self.start();
            if started || self.ended {
                self.flows.share();
                self.busy.note(self.now, &self.flows);
                self.ended = false;
            }
            let arrival = self.arriving.peek().map_or(f64::INFINITY, |Reverse((bits, _))| f64::from_bits(*bits));
            // Differences of times, which may be too small to change `now`.
            let pause = (arrival - self.now).min(self.flows.until_first_end());
            if pause.is_infinite() {
                break;
            }
            self.advance(pause, arrival);
        }
        if self.order.is_finished() { Ok(()) } else { Err(TimelineError::Stuck(self.order.stuck())) }
    }

    /// Starts everything that can start now, and what can start when messages inside hosts are done; true if data is under
    /// way that was not before.
    fn start(&mut self) -> bool {
        let mut started = false;
        while let Some(ready) = self.ready.pop() {
            let message = match ready {
                Ready::Start(message) => message,
                Ready::Finish(hop) => {
                    self.order.finish(hop, &mut self.ready);
                    continue;
                }
            };
            let m = self.order.messages[message as usize];
            let way = self.way(self.hosts[m.from as usize], self.hosts[m.to as usize]);
            if m.bytes > 0 && !way.links.is_empty() {
                way.links.iter().for_each(|link| self.carried[link.index()] += m.bytes);
                self.messages += 1;
                self.flows.add(message, way, m.bytes as f64 * 8.0);
                started = true;
            } else {
                self.tokens += usize::from(!way.links.is_empty());
                self.order.finish(m.send, &mut self.ready);
                self.arriving.push(Reverse(((self.now + way.latency).to_bits(), message)));
            }
        }
        started
    }

    /// Lets `pause` microseconds pass, until some message ends or the first one arrives.
    fn advance(&mut self, pause: f64, arrival: f64) {
        let over = self.flows.advance(pause);
        self.now = (self.now + pause).min(arrival);
        self.ended = !over.is_empty();
        for flow in over {
            self.arriving.push(Reverse(((self.now + flow.way.latency).to_bits(), flow.message)));
            self.order.finish(self.order.messages[flow.message as usize].send, &mut self.ready);
        }
        while let Some(&Reverse((_, message))) = self.arriving.peek().filter(|a| f64::from_bits(a.0.0) <= self.now) {
            self.arriving.pop();
            self.order.arrive(message, &mut self.ready);
        }
    }

    fn way(&mut self, from: HostId, to: HostId) -> Rc<Way> {
        let Self { fabric, router, ways, .. } = self;
        let known = ways.entry((from, to)).or_insert_with(|| {
            let links = router.route(from, to);
            let most = links.iter().map(|link| fabric.links()[link.link()].mbit).fold(f64::INFINITY, f64::min);
            let message = fabric.message_cost().latency_us.filter(|_| !links.is_empty()).unwrap_or(0.0);
            let latency = links.iter().map(|&link| fabric.latency_us(link)).sum::<f64>() + message;
            Rc::new(Way { source: from, links, most, latency })
        });
        Rc::clone(known)
    }

    fn report(self) -> Timeline {
        let fabric = self.fabric;
        let finish = self.now * 1e-6;
        let mut links = Vec::new();
        let mut bound = 0.0f64;
        for ((number, bytes), (busy, overloads)) in (0..).zip(self.carried).zip(self.busy.into_links()) {
            if bytes == 0 {
                continue;
            }
            let link = DirectedLink(number);
            let needed = bytes as f64 * 8.0 / (fabric.mbit(link) * 1e6);
            bound = bound.max(needed);
            links.push(LinkTime {
                link,
                from: fabric.node_name(fabric.start(link)).to_owned(),
                to: fabric.node_name(fabric.end(link)).to_owned(),
                mbit: fabric.mbit(link),
                bytes,
                busy: busy * 1e-6 / finish,
                used: needed / finish,
                overloads,
            });
        }
        Timeline { finish, bound, messages: self.messages, tokens: self.tokens, links }
    }
}
