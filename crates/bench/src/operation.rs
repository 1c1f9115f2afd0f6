//! What is measured: the collectives that Nagare plans, and Gather, which it leaves to the library.

use nagare_plan::collective::Collective;
use serde::{Deserialize, Serialize};

/// A collective operation of MPI, in the blocking form. Roots are rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Gather`.
    Gather,
}

impl Operation {
    /// Every operation, in the order in which they are measured and listed.
    pub const ALL: [Operation; 5] = [Self::Bcast, Self::Reduce, Self::Allreduce, Self::Alltoall, Self::Gather];

    /// Lower-case name, as on the command line and in Nagare's report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Gather => "gather",
        }
    }

    /// The operation of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// The collective by which Nagare knows it; `None` if it plans none of that name.
    pub fn planned(self) -> Option<Collective> {
        Collective::from_name(self.name())
    }

    /// Whether a rank has a block of its own for another: then sizes are told per rank pair.
    pub const fn per_pair(self) -> bool {
        matches!(self, Self::Alltoall | Self::Gather)
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
            assert!(Operation::ALL.iter().any(|operation| operation.planned() == Some(collective)), "{collective}");
        }
    }

    #[test]
    fn names_in_json_are_those_of_the_command_line() {
        for operation in Operation::ALL {
            assert_eq!(serde_json::to_value(operation).ok(), Some(operation.name().into()));
        }
    }
}
