//! Open MPI's algorithms, as its variables `coll_tuned_…` and its components name them.

use super::{Setting, Value};
use crate::operation::Operation;

/// Segment sizes where the algorithm has segments, bytes, the most promising first; 0: none.
const SEGMENTS: [u64; 6] = [8 << 10, 32 << 10, 4 << 10, 16 << 10, 128 << 10, 0];
/// Longest message that is tried where whole vectors follow each other, P in all: longer ones take P times what the
/// links need.
pub(super) const WHOLE: u64 = 64 << 10;
/// So many segment sizes of every algorithm come before the others of the first.
const FIRST: usize = 2;

/// An algorithm of Open MPI's component `tuned`.
struct Tuned {
    name: &'static str,
    segmented: bool,
    /// Whether it comes after everything else, and only up to [`WHOLE`]: the root talks to all ranks itself.
    last: bool,
    /// A further variable, the end of its name, with the values to be tried.
    further: Option<(&'static str, &'static [i32])>,
}

const fn plain(name: &'static str) -> Tuned {
    Tuned { name, segmented: false, last: false, further: None }
}

const fn segmented(name: &'static str) -> Tuned {
    Tuned { name, segmented: true, last: false, further: None }
}

const fn last(name: &'static str) -> Tuned {
    Tuned { name, segmented: false, last: true, further: None }
}

const fn chain() -> Tuned {
    Tuned { name: "chain", segmented: true, last: false, further: Some(("chain_fanout", &[2, 4])) }
}

fn tuned(operation: Operation) -> Vec<Tuned> {
    match operation {
        Operation::Bcast => vec![
            segmented("pipeline"),
            chain(),
            segmented("knomial"),
            plain("scatter_allgather_ring"),
            segmented("split_binary_tree"),
            segmented("binary_tree"),
            segmented("binomial"),
            plain("scatter_allgather"),
            last("basic_linear"),
        ],
        Operation::Reduce => vec![
            segmented("pipeline"),
            chain(),
            segmented("binary"),
            segmented("in-order_binary"),
            plain("rabenseifner"),
            segmented("binomial"),
            last("linear"),
        ],
        Operation::Allreduce => vec![
            plain("ring"),
            segmented("segmented_ring"),
            plain("rabenseifner"),
            plain("recursive_doubling"),
            plain("nonoverlapping"),
            last("basic_linear"),
        ],
        Operation::Alltoall => vec![
            plain("pairwise"),
            Tuned { name: "linear_sync", segmented: false, last: false, further: Some(("max_requests", &[0, 2, 8])) },
            plain("linear"),
            plain("modified_bruck"),
        ],
        Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed => {
            vec![plain("pairwise"), plain("basic_linear")]
        }
        Operation::Gather => vec![plain("basic_linear"), segmented("linear_sync"), plain("binomial")],
        Operation::Scatter => vec![
            plain("basic_linear"),
            plain("binomial"),
            Tuned { name: "linear_nb", segmented: false, last: false, further: Some(("max_requests", &[0, 2, 8])) },
        ],
        Operation::Allgather => {
            ["ring", "neighbor", "recursive_doubling", "bruck", "linear"].into_iter().map(plain).collect()
        }
        // There is one.
        Operation::Alltoallw | Operation::AlltoallwSkewed => Vec::new(),
        Operation::Gatherv | Operation::Scatterv => Vec::new(),
        // Open MPI (4.1.4) lets nobody write its variable in a running job.
        Operation::Allgatherv => Vec::new(),
        Operation::ReduceScatterBlock => {
            ["recursive_halving", "butterfly", "recursive_doubling", "basic_linear"].into_iter().map(plain).collect()
        }
        Operation::ReduceScatter => {
            ["ring", "recursive_halving", "butterfly", "non-overlapping"].into_iter().map(plain).collect()
        }
    }
}

/// Everything to be tried, the most promising first.
pub fn settings(operation: Operation, bytes: u64) -> Vec<Setting> {
    let mut settings = Vec::new();
    for Tuned { name, segmented, last, further } in tuned(operation) {
        let segments = if segmented { &SEGMENTS[..] } else { &[0] };
        // A segment as long as the message is none; without one, ranks in a row have the whole vector one after the
        // other.
        let one_by_one = |segment| segment == 0 && (last || matches!(name, "pipeline" | "chain"));
        let segments = segments.iter().filter(|&&segment| segment < bytes && (bytes <= WHOLE || !one_by_one(segment)));
        for (number, &segment) in segments.enumerate() {
            let values = further.map_or(&[][..], |(_, values)| values);
            let values = values.iter().map(|&value| Some(value)).chain(values.is_empty().then_some(None));
            for value in values {
                let variable = |end: &str| format!("coll_tuned_{}_algorithm{end}", operation.function());
                let mut variables = vec![(variable(""), Value::Item(name))];
                if segmented {
                    variables.push((variable("_segmentsize"), Value::Number(segment as i32)));
                }
                let mut text = name.to_owned();
                if segment > 0 {
                    text += &format!(" {}K", segment >> 10);
                }
                if let Some(((end, _), value)) = further.zip(value) {
                    variables.push((variable(&format!("_{end}")), Value::Number(value)));
                    text += &format!(" {end}={value}");
                }
                settings.push(((last, number >= FIRST), Setting { name: text, variables, component: None }));
            }
        }
    }
    let components: &[&str] = match operation {
        Operation::Bcast | Operation::Reduce => &["han", "adapt"],
        Operation::Allreduce | Operation::Gather | Operation::Scatter | Operation::Allgather => &["han"],
        Operation::Alltoall
        | Operation::Alltoallv
        | Operation::AlltoallvSparse
        | Operation::AlltoallvSkewed
        | Operation::Alltoallw
        | Operation::AlltoallwSkewed => &[],
        Operation::Gatherv | Operation::Scatterv | Operation::Allgatherv => &[],
        Operation::ReduceScatterBlock | Operation::ReduceScatter => &[],
    };
    settings.extend(components.iter().map(|&component| {
        let name = component.to_owned();
        ((false, false), Setting { name, variables: Vec::new(), component: Some(component) })
    }));
    // Stable: inside each turn the algorithms stay in their order.
    settings.sort_by_key(|&(turn, _)| turn);
    settings.into_iter().map(|(_, setting)| setting).collect()
}
