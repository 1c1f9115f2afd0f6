//! How much data a call moves: mostly little, and much of it at the borders where something else begins.
//!
//! ```text
//!   nothing, one value, a few ── multiples of the ranks ── borders x 1, 2, 3, ranks, + -1 value ── any
//! ```
//! All of them up to 3 MiB, and up to as many segments as a watchdog waits for.

use super::valid::Known;
use super::what::What;
use nagare_plan::choice::{DEFAULTS, usual};
use nagare_plan::cost::SEGMENTS;
use rand::RngExt;
use rand_pcg::Pcg64;

/// Bytes of the longest block.
pub const MOST: u64 = 3 << 20;

/// Segments of the longest block: ranks that share a processor with others wait for it once a window.
pub const MOST_SEGMENTS: u64 = 4096;

/// Sizes from which on MPI libraries ask before they send, or change their algorithms.
const LIBRARY: [u64; 9] = [256, 2 << 10, 4 << 10, 8 << 10, (16 << 10) - 64, 64 << 10, 80 << 10, 128 << 10, 512 << 10];

/// Bytes at which something else begins: thresholds, segments, what libraries send without asking.
pub fn borders(what: What, segment: Option<u64>) -> Vec<u64> {
    let of = |collective| [collective].into_iter().flatten().map(usual);
    let rules = DEFAULTS.iter().filter(|rule| rule.collective == what.collective());
    let thresholds = rules.flat_map(|rule| of(rule.collective).chain([rule.min]));
    let thresholds: Vec<u64> = thresholds.filter(|&min| min > 0).collect();
    // The threshold and the segment of the job are of more interest than any of the others.
    let own = thresholds.iter().copied().chain(segment);
    own.clone().chain(own).chain(SEGMENTS.into_iter().filter(|&segment| segment <= MOST)).chain(LIBRARY).collect()
}

/// Bytes that a call moves or computes, over all ranks; what a case's budget counts.
pub fn cost(what: What, bytes: u64, comm: &Known) -> u64 {
    let ranks = u64::from(comm.most());
    // Every rank computes what it expects from what all ranks have.
    if what.has_pairs() && what.reduces() {
        bytes * ranks * ranks * 2
    } else if what.has_pairs() || what.reduces() {
        bytes * ranks * ranks
    } else {
        bytes * ranks * 2
    }
}

/// Values in a block: a multiple of `common`, of `width` bytes each, within `budget`.
pub fn items(
    random: &mut Pcg64,
    what: What,
    (width, common): (u64, u64),
    comm: &Known,
    segment: Option<u64>,
    budget: u64,
) -> u64 {
    let ranks = u64::from(comm.most());
    let most = segment.map_or(MOST, |segment| MOST.min(segment * MOST_SEGMENTS));
    let wanted = match random.random_range(0..100u32) {
        0..6 => 0,
        6..14 => 1,
        14..26 => random.random_range(2..=9),
        26..40 => (ranks * random.random_range(1..=40u64) + random.random_range(0..=2u64)).saturating_sub(1),
        40..75 => {
            let borders = borders(what, segment);
            let border = borders[random.random_range(0..borders.len() as u32) as usize];
            let times = [1, 1, 1, 2, 3, ranks, 2 * ranks][random.random_range(0..7u32) as usize];
            ((border * times).min(most) / width + random.random_range(0..=2u64)).saturating_sub(1)
        }
        // Every order of magnitude alike.
        _ => {
            let bits = random.random_range(0..=21u32);
            ((1u64 << bits) + random.random_range(0..1u64 << bits)).min(most) / width
        }
    };
    let mut items = wanted.next_multiple_of(common).min(most / width / common * common);
    while cost(what, items * width, comm) > budget {
        items = items / 2 / common * common;
    }
    items
}
