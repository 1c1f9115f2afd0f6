//! Which measured calls count, where those of one class move now little and now much: of an Alltoallv a rank knows its
//! own counts only, so that headers and what they announce are one class.
//!
//! ```text
//!   moved   1 KB   1 MB   1 KB   1 MB   1 KB   1 MB …    the first 1 MB begins anew; after that what moves 1 KB does
//!   way     a      s      a      a      s      s         not count, and its way has another turn
//!   counts  yes    anew   no     yes    no     yes
//! ```
//!
//! A call that moves little and takes as long as one that counts is no short one: it counts.

/// What differs by more than this ratio is not compared.
const ALIKE: f64 = 1.5;

/// Calls in a row that do not count since they move less, at most: then these are what the program makes now. Twice as
/// many after each time that ways were tried anew, since long ones may come back. In all as many, and one in so many
/// calls more; each costs an agreement.
const SHORT: u32 = 3;
const SHORT_IN_ALL: u64 = 40;
const SHORT_OF: u64 = 8;

/// How often ways are tried anew since calls move more or less; after that all count.
const CHANGES: u32 = 4;

/// What a measured call is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// It counts.
    Counts,
    /// It moved much less than those that count.
    Short,
    /// It moved much more than these, or less like others before it: what is known is of other calls.
    Anew,
}

/// What measured calls moved, by the rank that sent the most, on which all ranks have agreed.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    /// Bytes of calls that count; none before the first.
    counted: Option<u64>,
    /// Calls that moved much less since ways were tried anew: in a row, and in all.
    in_a_row: u32,
    short: u32,
    changes: u32,
}

impl Sizes {
    /// What a measured call is worth that moved so many bytes, after so many calls. `is_quick`: it took no longer than
    /// its way is known to take.
    pub fn judge(&mut self, bytes: u64, is_quick: bool, calls: u64) -> Worth {
        let counted = *self.counted.get_or_insert(bytes);
        let (is_less, is_more) = (bytes as f64 * ALIKE < counted as f64, bytes as f64 > counted as f64 * ALIKE);
        let is_dear = u64::from(self.short) >= SHORT_IN_ALL + calls / SHORT_OF;
        if self.changes == CHANGES || is_less && (!is_quick || is_dear) || !is_less && !is_more {
            self.counted = Some(counted.max(bytes));
            self.in_a_row = 0;
            return Worth::Counts;
        }
        if is_less && self.in_a_row < SHORT << self.changes {
            self.in_a_row += 1;
            self.short += 1;
            return Worth::Short;
        }
        (self.counted, self.changes) = (Some(bytes), self.changes + 1);
        Worth::Anew
    }

    /// The same where ways are tried anew.
    pub fn begun_anew(&self) -> Self {
        Self { in_a_row: 0, short: 0, ..self.clone() }
    }

    /// Of all calls the share of those that move what counts, if so many of those measured did.
    pub fn share(&self, counted: u32) -> f64 {
        f64::from(counted.max(1)) / f64::from(counted.max(1) + self.short)
    }
}

#[cfg(test)]
mod tests {
    use super::Worth::{Anew, Counts, Short};
    use super::*;

    /// Of calls that are quick.
    fn worths(moved: &[u64]) -> Vec<Worth> {
        let mut sizes = Sizes::default();
        let judge = |&bytes: &u64| {
            let worth = sizes.judge(bytes, true, 0);
            if worth == Anew {
                sizes = sizes.begun_anew();
            }
            worth
        };
        moved.iter().map(judge).collect()
    }

    #[test]
    fn what_is_alike_counts() {
        assert_eq!(worths(&[0; 5]), [Counts; 5]);
        assert_eq!(worths(&[1000, 1400, 950, 1400]), [Counts; 4]);
    }

    #[test]
    fn the_longest_calls_count() {
        assert_eq!(worths(&[10, 1000, 10, 1000, 10, 1100]), [Counts, Anew, Short, Counts, Short, Counts]);
        assert_eq!(worths(&[0, 10]), [Counts, Anew]);
    }

    #[test]
    fn short_calls_that_are_slow_count() {
        let mut sizes = Sizes::default();
        let worths = [(1000, true), (10, true), (10, false), (1000, false)].map(|(n, quick)| sizes.judge(n, quick, 0));
        assert_eq!(worths, [Counts, Short, Counts, Counts]);
    }

    /// One long call, and then only short ones; and one in five.
    #[test]
    fn short_calls_count_where_there_are_no_others() {
        assert_eq!(worths(&[1000, 10, 10, 10, 10, 10]), [Counts, Short, Short, Short, Anew, Counts]);
        let moved: Vec<u64> = (0..40).map(|call| if call % 5 == 0 { 1000 } else { 10 }).collect();
        let counts = (5..40).filter(|&call| worths(&moved)[call] == Counts).collect::<Vec<_>>();
        assert_eq!(counts, [10, 15, 20, 25, 30, 35]);
    }

    #[test]
    fn in_the_end_all_count() {
        let moved: Vec<u64> = (0..40).map(|call| [1, 10, 100, 1000][call % 4] << (call % 3)).collect();
        let found = worths(&moved);
        assert_eq!(found.iter().filter(|&&worth| worth == Anew).count(), CHANGES as usize);
        assert_eq!(found[30..], [Counts; 10]);
        // One long call in a hundred.
        let moved: Vec<u64> = (0..200).map(|call| if call % 100 == 0 { 1000 } else { 10 }).collect();
        assert!(worths(&moved).iter().filter(|&&worth| worth == Short).count() <= 2 * SHORT_IN_ALL as usize);
    }

    #[test]
    fn short_calls_are_a_share_of_all() {
        let mut sizes = Sizes::default();
        [1000, 10, 1000, 10].into_iter().for_each(|bytes| _ = sizes.judge(bytes, true, 0));
        assert_eq!((sizes.share(2), sizes.begun_anew().share(0), Sizes::default().share(0)), (0.5, 1.0, 1.0));
    }
}
