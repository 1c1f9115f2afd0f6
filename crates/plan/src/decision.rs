//! The whole decision about one call, made once: what runs, in which pieces, and how long it is predicted to take.
//!
//! ```text
//!   rules, call, network ──► Decision: algorithm, prediction ──► Pacing: segment, window    or a Reason
//! ```

use crate::algorithm::{Algorithm, Candidacy};
use crate::choice::{Call, Choice, Reason, Rules};
use crate::collective::Collective;
use crate::cost::{CONFIRMED, LOSSLESS, Prediction, SEGMENT, SEGMENTS, Segments};
use crate::planner::Planner;
use crate::schedule::{Flow, Pacing};

/// Bytes per segment at most, where the environment does not say; of what is combined, which has scratch memory for
/// some, fewer.
const LARGEST_SEGMENT: u64 = SEGMENTS[0];
const LARGEST_COMBINED: u64 = 1 << 20;

/// Bytes under way unreceived on one stream, and the fewest and most segments, where the environment does not say, nor
/// the queue in which streams meet.
/// Measured: a ring needs about 30 segments of 16 KiB before late acknowledgements stop its links from idling.
const WINDOW_BYTES: u64 = 512 << 10;
const SMALLEST_WINDOW: u64 = 16;
const LARGEST_WINDOW: u64 = 128;
/// Of long segments fewer are enough, and combinations have scratch memory for as many: so many bytes.
const MOST_WINDOW_BYTES: u64 = 1 << 20;

/// What bounds the pieces of a call, the same on all ranks.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a segment, if the user says.
    pub segment: Option<u64>,
    /// Segments of a stream under way, if the user says.
    pub window: Option<u64>,
    /// Largest message that the transport carries well, bytes: over some, one that is not eager waits for its receiver,
    /// and delays what goes the other way.
    pub message: u64,
}

impl Limits {
    /// The largest segment, bytes, at least 1.
    pub fn most(&self, collective: Collective) -> u64 {
        let largest = if collective.reduces() { LARGEST_COMBINED } else { LARGEST_SEGMENT };
        self.segment.unwrap_or_else(|| largest.min(self.message)).max(1)
    }

    /// The segments that may be chosen from.
    fn segments(&self, collective: Collective) -> Segments {
        self.segment.map_or(Segments::AtMost(self.most(collective)), Segments::Exactly)
    }
}

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its time and its segment, where algorithms are chosen by time, or something is tried because of it.
    pub prediction: Option<Prediction>,
}

impl Decision {
    /// Decides about `call`, from what all ranks share. `is_measured`: measured calls will tell how fast the library
    /// is; otherwise its predicted time counts.
    ///
    /// # Errors
    /// Why the call is the library's.
    pub fn new(
        planner: &Planner,
        rules: &Rules,
        call: &Call,
        limits: &Limits,
        is_measured: bool,
    ) -> Result<Self, Reason> {
        let (mut compared, mut is_short) = (None, false);
        let fitting = || {
            let question = (call.collective, call.bytes, limits.segments(call.collective));
            let fitting = planner.fitting_predicted(question, is_measured);
            let is_preferred = |prediction| planner.is_preferred(call.collective, call.bytes, prediction);
            let preferred = fitting.filter(|fitting| is_measured || fitting.1.is_none_or(is_preferred));
            is_short = preferred.is_none() && planner.is_short(call.collective, call.bytes);
            let (algorithm, prediction) = preferred?;
            compared = prediction;
            Some(algorithm)
        };
        let algorithm = match rules.choose(call, fitting) {
            Choice::Run(algorithm) => algorithm,
            Choice::Library(_) if is_short => return Err(Reason::Small),
            Choice::Library(reason) => return Err(reason),
        };
        // What is tried for a whole class was compared at the least of it.
        Ok(match compared.filter(|_| !planner.is_told_by_trials(call.collective, call.bytes)) {
            prediction @ Some(_) => Self { algorithm, prediction },
            None => Self::of(planner, algorithm, call, limits),
        })
    }

    /// That `algorithm` runs.
    pub fn of(planner: &Planner, algorithm: Algorithm, call: &Call, limits: &Limits) -> Self {
        let is_default = algorithm.spec().candidacy == Candidacy::Default;
        let predict = || planner.predicted(call.collective, algorithm, call.bytes, limits.segments(call.collective));
        Self { algorithm, prediction: if is_default { predict() } else { None } }
    }

    /// Nanoseconds that `call`, whose blocks are alike, is predicted to take; on more ranks than are looked at those
    /// that the link of a host is busy in an exchange.
    pub fn time(&self, planner: &Planner, call: &Call, limits: &Limits) -> Option<f64> {
        let predict =
            || planner.predicted(call.collective, self.algorithm, call.bytes, limits.segments(call.collective));
        let prediction = self.prediction.or_else(predict).map(|prediction| prediction.time);
        prediction.or_else(|| planner.least_time(call.collective, call.bytes))
    }

    /// Nanoseconds that a call of the library must take before measured calls are worth it; none if they are worth it
    /// whatever it takes ([`Planner::worth_trying_from`], [`Planner::exchange_worth_from`]). `is_long`: it is predicted
    /// to take so long that measured calls need not be earned, and an exchange begins with them.
    pub fn worth_from(&self, planner: &Planner, call: &Call, limits: &Limits, is_long: bool) -> Option<f64> {
        if planner.is_told_by_trials(call.collective, call.bytes) {
            return None;
        }
        let segments = limits.segments(call.collective);
        let Some(prediction) = self.prediction else {
            let worth_from = || planner.exchange_worth_from(call.collective, call.bytes, segments);
            return if is_long { None } else { worth_from() };
        };
        let fits = planner.fitting(call.collective, call.bytes, segments).is_some();
        (!fits).then(|| planner.worth_trying_from(call.collective, call.bytes, prediction)).flatten()
    }

    /// If it is predicted to be far faster than the library's own ([`Planner::is_far_faster`]): nanoseconds, the least
    /// and the most, that calls of the library must take for that to be believed, so that calls run on it before any
    /// are measured ([`Planner::believed_between`]); none where measured calls alone tell.
    pub fn believed_between(&self, planner: &Planner, call: &Call) -> Option<[f64; 2]> {
        if planner.is_told_by_trials(call.collective, call.bytes) {
            return None;
        }
        let is_far = |&prediction: &Prediction| planner.is_far_faster(call.collective, call.bytes, prediction);
        let prediction = self.prediction.filter(is_far)?;
        planner.believed_between(call.collective, call.bytes, prediction)
    }

    /// The algorithms worth trying, where nothing is prescribed (see [`Planner::candidates`]).
    pub fn candidates(planner: &Planner, call: &Call, limits: &Limits) -> Vec<Algorithm> {
        planner.candidates(call.collective, call.bytes, limits.segments(call.collective))
    }

    /// How many of these after the first are predicted to take about as long (see [`Planner::alike`]).
    pub fn alike(planner: &Planner, call: &Call, limits: &Limits, candidates: &[Algorithm]) -> usize {
        planner.alike((call.collective, call.bytes, limits.segments(call.collective)), candidates)
    }

    /// How the call is cut up: as the user says, else so that it fits the network. `block`, `longest`: bytes of the
    /// mean and of the longest block of an exchange, of which a rank may know only its own; `unit_bytes`: what is never
    /// split.
    pub fn pacing(&self, planner: &Planner, limits: &Limits, [block, longest]: [u64; 2], unit_bytes: u64) -> Pacing {
        let most = limits.segment.unwrap_or(limits.message).max(1);
        // Segments do not depend on the block: both ends of a message must cut alike.
        if let Some(pacing) = planner.exchange_pacing(self.algorithm, block) {
            // Units are bytes here.
            let segment = limits.segment.unwrap_or_else(|| pacing.segment.min(most));
            // Where nothing is dropped, two messages are under way however long they are.
            let two = if limits.segment.is_none() { 2 * segment.min(longest) } else { 0 };
            let flow = pacing.flow.map(|flow| Flow {
                // Whole segments are confirmed. A block of one that is long enough counts as a short block: ranks that
                // are in step bound how many there are.
                confirmed: if longest <= segment && segment >= CONFIRMED {
                    flow.confirmed
                } else {
                    flow.confirmed.min(segment)
                },
                unconfirmed: flow.unconfirmed.max(if flow.unconfirmed >= LOSSLESS { two } else { 0 }),
                ..flow
            });
            return Pacing { segment, window: limits.window.unwrap_or(pacing.window), flow };
        }
        let prediction = self.prediction.filter(|_| self.algorithm.spec().candidacy == Candidacy::Default);
        let segment = prediction.map_or(SEGMENT.min(most), |prediction| prediction.segment);
        let segment = limits.segment.unwrap_or(segment).max(unit_bytes);
        let fewest = SMALLEST_WINDOW.min(MOST_WINDOW_BYTES / segment).max(2);
        let held = prediction.and_then(|prediction| prediction.under_way);
        let held = held.map_or(LARGEST_WINDOW, |bytes| (bytes / segment).max(2));
        let ahead = prediction.and_then(|prediction| prediction.ahead);
        let ahead = ahead.map_or(LARGEST_WINDOW, |ahead| (ahead.bytes / segment).max(ahead.segments));
        let by_bytes = || (WINDOW_BYTES / segment).clamp(fewest, LARGEST_WINDOW).min(held).min(ahead);
        let window = limits.window.unwrap_or_else(|| prediction.map_or(SMALLEST_WINDOW, |_| by_bytes()));
        Pacing { segment: segment / unit_bytes, window, flow: None }
    }
}

#[cfg(test)]
mod tests;
