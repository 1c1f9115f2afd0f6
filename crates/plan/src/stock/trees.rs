//! Trees over members of which 0 is the root, and the rounds in which a vector or its blocks go down them.
//!
//! ```text
//!   8 members     in turn (nearest are last)    after the root         binary             radix 4
//!                        0                          0                    0                   0
//!                     / /  \                      / | \                 / \            / / | | |
//!                    4 2    1                    1  2  4               1   2          1 2 3  4
//!                   /| |                        /|  |                 /|   |\                /|\
//!                  6 5 3                       3 5  6                3 5   4 6              5 6 7
//!                  |                           |                     |
//!                  7                           7                     7
//! ```

use crate::cost::{Round, Transfer};

/// The logarithm of `members`, rounded up.
pub fn levels(members: u32) -> u32 {
    members.next_power_of_two().ilog2()
}

/// The transfers of level `k` of a binomial tree towards its root: members whose lowest bit it is send to those without
/// it.
pub fn binomial(members: u32, k: u32) -> Vec<(u32, u32)> {
    (0..members).filter(|m| m & ((2 << k) - 1) == 1 << k).map(|m| (m, m - (1 << k))).collect()
}

/// The same from the root, the highest level first; `share`: of the vector, that a member receives which has so many
/// members below it, itself included.
pub fn in_turn(members: u32, share: impl Fn(u32) -> f64) -> Vec<Round> {
    let round = |k: u32| {
        let below = |m: u32| (1 << k).min(members - m);
        let down = |(m, to)| Transfer { from: to, to: m, share: share(below(m)) };
        Round { times: 1, transfers: binomial(members, k).into_iter().map(down).collect() }
    };
    (0..levels(members)).rev().map(round).collect()
}

/// Down a tree whose members all send to all of their own at once, when they have received: one round for each level.
/// `children`: of a member, among so many.
pub fn at_once(members: u32, share: f64, children: impl Fn(u32, u32) -> Vec<u32>) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut level = vec![0];
    loop {
        let pairs: Vec<(u32, u32)> =
            level.iter().flat_map(|&m| children(m, members).into_iter().map(move |child| (m, child))).collect();
        if pairs.is_empty() {
            return rounds;
        }
        level = pairs.iter().map(|&(_, child)| child).collect();
        rounds.push(Round::of(1, share, pairs));
    }
}

/// Those that are a power of two after `m` that is larger than it.
pub fn after_the_root(m: u32, members: u32) -> Vec<u32> {
    let first = if m == 0 { 0 } else { m.ilog2() + 1 };
    (first..levels(members)).map(|k| m + (1 << k)).filter(|&child| child < members).collect()
}

/// Two of the next level.
pub fn binary(m: u32, members: u32) -> Vec<u32> {
    let level = 1 << (m + 1).ilog2();
    [m + level, m + 2 * level].into_iter().filter(|&child| child < members).collect()
}

/// Of numbers to base 4: those that differ in one digit after the last one that is not 0.
pub fn radix_4(m: u32, members: u32) -> Vec<u32> {
    let places = (0..levels(members)).step_by(2).map(|k| 1 << k);
    let own = places.take_while(|place| m % (4 * place) == 0);
    own.flat_map(|place| (1..4).map(move |digit| m + digit * place)).filter(|&child| child < members).collect()
}

/// Who sends its half of the vector to whom after a binary tree whose odd members have one half, the others the other:
/// neighbours to each other, and the root to the last one if that has no neighbour.
pub fn other_halves(members: u32) -> Vec<(u32, u32)> {
    let both = (1..members.saturating_sub(1)).step_by(2).flat_map(|m| [(m, m + 1), (m + 1, m)]);
    both.chain((members % 2 == 0 && members > 0).then(|| (0, members - 1))).collect()
}
