//! One cell of the matrix: an MPI with a number of processes; and the ways in which it is run.

use nagare_harness::Mpi;
use std::fmt;

/// An MPI with a number of processes.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub mpi: Mpi,
    pub processes: u32,
}

/// With Nagare or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Without.
    Stock,
    /// Nagare, with what it chooses itself.
    Default,
    /// Nagare, with algorithms forced for all sizes and pretended nodes.
    Forced,
}

impl Cell {
    /// Patterns of tests that are not run, because they hang or crash at random without Nagare.
    pub const fn left_out(self) -> &'static [&'static str] {
        match self.mpi {
            // MPI_Comm_spawn of Open MPI 4.1.4 now and then does not return, with one process too.
            Mpi::OpenMpi4 => &["test_spawn.*"],
            // Locks and conditions made of one-sided operations: MPICH moves them on only while the owner of the memory
            // is inside MPI, and with more processes than cores they take minutes or for ever.
            Mpi::Mpich4 | Mpi::Mpich5 if self.processes > 2 => &["test_util_sync.*"],
            Mpi::Mpich4 if self.processes == 2 => &["test_util_sync.*World*"],
            _ => &[],
        }
    }

    /// The machine on which forced schedules run: a node for each of up to 3 ranks, else nodes of 2 and, of 5 ranks,
    /// one of 1.
    pub const fn machine(self) -> &'static str {
        if self.processes <= 3 { "synthetic:group:3 node:2 core:1" } else { "synthetic:group:3 node:2 core:2" }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} with {} processes", self.mpi.name(), self.processes)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stock => "stock",
            Self::Default => "default",
            Self::Forced => "forced",
        })
    }
}
