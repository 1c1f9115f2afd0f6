//! MPICH's algorithms, as its variables `MPIR_CVAR_…` and their descriptions name them.

use super::{Setting, Value};
use crate::operation::Operation;

/// An algorithm of MPICH: its name, and further variables with the words that tell them apart.
struct Intra(&'static str, &'static [Further]);

/// A further variable, its value, and the words that tell it apart; none where it is always the same.
type Further = (&'static str, Value, &'static str);

/// Parameters of MPICH 5's pipelined trees: children of a rank (a chain has 1), and KiB of a chunk; all others as they
/// are by default.
const fn pipelined(children: i32, kib: i32, words: &'static str) -> [Further; 4] {
    [
        ("MPIR_CVAR_BCAST_TREE_KVAL", Value::Number(children), words),
        (CHUNK, Value::Number(kib << 10), ""),
        ("MPIR_CVAR_BCAST_IS_NON_BLOCKING", Value::Number(1), ""),
        ("MPIR_CVAR_BCAST_RECV_PRE_POST", Value::Number(0), ""),
    ]
}

/// How many messages a rank of `scattered` has on their way at a time.
const THROTTLE: &str = "MPIR_CVAR_ALLTOALL_THROTTLE";
/// Bytes of a chunk of a pipelined tree.
const CHUNK: &str = "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE";
const IGATHER: &str = "MPIR_CVAR_IGATHER_INTRA_ALGORITHM";
pub(super) const IGATHER_FANOUT: &str = "MPIR_CVAR_IGATHER_TREE_KVAL";
const ISCATTER: &str = "MPIR_CVAR_ISCATTER_INTRA_ALGORITHM";
pub(super) const ISCATTER_FANOUT: &str = "MPIR_CVAR_ISCATTER_TREE_KVAL";
const IALLTOALLV: &str = "MPIR_CVAR_IALLTOALLV_INTRA_ALGORITHM";
const IALLTOALLW: &str = "MPIR_CVAR_IALLTOALLW_INTRA_ALGORITHM";
const IALLGATHER: &str = "MPIR_CVAR_IALLGATHER_INTRA_ALGORITHM";
const IREDUCE_SCATTER: &str = "MPIR_CVAR_IREDUCE_SCATTER_INTRA_ALGORITHM";
const IREDUCE_SCATTER_BLOCK: &str = "MPIR_CVAR_IREDUCE_SCATTER_BLOCK_INTRA_ALGORITHM";

fn intra(operation: Operation) -> &'static [Intra] {
    match operation {
        Operation::Bcast => &[
            Intra("scatter_ring_allgather", &[]),
            Intra("scatter_recursive_doubling_allgather", &[]),
            Intra("binomial", &[]),
            Intra("smp", &[]),
            Intra("pipelined_tree", const { &pipelined(1, 8, "chain 8K") }),
            Intra("pipelined_tree", const { &pipelined(2, 8, "k=2 8K") }),
            Intra("pipelined_tree", const { &pipelined(1, 32, "chain 32K") }),
            Intra("pipelined_tree", const { &pipelined(2, 32, "k=2 32K") }),
            Intra("nb", &[]),
        ],
        Operation::Reduce => {
            &[Intra("reduce_scatter_gather", &[]), Intra("binomial", &[]), Intra("smp", &[]), Intra("nb", &[])]
        }
        Operation::Allreduce => &[
            Intra("reduce_scatter_allgather", &[]),
            Intra("recursive_doubling", &[]),
            Intra("smp", &[]),
            Intra("ring", &[]),
            Intra("nb", &[]),
        ],
        Operation::Alltoall => &[
            Intra("pairwise", &[]),
            Intra("scattered", &[]),
            Intra("scattered", &[(THROTTLE, Value::Number(2), "throttle=2")]),
            Intra("scattered", &[(THROTTLE, Value::Number(8), "throttle=8")]),
            Intra("brucks", &[]),
            Intra("nb", &[]),
        ],
        Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed => &[
            Intra("scattered", &[]),
            Intra("scattered", &[(THROTTLE, Value::Number(2), "throttle=2")]),
            Intra("scattered", &[(THROTTLE, Value::Number(8), "throttle=8")]),
            Intra("nb", &[]),
            Intra("nb", &[(IALLTOALLV, Value::Item("sched_blocked"), "sched_blocked")]),
            Intra("nb", &[(IALLTOALLV, Value::Item("tsp_scattered"), "tsp_scattered")]),
            Intra("nb", &[(IALLTOALLV, Value::Item("tsp_blocked"), "tsp_blocked")]),
        ],
        Operation::Alltoallw | Operation::AlltoallwSkewed => &[
            Intra("scattered", &[]),
            Intra("scattered", &[(THROTTLE, Value::Number(2), "throttle=2")]),
            Intra("scattered", &[(THROTTLE, Value::Number(8), "throttle=8")]),
            Intra("nb", &[]),
            Intra("nb", &[(IALLTOALLW, Value::Item("sched_blocked"), "sched_blocked")]),
            Intra("nb", &[(IALLTOALLW, Value::Item("tsp_blocked"), "tsp_blocked")]),
        ],
        Operation::Gather => &[
            Intra("binomial", &[]),
            Intra("nb", &[]),
            Intra(
                "nb",
                &[(IGATHER, Value::Item("tsp_tree"), "tsp_tree"), (IGATHER_FANOUT, Value::Number(2), "tree_kval=2")],
            ),
            Intra(
                "nb",
                &[(IGATHER, Value::Item("tsp_tree"), "tsp_tree"), (IGATHER_FANOUT, Value::Number(8), "tree_kval=8")],
            ),
        ],
        Operation::Scatter => &[
            Intra("binomial", &[]),
            Intra("nb", &[]),
            Intra(
                "nb",
                &[(ISCATTER, Value::Item("tsp_tree"), "tsp_tree"), (ISCATTER_FANOUT, Value::Number(2), "tree_kval=2")],
            ),
            Intra(
                "nb",
                &[(ISCATTER, Value::Item("tsp_tree"), "tsp_tree"), (ISCATTER_FANOUT, Value::Number(8), "tree_kval=8")],
            ),
        ],
        Operation::Allgather => &[
            Intra("ring", &[]),
            Intra("recursive_doubling", &[]),
            Intra("brucks", &[]),
            Intra("nb", &[]),
            Intra("nb", &[(IALLGATHER, Value::Item("tsp_ring"), "tsp_ring")]),
            Intra("nb", &[(IALLGATHER, Value::Item("tsp_recexch_doubling"), "tsp_recexch_doubling")]),
            Intra("nb", &[(IALLGATHER, Value::Item("tsp_recexch_halving"), "tsp_recexch_halving")]),
            Intra("nb", &[(IALLGATHER, Value::Item("tsp_brucks"), "tsp_brucks")]),
        ],
        Operation::Gatherv | Operation::Scatterv => &[Intra("linear", &[]), Intra("nb", &[])],
        Operation::Allgatherv => {
            &[Intra("ring", &[]), Intra("recursive_doubling", &[]), Intra("brucks", &[]), Intra("nb", &[])]
        }
        Operation::ReduceScatterBlock => &[
            Intra("recursive_halving", &[]),
            Intra("pairwise", &[]),
            Intra("recursive_doubling", &[]),
            Intra("nb", &[]),
            Intra("nb", &[(IREDUCE_SCATTER_BLOCK, Value::Item("tsp_recexch"), "tsp_recexch")]),
        ],
        Operation::ReduceScatter => &[
            Intra("recursive_halving", &[]),
            Intra("pairwise", &[]),
            Intra("recursive_doubling", &[]),
            Intra("nb", &[]),
            Intra("nb", &[(IREDUCE_SCATTER, Value::Item("tsp_recexch"), "tsp_recexch")]),
        ],
    }
}

/// Everything to be tried, the most promising first.
pub fn settings(operation: Operation, bytes: u64) -> Vec<Setting> {
    let variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", operation.function().to_uppercase());
    let setting = |&Intra(algorithm, further): &Intra, device: bool| {
        let mut variables = vec![(variable.clone(), Value::Item(algorithm))];
        let mut name = algorithm.to_owned();
        for &(variable, value, words) in further {
            variables.push((variable.to_owned(), value));
            if !words.is_empty() {
                name += &format!(" {words}");
            }
        }
        if !device {
            variables.push(("MPIR_CVAR_DEVICE_COLLECTIVES".to_owned(), Value::Item("none")));
            name += " no-device";
        }
        Setting { name, variables, component: None }
    };
    // Its own choice with its device is what stock is.
    let is_cut = |&(variable, value, _): &Further| {
        variable != CHUNK || matches!(value, Value::Number(chunk) if (chunk as u64) < bytes)
    };
    let fitting = intra(operation).iter().filter(|Intra(_, further)| further.iter().all(is_cut));
    let pairs = fitting.flat_map(|algorithm| [(algorithm, true), (algorithm, false)]);
    pairs.chain([(&Intra("auto", &[]), false)]).map(|(algorithm, device)| setting(algorithm, device)).collect()
}

/// Items by which MPICH's descriptions are read.
const ITEMS: &[&str] = &[
    "all",
    "auto",
    "binomial",
    "brucks",
    "nb",
    "noncommutative",
    "none",
    "pairwise",
    "pairwise_sendrecv_replace",
    "percoll",
    "pipelined_tree",
    "recursive_doubling",
    "recursive_halving",
    "reduce_scatter_allgather",
    "reduce_scatter_gather",
    "ring",
    "sched_auto",
    "sched_blocked",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "scattered",
    "smp",
    "tree",
    "tsp_blocked",
    "tsp_brucks",
    "tsp_recexch",
    "tsp_recexch_doubling",
    "tsp_recexch_halving",
    "tsp_ring",
    "tsp_scattered",
    "tsp_tree",
];

/// The items of a variable of MPICH with their numbers, from its description: `auto - Internal …` and then one
/// `NAME - …` per item in the order of the numbers, in some versions without line breaks between them. Other items than
/// those of our settings get no name.
pub fn items_in_description(description: &str) -> Vec<(String, i32)> {
    let mut items = Vec::new();
    for (number, (at, _)) in (0..).zip(description.match_indices(" - ")) {
        let before = description[..at].trim_end();
        let fitting = ITEMS.iter().filter(|name| before.ends_with(**name));
        // `tree` also ends `pipelined_tree`.
        if let Some(name) = fitting.max_by_key(|name| name.len()) {
            items.push(((*name).to_owned(), number));
        }
    }
    items
}
