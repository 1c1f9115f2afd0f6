//! What MPICH calls the settings that were measured: algorithms with their parameters, compositions, sizes; and which
//! of them a file can say.

use super::super::Variables;
use super::super::selections::{Selections, Tree};
use crate::operation::Operation;

/// What is told for some sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// `algorithm=…`; none: the library's own choice, without the device.
    pub algorithm: Option<String>,
    /// What it needs beside its name.
    parameters: Vec<String>,
}

impl Choice {
    /// As the file has it, if it is an algorithm.
    pub fn selected(&self) -> Option<Tree> {
        let parameters = self.parameters.iter().map(|parameter| (parameter.clone(), Tree::default())).collect();
        Some(Tree::one(self.algorithm.clone()?, Tree(parameters)))
    }

    /// Whether it is an algorithm for communicators with several ranks on a node of several.
    pub fn needs_nodes(&self) -> bool {
        self.algorithm.as_deref().is_some_and(|name| name.ends_with("_smp"))
    }
}

/// Such as `Reduce_scatter`.
fn capitalised(collective: Operation) -> String {
    let name = collective.function();
    name[..1].to_uppercase() + &name[1..]
}

/// What a size is called in conditions; none where ranks can disagree about it: Gather counts what a rank sends and
/// Scatter what it receives, which the root does not say with `MPI_IN_PLACE`, and in Alltoallv, Alltoallw, Gatherv and
/// Scatterv each rank knows its own counts.
pub fn size_of(collective: Operation) -> Option<&'static str> {
    match collective {
        Operation::Bcast | Operation::Reduce | Operation::Allreduce | Operation::Alltoall => Some("avg_msg_size"),
        Operation::Allgather | Operation::Allgatherv | Operation::ReduceScatterBlock | Operation::ReduceScatter => {
            Some("total_msg_size")
        }
        Operation::Gather
        | Operation::Scatter
        | Operation::Alltoallv
        | Operation::AlltoallvSparse
        | Operation::AlltoallvSkewed => None,
        Operation::Alltoallw | Operation::AlltoallwSkewed | Operation::Gatherv | Operation::Scatterv => None,
    }
}

/// The composition that runs one algorithm on all ranks, where the device has others as well.
pub fn plain_composition(collective: Operation) -> Option<&'static str> {
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
pub fn choice(
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
