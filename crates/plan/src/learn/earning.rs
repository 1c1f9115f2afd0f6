//! Whether a class of calls has taken so long that trying other ways than the MPI library's is worth what it costs.

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
const SHARE_OF_FIFTY: f64 = 1.0 / 30.0;

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

/// Where calls have taken long enough the first time, ranks ask so often before one call: who came first has waited for
/// the others, so that the second time tells what asking takes, and the third the longest of all.
const ASKED_AT_ONCE: u32 = 3;

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

/// The first calls of a class, which run on the MPI library, or on what is predicted to be far faster. When ranks ask
/// each other depends on the number of calls, on a prediction, and on the longest times of all, so that all of them ask
/// before the same call.
#[derive(Clone, Debug)]
pub struct Earning {
    calls: u64,
    next_asked: u64,
    /// How often ranks have asked.
    asked: u32,
    spent: u64,
    /// The shortest time that asking has taken on this rank, nanoseconds; 0 before the first.
    asking: u64,
}

impl Earning {
    /// Of calls that are predicted to take so many nanoseconds each, if anything is predicted.
    pub fn new(predicted: Option<f64>, shares_memory: bool) -> Self {
        let times = if shares_memory { OFF_IN_MEMORY } else { OFF };
        let next_asked = predicted.map_or(1, |predicted| ((EARNED as f64 / (predicted * times)) as u64).max(1));
        Self { calls: 0, next_asked, asked: 0, spent: 0, asking: 0 }
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
        let calls = if self.is_sampled() && nanoseconds < 10 * SHORT { TIMED } else { 1 };
        self.spent = self.spent.saturating_add(nanoseconds.saturating_mul(calls));
    }

    fn is_sampled(&self) -> bool {
        self.calls > TIMED && self.spent < self.calls.saturating_mul(SHORT)
    }

    /// What the calls and asking took on this rank, nanoseconds; of asking 0 where it is not known.
    fn times(&self) -> [u64; 2] {
        [self.spent, self.asking]
    }

    /// Whether the calls before the one that begins have earned trials, which all ranks find out together. `ask`: hands
    /// in this rank's times, and tells the longest of all, each by itself, and how long it took to find these.
    ///
    /// # Errors
    /// That of `ask`.
    pub fn is_earned<E>(
        &mut self,
        mut ask: impl FnMut([u64; 2]) -> Result<([u64; 2], Duration), E>,
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
    fn judge(&mut self, asking: Duration, [spent, longest_asking]: [u64; 2]) -> Verdict {
        let asking = (asking.as_nanos() as u64).max(1);
        self.asking = if self.asking == 0 { asking } else { self.asking.min(asking) };
        self.asked += 1;
        let calls = (self.calls - 1).max(1) as f64;
        let in_calls = |nanoseconds: u64| nanoseconds as f64 * calls / spent.max(1) as f64;
        let cost = in_calls(longest_asking.saturating_mul(AGREEMENTS));
        let is_little_of_fifty = cost <= 50.0 * SHARE_OF_FIFTY;
        let wanted = in_calls(EARNED).max(if is_little_of_fifty { 0.0 } else { (cost + EXCESS) / SHARE });
        if longest_asking > 0 && calls >= wanted {
            return Verdict::Enough;
        }
        if spent >= EARNED && self.asked < ASKED_AT_ONCE {
            return Verdict::Again;
        }
        let [least, most] = ASKED_AGAIN;
        self.next_asked = wanted.clamp(calls * least, calls * most).ceil() as u64;
        Verdict::Later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call takes so many nanoseconds.
    fn ran(earning: &mut Earning, nanoseconds: u64) {
        if earning.is_timed() {
            earning.add(nanoseconds);
        }
    }

    /// How many calls of so many nanoseconds run on the library, and how often ranks ask each other meanwhile, which
    /// takes so many. They were predicted to be half as long.
    fn until_earned(nanoseconds: u64, asking: u64) -> (u64, u32) {
        let mut earning = Earning::new(Some(nanoseconds as f64 / 2.0), false);
        let (mut calls, mut asked) = (0, 0);
        loop {
            if earning.next_call() {
                let mut ask = || {
                    asked += 1;
                    let times = earning.times();
                    earning.judge(Duration::from_nanos(asking), times)
                };
                let mut verdict = ask();
                while verdict == Verdict::Again {
                    verdict = ask();
                }
                if verdict == Verdict::Enough {
                    return (calls, asked);
                }
            }
            ran(&mut earning, nanoseconds);
            calls += 1;
        }
    }

    #[test]
    fn long_calls_earn_it_soon_and_short_ones_late() {
        assert_eq!(until_earned(100_000_000, 1_000_000), (1, 2));
        assert_eq!(until_earned(8_000_000, 10_000), (2, 2));
        assert_eq!(until_earned(2_000_000, 10_000), (8, 2));
        assert_eq!(until_earned(100_000, 10_000), (150, 2));
        // Asked before call 61, when 56 have been counted: every eighth is timed.
        assert_eq!(until_earned(5_000, 10_000), (3215, 2));
    }

    /// Fifty processes on two processors, say.
    #[test]
    fn where_asking_is_dear_trials_wait() {
        assert_eq!(until_earned(3_000_000, 1_000_000), (124, 4));
        assert_eq!(until_earned(15_000_000, 1_000_000), (1, 2));
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
        assert_eq!(root.judge(Duration::from_micros(3), [6_000_000, 0]), Verdict::Later);
        // Two and a half times as many calls take 15 ms.
        assert!(!root.next_call() && root.next_call());
        assert_eq!(root.times(), [0, 3_000]);
        assert_eq!(root.judge(Duration::from_micros(3), [30_000_000, 40_000]), Verdict::Enough);
    }

    /// Who came first to the first call has waited there; it does not take that for what asking costs.
    #[test]
    fn late_ranks_do_not_make_asking_dear() {
        let mut early = Earning::new(None, false);
        assert!(!early.next_call() && early.next_call());
        assert_eq!(early.judge(Duration::from_millis(900), [80_000_000, 0]), Verdict::Again);
        assert_eq!(early.times(), [0, 900_000_000]);
        assert_eq!(early.judge(Duration::from_micros(30), [80_000_000, 900_000_000]), Verdict::Again);
        assert_eq!(early.times(), [0, 30_000]);
        assert_eq!(early.judge(Duration::from_micros(30), [80_000_000, 40_000]), Verdict::Enough);
        // Where it is dear indeed, they do not go on asking.
        let mut dear = Earning::new(None, false);
        assert!(!dear.next_call() && dear.next_call());
        let verdicts =
            [0, 900_000_000, 900_000_000].map(|asking| dear.judge(Duration::from_millis(900), [80_000_000, asking]));
        assert_eq!(verdicts, [Verdict::Again, Verdict::Again, Verdict::Later]);
    }

    #[test]
    fn of_short_calls_some_are_timed_and_stand_for_all() {
        for (nanoseconds, least_timed) in [(1_000, 100), (300_000, 792)] {
            let mut earning = Earning::new(Some(1.0), true);
            let (mut calls, mut timed) = (0, 0);
            while calls < 792 {
                earning.next_call();
                calls += 1;
                if earning.is_timed() {
                    // One in which the rank waited.
                    earning.add(if timed == 50 { 500_000 } else { nanoseconds });
                    timed += 1;
                }
            }
            let expected = 791 * nanoseconds + 500_000;
            assert!(earning.times()[0].abs_diff(expected) <= 8 * nanoseconds, "{:?}", earning.times());
            assert!((least_timed..least_timed + 10).contains(&timed), "{timed}");
        }
    }

    /// As programs do that begin with short messages.
    #[test]
    fn what_begins_short_is_asked_about_again() {
        let mut earning = Earning::new(None, false);
        let asked = (0..5000u64).filter(|_| {
            let is_asked = earning.next_call();
            if is_asked {
                let times = earning.times();
                assert_eq!(earning.judge(Duration::from_micros(2), times), Verdict::Later);
            }
            ran(&mut earning, 1_000);
            is_asked
        });
        assert_eq!(asked.collect::<Vec<_>>(), [1, 64, 4096]);
    }

    #[test]
    fn ranks_ask_before_the_same_calls_whatever_they_measured() {
        let (mut one, mut other) = (Earning::new(Some(1e5), false), Earning::new(Some(1e5), false));
        for call in 0..5000 {
            // Also where one looks first whether it is such a call.
            let is_asked = !one.next_unasked() && one.next_call();
            assert_eq!(is_asked, other.next_call());
            if is_asked {
                let longest = std::array::from_fn(|which| one.times()[which].max(other.times()[which]));
                let verdict = one.judge(Duration::from_micros(7), longest);
                assert_eq!(verdict, other.judge(Duration::from_micros(1), longest));
                assert_eq!(verdict, Verdict::Later);
            }
            ran(&mut one, call);
            ran(&mut other, 1);
        }
    }
}
