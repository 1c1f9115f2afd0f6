//! Plans and predictions of one communicator, and which algorithm fits its network.

use crate::algorithm::{ALGORITHMS, Algorithm, Role, Senders, Spec};
use crate::choice;
use crate::collective::{Collective, Rank};
use crate::context::{Context, Options};
use crate::cost::{self, Demand, Message, Prediction, Segments};
use crate::levels;
use crate::pattern::{Partners, RailOptions, Steps};
use crate::recent::Recent;
use crate::schedule::{Pacing, RankPlan, Schedule};
use crate::stock::Stock;
use crate::topology::Topology;
use std::sync::{Arc, OnceLock};

/// The same as [`choice::usual`] where all nodes are on one switch: below, the library's own algorithms, which share no
/// link there either, are often as fast. Measured on star16.
const fn usual_on_one_switch(collective: Collective) -> u64 {
    match collective {
        Collective::Allreduce => 128 << 10,
        collective if collective.has_blocks_of_all() => 8 << 10,
        _ => 0,
    }
}

/// Most ranks for which Nagare carries out Allgather and Reduce_scatter by default: a plan has a part for every slice
/// of every block.
const MOST_BLOCKS: u32 = 1 << 15;

/// Predicted times within this ratio of the least count as equal: Nagare takes the first in the table, which depends
/// least on overlap.
const ALIKE: f64 = 1.02;

/// An algorithm whose predicted time is within this ratio of the least may still be the fastest: predictions know no
/// noise, no other jobs and no processors.
const WORTH_TRYING: f64 = 1.5;

/// Of what the MPI library is predicted to take, an algorithm of ours may be predicted to take at most this.
const PREFERRED: f64 = 0.95;

/// The same where nothing but predictions speaks for ours: below the usual thresholds, where messages count for more
/// than bytes, and before any call is measured. There ours took up to twice as long, beside the library's, as was
/// predicted (docs/benchmarks.md, "Below the thresholds").
const FAR: f64 = 0.6;

/// Most algorithms to measure in the calls of a program.
const MOST_TRIED: usize = 3;

/// Pieces in which halving and doubling cuts the share of a lane where no size is given.
const DEFAULT_CHUNKS: u32 = 2;

/// What fits a call, and its prediction where times were compared.
type Fitting = Option<(Algorithm, Option<Prediction>)>;

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
    leaves: OnceLock<Option<Box<Context>>>,
    /// By collective, then by algorithm. On the heap: a planner is made on the stacks of programs, which may be small.
    demands: Box<[OnceLock<Option<Demand>>]>,
    fitted: Recent<(Collective, u64, Segments), Fitting>,
    predictions: Recent<(Collective, Algorithm, u64, Segments), Option<Prediction>>,
    /// The MPI library's own algorithms, where it is known.
    stock: Option<Stock>,
    stock_times: Recent<(Collective, u64), Option<f64>>,
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
        let demands = (0..Collective::ALL.len() * ALGORITHMS.len()).map(|_| OnceLock::new()).collect();
        let (fitted, predictions, stock_times) = (Recent::new(), Recent::new(), Recent::new());
        Self { usual, leaves: OnceLock::new(), demands, fitted, predictions, stock: None, stock_times }
    }

    /// The same beside an MPI library whose algorithms are known.
    pub fn with_stock(mut self, stock: Stock) -> Self {
        self.stock = Some(stock);
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
        Self { stock: self.stock, ..Self::of(Context::new(self.usual.into_topology(), options)) }
    }

    /// The facts it plans from.
    pub fn topology(&self) -> &Topology {
        self.usual.topology()
    }

    /// What an algorithm plans from. Exchanges and what gathers or scatters keep the levels of the topology: their
    /// times are not predicted, and played in time the order of nodes by leaf made `contention_free` up to 11 % slower.
    pub fn context_of(&self, algorithm: Algorithm) -> &Context {
        if algorithm.spec().cost.is_some() { self.context() } else { &self.usual }
    }

    /// What algorithms with a predicted time plan from: facts, options and indexes. Which levels count is settled when
    /// this is first asked.
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

    /// What `algorithm` costs on this network, `None` if it is no candidate for `collective`; computed once, in O(nodes
    /// · log nodes), of `two_tree` O(ranks · log ranks), without a fabric, else O(links) more for every set of switches
    /// that nodes are on. The root is taken to be rank 0, whichever it is: it hardly matters, and programs change it
    /// from call to call.
    pub fn demand(&self, collective: Collective, algorithm: Algorithm) -> Option<&Demand> {
        let cost = algorithm.spec().cost.filter(|_| algorithm.implements(collective))?;
        let demand = &self.demands[collective as usize * ALGORITHMS.len() + algorithm as usize];
        demand.get_or_init(|| cost(self.context(), collective)).as_ref()
    }

    /// How an exchange by `algorithm` is cut up, `None` for what is no exchange.
    pub fn exchange_pacing(&self, algorithm: Algorithm, block: u64) -> Option<Pacing> {
        let Senders { meeting, abreast } = (algorithm.spec().senders?)(&self.usual);
        Some(cost::exchange_pacing(self.usual.room(meeting), meeting, block, abreast.into()))
    }

    /// Nanoseconds that an exchange of `bytes` takes at least, whatever carries it out (see [`cost::least_time`]).
    pub fn least_time(&self, collective: Collective, bytes: u64) -> f64 {
        cost::least_time(self.topology(), self.usual.grouped(), collective, bytes)
    }

    /// What all candidates for `collective` cost.
    pub fn demands(&self, collective: Collective) -> Vec<(Algorithm, &Demand)> {
        let candidates = ALGORITHMS.iter().map(|spec| spec.algorithm);
        candidates.filter_map(|a| self.demand(collective, a).map(|demand| (a, demand))).collect()
    }

    /// What a message costs here beyond its bytes, at least.
    pub fn message(&self) -> Message {
        Message::of(self.topology())
    }

    /// The algorithm with the least predicted time for a vector of `bytes`, and its segment, of those alike the first.
    /// Where a fabric tells all links, but not what messages cost, the one that is at worst the least slower than what
    /// is best at either end of that range. `None` if Nagare does not choose by predicted time for this collective.
    pub fn cheapest(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<(Algorithm, Prediction)> {
        let candidates = ALGORITHMS.iter().map(|spec| spec.algorithm);
        let predicted = candidates.filter_map(|a| self.predict(collective, a, bytes, segments).map(|p| (a, p)));
        let all: Vec<(Algorithm, Prediction)> = predicted.collect();
        let best = cost::best_times(all.iter().map(|&(_, prediction)| prediction));
        let knows_links = self.topology().network().is_some();
        let weight = |p: Prediction| if knows_links { p.regret(best) } else { p.time };
        let least = all.iter().map(|&(_, prediction)| weight(prediction)).fold(f64::INFINITY, f64::min);
        all.into_iter().find(|&(_, prediction)| weight(prediction) <= least * ALIKE)
    }

    /// The algorithm that fits this network for a call of `bytes` (see [`crate::choice::Call`]), `None` where the MPI
    /// library's own are as fast as the links allow.
    pub fn fitting(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<Algorithm> {
        self.fitting_predicted(collective, bytes, segments).map(|(algorithm, _)| algorithm)
    }

    /// The same, with its predicted time and segment where times were compared.
    pub fn fitting_predicted(
        &self,
        collective: Collective,
        bytes: u64,
        segments: Segments,
    ) -> Option<(Algorithm, Option<Prediction>)> {
        self.fitted.answer((collective, bytes, segments), || self.fit(collective, bytes, segments))
    }

    fn fit(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        if collective.has_blocks_of_all() && self.topology().ranks() > MOST_BLOCKS {
            return None;
        }
        let fits = |spec: &&Spec| {
            spec.collectives.contains(&collective)
                && spec.fits.is_some_and(|fits| fits(self.context_of(spec.algorithm), collective))
        };
        if let Some(spec) = ALGORITHMS.iter().find(fits) {
            return (bytes >= choice::usual(collective)).then_some((spec.algorithm, None));
        }
        if self.is_short(collective, bytes) {
            return self.far_faster(collective, bytes, segments);
        }
        self.cheapest(collective, bytes, segments).map(|(algorithm, prediction)| (algorithm, Some(prediction)))
    }

    /// Whether `bytes` are fewer than those from which the library's own algorithms are usually slower.
    pub fn is_short(&self, collective: Collective, bytes: u64) -> bool {
        let one_switch = || self.context().grouped().depth_between_nodes() < 2 && self.context().line().lanes() == 1;
        bytes < choice::usual(collective) || (bytes < usual_on_one_switch(collective) && one_switch())
    }

    /// What is predicted to be far faster than the library's own reduction. What only moves data is measured, from the
    /// usual sizes on.
    fn far_faster(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        if !collective.reduces() {
            return None;
        }
        let (algorithm, prediction) = self.cheapest(collective, bytes, segments)?;
        self.is_far_faster(collective, bytes, prediction).then_some((algorithm, Some(prediction)))
    }

    /// Whether an algorithm of ours with this `prediction` is predicted to be far faster than the library's own,
    /// whatever messages cost; `false` where it is not known what that does.
    pub fn is_far_faster(&self, collective: Collective, bytes: u64, prediction: Prediction) -> bool {
        let [cheapest, dearest] = self.topology().message_range();
        let ends = [(cheapest, prediction.ends[0]), (1.0, prediction.time), (dearest, prediction.ends[1])];
        let stock = |times| self.stock_time_where(collective, bytes, times);
        ends.into_iter().all(|(times, ours)| stock(times).is_some_and(|stock| ours <= stock * FAR))
    }

    /// The algorithms worth trying for a call of `bytes`, the one that fits first: [`Self::fitting`], what is predicted
    /// to take little longer, and of exchanges, which nothing predicts, the next in the table. Empty where none fits.
    pub fn candidates(&self, collective: Collective, bytes: u64, segments: Segments) -> Vec<Algorithm> {
        let Some(fitting) = self.fitting(collective, bytes, segments) else { return Vec::new() };
        let rows = || ALGORITHMS.iter().filter(|spec| spec.algorithm != fitting);
        let time = |a| self.predict(collective, a, bytes, segments).map(|prediction| prediction.time);
        let mut others: Vec<(f64, Algorithm)> =
            rows().filter_map(|spec| Some((time(spec.algorithm)?, spec.algorithm))).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let least = others.iter().map(|other| other.0).chain(time(fitting)).fold(f64::INFINITY, f64::min);
        others.retain(|&(time, _)| time <= least * WORTH_TRYING);
        let exchanges = rows().filter(|spec| spec.senders.is_some() && spec.collectives.contains(&collective));
        let exchange = exchanges.map(|spec| spec.algorithm).take(1);
        // What is predicted to take the same to the last bit does the same: on two nodes all trees are a chain.
        let mut seen: Vec<f64> = time(fitting).into_iter().collect();
        others.retain(|&(time, _)| {
            let is_new = !seen.contains(&time);
            seen.push(time);
            is_new
        });
        let others = others.into_iter().map(|(_, algorithm)| algorithm).take(MOST_TRIED - 1);
        [fitting].into_iter().chain(others).chain(exchange).collect()
    }

    /// The predicted time and segment of one algorithm, `None` if it is no candidate.
    pub fn predicted(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        bytes: u64,
        segments: Segments,
    ) -> Option<Prediction> {
        let question = (collective, algorithm, bytes, segments);
        self.predictions.answer(question, || self.predict(collective, algorithm, bytes, segments))
    }

    fn predict(
        &self,
        collective: Collective,
        algorithm: Algorithm,
        bytes: u64,
        segments: Segments,
    ) -> Option<Prediction> {
        let demand = self.demand(collective, algorithm)?;
        let message = (self.message(), self.topology().message_range());
        Some(cost::predict(demand, message, self.vector(collective, bytes), segments))
    }

    /// Nanoseconds that the MPI library's own are predicted to take for a call of `bytes`; `None` where it is not known
    /// what it does, or too much to look at.
    pub fn stock_time(&self, collective: Collective, bytes: u64) -> Option<f64> {
        let time = || self.stock.as_ref()?.time(&self.usual, self.message(), collective, bytes);
        self.stock_times.answer((collective, bytes), time)
    }

    /// Whether an algorithm of ours with this `prediction` is predicted to be clearly faster than the library's own;
    /// `true` where it is not known what that does, and for what only moves data, of which measured calls tell. Where
    /// nobody has said how fast links are, it must be on slow links too.
    pub fn is_preferred(&self, collective: Collective, bytes: u64, prediction: Prediction) -> bool {
        let Some(stock) = self.stock_time(collective, bytes).filter(|_| collective.reduces()) else { return true };
        let [cheapest, _] = self.topology().message_range();
        let on_slow_links = || {
            let stock = self.stock_time_where(collective, bytes, cheapest);
            stock.is_none_or(|stock| prediction.ends[0] <= stock * PREFERRED)
        };
        prediction.time <= stock * PREFERRED && (cheapest == 1.0 || on_slow_links())
    }

    /// The library's predicted time where a message costs so many times as much.
    fn stock_time_where(&self, collective: Collective, bytes: u64, times: f64) -> Option<f64> {
        self.stock.as_ref()?.time(&self.usual, self.message().times(times), collective, bytes)
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
