//! Which algorithms are worth trying in the program's calls: beside the one that fits, and where none does.

use super::Planner;
use super::fitting::{ALIKE, Fitting, PREFERRED};
use crate::algorithm::{ALGORITHMS, Algorithm, Candidacy, Spec};
use crate::choice;
use crate::collective::Collective;
use crate::cost::{self, Prediction, Segments};

/// An algorithm whose predicted time is within this ratio of the least may still be the fastest: predictions know no
/// noise, no other jobs and no processors.
const WORTH_TRYING: f64 = 1.5;

/// What is predicted to take at most so many times as long as the first candidate may turn out to be the fastest: which
/// of two shares thin links better depends on links that nobody may have described.
const ALIKE_IN_TRIALS: f64 = 1.25;

/// Two-trees that are predicted to take the same but for such a part have one shape, and differ in who stands where.
const SAME: f64 = 1e-5;

/// Of what the MPI library is predicted to take, what is tried where nothing fits may be predicted to take at most
/// this: ranks ask each other whether trials are worth it, and a short program has little from them
/// (docs/benchmarks.md, "Aggregated blocks"). Where a queue may overflow, the library takes up to 6.6 times as long as
/// predicted, in some jobs ("Blocks from and to one rank"): there of what its first calls take.
const CLEARLY_FASTER: f64 = 0.8;

/// Bytes of a block from which on a queue that may overflow is no reason to try anything: time-outs then pass while
/// other blocks are sent (docs/benchmarks.md, "Scatter").
const OUTLASTING: u64 = 256 << 10;

/// Most algorithms to measure in the calls of a program.
const MOST_TRIED: usize = 3;

/// Bytes of a block for which exchanges are compared whose blocks differ.
const UNKNOWN_BLOCK: u64 = 64 << 10;

/// Bytes from which on a block is too long for a rank to stage those of others for a trial: all blocks at the root, 8
/// MiB of 128 ranks. A power of two, as blocks that are measured together are all shorter or none.
const LONGEST_STAGED: u64 = 64 << 10;

/// Bytes of the longest blocks that are measured together with those of so many.
const fn longest(bytes: u64) -> u64 {
    u64::MAX >> (bytes | 1).leading_zeros()
}

impl Planner {
    /// Whether something is tried where nothing fits: where its time and the library's are predicted.
    fn tries_more(&self) -> bool {
        self.knows_stock() && self.topology().ranks() <= cost::MOST_RANKS && !self.tries_what_fits
    }

    /// Bytes below which nothing of ours is tried that does not fit.
    pub(super) fn least_tried(&self, collective: Collective) -> u64 {
        let is_tried = match collective {
            Collective::Alltoall => self.tries_more() && self.usual.aggregates(),
            _ => self.tries_more(),
        };
        if is_tried { 0 } else { u64::MAX }
    }

    /// Whether blocks of so many bytes, and the longest that are measured together with them, may be aggregated: short
    /// ones, since a rank stages three times what it sends, where the queue before a host holds all that it receives.
    fn may_aggregate(&self, bytes: u64) -> bool {
        let is_short = bytes < choice::usual(Collective::Alltoall);
        is_short && self.tries_more() && self.usual.aggregates() && self.usual.holds_aggregated(longest(bytes))
    }

    /// Whether so much goes to or from one rank, at least of the longest blocks that are measured together with these,
    /// that the queue at its host may not hold it, in whatever order the library sends it, and that this matters.
    fn may_overflow(&self, bytes: u64) -> bool {
        bytes < OUTLASTING && longest(bytes) >= self.usual.overflowing_at_root()
    }

    /// Whether a plan is made in a moment, and needs little memory for blocks of so many bytes.
    fn is_light(&self, algorithm: Algorithm, block: u64) -> bool {
        match algorithm {
            Algorithm::ContentionFree => self.usual.may_order(),
            Algorithm::Aggregated => self.may_aggregate(block),
            Algorithm::Tree => block < LONGEST_STAGED,
            _ => true,
        }
    }

    /// What is tried in measured calls where nothing fits: that short blocks of an Alltoall are aggregated, and that
    /// blocks go to or from one rank in another order. It must be predicted to be clearly faster than the library,
    /// unless a queue may overflow and TCP lose time, of which predictions know nothing ([`Self::worth_trying_from`]).
    /// In a Bcast and an Allgather below the usual sizes ([`Self::is_told_by_trials`]) what is predicted to be far
    /// faster.
    pub(super) fn tried(&self, collective: Collective, bytes: u64, segments: Segments) -> Fitting {
        let (able, may_overflow): (&[Algorithm], bool) = match collective {
            _ if !self.tries_more() => return None,
            _ if self.is_told_by_trials(collective, bytes) => return self.far_faster(collective, bytes, segments),
            Collective::Alltoall => (&[Algorithm::Aggregated], false),
            Collective::Gather | Collective::Scatter => {
                (&[Algorithm::Direct, Algorithm::Tree], self.may_overflow(bytes))
            }
            _ => return None,
        };
        let stock = self.stock_time(collective, bytes)?;
        let light = able.iter().filter(|&&algorithm| self.is_light(algorithm, bytes));
        let predicted = light.filter_map(|&a| Some((a, self.predicted(collective, a, bytes, segments)?)));
        let (algorithm, prediction) = predicted.min_by(|a, b| a.1.time.total_cmp(&b.1.time))?;
        let is_tried = may_overflow || prediction.time <= stock * CLEARLY_FASTER;
        is_tried.then_some((algorithm, Some(prediction)))
    }

    /// Nanoseconds that a call of the library must take before the algorithm with this `prediction`, which is tried
    /// where nothing fits, is worth measuring; none if that is predicted of it.
    pub fn worth_trying_from(&self, collective: Collective, bytes: u64, prediction: Prediction) -> Option<f64> {
        let least = prediction.time / CLEARLY_FASTER;
        self.stock_time(collective, bytes).filter(|&stock| stock < least).map(|_| least)
    }

    /// The same for the exchanges that are the default, in an Alltoall of blocks that overflow no queue: there all
    /// exchanges share the links, and where the library takes about what they allow, trials gain nothing. None where a
    /// queue may overflow, which no prediction knows, or where the library is predicted to be slower.
    pub fn exchange_worth_from(&self, collective: Collective, bytes: u64, segments: Segments) -> Option<f64> {
        if collective != Collective::Alltoall || longest(bytes) >= self.usual.surely_holding() {
            return None;
        }
        let stock = self.stock_time(collective, bytes)?;
        let candidates = self.candidates(collective, bytes, segments).into_iter();
        let times = candidates.filter_map(|a| self.predicted(collective, a, bytes, segments).map(|p| p.time));
        let least = times.reduce(f64::min)? / PREFERRED;
        (stock < least).then_some(least)
    }

    /// The algorithms worth trying for a call of `bytes`, the one that fits first ([`Self::fitting_predicted`], where
    /// calls are measured), and what is predicted to take little longer. Empty where none fits.
    pub fn candidates(&self, collective: Collective, bytes: u64, segments: Segments) -> Vec<Algorithm> {
        let Some((fitting, _)) = self.fitting_predicted((collective, bytes, segments), true) else { return Vec::new() };
        let time = |a| self.predict(collective, a, bytes, segments).map(|prediction| prediction.time);
        let defaults = ALGORITHMS.iter().filter(|spec| spec.candidacy == Candidacy::Default);
        let others = defaults.map(|spec| spec.algorithm).filter(|&algorithm| algorithm != fitting);
        let mut others: Vec<(f64, Algorithm)> = others.filter_map(|a| Some((time(a)?, a))).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let least = others.iter().map(|other| other.0).chain(time(fitting)).fold(f64::INFINITY, f64::min);
        others.retain(|&(time, _)| time <= least * WORTH_TRYING);
        // On two nodes all trees are a chain, and without groups all two-trees are one.
        let mut tried: Vec<(f64, Algorithm)> = time(fitting).map(|time| (time, fitting)).into_iter().collect();
        others.retain(|&(time, algorithm)| {
            let is_same = |&(other, by): &(f64, Algorithm)| {
                time == other || algorithm.is_two_tree() && by.is_two_tree() && (time - other).abs() <= SAME * other
            };
            let is_new = !tried.iter().any(is_same);
            if is_new {
                tried.push((time, algorithm));
            }
            is_new
        });
        let others = others.into_iter().map(|(_, algorithm)| algorithm).take(MOST_TRIED - 1);
        let exchange = self.other_exchange(fitting, (collective, bytes, segments));
        [fitting].into_iter().chain(others).chain(exchange).collect()
    }

    /// How many of the `candidates` after the first are predicted to take about as long, of those that are chosen by
    /// predicted time.
    pub fn alike(&self, (collective, bytes, segments): (Collective, u64, Segments), candidates: &[Algorithm]) -> usize {
        let is_chosen_by_time = |a: &&Algorithm| a.spec().candidacy == Candidacy::Default;
        let mut times = (candidates.iter().take_while(is_chosen_by_time))
            .map_while(|&a| self.predict(collective, a, bytes, segments).map(|prediction| prediction.time));
        let Some(first) = times.next() else { return 0 };
        times.take_while(|&time| time <= first * ALIKE_IN_TRIALS).count()
    }

    /// The exchange to try beside the one that fits, of Gather and Scatter `direct` or `tree`: the one with the least
    /// predicted time, of those that are alike the first in the table, unless it is predicted to take much longer; the
    /// next in the table on more ranks than predictions look at. Only what is light. On a network that suits a relay
    /// that is another.
    fn other_exchange(
        &self,
        fitting: Algorithm,
        (collective, bytes, segments): (Collective, u64, Segments),
    ) -> Option<Algorithm> {
        let block = if collective.has_own_sizes() { UNKNOWN_BLOCK } else { bytes };
        let is_other = |spec: &&Spec| {
            let relays = spec.algorithm == Algorithm::Relay && bytes >= choice::usual(collective);
            spec.candidacy == Candidacy::Trial || relays && self.suits(spec, collective, bytes)
        };
        let trials = ALGORITHMS.iter().filter(is_other);
        let able = trials.map(|spec| spec.algorithm).filter(|a| a.implements(collective));
        let others: Vec<Algorithm> = able.filter(|&a| a != fitting && self.is_light(a, block)).collect();
        let time = |a| self.predict(collective, a, block, segments).map(|prediction| prediction.time);
        let Some(least) = others.iter().filter_map(|&a| time(a)).reduce(f64::min) else {
            return others.first().copied();
        };
        let is_close = time(fitting).is_none_or(|time| least <= time * WORTH_TRYING);
        others.into_iter().find(|&a| is_close && time(a).is_some_and(|time| time <= least * ALIKE))
    }
}
