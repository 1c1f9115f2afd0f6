//! The plans of one communicator. `planner/predictions.rs`: what algorithms are predicted to take there;
//! `planner/fitting.rs`: which of them fits; `planner/trials.rs`: which others are worth trying.

mod fitting;
mod predictions;
mod trials;

use crate::algorithm::{ALGORITHMS, Algorithm, Candidacy, Role, Senders};
use crate::collective::{Collective, Rank};
use crate::context::{Context, Options};
use crate::cost::{self, Demand, Prediction, Segments};
use crate::levels;
use crate::pattern::{Partners, RailOptions, Steps};
use crate::recent::Recent;
use crate::schedule::{Pacing, RankPlan, Schedule};
use crate::stock::Stock;
use crate::topology::Topology;
use fitting::Fitting;
use once_cell::sync::OnceCell;
use std::sync::Arc;

/// Pieces in which halving and doubling cuts the share of a lane where no size is given.
const DEFAULT_CHUNKS: u32 = 2;

/// Makes the plans of one communicator.
///
/// ```
/// use nagare_plan::{Planner, algorithm::Algorithm, collective::Collective, topology::Topology};
///
/// // 64 ranks, four on each node.
/// let topology = Topology::of_nodes((0..64).map(|rank| rank / 4).collect())?;
/// let planner = Planner::new(topology);
/// let bcast = planner.schedule(Collective::Bcast, Algorithm::Chain, 0).expect("a chain can do a Bcast");
/// // A message for every rank but the root.
/// assert_eq!(bcast.moves().len(), 63);
/// # Ok::<(), nagare_plan::topology::TopologyError>(())
/// ```
#[derive(Debug)]
pub struct Planner {
    /// With the levels that the topology has.
    usual: Context,
    /// With leaves as groups, where that is predicted to be faster.
    leaves: OnceCell<Option<Box<Context>>>,
    /// By collective, then by algorithm. On the heap: a planner is made on the stacks of programs, which may be small.
    demands: Box<[OnceCell<Option<Demand>>]>,
    fitted: Recent<(Collective, u64, Segments, bool), Fitting>,
    predictions: Recent<(Collective, Algorithm, u64, Segments), Option<Prediction>>,
    /// What the MPI library's own algorithms take, where ranks agree which it is.
    stock: Option<Stock>,
    stock_times: Recent<(Collective, u64), Option<f64>>,
    /// Whether measured calls try nothing where nothing fits.
    tries_what_fits: bool,
}

impl Planner {
    /// A planner for the communicator described by `topology`.
    pub fn new(topology: impl Into<Arc<Topology>>) -> Self {
        Self::with_options(topology, Options::default())
    }

    /// The same with all options at once.
    pub fn with_options(topology: impl Into<Arc<Topology>>, options: Options) -> Self {
        Self::of(Context::new(topology.into(), options))
    }

    fn of(usual: Context) -> Self {
        let demands = (0..Collective::ALL.len() * ALGORITHMS.len()).map(|_| OnceCell::new()).collect();
        let (fitted, predictions, stock_times) = (Recent::new(), Recent::new(), Recent::new());
        Self {
            usual,
            leaves: OnceCell::new(),
            demands,
            fitted,
            predictions,
            stock: None,
            stock_times,
            tries_what_fits: false,
        }
    }

    /// The same beside this MPI library.
    pub fn with_stock(mut self, stock: Stock) -> Self {
        self.stock = Some(stock);
        self
    }

    /// The same where measured calls try nothing unless something fits: predictions alone speak for it.
    pub fn trying_what_fits(mut self) -> Self {
        self.tries_what_fits = true;
        self
    }

    /// The same with so many steps of an exchange under way at the same time; otherwise there are as many as the
    /// network has room for.
    pub fn with_steps(self, steps: Steps) -> Self {
        self.with(|options| options.steps = Some(steps))
    }

    /// The same with one or two partners in each step of the XOR exchange; otherwise there is one.
    pub fn with_partners(self, partners: Partners) -> Self {
        self.with(|options| options.partners = partners)
    }

    /// The same with what a user says about halving and doubling, and about the ranks of a node that talk to other
    /// nodes.
    pub fn with_rails(self, rails: RailOptions) -> Self {
        self.with(|options| options.rails = rails)
    }

    /// The same where no message is ever dropped, so that an exchange need not leave room in the queues of switches.
    pub fn without_losses(self) -> Self {
        self.with(|options| options.lossless = true)
    }

    /// Nothing is built yet that depends on options.
    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.usual.options();
        change(&mut options);
        Self {
            stock: self.stock,
            tries_what_fits: self.tries_what_fits,
            ..Self::of(Context::new(self.usual.into_topology(), options))
        }
    }

    /// The facts it plans from.
    pub fn topology(&self) -> &Topology {
        self.usual.topology()
    }

    /// What an algorithm plans from. Exchanges and what gathers or scatters keep the levels of the topology: played in
    /// time the order of nodes by leaf made `contention_free` up to 11 % slower.
    pub fn context_of(&self, algorithm: Algorithm) -> &Context {
        if algorithm.spec().candidacy == Candidacy::Default { self.context() } else { &self.usual }
    }

    /// What algorithms that are chosen by predicted time plan from: facts, options and indexes. Which levels count is
    /// settled when this is first asked.
    pub fn context(&self) -> &Context {
        self.leaves.get_or_init(|| levels::with_leaves(&self.usual)).as_deref().unwrap_or(&self.usual)
    }

    /// Bytes of the whole vector in a call of `bytes`: what is gathered or scattered has a block for every rank.
    fn vector(&self, collective: Collective, bytes: u64) -> u64 {
        if collective.has_blocks_of_all() { bytes.saturating_mul(u64::from(self.topology().ranks())) } else { bytes }
    }

    /// In how many chunks a call of `bytes` cuts the share of a lane: a shared fact, 1 for algorithms that have none.
    pub fn chunks(&self, collective: Collective, algorithm: Algorithm, bytes: u64) -> u32 {
        algorithm.spec().chunks.map_or(1, |chunks| chunks(self.context_of(algorithm), self.vector(collective, bytes)))
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
        let root = if collective.is_rooted() { root } else { 0 };
        let plan = || (algorithm.spec().plan)(self.context_of(algorithm), Role { collective, root, rank, chunks });
        algorithm.implements(collective).then(plan)
    }

    /// How an exchange by `algorithm` is cut up, `None` for what is no exchange; the first time by all pairs of nodes.
    pub fn exchange_pacing(&self, algorithm: Algorithm, block: u64) -> Option<Pacing> {
        let Senders { meeting, ahead } = (algorithm.spec().senders?)(&self.usual);
        let network = (self.usual.room(meeting), self.usual.is_near(), self.usual.is_fast());
        Some(cost::exchange_pacing(network, meeting, block, ahead.into()))
    }

    /// Names of the stages of the algorithm's schedules (see [`crate::schedule::Round::stage`]).
    pub fn stages(&self, collective: Collective, algorithm: Algorithm) -> Vec<String> {
        (algorithm.spec().stages)(self.context_of(algorithm), collective)
    }

    /// The plans of all ranks.
    pub fn schedule(&self, collective: Collective, algorithm: Algorithm, root: Rank) -> Option<Schedule> {
        self.schedule_cut(collective, algorithm, root, DEFAULT_CHUNKS)
    }

    /// The same with so many [`Self::chunks`], at least 1.
    pub fn schedule_cut(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        root: Rank,
        chunks: u32,
    ) -> Option<Schedule> {
        let ranks = 0..self.topology().ranks();
        let plans: Option<Vec<RankPlan>> =
            ranks.map(|rank| self.plan_cut(collective, algorithm, root, rank, chunks)).collect();
        let stages = self.stages(collective, algorithm);
        Some(Schedule { collective, algorithm: algorithm.name().to_owned(), root, stages, plans: plans? })
    }
}
