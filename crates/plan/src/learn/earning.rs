//! Whether a class of calls has taken so long that trying other ways than the MPI library's is worth what it costs.

use std::time::Duration;

/// Nanoseconds that calls of a class must have taken on some rank before anything is tried: of a program that ends soon
/// after, trials are to be a small part.
const EARNED: u64 = 15_000_000;

/// Calls that are predicted to take so many nanoseconds need earn nothing.
const LONG: f64 = 20e6;

/// What trials cost, in times that it takes the ranks to ask each other: a communicator of ours, an agreement for each
/// measured call.
const TRIALS: u64 = 20;

/// Of what calls have taken so far, these costs may be at most one in so many parts; or of a series of fifty calls one
/// in so many.
const PART: u64 = 10;
const PART_OF_FIFTY: u64 = 30;

/// Calls may take so many times as long as predicted: in memory, and over a network, whose rates are often unknown.
const OFF_IN_MEMORY: f64 = 30.0;
const OFF: f64 = 100.0;

/// The ranks ask each other once more after twice as many calls as the first time, when it is known what asking costs,
/// and each later time after so many times as many.
const ASKED_EVERY: u64 = 4;

/// The first calls of a class, all of which run on the MPI library. How often ranks ask each other depends on the
/// number of calls and on a prediction alone, so that all of them ask before the same one; what comes of it, on the
/// longest times of all.
#[derive(Clone, Debug)]
pub struct Earning {
    calls: u64,
    first_asked: u64,
    next_asked: u64,
    spent: u64,
    /// The shortest time that asking has taken on this rank, nanoseconds; 0 before the first.
    asking: u64,
}

impl Earning {
    /// Of calls that are predicted to take so many nanoseconds each, if anything is predicted.
    pub fn new(predicted: Option<f64>, shares_memory: bool) -> Self {
        let times = if shares_memory { OFF_IN_MEMORY } else { OFF };
        let first_asked = predicted.map_or(1, |predicted| ((EARNED as f64 / (predicted * times)) as u64).max(1));
        Self { calls: 0, first_asked, next_asked: first_asked, spent: 0, asking: 0 }
    }

    /// Whether calls that are predicted to take so many nanoseconds need not be waited for.
    pub fn is_earned_by(predicted: Option<f64>) -> bool {
        predicted.is_some_and(|predicted| predicted >= LONG)
    }

    /// Counts a call that begins. Whether the ranks ask each other before it: then each hands in its [`Self::times`].
    pub fn next_call(&mut self) -> bool {
        let asked = self.calls == self.next_asked;
        if asked {
            let times = if self.calls == self.first_asked { 2 } else { ASKED_EVERY };
            self.next_asked = self.next_asked.saturating_mul(times);
        }
        self.calls += 1;
        asked
    }

    /// Counts a call that begins, unless the ranks ask each other before it. Whether it was counted.
    pub fn next_unasked(&mut self) -> bool {
        let is_asked = self.calls == self.next_asked;
        self.calls += u64::from(!is_asked);
        !is_asked
    }

    /// What a call took on this rank.
    pub fn add(&mut self, nanoseconds: u64) {
        self.spent = self.spent.saturating_add(nanoseconds);
    }

    /// What the calls and asking took on this rank, nanoseconds; of asking 0 where it is not known.
    pub fn times(&self) -> [u64; 2] {
        [self.spent, self.asking]
    }

    /// Whether the calls before the one that begins have earned trials, by the longest of the [`Self::times`] of all
    /// ranks. `asking`: what it took to find these.
    pub fn is_enough_after(&mut self, asking: Duration, [spent, longest_asking]: [u64; 2]) -> bool {
        let asking = (asking.as_nanos() as u64).max(1);
        self.asking = if self.asking == 0 { asking } else { self.asking.min(asking) };
        let cost = longest_asking.saturating_mul(TRIALS);
        let fifty = (spent / (self.calls - 1).max(1)).saturating_mul(50);
        longest_asking > 0 && spent >= EARNED && (cost <= spent / PART || cost <= fifty / PART_OF_FIFTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many calls of so many nanoseconds run on the library, and how often ranks ask each other meanwhile, which
    /// takes so many. They were predicted to be half as long.
    fn until_earned(nanoseconds: u64, asking: u64) -> (u64, u32) {
        let mut earning = Earning::new(Some(nanoseconds as f64 / 2.0), false);
        let (mut calls, mut asked) = (0, 0);
        loop {
            if earning.next_call() {
                asked += 1;
                let times = earning.times();
                if earning.is_enough_after(Duration::from_nanos(asking), times) {
                    return (calls, asked);
                }
            }
            earning.add(nanoseconds);
            calls += 1;
        }
    }

    #[test]
    fn long_calls_earn_it_soon_and_short_ones_late() {
        assert_eq!(until_earned(100_000_000, 1_000_000), (2, 2));
        assert_eq!(until_earned(8_000_000, 10_000), (2, 2));
        assert_eq!(until_earned(2_000_000, 10_000), (8, 3));
        assert_eq!(until_earned(100_000, 10_000), (384, 5));
        assert_eq!(until_earned(5_000, 10_000), (7680, 5));
    }

    /// Fifty processes on two processors, say.
    #[test]
    fn where_asking_is_dear_trials_wait() {
        assert_eq!(until_earned(3_000_000, 1_000_000), (128, 5));
        assert_eq!(until_earned(15_000_000, 1_000_000), (2, 2));
    }

    /// What is predicted to be short is not asked about while it cannot have taken long.
    #[test]
    fn short_calls_are_not_disturbed() {
        let mut earning = Earning::new(Some(5_000.0), true);
        assert_eq!((0..100).filter(|_| earning.next_call()).count(), 0);
        assert!(earning.next_call());
        // Of what nothing is predicted one learns soon.
        let mut earning = Earning::new(None, true);
        assert!(!earning.next_call() && earning.next_call());
    }

    /// Whenever trials begin, together with asking they take at most a seventh of the time of the calls before them,
    /// or a twentieth of a series of fifty.
    #[test]
    fn what_trials_cost_is_a_small_part() {
        for nanoseconds in [30_000, 400_000, 5_000_000, 60_000_000, 700_000_000] {
            for asking in [1_000, 20_000, 300_000, 4_000_000] {
                let (calls, asked) = until_earned(nanoseconds, asking);
                let cost = (20 + u64::from(asked)) * asking;
                let spent = calls * nanoseconds;
                assert!(cost <= spent / 7 || cost <= 50 * nanoseconds / 20, "{nanoseconds} {asking}: {calls}");
            }
        }
    }

    /// A rank that waits for nobody, as the root of a broadcast, goes by what others tell.
    #[test]
    fn the_longest_times_decide() {
        let mut root = Earning::new(Some(1e6), false);
        root.next_call();
        assert!(root.next_call());
        assert_eq!(root.times(), [0, 0]);
        assert!(!root.is_enough_after(Duration::from_micros(3), [6_000_000, 0]));
        assert!(root.next_call());
        assert_eq!(root.times(), [0, 3_000]);
        assert!(root.is_enough_after(Duration::from_micros(3), [30_000_000, 40_000]));
    }

    #[test]
    fn ranks_ask_before_the_same_calls_whatever_they_measured() {
        let (mut one, mut other) = (Earning::new(Some(1e5), false), Earning::new(Some(1e5), false));
        for call in 0..5000 {
            // Also where one looks first whether it is such a call.
            assert_eq!(!one.next_unasked() && one.next_call(), other.next_call());
            one.add(call);
            other.add(1);
        }
    }
}
