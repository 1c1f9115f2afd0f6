//! What plans for one communicator are made from, and which algorithm fits its network.

use crate::algorithm::{ALGORITHMS, Algorithm};
use crate::collective::Collective;
use crate::cost::{self, Meeting, Message, Prediction, Profile, Segments};
use crate::laying::lay_rails;
use crate::pattern::{self, Exchange, ExchangeOptions, Pace, Partners, RailOptions, Rails, VirtualRanks, XorOptions};
use crate::schedule::{Pacing, Rank, RankPlan, Schedule};
use crate::topology::{Hierarchy, Line, Origin, Seats, Topology, Wires};
use std::sync::{Arc, OnceLock};

/// Nodes up to which the contention-free order is a default: every rank computes it, in some 10 ms.
const MOST_ORDERED: u32 = 128;

/// Nodes up to which a pipeline through all of them is a default for Gather: farther ones arrive too late.
const MOST_RELAYED: u32 = 128;

/// Bytes from which on a collective runs on ours where all nodes are on one switch: below, the library's own, which share no link there
/// either, are as fast. Measured on star16.
const fn one_switch(collective: Collective) -> u64 {
    match collective {
        Collective::Allreduce => 128 << 10,
        Collective::Allgather | Collective::ReduceScatterBlock | Collective::ReduceScatter => 8 << 10,
        _ => 0,
    }
}

/// Ranks up to which Allgather and Reduce_scatter run on ours by default: a plan has a part for every slice of every block.
const MOST_BLOCKS: u32 = 1 << 15;

/// What a ring may lose to shared links before another order is taken.
const RING_EXCESS: f64 = 1.05;

/// Blocks that a rank sends alternately in a contention-free order without tokens. Measured on the torus and the mesh: one is held
/// up whenever another rank is late, with more than three there is nothing to gain.
const ABREAST: u32 = 3;

/// Predicted times up to this ratio are alike: the first in the table, which needs less luck, is taken.
const ALIKE: f64 = 1.02;

/// Pieces in which halving and doubling cuts the share of a lane where no size is given.
const DEFAULT_CHUNKS: u32 = 2;

/// Leaders per node of the aggregated exchange: fewest messages.
const LEADERS: u32 = 1;

/// Everything plans for one communicator are made from. The indexes are built on first use, O(P) each; what looks at all pairs of
/// nodes says so.
#[derive(Debug)]
pub struct Planner {
    topology: Arc<Topology>,
    flat: OnceLock<Hierarchy>,
    grouped: OnceLock<Hierarchy>,
    line: OnceLock<Line>,
    virtual_ranks: OnceLock<VirtualRanks>,
    seats: OnceLock<Seats>,
    rails: OnceLock<Rails>,
    around: OnceLock<Rails>,
    room: [OnceLock<u64>; Meeting::ALL.len()],
    ring_excess: OnceLock<f64>,
    options: XorOptions,
    rail_options: RailOptions,
    exchange: OnceLock<Exchange>,
    profiles: [[OnceLock<Option<Profile>>; ALGORITHMS.len()]; Collective::ALL.len()],
}

impl Planner {
    /// A planner for the communicator described by `topology`.
    pub fn new(topology: impl Into<Arc<Topology>>) -> Self {
        Self {
            topology: topology.into(),
            flat: OnceLock::new(),
            grouped: OnceLock::new(),
            line: OnceLock::new(),
            virtual_ranks: OnceLock::new(),
            seats: OnceLock::new(),
            rails: OnceLock::new(),
            around: OnceLock::new(),
            room: Default::default(),
            ring_excess: OnceLock::new(),
            options: XorOptions::default(),
            rail_options: RailOptions::default(),
            exchange: OnceLock::new(),
            profiles: Default::default(),
        }
    }

    /// The same with `steps` steps of an exchange under way at the same time, at least 1; otherwise there are as many as the
    /// network has room for.
    pub fn with_steps(mut self, steps: u32) -> Self {
        self.options.steps_in_flight = Some(steps.max(1));
        self
    }

    /// The same with one or two partners in each step of the XOR exchange; otherwise there is one.
    pub fn with_partners(mut self, partners: Partners) -> Self {
        self.options.partners = partners;
        self
    }

    /// The same with what a user says about halving and doubling.
    pub fn with_rails(mut self, options: RailOptions) -> Self {
        self.rail_options = options;
        self
    }

    /// The facts it plans from.
    pub fn topology(&self) -> &Topology {
        &self.topology
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

    /// Virtual ranks of the XOR exchange.
    pub fn virtual_ranks(&self) -> &VirtualRanks {
        self.virtual_ranks.get_or_init(|| VirtualRanks::new(&self.topology))
    }

    /// Ranks by node and slot.
    pub fn seats(&self) -> &Seats {
        self.seats.get_or_init(|| Seats::new(self.grouped(), &self.topology))
    }

    /// How halving and doubling goes through the nodes.
    pub fn rails(&self) -> &Rails {
        self.rails.get_or_init(|| lay_rails(&self.topology, self.grouped(), self.seats(), self.rail_options))
    }

    /// The halves of the ring: one aggregator per node, every step to the next node.
    fn around(&self) -> &Rails {
        self.around.get_or_init(|| Rails::around(self.line(), 1))
    }

    /// Bytes of the whole vector in a call of `bytes`: what is gathered or scattered has a block for every rank.
    fn vector(&self, collective: Collective, bytes: u64) -> u64 {
        let blocks = collective == Collective::Allgather || collective.scatters();
        if blocks { bytes.saturating_mul(u64::from(self.topology.ranks())) } else { bytes }
    }

    /// In how many chunks a call of `bytes` cuts the share of a lane: a shared fact, 1 for algorithms that have none.
    pub fn chunks(&self, collective: Collective, algorithm: Algorithm, bytes: u64) -> u32 {
        if algorithm != Algorithm::HalvingDoubling {
            return 1;
        }
        pattern::chunks(self.rails().cut(), self.vector(collective, bytes))
    }

    /// The order of the tasks of a contention-free Alltoall, O(nodes² · links of a route) to make.
    pub fn exchange(&self) -> &Exchange {
        self.exchange.get_or_init(|| {
            let pace = match self.options.steps_in_flight {
                Some(in_flight) => Pace::Steps { in_flight },
                None if self.needs_tokens() => Pace::Tokens { window: 1 },
                None => Pace::Free { abreast: ABREAST },
            };
            let options = ExchangeOptions { pace, ..ExchangeOptions::default() };
            Exchange::new(&self.topology, self.grouped(), options)
        })
    }

    /// Whether [`Self::exchange`] is made.
    pub fn has_exchange(&self) -> bool {
        self.exchange.get().is_some()
    }

    /// What `rank` does in `collective` with `root`, by `algorithm`; `None` if the algorithm does not implement it.
    pub fn plan(&self, collective: Collective, algorithm: Algorithm, root: Rank, rank: Rank) -> Option<RankPlan> {
        self.plan_cut(collective, algorithm, root, rank, DEFAULT_CHUNKS)
    }

    /// The same with so many [`Self::chunks`], at least 1.
    pub fn plan_cut(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        root: Rank,
        rank: Rank,
        chunks: u32,
    ) -> Option<RankPlan> {
        if !algorithm.implements(collective) {
            return None;
        }
        let root = if collective.is_rooted() { root } else { 0 };
        // One half of an Allreduce alone, on the rails of the whole.
        let half = |rails, chunks| match collective {
            Collective::Allgather => Some(pattern::allgather(self.seats(), rails, chunks, rank)),
            c if c.scatters() => Some(pattern::reduce_scatter(self.seats(), rails, chunks, rank)),
            _ => None,
        };
        Some(match algorithm {
            Algorithm::TwoTree => pattern::grouped_two_tree(collective, self.flat(), root, rank),
            Algorithm::GroupedTwoTree => pattern::grouped_two_tree(collective, self.grouped(), root, rank),
            Algorithm::GatewayTwoTree => pattern::gateway_two_tree(collective, self.grouped(), root, rank),
            Algorithm::Chain => pattern::chain(collective, self.grouped(), self.line(), root, rank),
            Algorithm::Ring => {
                half(self.around(), 1).unwrap_or_else(|| pattern::ring(self.grouped(), self.line(), rank))
            }
            Algorithm::HalvingDoubling => half(self.rails(), chunks)
                .unwrap_or_else(|| pattern::halving_doubling(self.seats(), self.rails(), chunks, rank)),
            Algorithm::TwoLevelRing => pattern::two_level_ring(self.seats(), rank, self.options.steps_in_flight),
            Algorithm::Direct => pattern::gather_direct(self.grouped(), self.line(), self.seats(), root, rank),
            Algorithm::Relay => pattern::gather_relay(self.grouped(), self.line(), self.seats(), root, rank),
            Algorithm::Tree => pattern::gather_tree(self.grouped(), self.line(), self.seats(), root, rank),
            Algorithm::Xor => pattern::xor(self.virtual_ranks(), rank, self.options),
            Algorithm::Aggregated => pattern::aggregated(self.seats(), rank),
            Algorithm::AggregatedLeader => pattern::aggregated_leader(self.seats(), rank, LEADERS),
            Algorithm::ContentionFree => pattern::contention_free(self.exchange(), rank),
        })
    }

    /// What `algorithm` costs on this network, `None` if it is no candidate for `collective`; computed once, in
    /// O(nodes · log nodes) without a fabric, else in O(nodes · links). The root is taken to be rank 0, whichever it is: it
    /// hardly matters, and programs change it from call to call.
    pub fn profile(&self, collective: Collective, algorithm: Algorithm) -> Option<&Profile> {
        let spec = algorithm.spec();
        if !spec.by_cost || !algorithm.implements(collective) {
            return None;
        }
        let of_algorithm = &self.profiles[collective as usize][algorithm as usize];
        let profile = of_algorithm.get_or_init(|| {
            let mut wires = Wires::new(&self.topology, self.grouped());
            if algorithm == Algorithm::HalvingDoubling {
                return Profile::stepwise(collective, self.rails(), pattern::MOST_CHUNKS, &mut wires);
            }
            let plan = |rank| self.plan(Collective::Bcast, algorithm, 0, rank);
            Profile::new(collective, algorithm, self.grouped(), self.line(), &mut wires, plan)
        });
        profile.as_ref()
    }

    /// The algorithm for an exchange of blocks between nodes, by all pairs of up to 512 of them: the ring where it keeps the
    /// busiest link busy in every step and the queues hold what meets there, else the order that gives links to one node after
    /// another.
    pub fn exchange_algorithm(&self) -> Algorithm {
        let excess = self.ring_excess.get_or_init(|| {
            cost::ring_excess(&mut Wires::new(&self.topology, self.grouped()), self.grouped().node_count())
        });
        let ring = *excess <= RING_EXCESS && !self.needs_tokens() || self.grouped().node_count() > MOST_ORDERED;
        if ring { Algorithm::TwoLevelRing } else { Algorithm::ContentionFree }
    }

    /// How an exchange by `algorithm` is cut up, `None` for what is no exchange.
    pub fn exchange_pacing(&self, algorithm: Algorithm, block: u64) -> Option<Pacing> {
        let (meeting, abreast) = match algorithm {
            Algorithm::TwoLevelRing | Algorithm::Xor => (Meeting::Anyone, 1),
            Algorithm::ContentionFree if self.needs_tokens() => (Meeting::OneNode, 1),
            Algorithm::ContentionFree | Algorithm::Direct => (Meeting::TwoNodes, u64::from(ABREAST)),
            _ => return None,
        };
        Some(cost::exchange_pacing(self.room(meeting), meeting, block, abreast))
    }

    /// Bytes a rank may have under way in an exchange.
    fn room(&self, meeting: Meeting) -> u64 {
        *self.room[meeting as usize].get_or_init(|| cost::room(&self.topology, self.grouped(), meeting))
    }

    fn needs_tokens(&self) -> bool {
        cost::needs_tokens(self.room(Meeting::Anyone))
    }

    /// What all candidates for `collective` cost.
    pub fn profiles(&self, collective: Collective) -> Vec<(Algorithm, &Profile)> {
        let candidates = ALGORITHMS.iter().map(|spec| spec.algorithm);
        candidates.filter_map(|a| self.profile(collective, a).map(|profile| (a, profile))).collect()
    }

    /// What a message costs here beyond its bytes.
    pub fn message(&self) -> Message {
        self.topology.network().map(|n| n.fabric().message_cost()).unwrap_or_default().into()
    }

    /// The algorithm with the least predicted time for a vector of `bytes`, and its segment, of those alike the first; `None` if the
    /// choice for this collective is not made by cost.
    pub fn cheapest(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<(Algorithm, Prediction)> {
        let candidates = ALGORITHMS.iter().map(|spec| spec.algorithm);
        let predicted = candidates.filter_map(|a| self.predicted(collective, a, bytes, segments).map(|p| (a, p)));
        let all: Vec<(Algorithm, Prediction)> = predicted.collect();
        let least = all.iter().map(|(_, prediction)| prediction.time).fold(f64::INFINITY, f64::min);
        all.into_iter().find(|(_, prediction)| prediction.time <= least * ALIKE)
    }

    /// The algorithm that fits this network for a call of `bytes` (see [`crate::choice::Call`]), `None` where the MPI library's own
    /// are as fast as the links allow.
    pub fn fitting(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<Algorithm> {
        match collective {
            _ if collective.has_blocks_of_all() && self.topology.ranks() > MOST_BLOCKS => None,
            _ if self.goes_along_dimensions(collective) => Some(Algorithm::HalvingDoubling),
            _ if bytes < one_switch(collective)
                && self.grouped().depth_between_nodes() < 2
                && self.line().lanes() == 1 =>
            {
                None
            }
            Collective::Reduce
            | Collective::Bcast
            | Collective::Allreduce
            | Collective::Allgather
            | Collective::ReduceScatterBlock
            | Collective::ReduceScatter => self.cheapest(collective, bytes, segments).map(|(algorithm, _)| algorithm),
            Collective::Alltoall | Collective::Alltoallv => Some(self.exchange_algorithm()),
            // Elsewhere the root's link is one that every order keeps busy.
            Collective::Gather => {
                let fits = self.line().lanes() > 1 && self.line().nodes() <= MOST_RELAYED;
                fits.then_some(Algorithm::Relay)
            }
        }
    }

    /// Whether halving and doubling is taken without a comparison: where a user says what the torus is, whose links the cost model does not
    /// know, and on a torus with more transfers than are looked at, where rivals have far too many steps.
    fn goes_along_dimensions(&self, collective: Collective) -> bool {
        let all = collective == Collective::Allreduce || collective.has_blocks_of_all();
        all && match self.rails().origin() {
            Origin::Given => true,
            Origin::Fabric => self.profile(collective, Algorithm::HalvingDoubling).is_none(),
            Origin::Cartesian | Origin::Levels | Origin::Line => false,
        }
    }

    /// The predicted time and segment of one algorithm, `None` if it is no candidate.
    pub fn predicted(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        bytes: u64,
        segments: Segments,
    ) -> Option<Prediction> {
        let profile = self.profile(collective, algorithm)?;
        Some(cost::predict(profile, self.message(), self.vector(collective, bytes), segments))
    }

    /// Names of the stages of the algorithm's schedules (see [`crate::schedule::Round::stage`]).
    pub fn stages(&self, collective: Collective, algorithm: Algorithm) -> Vec<String> {
        if collective == Collective::Allgather {
            let between = if algorithm == Algorithm::Ring { "allgather" } else { "doubling" };
            return pattern::allgather_stages(self.seats(), between);
        }
        if collective.scatters() {
            let between = if algorithm == Algorithm::Ring { "reduce-scatter" } else { "halving" };
            return pattern::reduce_scatter_stages(self.seats(), between);
        }
        match algorithm {
            Algorithm::TwoTree => pattern::stage_names(collective, self.flat()),
            Algorithm::GroupedTwoTree => pattern::stage_names(collective, self.grouped()),
            Algorithm::GatewayTwoTree | Algorithm::Chain => {
                let between: &[&str] = match collective {
                    Collective::Reduce => &["reduce"],
                    Collective::Bcast => &["bcast"],
                    _ => &["reduce", "bcast"],
                };
                pattern::stage_names_around(collective, self.grouped(), between)
            }
            Algorithm::Ring => {
                pattern::stage_names_around(collective, self.grouped(), &["reduce-scatter", "allgather"])
            }
            Algorithm::HalvingDoubling => pattern::halving_doubling_stages(self.seats()),
            Algorithm::TwoLevelRing | Algorithm::Xor => vec!["step".to_owned()],
            Algorithm::Aggregated => pattern::AGGREGATED_STAGES.map(str::to_owned).to_vec(),
            Algorithm::AggregatedLeader => pattern::AGGREGATED_LEADER_STAGES.map(str::to_owned).to_vec(),
            Algorithm::Direct => vec!["step".to_owned(), "token".to_owned()],
            Algorithm::Relay => vec!["relay".to_owned()],
            Algorithm::Tree => vec!["in the node".to_owned(), "between nodes".to_owned()],
            Algorithm::ContentionFree => pattern::contention_free_stages(self.exchange()),
        }
    }

    /// The plans of all ranks.
    pub fn schedule(&self, collective: Collective, algorithm: Algorithm, root: Rank) -> Option<Schedule> {
        let plans: Option<Vec<RankPlan>> =
            (0..self.topology.ranks()).map(|rank| self.plan(collective, algorithm, root, rank)).collect();
        let stages = self.stages(collective, algorithm);
        Some(Schedule { collective, algorithm: algorithm.name().to_owned(), root, stages, plans: plans? })
    }
}
