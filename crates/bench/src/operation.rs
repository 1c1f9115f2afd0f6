//! What is measured: the collectives that Nagare plans, also where it leaves them to the library.

use nagare_plan::collective::Collective;
use serde::{Deserialize, Serialize};

/// A collective operation of MPI, in the blocking form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv` with counts near their mean ([`crate::counts`]).
    Alltoallv,
    /// `MPI_Alltoallv` in which a quarter of the counts is zero.
    AlltoallvSparse,
    /// `MPI_Alltoallv` in which rank 0 has ten times as much for every rank as others have.
    AlltoallvSkewed,
    /// `MPI_Alltoallw` with blocks that lie beside one another in a matrix, each a vector type.
    Alltoallw,
    /// The same in which rank 0 has ten times as much for every rank as others have.
    AlltoallwSkewed,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv` with counts near their mean ([`crate::counts`]).
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv` with counts near their mean ([`crate::counts`]).
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv` with counts near their mean ([`crate::counts`]).
    Allgatherv,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Reduce_scatter` with counts near their mean ([`crate::counts`]).
    ReduceScatter,
}

/// What a size is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The vector of a rank.
    Vector,
    /// The block of a rank for another.
    Pair,
    /// The block of a rank in the vector that all have, or have parts of.
    Rank,
}

impl Operation {
    /// Every operation, in the order in which they are measured and listed.
    pub const ALL: [Operation; 17] = [
        Self::Bcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Alltoall,
        Self::Alltoallv,
        Self::AlltoallvSparse,
        Self::AlltoallvSkewed,
        Self::Alltoallw,
        Self::AlltoallwSkewed,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::Allgather,
        Self::Allgatherv,
        Self::ReduceScatterBlock,
        Self::ReduceScatter,
    ];

    /// Those that are measured where none are named: one for every function of MPI.
    pub fn usual() -> impl Iterator<Item = Operation> {
        Self::ALL.into_iter().filter(|operation| operation.name() == operation.function())
    }

    /// Lower-case name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AlltoallvSparse => "alltoallv_sparse",
            Self::AlltoallvSkewed => "alltoallv_skewed",
            Self::AlltoallwSkewed => "alltoallw_skewed",
            other => other.function(),
        }
    }

    /// Lower-case name of MPI's function, as in Nagare's report and the library's variables.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Alltoallv | Self::AlltoallvSparse | Self::AlltoallvSkewed => "alltoallv",
            Self::Alltoallw | Self::AlltoallwSkewed => "alltoallw",
            Self::Gather => "gather",
            Self::Gatherv => "gatherv",
            Self::Scatter => "scatter",
            Self::Scatterv => "scatterv",
            Self::Allgather => "allgather",
            Self::Allgatherv => "allgatherv",
            Self::ReduceScatterBlock => "reduce_scatter_block",
            Self::ReduceScatter => "reduce_scatter",
        }
    }

    /// The operation of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The collective by which Nagare knows it; `None` if it plans none of that name.
    pub fn planned(self) -> Option<Collective> {
        Collective::from_name(self.function())
    }

    /// What its sizes are told of.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Bcast | Self::Reduce | Self::Allreduce => Unit::Vector,
            Self::Alltoall | Self::Alltoallv | Self::AlltoallvSparse | Self::AlltoallvSkewed => Unit::Pair,
            Self::Alltoallw | Self::AlltoallwSkewed => Unit::Pair,
            Self::Gather | Self::Gatherv | Self::Scatter | Self::Scatterv => Unit::Pair,
            Self::Allgather | Self::Allgatherv | Self::ReduceScatterBlock | Self::ReduceScatter => Unit::Rank,
        }
    }

    /// Whether blocks differ in length: then sizes are means.
    pub const fn varies(self) -> bool {
        matches!(
            self,
            Self::Alltoallv
                | Self::AlltoallvSparse
                | Self::AlltoallvSkewed
                | Self::AlltoallwSkewed
                | Self::Gatherv
                | Self::Scatterv
                | Self::Allgatherv
                | Self::ReduceScatter
        )
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_of_nagare_is_measured() {
        for collective in Collective::ALL {
            assert!(Operation::usual().any(|operation| operation.planned() == Some(collective)), "{collective}");
        }
    }

    #[test]
    fn names_in_json_are_those_of_the_command_line() {
        for operation in Operation::ALL {
            assert_eq!(serde_json::to_value(operation).ok(), Some(operation.name().into()));
        }
    }
}
