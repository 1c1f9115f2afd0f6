//! Which measured calls count, where those of one class move now little and now much: of an Alltoallv a rank knows its
//! own counts only, so that headers and what they announce are one class.
//!
//! ```text
//!   moved   1 KB   1 MB   1 KB   1 MB   1 KB   1 MB …    the first 1 MB begins anew; after that what moves 1 KB does
//!   way     a      s      a      a      s      s         not count, and its way has another turn
//!   counts  yes    anew   no     yes    no     yes
//! ```

/// What differs by more than this ratio is not compared.
const ALIKE: f64 = 1.5;

/// Calls in a row that do not count since they move less, at most: then these are what the program makes now.
const SHORT: u32 = 3;

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
    /// What a measured call is worth that moved so many bytes.
    pub fn judge(&mut self, bytes: u64) -> Worth {
        let counted = *self.counted.get_or_insert(bytes);
        let (is_less, is_more) = (bytes as f64 * ALIKE < counted as f64, bytes as f64 > counted as f64 * ALIKE);
        if self.changes == CHANGES || !is_less && !is_more {
            self.counted = Some(counted.max(bytes));
            self.in_a_row = 0;
            return Worth::Counts;
        }
        if is_less && self.in_a_row < SHORT {
            self.in_a_row += 1;
            self.short += 1;
            return Worth::Short;
        }
        *self = Self { counted: Some(bytes), changes: self.changes + 1, ..Self::default() };
        Worth::Anew
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

    fn worths(moved: &[u64]) -> Vec<Worth> {
        let mut sizes = Sizes::default();
        moved.iter().map(|&bytes| sizes.judge(bytes)).collect()
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

    /// One long call, and then only short ones.
    #[test]
    fn short_calls_count_where_there_are_no_others() {
        assert_eq!(worths(&[1000, 10, 10, 10, 10, 10]), [Counts, Short, Short, Short, Anew, Counts]);
    }

    #[test]
    fn in_the_end_all_count() {
        let moved: Vec<u64> = (0..40).map(|call| [1, 10, 100, 1000][call % 4] << (call % 3)).collect();
        let worths = worths(&moved);
        assert_eq!(worths.iter().filter(|&&worth| worth == Anew).count(), CHANGES as usize);
        assert_eq!(worths[30..], [Counts; 10]);
    }

    #[test]
    fn short_calls_are_a_share_of_all() {
        let mut sizes = Sizes::default();
        [1000, 10, 1000, 10].into_iter().for_each(|bytes| _ = sizes.judge(bytes));
        assert_eq!((sizes.share(2), Sizes::default().share(0)), (0.5, 1.0));
    }
}
