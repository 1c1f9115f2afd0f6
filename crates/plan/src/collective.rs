//! The collective operations Nagare plans.

use serde::{Deserialize, Serialize};

/// Rank in the communicator of the call.
pub type Rank = u32;

/// A collective operation of MPI, in the blocking form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collective {
    /// `MPI_Reduce`: the combination of every rank's vector, at the root (MPI 4.0 section 6.9.1).
    Reduce,
    /// `MPI_Bcast`: the root's vector, at every rank (MPI 4.0 section 6.4).
    Bcast,
    /// `MPI_Allreduce`: the combination of every rank's vector, at every rank (MPI 4.0 section 6.9.6).
    Allreduce,
    /// `MPI_Alltoall`: block j of rank i becomes block i of rank j (MPI 4.0 section 6.8).
    Alltoall,
    /// `MPI_Alltoallv`: the same with blocks of any size, known to their two ranks only (MPI 4.0 section 6.8).
    Alltoallv,
    /// `MPI_Alltoallw`: the same with blocks of any type (MPI 4.0 section 6.8).
    Alltoallw,
    /// `MPI_Gather`: the block of every rank, in rank order, at the root (MPI 4.0 section 6.5).
    Gather,
    /// `MPI_Gatherv`: the same with blocks of any size, known to the root and their own ranks only (MPI 4.0 section
    /// 6.5).
    Gatherv,
    /// `MPI_Scatter`: the root's block r at rank r (MPI 4.0 section 6.6).
    Scatter,
    /// `MPI_Scatterv`: the same with blocks of any size, known to the root and their own ranks only (MPI 4.0 section
    /// 6.6).
    Scatterv,
    /// `MPI_Allgather`: the block of every rank, in rank order, at every rank (MPI 4.0 section 6.7).
    Allgather,
    /// `MPI_Allgatherv`: the same with blocks of any size, known to all (MPI 4.0 section 6.7).
    Allgatherv,
    /// `MPI_Reduce_scatter_block`: of the combination of every rank's vector, block r at rank r; blocks of one size
    /// (MPI 4.0 section 6.10.1).
    ReduceScatterBlock,
    /// `MPI_Reduce_scatter`: the same with blocks of any size (MPI 4.0 section 6.10.2).
    ReduceScatter,
}

impl Collective {
    /// Every collective, in the order in which reports and tables list them.
    pub const ALL: [Collective; 14] = [
        Self::Reduce,
        Self::Bcast,
        Self::Allreduce,
        Self::Alltoall,
        Self::Alltoallv,
        Self::Alltoallw,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::Allgather,
        Self::Allgatherv,
        Self::ReduceScatterBlock,
        Self::ReduceScatter,
    ];

    /// Lower-case name as used in configuration, reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reduce => "reduce",
            Self::Bcast => "bcast",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Alltoallv => "alltoallv",
            Self::Alltoallw => "alltoallw",
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

    /// The collective of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Whether the call names a root.
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::Reduce | Self::Bcast | Self::Gather | Self::Gatherv | Self::Scatter | Self::Scatterv)
    }

    /// Whether `rank` contributes something.
    pub const fn has_input(self, root: Rank, rank: Rank) -> bool {
        !matches!(self, Self::Bcast | Self::Scatter | Self::Scatterv) || rank == root
    }

    /// Whether `rank` has a result buffer.
    pub const fn has_output(self, root: Rank, rank: Rank) -> bool {
        !matches!(self, Self::Reduce | Self::Gather | Self::Gatherv) || rank == root
    }

    /// Whether a rank may know the sizes of its own blocks only, so that none decides anything.
    pub const fn has_own_sizes(self) -> bool {
        matches!(self, Self::Alltoallv | Self::Alltoallw | Self::Gatherv | Self::Scatterv)
    }

    /// Whether data of several ranks is combined with an operation.
    pub const fn reduces(self) -> bool {
        matches!(self, Self::Reduce | Self::Allreduce) || self.scatters()
    }

    /// Whether a block of every rank is a part of what all ranks share: Allgather(v) and Reduce_scatter.
    pub const fn has_blocks_of_all(self) -> bool {
        self.gathers_all() || self.scatters()
    }

    /// Whether all ranks get the blocks of all.
    pub const fn gathers_all(self) -> bool {
        matches!(self, Self::Allgather | Self::Allgatherv)
    }

    /// Whether the combination is cut in blocks, one for every rank.
    pub const fn scatters(self) -> bool {
        matches!(self, Self::ReduceScatterBlock | Self::ReduceScatter)
    }
}

impl std::fmt::Display for Collective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
