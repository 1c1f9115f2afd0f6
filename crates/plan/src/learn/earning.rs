//! Whether a class of calls has taken so long that trying other ways than the MPI library's is worth what it costs.

/// Nanoseconds that calls of a class must have taken on some rank before anything is tried. To try costs a communicator
/// of ours and an agreement for each measured call, together some 0.2 ms between two ranks in shared memory, and the
/// calls that turn out slow: of a program that ends soon after, it is to be a small part.
const EARNED: u64 = 5_000_000;

/// The ranks ask each other after the first call, and each time there are so many times as many.
const ASKED_EVERY: u64 = 4;

/// The first calls of a class, all of which run on the MPI library. How often ranks ask each other depends on the
/// number of calls alone, so that all of them ask before the same one.
#[derive(Clone, Debug)]
pub struct Earning {
    calls: u64,
    next_asked: u64,
    spent: u64,
}

impl Default for Earning {
    fn default() -> Self {
        Self { calls: 0, next_asked: 1, spent: 0 }
    }
}

impl Earning {
    /// Whether calls that are predicted to take so many nanoseconds need not be waited for.
    pub fn is_earned_by(predicted: f64) -> bool {
        predicted >= EARNED as f64
    }

    /// Counts a call that begins. Whether the ranks ask each other before it if [`Self::is_enough`] on one of them.
    pub fn next_call(&mut self) -> bool {
        let asked = self.calls == self.next_asked;
        if asked {
            self.next_asked *= ASKED_EVERY;
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

    /// Whether the calls so far have earned trials, by what this rank knows.
    pub fn is_enough(&self) -> bool {
        self.spent >= EARNED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many calls of so many nanoseconds run on the library, and how often ranks ask each other meanwhile.
    fn until_earned(nanoseconds: u64) -> (u64, u32) {
        let mut earning = Earning::default();
        let (mut calls, mut asked) = (0, 0);
        loop {
            if earning.next_call() {
                asked += 1;
                if earning.is_enough() {
                    return (calls, asked);
                }
            }
            earning.add(nanoseconds);
            calls += 1;
        }
    }

    #[test]
    fn long_calls_earn_it_at_once_and_short_ones_late() {
        assert_eq!(until_earned(5_000_000), (1, 1));
        assert_eq!(until_earned(2_000_000), (4, 2));
        assert_eq!(until_earned(100_000), (64, 4));
        assert_eq!(until_earned(5_000), (1024, 6));
    }

    #[test]
    fn ranks_ask_before_the_same_calls_whatever_they_measured() {
        let (mut one, mut other) = (Earning::default(), Earning::default());
        for call in 0..5000 {
            // Also where one looks first whether it is such a call.
            assert_eq!(!one.next_unasked() && one.next_call(), other.next_call());
            one.add(call);
            other.add(1);
        }
    }
}
