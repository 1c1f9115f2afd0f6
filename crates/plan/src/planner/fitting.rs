//! Which algorithm fits a call, by the network's properties and by predicted times.

use super::Planner;
use crate::algorithm::{ALGORITHMS, Algorithm, Candidacy, Spec};
use crate::choice::{self, Rules};
use crate::collective::Collective;
use crate::context::Context;
use crate::cost::{self, Prediction, Segments};
use crate::stock::Stock;

/// The same as [`choice::usual`] where the library's own algorithms share no link either, as on one switch and on a
/// whole fat tree: below, they are often as fast. Measured on star16; fattree is like it.
const fn usual_without_sharing(collective: Collective) -> u64 {
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
pub(super) const ALIKE: f64 = 1.02;

/// Of a sum the chain runs in place of an algorithm that branches if it is predicted to take at most so many times the
/// least: beside the chain those take longer than predicted (docs/benchmarks.md, "Sums through trees and chains"). The
/// margin is that of [`PREFERRED`]: where a tree is only just faster than the library, the library runs then.
const CHAIN_ALIKE: f64 = 1.05;

/// Of what the MPI library is predicted to take, an algorithm of ours may be predicted to take at most this.
pub(super) const PREFERRED: f64 = 0.95;

/// Nanoseconds that a short message between two ranks of a node may take, which predicted times leave out.
const INSIDE: f64 = 1000.0;

/// A call of the library may take so many times what is predicted of it, and the prediction still counts as true. Where
/// it takes longer, something else than the network is the limit, as where ranks share processors.
const AS_PREDICTED: f64 = 2.0;

/// Bytes of a block below which no Alltoall is an exchange of ours, but for aggregated ones, whatever the queues.
const OVERFLOWING: u64 = 2 << 10;

/// As [`PREFERRED`] where nothing but predictions speaks for ours: below the usual thresholds, where messages count for
/// more than bytes, and before any call is measured. There ours took up to twice as long, beside the library's, as was
/// predicted (docs/benchmarks.md, "Below the thresholds"); in blocks below [`choice::usual`] messages count for still
/// more ("Blocks below 1 KiB").
fn far(collective: Collective, bytes: u64) -> f64 {
    if choice::is_short_block(collective, bytes) { 0.5 } else { 0.6 }
}

/// What fits a call, and its prediction where times were compared.
pub(super) type Fitting = Option<(Algorithm, Option<Prediction>)>;

impl Planner {
    /// The algorithm with the least predicted time for a vector of `bytes`, with that time and its segment; where times
    /// are alike, the first in the table, and of a sum the chain within 5 % in place of one that branches.
    /// Where a fabric tells all links, but not what messages cost, predictions are made for both ends of the range of
    /// that cost, and the algorithm is taken that loses the least to the best one at the end where it loses more.
    /// `None` if Nagare does not choose by predicted time for this collective.
    pub fn cheapest(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<(Algorithm, Prediction)> {
        let candidates = ALGORITHMS.iter().filter(|spec| spec.candidacy == Candidacy::Default);
        let predicted = candidates
            .map(|spec| spec.algorithm)
            .filter_map(|a| self.predict(collective, a, bytes, segments).map(|p| (a, p)));
        let all: Vec<(Algorithm, Prediction)> = predicted.collect();
        let best = cost::best_times(all.iter().map(|&(_, prediction)| prediction));
        let knows_links = self.topology().network().is_some();
        let weight = |p: Prediction| if knows_links { p.regret(best) } else { p.time };
        let least = all.iter().map(|&(_, prediction)| weight(prediction)).fold(f64::INFINITY, f64::min);
        let first = *all.iter().find(|&&(_, prediction)| weight(prediction) <= least * ALIKE)?;
        if !collective.reduces() || !first.0.branches() {
            return Some(first);
        }
        let is_alike = |&&(algorithm, p): &&_| algorithm == Algorithm::Chain && weight(p) <= least * CHAIN_ALIKE;
        Some(all.iter().find(is_alike).copied().unwrap_or(first))
    }

    /// The algorithm that fits this network for a call of `bytes` (see [`crate::choice::Call`]), `None` where the MPI
    /// library's own are as fast as the links allow.
    pub fn fitting(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<Algorithm> {
        self.fitting_predicted((collective, bytes, segments), false).map(|(algorithm, _)| algorithm)
    }

    /// The same, with its predicted time and segment where times were compared. `is_measured`: measured calls will tell
    /// whether it is faster than the library, so that more is tried (`trials.rs`).
    pub fn fitting_predicted(
        &self,
        (collective, bytes, segments): (Collective, u64, Segments),
        is_measured: bool,
    ) -> Option<(Algorithm, Option<Prediction>)> {
        // One answer for all that is measured together, at the least of it: trials are of the whole class.
        let is_told = is_measured && self.is_told_by_trials(collective, bytes);
        let bytes = if is_told { 1 << bytes.max(1).ilog2() } else { bytes };
        let fit = || {
            let tried = || if is_measured { self.tried(collective, bytes, segments) } else { None };
            self.fit(collective, bytes, segments).or_else(tried)
        };
        self.fitted.answer((collective, bytes, segments, is_measured), fit)
    }

    fn fit(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        if collective.has_blocks_of_all() && self.topology().ranks() > MOST_BLOCKS {
            return None;
        }
        if let Some(spec) = ALGORITHMS.iter().find(|spec| self.suits(spec, collective, bytes)) {
            let least = match collective {
                Collective::Alltoall => self.least_sent(),
                _ => choice::usual(collective),
            };
            return match spec.algorithm {
                _ if bytes < least => None,
                Algorithm::Relay => self.relayed(collective, bytes, segments),
                algorithm => Some((algorithm, None)),
            };
        }
        if self.is_short(collective, bytes) {
            // Of what only moves data, measured calls tell (`trials.rs`).
            return if collective.reduces() { self.far_faster(collective, bytes, segments) } else { None };
        }
        self.cheapest(collective, bytes, segments).map(|(algorithm, prediction)| (algorithm, Some(prediction)))
    }

    /// Of blocks to or from one rank on a network that suits a relay: that, or in a Gather [`Algorithm::Direct`] if it
    /// is predicted to be faster, unless the library is predicted to be as fast. In a Scatter `direct` sends to one
    /// rank after another, however many the links carry.
    fn relayed(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        let time = |algorithm| self.predicted(collective, algorithm, bytes, segments);
        let Some(relay) = time(Algorithm::Relay) else { return Some((Algorithm::Relay, None)) };
        let direct = if collective == Collective::Gather { time(Algorithm::Direct) } else { None };
        let direct = direct.filter(|direct| direct.time * ALIKE <= relay.time);
        let (algorithm, ours) = direct.map_or((Algorithm::Relay, relay), |direct| (Algorithm::Direct, direct));
        self.is_clearly_faster(collective, bytes, ours).then_some((algorithm, None))
    }

    /// Whether an algorithm is the default for blocks of `bytes` by what it needs of the network, but for what
    /// [`Self::fitting`] says of a relay. Blocks of which a rank may know its own only are taken for long ones.
    pub fn suits(&self, spec: &Spec, collective: Collective, bytes: u64) -> bool {
        let block = if collective.has_own_sizes() { u64::MAX } else { bytes };
        let suits =
            |fits: fn(&Context, Collective, u64) -> bool| fits(self.context_of(spec.algorithm), collective, block);
        spec.collectives.contains(&collective) && spec.fits.is_some_and(suits)
    }

    /// Bytes below which nothing of ours runs by default on this network: of Alltoall [`choice::usual`], or fewer where
    /// the library's own then overflows the queue before a host, or, if calls are measured, where ranks of a node can
    /// aggregate blocks; of Bcast, Scatter and Allgather(v) [`choice::usual`], unless calls are measured and something
    /// is tried, and of Reduce_scatter beside a library whose choice is not known; of Gatherv and Scatterv none.
    pub fn floor(&self, collective: Collective, is_measured: bool) -> u64 {
        let fits = match collective {
            Collective::Alltoall => self.least_sent(),
            Collective::Bcast | Collective::Scatter => choice::usual(collective),
            _ if collective.gathers_all() => choice::usual(collective),
            _ if collective.has_blocks_of_all() && !self.knows_stock() => choice::usual(collective),
            // Nothing is ever the default: such calls are passed on at once.
            Collective::Gatherv | Collective::Scatterv => return u64::MAX,
            _ => 0,
        };
        let tried = if is_measured { self.least_tried(collective) } else { u64::MAX };
        Rules::default().floor(collective).max(fits.min(tried))
    }

    /// Whether it is known which algorithms the MPI library chooses.
    pub(super) fn knows_stock(&self) -> bool {
        self.stock.as_ref().is_some_and(Stock::is_known)
    }

    /// Bytes of a block from which on an Alltoall is an exchange of ours by default.
    fn least_sent(&self) -> u64 {
        self.usual.overflowing().clamp(OVERFLOWING, choice::usual(Collective::Alltoall))
    }

    /// Whether `bytes` are fewer than those from which the library's own algorithms are usually slower.
    pub fn is_short(&self, collective: Collective, bytes: u64) -> bool {
        let shares_nothing = || self.context().shifts_share_nothing();
        bytes < choice::usual(collective) || (bytes < usual_without_sharing(collective) && shares_nothing())
    }

    /// Whether measured calls alone tell what runs: what only moves data is the library's below the usual sizes, where
    /// predictions of either side may be wrong by a factor of two.
    pub fn is_told_by_trials(&self, collective: Collective, bytes: u64) -> bool {
        let moves_a_vector = matches!(collective, Collective::Bcast | Collective::Allgather | Collective::Allgatherv);
        moves_a_vector && self.is_short(collective, bytes)
    }

    /// What is predicted to be far faster than the library's own, if anything is.
    pub(super) fn far_faster(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        // Nothing is compared beside a library of which it is not known what it chooses.
        if !self.knows_stock() {
            return None;
        }
        self.stock_time(collective, bytes)?;
        let (algorithm, prediction) = self.cheapest(collective, bytes, segments)?;
        self.is_far_faster(collective, bytes, prediction).then_some((algorithm, Some(prediction)))
    }

    /// Whether an algorithm of ours with this `prediction` is predicted to be far faster than the library's own,
    /// whatever messages cost, the ways up and down in the tree of the widest node included, of which the library is
    /// taken to have none; `false` where it is not known what that does.
    pub fn is_far_faster(&self, collective: Collective, bytes: u64, prediction: Prediction) -> bool {
        if !self.knows_stock() {
            return false;
        }
        let [cheapest, dearest] = self.topology().message_range();
        let ends = [(cheapest, prediction.ends[0]), (1.0, prediction.time), (dearest, prediction.ends[1])];
        let stock = |times| self.stock_time_where(collective, bytes, times);
        let far = far(collective, bytes);
        // Where links are taken to be slower, by messages that cost less, those inside nodes cost as much less.
        let ours = |times: f64, ours| ours + self.inside() * times.min(1.0);
        ends.into_iter().all(|(times, time)| stock(times).is_some_and(|stock| ours(times, time) <= stock * far))
    }

    /// Nanoseconds of the ways up and down in the tree of the widest node.
    fn inside(&self) -> f64 {
        let levels = self.context().node_ranks().widest().next_power_of_two().ilog2();
        2.0 * f64::from(levels) * INSIDE
    }

    /// Nanoseconds, the least and the most, that a call of the library must take for such a prediction to be believed:
    /// not much longer than predicted, and so long that ours is far faster.
    pub fn believed_between(&self, collective: Collective, bytes: u64, prediction: Prediction) -> Option<[f64; 2]> {
        let [_, dearest] = self.topology().message_range();
        let most = self.stock_time_where(collective, bytes, dearest)? * AS_PREDICTED;
        Some([(prediction.time + self.inside()) / far(collective, bytes), most])
    }

    /// Whether an algorithm of ours with this `prediction` is predicted to be clearly faster than the library's own;
    /// `true` where it is not known what that does, and for what only moves data, of which measured calls tell.
    pub fn is_preferred(&self, collective: Collective, bytes: u64, prediction: Prediction) -> bool {
        !collective.reduces() || self.is_clearly_faster(collective, bytes, prediction)
    }

    /// The same whatever the collective. Where nobody has said how fast links are, it must be so on slow links too.
    fn is_clearly_faster(&self, collective: Collective, bytes: u64, prediction: Prediction) -> bool {
        let Some(stock) = self.stock_time(collective, bytes) else { return true };
        let [cheapest, _] = self.topology().message_range();
        let on_slow_links = || {
            let stock = self.stock_time_where(collective, bytes, cheapest);
            stock.is_none_or(|stock| prediction.ends[0] <= stock * PREFERRED)
        };
        prediction.time <= stock * PREFERRED && (cheapest == 1.0 || on_slow_links())
    }
}
