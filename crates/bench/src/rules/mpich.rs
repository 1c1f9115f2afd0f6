//! MPICH's selections with what was clearly faster in them, as files that `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`
//! (algorithms) and `MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE` (the device's compositions) name; 4.0 to 5.0.
//!
//! ```text
//!   "comm_type=intra": {
//!     "comm_size<=15":  its own choice,
//!     "comm_size<=16":  { its own conditions about the communicator: { "avg_msg_size<46341":  its own choice,
//!                                                                      "avg_msg_size<185364": what was faster,
//!                                                                      "avg_msg_size=any":    its own choice } },
//!     "comm_size=any":  its own choice }
//! ```
//!
//! Sizes come after every condition about the communicator: the library evaluates these when it makes one, and not all
//! of them later. What was measured without the device (`no-device`) runs on all ranks at once: there the device gets
//! the composition that does nothing of its own.

use super::selections::{Selections, Tree};
use super::{Told, Variables, by_size};
use crate::operation::{Operation, Unit};
use crate::record::Results;
use std::collections::BTreeSet;

/// The library maps a file to memory and reads on to a zero byte: a page must have room for one.
const PAGE: usize = 4096;
/// Conditions about the communicator alone begin like this.
const OF_COMMUNICATOR: [&str; 2] = ["comm_", "is_node_consecutive="];
/// Sizes are C's `int`.
const LARGEST: u64 = i32::MAX as u64;

/// Files for MPICH, and what they tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// What selects algorithms.
    pub algorithms: String,
    /// What selects compositions of the device, where it has some.
    pub device: Option<String>,
    /// What differs from the library's own choice.
    pub told: Vec<Told>,
}

/// What is told for some sizes.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    /// `algorithm=…`; none: the library's own choice, without the device.
    algorithm: Option<String>,
    /// What it needs beside its name.
    parameters: Vec<String>,
}

impl Choice {
    /// As the file has it, if it is an algorithm.
    fn selected(&self) -> Option<Tree> {
        let parameters = self.parameters.iter().map(|parameter| (parameter.clone(), Tree::default())).collect();
        Some(Tree::one(self.algorithm.clone()?, Tree(parameters)))
    }

    /// Whether it is an algorithm for communicators with several ranks on a node of several.
    fn needs_nodes(&self) -> bool {
        self.algorithm.as_deref().is_some_and(|name| name.ends_with("_smp"))
    }
}

/// Such as `Reduce_scatter`.
fn capitalised(collective: Operation) -> String {
    let name = collective.function();
    name[..1].to_uppercase() + &name[1..]
}

/// What a size is called in conditions; none where ranks can disagree about it: Gather counts what a rank sends, which
/// the root does not say with `MPI_IN_PLACE`, and in Alltoallv each rank knows its own counts.
fn size_of(collective: Operation) -> Option<&'static str> {
    match collective {
        Operation::Bcast | Operation::Reduce | Operation::Allreduce | Operation::Alltoall => Some("avg_msg_size"),
        Operation::Allgather | Operation::Allgatherv | Operation::ReduceScatterBlock | Operation::ReduceScatter => {
            Some("total_msg_size")
        }
        Operation::Gather | Operation::Alltoallv | Operation::AlltoallvSparse => None,
    }
}

/// The composition that runs one algorithm on all ranks, where the device has others as well.
fn plain_composition(collective: Operation) -> Option<&'static str> {
    match collective {
        Operation::Bcast => Some("composition=MPIDI_Bcast_intra_composition_gamma"),
        Operation::Reduce => Some("composition=MPIDI_Reduce_intra_composition_gamma"),
        Operation::Allreduce => Some("composition=MPIDI_Allreduce_intra_composition_beta"),
        _ => None,
    }
}

/// What a parameter of `pipelined_tree` is called in a file, by the name of its variable.
fn parameter(variable: &str) -> Option<&'static str> {
    match variable {
        "MPIR_CVAR_BCAST_TREE_KVAL" => Some("k"),
        "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE" => Some("chunk_size"),
        "MPIR_CVAR_BCAST_IS_NON_BLOCKING" => Some("is_non_blocking"),
        "MPIR_CVAR_BCAST_RECV_PRE_POST" => Some("recv_pre_posted"),
        _ => None,
    }
}

/// Parameters of `pipelined_tree`: what a file leaves out is not set to anything.
const PARAMETERS: usize = 5;

/// Algorithms for numbers of ranks that are powers of two.
fn needs_power(algorithm: &str) -> bool {
    matches!(
        algorithm,
        "algorithm=MPIR_Bcast_intra_scatter_recursive_doubling_allgather"
            | "algorithm=MPIR_Allgather_intra_recursive_doubling"
            | "algorithm=MPIR_Allgatherv_intra_recursive_doubling"
    )
}

/// What a setting says, if a file can say it; `plain`: whether the device adds nothing to this collective; `nodes`:
/// whether some of several nodes has several ranks.
fn choice(
    collective: Operation,
    variables: &Variables,
    own: &Selections,
    ranks: usize,
    [plain, nodes]: [bool; 2],
) -> Option<Choice> {
    let own_variable = format!("MPIR_CVAR_{}_INTRA_ALGORITHM", collective.function().to_uppercase());
    let mut algorithm = None;
    let mut parameters = Vec::new();
    let mut without_device = plain;
    for (variable, value) in variables {
        match variable.as_str() {
            "MPIR_CVAR_DEVICE_COLLECTIVES" if value == "none" => without_device = true,
            name if name == own_variable => algorithm = Some(value.as_str()),
            // Others are for all calls and not in the file.
            other => parameters.push(format!("{}={value}", parameter(other)?)),
        }
    }
    let algorithm = algorithm?;
    if !parameters.is_empty() || algorithm == "pipelined_tree" {
        // As the variable is by default, which is read at the start only.
        parameters.push("tree_type=kary".to_owned());
        if algorithm != "pipelined_tree" || parameters.len() != PARAMETERS {
            return None;
        }
    }
    let name = capitalised(collective);
    let algorithm = match algorithm {
        // Without a device that adds something it is what the library does anyway, and so is what needs nodes of
        // several ranks where there are none.
        "auto" if plain => return None,
        "smp" if !nodes => return None,
        "auto" => None,
        "nb" => Some(format!("algorithm=MPIR_{name}_allcomm_nb")),
        other => Some(format!("algorithm=MPIR_{name}_intra_{other}")),
    };
    let able = |name: &String| own.knows(name) && (ranks.is_power_of_two() || !needs_power(name));
    (without_device && algorithm.iter().all(able)).then_some(Choice { algorithm, parameters })
}

/// `run` where a call is of the kind that was measured and the algorithm can run it, and `own` elsewhere.
fn guarded(collective: Operation, choice: &Choice, run: Tree, own: &Tree) -> Tree {
    let or = |condition: &str, run: Tree, other: &str| {
        Tree(vec![(condition.to_owned(), run), (other.to_owned(), own.clone())])
    };
    let least = matches!(
        choice.algorithm.as_deref(),
        Some(
            "algorithm=MPIR_Reduce_intra_reduce_scatter_gather"
                | "algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather"
        )
    );
    let run = if least {
        // As many elements as ranks, at least.
        Tree(vec![("count<pow2".to_owned(), own.clone()), ("count=any".to_owned(), run)])
    } else {
        run
    };
    let commutative = |run| or("is_commutative=yes", run, "is_commutative=no");
    match collective {
        Operation::Reduce | Operation::Allreduce => commutative(or("is_op_built_in=yes", run, "is_op_built_in=no")),
        Operation::ReduceScatter | Operation::ReduceScatterBlock => commutative(run),
        _ => run,
    }
}

/// What is told for one collective.
struct Rules {
    collective: Operation,
    size: &'static str,
    /// From which size on what holds.
    by_size: Vec<(u64, Option<Choice>)>,
}

impl Rules {
    /// `own`, with ours below all its conditions about the communicator; `run`: what a choice selects.
    fn below(&self, own: &Tree, run: &dyn Fn(&Choice) -> Option<Tree>) -> Tree {
        let about = |key: &str| OF_COMMUNICATOR.iter().any(|start| key.starts_with(start));
        if own.0.iter().all(|(key, _)| about(key)) {
            return Tree(own.0.iter().map(|(key, under)| (key.clone(), self.below(under, run))).collect());
        }
        let content = |choice: &Option<Choice>| match choice.as_ref().and_then(|choice| Some((choice, run(choice)?))) {
            Some((choice, run)) => guarded(self.collective, choice, run, own),
            None => own.clone(),
        };
        let rules: Vec<_> = self.by_size.iter().filter(|rule| rule.0 <= LARGEST).collect();
        let ends = rules.iter().skip(1).map(|rule| format!("{}<{}", self.size, rule.0));
        let ends = ends.chain([format!("{}=any", self.size)]);
        let sized = Tree(ends.zip(&rules).map(|(end, rule)| (end, content(&rule.1))).collect());
        if self.collective != Operation::Alltoall {
            return sized;
        }
        // Asked first: with MPI_IN_PLACE count and type of what is sent, which the size is made of, mean nothing.
        let (in_place, sent) = ("is_sendbuf_inplace=yes".to_owned(), "is_sendbuf_inplace=no".to_owned());
        Tree(vec![(in_place, own.clone()), (sent, sized)])
    }

    /// Puts ours into `tree`, for communicators of so many ranks.
    fn put(&self, tree: &mut Tree, ranks: usize, run: impl Fn(&Choice) -> Option<Tree>) {
        let collective = format!("collective={}", self.collective.function());
        let Some(own) = tree.under_mut(&collective).and_then(|tree| tree.under_mut("comm_type=intra")) else { return };
        let ours = if self.by_size.iter().any(|(_, choice)| choice.as_ref().is_some_and(Choice::needs_nodes)) {
            let elsewhere = |choice: &Choice| (!choice.needs_nodes()).then(|| run(choice)).flatten();
            Tree(vec![
                ("comm_hierarchy=parent".to_owned(), self.below(own, &run)),
                ("comm_hierarchy=any".to_owned(), self.below(own, &elsewhere)),
            ])
        } else {
            self.below(own, &run)
        };
        *own = Tree(vec![
            (format!("comm_size<={}", ranks - 1), own.clone()),
            (format!("comm_size<={ranks}"), ours),
            ("comm_size=any".to_owned(), own.clone()),
        ]);
    }
}

/// As the library can read it.
fn text(tree: &Tree) -> String {
    // Objects of objects with texts as keys can always be written.
    let mut text = serde_json::to_string_pretty(tree).unwrap_or_default() + "\n";
    if text.len().is_multiple_of(PAGE) {
        text.push('\n');
    }
    text
}

/// What MPICH selects by itself (`own`), with what was clearly faster, on communicators of as many ranks as were
/// measured.
pub fn mpich(results: &Results, own: &Selections) -> Selected {
    let ranks = results.job.hosts.len();
    let hosts: BTreeSet<&str> = results.job.hosts.iter().map(String::as_str).collect();
    let nodes = hosts.len() > 1 && hosts.len() < ranks;
    let (mut algorithms, mut device) = (own.algorithms.clone(), own.device.clone());
    let mut told = Vec::new();
    for collective in Operation::ALL {
        let Some(size) = size_of(collective) else { continue };
        let key = format!("collective={}", collective.function());
        let composed = own.device.as_ref().and_then(|tree| tree.under(&key)?.under("comm_type=intra"));
        let plain = composed.is_none_or(|tree| tree.name().is_some()) || hosts.len() == ranks;
        let composition = plain_composition(collective).filter(|name| own.knows(name));
        if ranks == 0 || !(plain || composition.is_some()) {
            continue;
        }
        let bytes = |cell: &crate::record::Cell| match collective.unit() {
            Unit::Vector => cell.bytes,
            Unit::Pair => cell.block,
            Unit::Rank if collective.varies() => cell.bytes,
            Unit::Rank => cell.block * ranks as u64,
        };
        let (by_size, settings) =
            by_size(results, collective, bytes, |variables| choice(collective, variables, own, ranks, [plain, nodes]));
        let rules = Rules { collective, size, by_size };
        if !settings.is_empty() {
            rules.put(&mut algorithms, ranks, Choice::selected);
            if let (Some(device), Some(name), false) = (&mut device, composition, plain) {
                rules.put(device, ranks, |_| Some(Tree::one(name, Tree::default())));
            }
        }
        told.extend(settings);
    }
    Selected { algorithms: text(&algorithms), device: device.as_ref().map(text), told }
}

#[cfg(test)]
mod tests;
