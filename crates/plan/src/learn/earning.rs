//! Whether a class of calls has taken so long that trying other ways than the MPI library's is worth what it costs.

use super::belief::Belief;
use super::settling::EXCESS;
use std::time::Duration;

/// Nanoseconds that calls of a class must have taken on some rank before anything is tried: of a program that ends soon
/// after, trials are to be a small part.
const EARNED: u64 = 15_000_000;

/// Calls that are predicted to take so many nanoseconds need earn nothing.
const LONG: f64 = 20e6;

/// What trials cost, in times that it takes the ranks to ask each other: a communicator of ours, an agreement for each
/// measured call.
const AGREEMENTS: u64 = 20;

/// Of what calls have taken so far, these costs and [`EXCESS`] may be at most such a share, whenever the program ends;
/// or these costs alone so much of a series of fifty.
const SHARE: f64 = 0.07;
const SHARE_OF_FIFTY: f64 = 1.0 / 22.0;

/// Calls may take so many times as long as predicted: in memory, and over a network, whose rates are often unknown.
const OFF_IN_MEMORY: f64 = 30.0;
const OFF: f64 = 100.0;

/// Of calls that take less than so many nanoseconds on average, after so many, one in so many is timed: to look at the
/// clock twice takes a fifth of the shortest.
const SHORT: u64 = 10_000;
const TIMED: u64 = 8;

/// The ranks ask each other again when the calls will have earned trials if they go on as they began, after at least
/// and at most so many times as many calls: the first is often slow, and later ones of Alltoallv may be longer. Of
/// fifty calls that are as short as asking they ask before one.
const ASKED_AGAIN: [f64; 2] = [1.5, 64.0];

/// The same where the library was not slow enough for a trial to be worth it.
const ASKED_WHETHER_SLOW: f64 = 4.0;

/// The same once something of ours is believed to be far faster, whose calls nobody has seen: after so many of them.
const SEEN: f64 = 2.0;

/// They ask sooner, but not before twice as many calls, where asking takes at most such a share of what the calls
/// between take: these may become far slower.
const SHARE_OF_ASKING: f64 = 0.02;

/// Where calls have taken long enough the first time, ranks ask so often before one call: who came first has waited for
/// the others, and the second time may open connections, so that the third tells what asking takes, and the fourth the
/// longest of all.
const ASKED_AT_ONCE: u32 = 4;

/// What the ranks have found out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The calls have earned trials.
    Enough,
    /// They ask once more, before the same call.
    Again,
    /// They ask before a later call.
    Later,
}

/// The first calls of a class, which run on the MPI library, or, once its calls have shown that its predictions hold,
/// on what is predicted to be far faster. When ranks ask each other, and what they believe then, depends on the number
/// of calls, on predictions, and on the longest times of all, so that all of them do the same before the same call.
#[derive(Clone, Debug)]
pub struct Earning {
    calls: u64,
    next_asked: u64,
    /// How often ranks have asked.
    asked: u32,
    spent: u64,
    /// What the first call took on this rank, nanoseconds; 0 where it does not count.
    first: u64,
    /// The shortest time that asking has taken on this rank, nanoseconds; 0 before the first.
    asking: u64,
    /// What asking takes at least, as predicted, nanoseconds, for as long as nobody knows what it takes.
    predicted_asking: u64,
    /// Nanoseconds that a call of the library must take on average for trials to be worth it, if they are worth it only
    /// where it is slow.
    worth_from: Option<f64>,
    /// Where something is predicted to be far faster than the library.
    belief: Option<Belief>,
}

impl Earning {
    /// Of calls that are predicted to take so many nanoseconds each, if anything is predicted.
    pub fn new(predicted: Option<f64>, shares_memory: bool) -> Self {
        let times = if shares_memory { OFF_IN_MEMORY } else { OFF };
        let next_asked = predicted.map_or(1, |predicted| ((EARNED as f64 / (predicted * times)) as u64).max(1));
        Self {
            calls: 0,
            next_asked,
            asked: 0,
            spent: 0,
            first: 0,
            asking: 0,
            predicted_asking: 0,
            worth_from: None,
            belief: None,
        }
    }

    /// The same where asking is predicted to take so many nanoseconds at least.
    pub fn asked_in(self, predicted: Option<f64>) -> Self {
        Self { predicted_asking: predicted.map_or(0, |nanoseconds| nanoseconds as u64), ..self }
    }

    /// The same where trials are worth it only if a call of the library takes so many nanoseconds on average. The first
    /// call does not count: it may open connections.
    pub fn worth_from(self, worth_from: Option<f64>) -> Self {
        let next_asked = self.next_asked.max(if worth_from.is_some() { 2 } else { 1 });
        Self { worth_from, next_asked, ..self }
    }

    /// The same where something is predicted to be far faster than the library, which is to be believed if calls of the
    /// library take so many nanoseconds on average, the least and the most.
    pub fn believed_between(self, between: Option<[f64; 2]>) -> Self {
        Self { belief: between.map(Belief::new), ..self }
    }

    /// Whether calls run on what is predicted to be far faster.
    pub fn is_believed(&self) -> bool {
        self.belief.as_ref().is_some_and(Belief::holds)
    }

    /// Whether calls that are predicted to take so many nanoseconds need not be waited for.
    pub fn is_earned_by(predicted: Option<f64>) -> bool {
        predicted.is_some_and(|predicted| predicted >= LONG)
    }

    /// Counts a call that begins. Whether the ranks ask each other before it: [`Self::is_earned`].
    pub fn next_call(&mut self) -> bool {
        self.calls += 1;
        self.calls - 1 == self.next_asked
    }

    /// Counts a call that begins, unless the ranks ask each other before it. Whether it was counted.
    pub fn next_unasked(&mut self) -> bool {
        let is_asked = self.calls == self.next_asked;
        self.calls += u64::from(!is_asked);
        !is_asked
    }

    /// Whether this rank is to time the call that was counted last.
    pub fn is_timed(&self) -> bool {
        !self.is_sampled() || self.calls % TIMED == 0
    }

    /// What a call that was to be timed took on this rank. One that stands for others and took very long stands for
    /// itself.
    pub fn add(&mut self, nanoseconds: u64) {
        if self.calls <= self.uncounted() {
            return;
        }
        let calls = if self.is_sampled() && nanoseconds < 10 * SHORT { TIMED } else { 1 };
        self.spent = self.spent.saturating_add(nanoseconds.saturating_mul(calls));
        if self.calls == 1 {
            self.first = self.spent;
        }
    }

    /// What the calls took on this rank on average, nanoseconds; `None` if none was counted.
    pub fn mean(&self) -> Option<u64> {
        self.spent.checked_div(self.counted()).filter(|&mean| mean > 0)
    }

    /// The shortest time that asking has taken on this rank, nanoseconds; 0 if nobody has asked.
    pub fn asking(&self) -> u64 {
        self.asking
    }

    fn is_sampled(&self) -> bool {
        self.calls > TIMED && self.spent < self.calls.saturating_mul(SHORT)
    }

    /// Calls before the one that begins, without those that do not count.
    fn counted(&self) -> u64 {
        self.calls.saturating_sub(1 + self.uncounted())
    }

    /// First calls that do not count.
    fn uncounted(&self) -> u64 {
        u64::from(self.worth_from.is_some())
    }

    /// What the calls, asking, and the calls after the first took on this rank, nanoseconds; asking 0 if nobody knows.
    fn times(&self) -> [u64; 3] {
        [self.spent, self.asking, self.spent - self.first]
    }

    /// Whether the calls before the one that begins have earned trials, which all ranks find out together. `ask`: hands
    /// in this rank's times, and tells the longest of all, each by itself, and how long it took to find these.
    ///
    /// # Errors
    /// That of `ask`.
    pub fn is_earned<E>(
        &mut self,
        mut ask: impl FnMut([u64; 3]) -> Result<([u64; 3], Duration), E>,
    ) -> Result<bool, E> {
        loop {
            let (longest, asking) = ask(self.times())?;
            match self.judge(asking, longest) {
                Verdict::Enough => return Ok(true),
                Verdict::Later => return Ok(false),
                Verdict::Again => {}
            }
        }
    }

    /// By the longest times of all ranks. `asking`: what it took to find these.
    fn judge(&mut self, asking: Duration, [spent, longest_asking, later]: [u64; 3]) -> Verdict {
        let asking = (asking.as_nanos() as u64).max(1);
        self.asking = if self.asking == 0 { asking } else { self.asking.min(asking) };
        self.asked += 1;
        let uncounted = self.uncounted();
        let counted = self.counted().max(1);
        let after_first = self.calls.saturating_sub(2);
        let was_believed = self.is_believed();
        if let Some(belief) = &mut self.belief {
            belief.judge(spent, after_first, later);
        }
        let calls = counted as f64;
        let in_calls = |nanoseconds: u64| nanoseconds as f64 * calls / spent.max(1) as f64;
        let wanted_where = |asking: u64| {
            let cost = in_calls(asking.saturating_mul(AGREEMENTS));
            let is_little_of_fifty = cost <= 50.0 * SHARE_OF_FIFTY;
            in_calls(EARNED).max(if is_little_of_fifty { 0.0 } else { (cost + EXCESS) / SHARE })
        };
        let known_asking = if longest_asking > 0 { longest_asking } else { self.predicted_asking };
        let wanted = wanted_where(known_asking);
        if longest_asking > 0 && calls >= wanted {
            if self.worth_from.is_none_or(|least| spent as f64 >= least * calls) {
                return Verdict::Enough;
            }
            self.next_asked = uncounted + (calls * ASKED_WHETHER_SLOW) as u64;
            return Verdict::Later;
        }
        // What asking takes is not known before the third time, and then from one that may have opened connections.
        let hoped = if self.asked < ASKED_AT_ONCE - 1 { self.predicted_asking } else { longest_asking / 2 };
        if self.asked < ASKED_AT_ONCE && calls >= wanted_where(hoped) {
            return Verdict::Again;
        }
        let [least, most] = ASKED_AGAIN;
        let between = if longest_asking > 0 { in_calls(longest_asking) / SHARE_OF_ASKING } else { wanted };
        let cheap = calls + between.max(calls);
        let waits = |belief: &Belief| belief.waits_for_another(after_first, known_asking, SHARE_OF_FIFTY);
        let wanted = if self.belief.as_ref().is_some_and(waits) { calls } else { wanted };
        let next = wanted.min(cheap).clamp(calls * least, calls * most);
        let next = if self.is_believed() && !was_believed { next.min(calls + SEEN) } else { next };
        self.next_asked = uncounted + next.ceil() as u64;
        Verdict::Later
    }
}

#[cfg(test)]
mod tests;
