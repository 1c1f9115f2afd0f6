//! How blocks of all members come to all members, as rounds.

use super::trees::levels;
use crate::cost::{Round, Transfer};

/// Pairs exchange all that they have, the nearest first. Where the members are no power of two, some have no partner;
/// they receive what they lack from those that had one.
///
/// ```text
///   5 members   round 0   0↔1 2↔3          round 1   0↔2 1↔3          round 2   0↔4
///               after it  0→2, then 0→1 2→3: block 4
/// ```
pub fn doubling(members: u32) -> Vec<Round> {
    let block = 1.0 / f64::from(members);
    let mut rounds = Vec::new();
    for k in 0..levels(members) {
        let distance = 1u32 << k;
        // Blocks that the group of `distance` members around `m` has together.
        let had = |m: u32| distance.min(members - (m & !(distance - 1)));
        let transfer = |m: u32| Transfer { from: m, to: m ^ distance, share: f64::from(had(m)) * block };
        let transfers = (0..members).filter(|m| m ^ distance < members).map(transfer).collect();
        rounds.push(Round { times: 1, transfers });
        // The last group may be smaller than its partner.
        let last = (members - 1) & !(distance - 1);
        let missing = members - last;
        if last & distance == 0 || missing == distance {
            continue;
        }
        let first = last - distance;
        let mut has: Vec<bool> = (0..distance).map(|m| m < missing).collect();
        for step in (0..k).rev().map(|step| 1u32 << step) {
            let lacks = |m: &u32| has[*m as usize] && !has[(m ^ step) as usize];
            let pairs: Vec<(u32, u32)> = (0..distance).filter(lacks).map(|m| (m, m ^ step)).collect();
            pairs.iter().for_each(|&(_, to)| has[to as usize] = true);
            let pairs = pairs.into_iter().map(|(from, to)| (first + from, first + to)).collect();
            rounds.push(Round::of(1, f64::from(missing) * block, pairs));
        }
    }
    rounds
}

/// A member sends all that it has, or as much as is missing, to one before it.
pub fn bruck(members: u32) -> Vec<Round> {
    let round = |k: u32| {
        let distance = 1 << k;
        let share = f64::from(distance.min(members - distance)) / f64::from(members);
        Round::of(1, share, (0..members).map(|m| (m, (m + members - distance) % members)).collect())
    };
    (0..levels(members)).map(round).collect()
}

/// Of an even number of members, pairs exchange their blocks; then each the two that it received last with its other
/// neighbor, and so on.
pub fn neighbors(members: u32) -> Vec<Round> {
    let block = 1.0 / f64::from(members);
    // Members with an even number with the one that is so far after them.
    let with = |distance: u32| -> Vec<(u32, u32)> {
        let partner = |m: u32| if m % 2 == 0 { m + distance } else { m + members - distance };
        (0..members).map(|m| (m, partner(m) % members)).collect()
    };
    let (after, before) = (with(1), with(members - 1));
    // After the first.
    let steps = (members / 2).saturating_sub(1);
    let rounds = [
        Round::of(1, block, after.clone()),
        Round::of(steps.div_ceil(2), 2.0 * block, before),
        Round::of(steps / 2, 2.0 * block, after),
    ];
    rounds.into_iter().filter(|round| round.times > 0).collect()
}
