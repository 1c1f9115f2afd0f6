//! How much each rank has for each other in Alltoallv, for all in Allgatherv, for the root in Gatherv or from it in
//! Scatterv, and how much of the combination each gets in Reduce_scatter: near a mean and without order, as where keys
//! are sorted, and the same in every run.

use crate::operation::Operation;
use nagare_plan::scrambled;

/// Bytes of an element.
pub const ELEMENT: u64 = 4;
/// How far a count may be from the mean, in hundredths of it.
const SPREAD: u64 = 10;
/// One pair of so many has nothing to send in the sparse variant; the others have so much more.
const EMPTY: u64 = 4;
/// How many times as much rank 0 has in the skewed variant.
const MORE: u64 = 10;

/// Elements that rank `from` has for rank `to`, where the mean over all pairs is about `mean`; in the skewed variant
/// over all pairs but those of rank 0. Of Reduce_scatter every rank has as many for `to`, and in Allgatherv `from` has
/// as many for every rank.
pub fn count(operation: Operation, mean: u64, from: u32, to: u32) -> u64 {
    let drawn = scrambled(u64::from(from) << 32 | u64::from(to));
    match operation {
        Operation::Alltoallv => spread(mean, drawn),
        Operation::AlltoallvSparse if (drawn >> 32).is_multiple_of(EMPTY) => 0,
        Operation::AlltoallvSparse => spread(mean * EMPTY / (EMPTY - 1), drawn),
        Operation::AlltoallvSkewed if from == 0 => spread(mean * MORE, drawn),
        Operation::AlltoallvSkewed => spread(mean, drawn),
        Operation::AlltoallwSkewed if from == 0 => mean * MORE,
        Operation::ReduceScatter | Operation::Scatterv => spread(mean, scrambled(u64::from(to))),
        Operation::Allgatherv | Operation::Gatherv => spread(mean, scrambled(u64::from(from))),
        _ => mean,
    }
}

/// A number within [`SPREAD`] of `mean`.
fn spread(mean: u64, drawn: u64) -> u64 {
    let half = mean * SPREAD / 100;
    mean - half + (drawn & 0xffff_ffff) % (2 * half + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(operation: Operation, mean: u64, ranks: u32) -> Vec<u64> {
        (0..ranks).flat_map(|from| (0..ranks).map(move |to| count(operation, mean, from, to))).collect()
    }

    #[test]
    fn counts_are_near_their_mean_and_differ() {
        for mean in [1, 2, 9, 10, 64, 1000, 1 << 20] {
            let dense = counts(Operation::Alltoallv, mean, 32);
            assert!(dense.iter().all(|&n| n.abs_diff(mean) * 10 <= mean), "{mean}");
            let sum: u64 = dense.iter().sum();
            let ratio = sum as f64 / (mean as f64 * 32.0 * 32.0);
            assert!((ratio - 1.0).abs() < 0.01, "{mean}: {ratio}");
        }
        let dense = counts(Operation::Alltoallv, 1 << 20, 32);
        // Neither direction of a pair, nor two neighbours, have the same.
        assert!((1..32).all(|to| dense[to] != dense[to * 32] && dense[to] != dense[to - 1]));
        let (least, most) = (dense.iter().min(), dense.iter().max());
        assert!(least < Some(&(960 << 10)) && most > Some(&(1088 << 10)), "{least:?} to {most:?}");
    }

    #[test]
    fn a_quarter_of_the_sparse_ones_is_zero_and_the_mean_stays() {
        let sparse = counts(Operation::AlltoallvSparse, 3000, 64);
        let empty = sparse.iter().filter(|&&n| n == 0).count() as f64 / 4096.0;
        assert!((empty - 0.25).abs() < 0.03, "{empty}");
        let mean = sparse.iter().sum::<u64>() as f64 / 4096.0;
        assert!((mean / 3000.0 - 1.0).abs() < 0.04, "{mean}");
    }

    #[test]
    fn rank_0_has_ten_times_as_much_in_the_skewed_ones() {
        let of_one_length = counts(Operation::AlltoallwSkewed, 3000, 64);
        assert!(of_one_length[..64].iter().all(|&n| n == 30_000) && of_one_length[64..].iter().all(|&n| n == 3000));
        let skewed = counts(Operation::AlltoallvSkewed, 3000, 64);
        let mean = |counts: &[u64]| counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        assert!((mean(&skewed[..64]) / 30_000.0 - 1.0).abs() < 0.04, "{}", mean(&skewed[..64]));
        for (from, row) in (1..).zip(skewed[64..].chunks(64)) {
            assert!((mean(row) / 3000.0 - 1.0).abs() < 0.04, "{from}: {}", mean(row));
        }
    }

    #[test]
    fn all_ranks_have_the_same_blocks_to_combine() {
        for mean in [1, 10, 256, 16 << 10] {
            let all = counts(Operation::ReduceScatter, mean, 64);
            let first = &all[..64];
            assert!(all.chunks(64).all(|row| row == first), "{mean}");
            assert!(first.iter().all(|&n| n.abs_diff(mean) * 10 <= mean), "{mean}");
            let ratio = first.iter().sum::<u64>() as f64 / (mean as f64 * 64.0);
            assert!((ratio - 1.0).abs() < 0.03, "{mean}: {ratio}");
        }
        let long = counts(Operation::ReduceScatter, 1 << 20, 64);
        assert!((1..64).all(|to| long[to] != long[to - 1]));
    }

    #[test]
    fn other_operations_have_blocks_of_one_length() {
        for operation in Operation::ALL.into_iter().filter(|operation| !operation.varies()) {
            assert!(counts(operation, 17, 8).iter().all(|&n| n == 17), "{operation}");
        }
    }
}
