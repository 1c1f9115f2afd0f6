//! What algorithms plan from, for one communicator: its topology, the user's options, and indexes over both.

mod rails;

use crate::cost::{self, LOSSLESS, Meeting, Place};
use crate::pattern::{ABREAST, Exchange, ExchangeOptions, Pace, Partners, RailOptions, Rails, Steps, VirtualRanks};
use crate::topology::{Hierarchy, Line, NodeRanks, Topology, Wires};
use once_cell::sync::OnceCell;
use std::sync::Arc;

/// Nodes up to which the contention-free order is a default: every rank computes it, in some 10 ms.
const MOST_ORDERED: u32 = 128;

/// What a ring may lose to shared links before another order is taken.
const RING_EXCESS: f64 = 1.05;

/// Nodes of a ring are alike if the fastest needs at least this share of the time of the slowest (docs/decisions/0010).
const EVEN: f64 = 0.95;

/// Most tokens of a rank between steps that ranks take together: a plan holds them all.
const MOST_TOKENS: u64 = 1 << 18;

/// What a user says about plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Steps of an exchange under way at the same time; `None`: as many as the network has room for.
    pub steps: Option<Steps>,
    /// Partners in each step of the XOR exchange.
    pub partners: Partners,
    /// How halving and doubling goes, and how many ranks of a node talk to other nodes.
    pub rails: RailOptions,
    /// Whether no message is ever dropped between its ranks: in shared memory, or over adapters with RDMA.
    pub lossless: bool,
}

/// Everything plans for one communicator are made from. The indexes are built on first use, O(P) each; what looks at
/// all pairs of nodes says so.
#[derive(Debug)]
pub struct Context {
    topology: Arc<Topology>,
    options: Options,
    flat: OnceCell<Hierarchy>,
    grouped: OnceCell<Hierarchy>,
    line: OnceCell<Line>,
    virtual_ranks: OnceCell<VirtualRanks>,
    node_ranks: OnceCell<NodeRanks>,
    rails: OnceCell<Rails>,
    around: OnceCell<Rails>,
    room: [OnceCell<u64>; Meeting::ALL.len()],
    near: OnceCell<bool>,
    fast: OnceCell<bool>,
    shifts: OnceCell<bool>,
    ring_excess: OnceCell<f64>,
    ring_evenness: OnceCell<f64>,
    exchange: OnceCell<Exchange>,
}

impl Context {
    /// Nothing is built yet.
    pub fn new(topology: Arc<Topology>, options: Options) -> Self {
        Self {
            topology,
            options,
            flat: OnceCell::new(),
            grouped: OnceCell::new(),
            line: OnceCell::new(),
            virtual_ranks: OnceCell::new(),
            node_ranks: OnceCell::new(),
            rails: OnceCell::new(),
            around: OnceCell::new(),
            room: Default::default(),
            near: OnceCell::new(),
            fast: OnceCell::new(),
            shifts: OnceCell::new(),
            ring_excess: OnceCell::new(),
            ring_evenness: OnceCell::new(),
            exchange: OnceCell::new(),
        }
    }

    /// The facts it plans from.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The facts alone.
    pub fn into_topology(self) -> Arc<Topology> {
        self.topology
    }

    /// What the user says.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The index without groups.
    pub fn flat(&self) -> &Hierarchy {
        self.flat.get_or_init(|| Hierarchy::flat(self.topology.ranks()))
    }

    /// The index over all levels.
    pub fn grouped(&self) -> &Hierarchy {
        self.grouped.get_or_init(|| Hierarchy::new(&self.topology))
    }

    /// All nodes in the order of chains and rings.
    pub fn line(&self) -> &Line {
        self.line.get_or_init(|| Line::new(self.grouped(), &self.topology))
    }

    /// Ranks by node and slot.
    pub fn node_ranks(&self) -> &NodeRanks {
        self.node_ranks.get_or_init(|| NodeRanks::new(self.grouped(), &self.topology))
    }

    /// Where `ranks` are.
    pub fn places(&self, ranks: impl IntoIterator<Item = u32>) -> Vec<Place> {
        let place = |rank| (self.grouped().node_of(rank), self.topology.adapter(rank));
        ranks.into_iter().map(place).collect()
    }

    /// The smallest rank of every node.
    pub fn leaders(&self) -> impl Iterator<Item = u32> {
        (0..self.grouped().node_count()).map(|node| self.grouped().leader(node, 0))
    }

    /// Where all ranks are.
    pub fn all_places(&self) -> Vec<Place> {
        self.places(0..self.topology.ranks())
    }

    /// The links between the nodes, made anew at every call.
    pub fn wires(&self) -> Wires<'_> {
        Wires::new(&self.topology, self.grouped())
    }

    /// The same as predictions see them: where software moves messages, and every node has one rank, that rank sends no
    /// faster than it can. How many of several ranks send at a time depends on the algorithm.
    pub fn predicted_wires(&self) -> Wires<'_> {
        self.wires().with_hosts_sending(self.most_sent())
    }

    /// What a host sends at most, Mbit/s, as far as predictions know it, else infinite.
    pub fn most_sent(&self) -> f64 {
        let is_known = self.node_ranks().widest() == 1 && !self.options.lossless;
        if is_known { self.topology.most_sent() } else { f64::INFINITY }
    }

    /// Virtual ranks of the XOR exchange.
    pub fn virtual_ranks(&self) -> &VirtualRanks {
        self.virtual_ranks.get_or_init(|| VirtualRanks::new(&self.topology))
    }

    /// How many steps of an exchange may be under way, where a user says so. Ranks do not take them together where that
    /// asks for too many tokens, but one by one.
    pub fn steps(&self) -> Option<Steps> {
        // No exchange has more steps than the padded ranks, after each of which a rank sends and receives this often.
        let after_a_step = || 2 * u64::from(u32::BITS - self.topology.ranks().leading_zeros());
        let tokens = || u64::from(self.virtual_ranks().steps()) * after_a_step();
        match self.options.steps {
            Some(Steps::Together) if tokens() > MOST_TOKENS => Some(Steps::InFlight(1)),
            steps => steps,
        }
    }

    /// How halving and doubling goes through the nodes.
    pub fn rails(&self) -> &Rails {
        let lay = || rails::lay(&self.topology, self.grouped(), self.node_ranks(), self.options.rails);
        self.rails.get_or_init(lay)
    }

    /// The halves of the ring: one aggregator per node, every step to the next node.
    pub fn around(&self) -> &Rails {
        self.around.get_or_init(|| Rails::around(self.line(), 1))
    }

    /// The order of the tasks of a contention-free Alltoall, O(nodes² · links of a route) to make.
    pub fn exchange(&self) -> &Exchange {
        self.exchange.get_or_init(|| {
            let pace = match self.options.steps {
                // Its tasks are no steps of all ranks.
                Some(steps) => Pace::Steps { in_flight: steps.of_a_rank() },
                None if self.needs_tokens(u64::MAX) => Pace::Tokens { window: 1 },
                None => Pace::Free { abreast: ABREAST },
            };
            let options = ExchangeOptions { pace, ..ExchangeOptions::default() };
            Exchange::new(&self.topology, self.grouped(), options)
        })
    }

    /// Bytes a rank may have under way in an exchange.
    pub fn room(&self, meeting: Meeting) -> u64 {
        let room = || match self.options.lossless {
            true => LOSSLESS,
            false => cost::room(&self.topology, self.grouped(), meeting),
        };
        *self.room[meeting as usize].get_or_init(room)
    }

    /// Bytes of data that a queue holds in which streams meet; `None` where that is not known, nothing is ever dropped,
    /// or links are far, on which more is under way than queues hold.
    pub fn bounding_queue(&self) -> Option<u64> {
        if self.options.lossless || !self.is_near() { None } else { cost::queue_bytes(&self.topology) }
    }

    /// Bytes of a block from which on an exchange in which all send to all at once overflows queues.
    pub fn overflowing(&self) -> u64 {
        self.overflowing_where(None)
    }

    /// The same where queues that are not known are as short as any.
    pub fn surely_holding(&self) -> u64 {
        self.overflowing_where(Some(cost::LEAST_QUEUE))
    }

    fn overflowing_where(&self, unknown: Option<u32>) -> u64 {
        match self.options.lossless {
            true => u64::MAX,
            false => cost::overflowing(&self.topology, self.grouped(), unknown),
        }
    }

    /// Bytes of a block from which on all that a root sends in a Scatter, or receives in a Gather, is more than a queue
    /// holds.
    pub fn overflowing_at_root(&self) -> u64 {
        match self.options.lossless {
            true => u64::MAX,
            false => cost::overflowing_at_root(&self.topology, self.grouped()),
        }
    }

    /// Whether there are several nodes, and ranks of one that can aggregate what they send to another.
    pub fn aggregates(&self) -> bool {
        self.grouped().node_count() > 1 && self.node_ranks().widest() > 1
    }

    /// Whether the queue before every host holds what its ranks receive of aggregated blocks of so many bytes.
    pub fn holds_aggregated(&self, block: u64) -> bool {
        self.options.lossless || cost::holds_aggregated(&self.topology, self.grouped(), block)
    }

    /// Whether all links have short latencies.
    pub fn is_near(&self) -> bool {
        *self.near.get_or_init(|| cost::is_near(&self.topology))
    }

    /// Whether short segments pass every link about as fast as messages follow one another.
    pub fn is_fast(&self) -> bool {
        *self.fast.get_or_init(|| cost::is_fast(&self.topology, self.most_sent()))
    }

    /// Whether the MPI library's own algorithms share no link between nodes, as on one switch; by O(nodes · log nodes)
    /// ways.
    pub fn shifts_share_nothing(&self) -> bool {
        let shares_nothing = || {
            let is_torus = self.line().lanes() > 1;
            !is_torus && cost::shifts_share_nothing(&self.topology, self.grouped())
        };
        *self.shifts.get_or_init(shares_nothing)
    }

    /// Whether the queues of switches are too short for an exchange of blocks of so many bytes without tokens.
    pub fn needs_tokens(&self, block: u64) -> bool {
        cost::needs_tokens(self.room(Meeting::Apart), block)
    }

    /// Whether a ring is the order for an exchange of blocks of so many bytes between nodes, by all pairs of up to 512
    /// of them: it keeps the busiest link busy in every step, and the queues hold what meets there; or there are too
    /// many nodes for another order.
    pub fn suits_a_ring(&self, block: u64) -> bool {
        self.ring_excess() <= RING_EXCESS && !self.needs_tokens(block) || !self.may_order()
    }

    /// Time of a ring of the nodes over what its busiest link needs in any order, by all pairs of them.
    fn ring_excess(&self) -> f64 {
        let excess = || cost::ring_excess(&self.places(self.leaders()), &mut self.wires());
        *self.ring_excess.get_or_init(excess)
    }

    /// How many blocks a rank of a ring may be ahead: usually as many as it sends alternately, so that a late rank
    /// keeps no link idle. One where packets may be lost, routes are known and a ring suits them, but nodes are not
    /// alike, by all pairs of up to 128 of them: nodes behind fast links would run ahead, and what they send would be
    /// before that of the others at a slow one.
    pub fn ahead_in_a_ring(&self) -> u32 {
        if self.options.lossless || self.ring_excess() > RING_EXCESS {
            return ABREAST;
        }
        let evenness = || cost::ring_evenness(&self.places(self.leaders()), &mut self.wires());
        if *self.ring_evenness.get_or_init(evenness) < EVEN { 1 } else { ABREAST }
    }

    /// Whether the contention-free order is made in a moment.
    pub fn may_order(&self) -> bool {
        self.grouped().node_count() <= MOST_ORDERED
    }
}
