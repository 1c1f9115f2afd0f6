//! When the way that was settled on is measured, beside the looks at all ways.

/// Calls between two such measurements at first, and the nanoseconds that these calls take at least: to measure costs
/// an agreement of all ranks before the call and one after it.
const FIRST_CALLS: u64 = 8;
const FIRST_TIME: f64 = 40e6;

/// As long as nothing has changed there are twice as many calls between them, at most so many times as many as at
/// first.
const MOST: u64 = 4;

/// So many times sooner where a sample of the settled way was much longer than the others.
const SOONER: u64 = 3;

/// The call at which to measure next; a function of calls and of times that all ranks have agreed on.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    next: u64,
    /// Calls between the next two measurements, in those at first.
    times: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self { next: u64::MAX, times: 1 }
    }
}

impl Watch {
    /// The number of the call.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// After `calls` calls the settled way took what it takes, nanoseconds. `is_doubtful`: it is not known whether what
    /// it once took will come again.
    pub fn settled(&mut self, calls: u64, reference: f64, is_doubtful: bool) {
        let first = (FIRST_TIME / reference.max(1.0)).ceil().max(FIRST_CALLS as f64) as u64;
        if is_doubtful {
            *self = Self { next: calls.saturating_add(first.div_ceil(SOONER)), times: 1 };
            return;
        }
        // An odd number: of calls that differ by turns it is now the one, now the other.
        self.next = calls.saturating_add((first.saturating_mul(self.times) - 1) | 1);
        self.times = (self.times * 2).min(MOST);
    }

    /// After `calls` calls it took much longer: the next call tells whether that was chance.
    pub fn at_once(&mut self, calls: u64) {
        *self = Self { next: calls + 1, times: 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_are_measured_soon_and_short_ones_seldom() {
        let gaps = |reference| {
            let (mut watch, mut calls) = (Watch::default(), 100);
            [0; 5].map(|_| {
                watch.settled(calls, reference, false);
                let gap = watch.next() - calls;
                calls = watch.next();
                gap
            })
        };
        assert_eq!(gaps(15e6), [7, 15, 31, 31, 31]);
        assert_eq!(gaps(1e6), [39, 79, 159, 159, 159]);
        assert_eq!(gaps(10e3)[4], 15_999);
    }

    #[test]
    fn what_is_in_doubt_is_measured_sooner() {
        let next = |reference, is_doubtful: bool| {
            let mut watch = Watch::default();
            watch.settled(10, reference, false);
            watch.settled(18, reference, is_doubtful);
            let first = watch.next();
            watch.settled(first, reference, false);
            [first - 18, watch.next() - first]
        };
        assert_eq!(next(15e6, true), [3, 7]);
        assert_eq!(next(15e6, false), [15, 31]);
        assert_eq!(next(1e6, true), [14, 39]);
    }

    #[test]
    fn a_slow_call_is_followed_by_another_measurement() {
        let mut watch = Watch::default();
        assert_eq!(watch.next(), u64::MAX);
        watch.settled(10, 15e6, false);
        watch.settled(18, 15e6, false);
        watch.at_once(34);
        assert_eq!(watch.next(), 35);
        watch.settled(35, 15e6, false);
        assert_eq!(watch.next(), 42);
    }
}
