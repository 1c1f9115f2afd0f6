//! Pairs of ranks that stand for all: one for every level that two ranks can share and no closer one.
//!
//! ```text
//!   level       group  leaf  node          pairs: within a node, within a leaf, within a group,
//!   ranks 0 1   │  0 │  0  │ 0 │                  and of the whole job, which share no group
//!         2 3   │    │     │ 1 │
//!         4 5   │    │  1  │ 2 │
//! ```

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What two ranks share that are in no common group.
pub const JOB: &str = "job";

/// Two ranks, and the closest level that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The level's name, or [`JOB`].
    pub within: String,
    /// Two ranks.
    pub ranks: (u32, u32),
}

/// What a pair can do, all other ranks waiting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The closest level that both are in, or [`JOB`].
    pub within: String,
    /// Two ranks.
    pub ranks: (u32, u32),
    /// Half a round trip of 8 bytes, microseconds.
    pub latency: f64,
    /// Mbit/s of one to the other.
    pub goodput: f64,
    /// The longest message that leaves before its receiver asks for it, bytes; `None` where there is no such end.
    pub eager: Option<u64>,
    /// Microseconds that one byte more costs.
    pub rendezvous: Option<f64>,
    /// What Nagare takes for the longest such message; `None` without it, and where MPI cannot tell.
    pub assumed: Option<u64>,
}

/// Nanoseconds that a byte of a sum costs, at the slowest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reduction {
    /// Of `MPI_INT`.
    pub int: f64,
    /// Of `MPI_DOUBLE`.
    pub double: f64,
}

/// The pairs, the closest first: of levels from the widest to the node, with the group of every rank.
pub fn chosen(names: &[String], groups: &[Vec<u32>]) -> Vec<Chosen> {
    let ranks = groups.first().map_or(0, Vec::len);
    // Of every group the first rank, and the first that shares no closer group with it.
    let first = |group: &dyn Fn(usize) -> u32, closer: Option<&Vec<u32>>| {
        let mut firsts: HashMap<u32, usize> = HashMap::new();
        (0..ranks).find_map(|rank| {
            let first = *firsts.entry(group(rank)).or_insert(rank);
            let apart = first != rank && closer.is_none_or(|closer| closer.get(first) != closer.get(rank));
            apart.then_some((first as u32, rank as u32))
        })
    };
    let levels = names.iter().zip(groups).enumerate().rev().map(|(level, (name, of_rank))| {
        (name.clone(), first(&|rank| of_rank.get(rank).copied().unwrap_or_default(), groups.get(level + 1)))
    });
    let job = (JOB.to_owned(), first(&|_| 0, groups.first()));
    levels.chain([job]).filter_map(|(within, ranks)| Some(Chosen { within, ranks: ranks? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[(&str, &[u32])]) -> Vec<(String, (u32, u32))> {
        let names: Vec<String> = levels.iter().map(|level| level.0.to_owned()).collect();
        let groups: Vec<Vec<u32>> = levels.iter().map(|level| level.1.to_vec()).collect();
        chosen(&names, &groups).into_iter().map(|pair| (pair.within, pair.ranks)).collect()
    }

    #[test]
    fn every_level_that_two_ranks_can_share_has_a_pair() {
        let name = str::to_owned;
        let levels: &[(&str, &[u32])] =
            &[("group", &[0, 0, 0, 0, 1, 1]), ("leaf", &[0, 0, 0, 1, 2, 2]), ("node", &[0, 1, 1, 2, 3, 4])];
        let expected = [(name("node"), (1, 2)), (name("leaf"), (0, 1)), (name("group"), (0, 3)), (name(JOB), (0, 4))];
        assert_eq!(of(levels), expected);
        // One rank on each node, all below one switch: no pair within a node, and none apart.
        assert_eq!(of(&[("leaf", &[0, 0]), ("node", &[0, 1])]), [(name("leaf"), (0, 1))]);
        assert_eq!(of(&[("node", &[0, 0, 1])]), [(name("node"), (0, 1)), (name(JOB), (0, 2))]);
        assert_eq!(of(&[("node", &[0])]), []);
        assert_eq!(chosen(&[], &[]), []);
    }
}
