//! In which order configurations take turns.
//!
//! ```text
//!   four of them     round 0:  0 1 3 2      round 2:  2 3 1 0
//!                    round 1:  1 2 0 3      round 3:  3 0 2 1      each comes once directly after each other one
//! ```
//! What a call leaves behind, such as queues, tokens of a rate or when ranks went on, is found by the next one. Where
//! the order was the same in all rounds but for its beginning, a Bcast of 256 bytes by the library took 142 µs after
//! one by `chain`, and 156 after one of its own.

/// The order of `count` configurations in this round. Within the rounds, of `count`, or twice as many if that is odd,
/// each comes directly after each other one equally often. Source: E. J. Williams, "Experimental designs balanced for
/// the estimation of residual effects of treatments", Australian Journal of Scientific Research A 2 (1949).
pub fn turns(count: usize, round: usize) -> Vec<usize> {
    let near_and_far = (0..count).map(|i| if i % 2 == 1 { i.div_ceil(2) } else { count - i / 2 });
    let mut order: Vec<usize> = near_and_far.map(|at| (at + round) % count).collect();
    if count % 2 == 1 && (round / count) % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn each_comes_after_each_other_equally_often() {
        for count in 2..=13usize {
            let rounds = if count % 2 == 0 { count } else { 2 * count };
            let mut after: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for round in 0..rounds {
                let order = turns(count, round);
                let mut all = order.clone();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..count), "{order:?}");
                order.windows(2).for_each(|pair| *after.entry((pair[0], pair[1])).or_default() += 1);
            }
            assert_eq!(after.len(), count * (count - 1), "{count}");
            assert!(after.values().all(|&times| times == rounds / count), "{count}: {after:?}");
        }
        assert_eq!((turns(0, 3), turns(1, 3)), (vec![], vec![0]));
    }
}
