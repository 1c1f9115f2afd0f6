//! What an MPI library can be told to run: its algorithms and segment sizes, named as the library names them.
//!
//! * Open MPI: `coll_tuned_COLLECTIVE_algorithm…`, read when a communicator is made, if `coll_tuned_use_dynamic_rules`
//!   was set at the start; and the components HAN and ADAPT, which the key `ompi_comm_coll_preference` of a
//!   communicator's info brings to the front.
//! * MPICH: `MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM`, and with `MPIR_CVAR_DEVICE_COLLECTIVES` whether the device may put
//!   a composition of its own around it; both read at every call.
//!
//! Left out are algorithms for two ranks only, of the exchanges those that work in place only, and MPICH's
//! `noncommutative` of the two Reduce_scatters, which ends the job where blocks differ or ranks are no power of two.
//!
//! One file, since most of it is two tables, of one library each, which are read side by side.

use crate::operation::Operation;

/// Libraries that are told in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open MPI 4 and 5.
    OpenMpi,
    /// MPICH 4 and 5.
    Mpich,
}

/// The variable without which Open MPI's others say nothing.
pub const DYNAMIC_RULES: &str = "coll_tuned_use_dynamic_rules";
/// Segment sizes where the algorithm has segments, bytes, the most promising first; 0: none.
pub const SEGMENTS: [u64; 6] = [8 << 10, 32 << 10, 4 << 10, 16 << 10, 128 << 10, 0];
/// Longest message that is tried where whole vectors follow each other, P in all: longer ones take P times what the
/// links need.
pub const WHOLE: u64 = 64 << 10;
/// So many segment sizes of every algorithm come before the others of the first.
const FIRST: usize = 2;

/// A value of a control variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i32),
    /// An item of the variable's enumeration.
    Item(&'static str),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Item(item) => item.fmt(f),
        }
    }
}

/// One way to run an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Short, such as `pipeline 16K`; its first word is the algorithm.
    pub name: String,
    /// Control variables and what they are set to.
    pub variables: Vec<(String, Value)>,
    /// Open MPI's component for the communicator.
    pub component: Option<&'static str>,
}

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

impl Family {
    /// The family of a library, by what it says of itself.
    pub fn of(version: &str) -> Option<Self> {
        match version {
            v if v.starts_with("Open MPI") => Some(Self::OpenMpi),
            v if v.starts_with("MPICH") => Some(Self::Mpich),
            _ => None,
        }
    }

    /// How the settings reach the library, in words.
    pub const fn how(self) -> &'static str {
        match self {
            Self::OpenMpi => {
                "in the same job: MPI_T control variables or the communicator's info, one communicator per setting"
            }
            Self::Mpich => "in the same job: MPI_T control variables, written before and restored after every call",
        }
    }

    /// Everything to be tried with messages of `bytes` (of a block, where there are blocks), the most promising first.
    pub fn settings(self, operation: Operation, bytes: u64) -> Vec<Setting> {
        match self {
            Self::OpenMpi => open_mpi(operation, bytes),
            Self::Mpich => mpich(operation, bytes),
        }
    }
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
        Operation::Alltoallv | Operation::AlltoallvSparse => vec![plain("pairwise"), plain("basic_linear")],
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
        Operation::Alltoallw | Operation::Gatherv | Operation::Scatterv => Vec::new(),
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

fn open_mpi(operation: Operation, bytes: u64) -> Vec<Setting> {
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
        Operation::Alltoall | Operation::Alltoallv | Operation::AlltoallvSparse | Operation::Alltoallw => &[],
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
const IGATHER_FANOUT: &str = "MPIR_CVAR_IGATHER_TREE_KVAL";
const ISCATTER: &str = "MPIR_CVAR_ISCATTER_INTRA_ALGORITHM";
const ISCATTER_FANOUT: &str = "MPIR_CVAR_ISCATTER_TREE_KVAL";
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
        Operation::Alltoallv | Operation::AlltoallvSparse => &[
            Intra("scattered", &[]),
            Intra("scattered", &[(THROTTLE, Value::Number(2), "throttle=2")]),
            Intra("scattered", &[(THROTTLE, Value::Number(8), "throttle=8")]),
            Intra("nb", &[]),
            Intra("nb", &[(IALLTOALLV, Value::Item("sched_blocked"), "sched_blocked")]),
            Intra("nb", &[(IALLTOALLV, Value::Item("tsp_scattered"), "tsp_scattered")]),
            Intra("nb", &[(IALLTOALLV, Value::Item("tsp_blocked"), "tsp_blocked")]),
        ],
        Operation::Alltoallw => &[
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

fn mpich(operation: Operation, bytes: u64) -> Vec<Setting> {
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

#[cfg(test)]
mod tests;
