//! Open MPI's `coll/tuned` reads rules from a file (`coll_tuned_dynamic_rules_filename`; 4.1 and 5.0, format without a
//! version):
//!
//! ```text
//!   1                  collectives
//!   7                    number of one: 7 is Bcast
//!   3                    numbers of ranks; each holds up to the next, and the first for fewer ranks too
//!   1
//!   1
//!   0 0 0 0
//!   16                     ranks
//!   3                      sizes in bytes; each holds up to the next, the first is 0
//!   0 0 0 0                  size, algorithm (0: its own choice), fan-out, segment
//!   11586 3 0 8192
//!   46341 0 0 0
//!   17                     ranks: no longer what was measured
//!   1
//!   0 0 0 0
//! ```

use super::{Told, by_size};
use crate::operation::Operation;
use crate::record::Results;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text of a rules file, and what it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// The file.
    pub text: String,
    /// What differs from the library's own choice.
    pub told: Vec<Told>,
}

/// Numbers of a collective and of its algorithms in `coll/tuned`, in the order of these from 1 on.
fn numbers(collective: Operation) -> Option<(u32, &'static [&'static str])> {
    Some(match collective {
        Operation::Allgather => (0, &["linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc"]),
        Operation::Allreduce => {
            (2, &["basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"])
        }
        Operation::Alltoall => (3, &["linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"]),
        Operation::Bcast => (
            7,
            &[
                "basic_linear",
                "chain",
                "pipeline",
                "split_binary_tree",
                "binary_tree",
                "binomial",
                "knomial",
                "scatter_allgather",
                "scatter_allgather_ring",
            ],
        ),
        Operation::Reduce => {
            (11, &["linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"])
        }
        Operation::ReduceScatter => (12, &["non-overlapping", "recursive_halving", "ring", "butterfly"]),
        Operation::ReduceScatterBlock => {
            (13, &["basic_linear", "recursive_doubling", "recursive_halving", "butterfly"])
        }
        // A running job cannot be told, so that nothing is measured.
        Operation::Allgatherv => return None,
        // Every rank looks the size up by its own arguments on one side, of which some mean nothing: those of what is
        // sent in a Scatter away from the root, and in a Gather at a root with MPI_IN_PLACE. Ranks would run different
        // algorithms.
        Operation::Gather | Operation::Scatter => return None,
        // It has no size that all ranks know: one rule would hold for all.
        Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed => return None,
        Operation::Alltoallw | Operation::AlltoallwSkewed => return None,
        Operation::Gatherv | Operation::Scatterv => return None,
    })
}

/// Algorithm, fan-out and segment of a setting, where a rule can say it; `variables`: what was set to what.
fn numbered(collective: Operation, variables: &BTreeMap<String, String>) -> Option<[u64; 3]> {
    let (_, algorithms) = numbers(collective)?;
    let start = format!("coll_tuned_{}_algorithm", collective.function());
    let mut rule = [0; 3];
    for (variable, value) in variables {
        match variable.strip_prefix(&start)? {
            "" => rule[0] = algorithms.iter().position(|name| name == value)? as u64 + 1,
            "_chain_fanout" => rule[1] = value.parse().ok()?,
            "_segmentsize" => rule[2] = value.parse().ok()?,
            "_max_requests" if value == "0" => {}
            _ => return None,
        }
    }
    (rule[0] > 0).then_some(rule)
}

/// The rules file of Open MPI for as many ranks as were measured: for sizes between two that were measured the nearer
/// one's, by their ratio, and far outside of them the library's own choice.
pub fn open_mpi(results: &Results) -> Rules {
    let ranks = results.job.hosts.len();
    let mut told = Vec::new();
    let mut sections = Vec::new();
    for collective in Operation::ALL {
        let Some((number, _)) = numbers(collective) else { continue };
        // In bytes as the benchmark counts them and `coll/tuned` too: of the vector, or of all blocks together.
        let (rules, settings) = by_size(results, collective, |cell| cell.bytes, |v| numbered(collective, v));
        told.extend(settings);
        if rules.len() > 1 {
            sections.push((number, collective, rules));
        }
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    let mut line = |words: std::fmt::Arguments| {
        let _ = writeln!(text, "{words}");
    };
    line(format_args!("{} # collectives; measured with {} on {ranks} ranks", sections.len(), results.job.mpi));
    for (number, collective, rules) in sections {
        line(format_args!("{number} # {}", collective.name()));
        line(format_args!("3 # numbers of ranks\n1 # and more: its own choice\n1\n0 0 0 0"));
        line(format_args!("{ranks} # ranks\n{} # sizes", rules.len()));
        for (from, rule) in rules {
            let [algorithm, fan_out, segment] = rule.unwrap_or_default();
            line(format_args!("{from} {algorithm} {fan_out} {segment}"));
        }
        line(format_args!("{} # ranks and more: its own choice\n1\n0 0 0 0", ranks + 1));
    }
    Rules { text, told }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{Forced, forced, results};

    /// A cell with settings: name, seconds, the ends of the names of its variables and their values.
    fn cell(collective: Operation, bytes: u64, settings: &[Forced]) -> crate::record::Cell {
        let variable = |end: &str| format!("coll_tuned_{}_algorithm{end}", collective.function());
        forced(collective, bytes, bytes, settings, variable)
    }

    /// What `coll/tuned` would run on, by its own rules: numbers in turn, comments left out.
    fn looked_up(text: &str, collective: u64, ranks: u64, bytes: u64) -> [u64; 3] {
        let words = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut numbers = words.flat_map(str::split_whitespace).map(|word| word.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().expect("a number");
        let mut found = [0; 3];
        for _ in 0..next() {
            let of = next();
            for first in (0..next()).map(|set| set == 0) {
                // The library takes the first set where none fits.
                let least = if first { next().min(1) } else { next() };
                for number in 0..next() {
                    let (size, rule) = (next(), [next(), next(), next()]);
                    assert!(number > 0 || size == 0, "the first size is 0");
                    if of == collective && least <= ranks && size <= bytes {
                        found = rule;
                    }
                }
            }
        }
        assert_eq!(numbers.next(), None);
        found
    }

    #[test]
    fn the_library_is_told_what_was_clearly_faster() {
        let pipeline: &[(&str, &str)] = &[("", "pipeline"), ("_segmentsize", "8192")];
        let chain: &[(&str, &str)] = &[("", "chain"), ("_chain_fanout", "4"), ("_segmentsize", "0")];
        let rules = open_mpi(&results(
            "Open MPI v4.1.4",
            vec![
                cell(
                    Operation::Bcast,
                    1 << 20,
                    &[("pipeline 8K", 0.5, pipeline), ("chain chain_fanout=4", 0.4, chain)],
                ),
                cell(Operation::Bcast, 1 << 16, &[("pipeline 8K", 0.7, pipeline), ("han", 0.1, &[])]),
                cell(Operation::Bcast, 1 << 12, &[("pipeline 8K", 0.96, pipeline)]),
                cell(Operation::Allreduce, 1 << 16, &[("ring", 0.97, &[("", "ring")])]),
                cell(
                    Operation::Alltoall,
                    1 << 16,
                    &[("linear_sync max_requests=8", 0.5, &[("", "linear_sync"), ("_max_requests", "8")])],
                ),
                cell(Operation::Gather, 1 << 16, &[("binomial", 0.5, &[("", "binomial")])]),
                cell(Operation::Scatter, 1 << 16, &[("binomial", 0.5, &[("", "binomial")])]),
            ],
        ));
        let bcast = |ranks, bytes| looked_up(&rules.text, 7, ranks, bytes);
        assert_eq!(bcast(16, 1 << 20), [2, 4, 0]);
        assert_eq!(bcast(16, (1 << 18) - 1), [3, 0, 8192], "nearer to 64 KiB by ratio");
        assert_eq!(bcast(16, 1 << 18), [2, 4, 0]);
        assert_eq!((bcast(16, 1 << 16), bcast(16, 1 << 12)), ([3, 0, 8192], [0; 3]));
        assert_eq!((bcast(16, 1 << 22), bcast(16, 1)), ([0; 3], [0; 3]), "far outside");
        assert_eq!((bcast(15, 1 << 20), bcast(17, 1 << 20)), ([0; 3], [0; 3]), "other numbers of ranks");
        // Not clearly faster, and what no rule can say: of Gather and Scatter ranks may not agree about the size.
        for other in [2, 3, 9, 15] {
            assert_eq!(looked_up(&rules.text, other, 16, 1 << 16), [0; 3]);
        }
        let told: Vec<_> = rules.told.iter().map(|told| (told.collective, told.bytes, told.setting.as_str())).collect();
        assert_eq!(
            told,
            [(Operation::Bcast, 1 << 16, "pipeline 8K"), (Operation::Bcast, 1 << 20, "chain chain_fanout=4"),]
        );
    }

    #[test]
    fn every_setting_that_is_tried_has_a_number_or_none_at_all() {
        for collective in Operation::ALL.into_iter().filter(|&c| numbers(c).is_some()) {
            for setting in crate::oracle::Family::OpenMpi.settings(collective, 1 << 20) {
                let variables: BTreeMap<String, String> =
                    setting.variables.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
                let rule = numbered(collective, &variables);
                let cannot = setting.component.is_some() || variables.keys().any(|name| name.ends_with("max_requests"));
                assert!(rule.is_some() || cannot, "{collective:?} {}", setting.name);
            }
        }
    }
}
