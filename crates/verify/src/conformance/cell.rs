//! One cell of the matrix: an MPI with a number of processes; and the ways in which it is run.

use crate::turns;
use nagare_harness::Mpi;
use nagare_plan::counted;
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
    /// Nagare, with an algorithm forced for every collective and size, and pretended nodes.
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

    /// Which algorithm each collective is forced onto, in the form of NAGARE_ALGORITHM. They take turns from cell to
    /// cell; over the cells of a whole run it is each of them.
    pub fn algorithms(self) -> String {
        let mpi = Mpi::ALL.iter().zip(0..).find(|(mpi, _)| **mpi == self.mpi).map_or(0, |(_, index)| index);
        let items = turns::algorithms(u64::from(self.processes) * 3 + mpi);
        items.map(|(collective, algorithm)| format!("{collective}={algorithm}")).collect::<Vec<_>>().join(";")
    }

    /// The machine on which forced schedules run: a node for each of up to 3 ranks, else nodes of 2 and, of 5 ranks,
    /// one of 1.
    pub const fn machine(self) -> &'static str {
        if self.processes <= 3 { "synthetic:group:3 node:2 core:1" } else { "synthetic:group:3 node:2 core:2" }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} with {}", self.mpi.name(), counted(self.processes, "process"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_plan::algorithm::ALGORITHMS;
    use std::collections::BTreeSet;

    #[test]
    fn a_whole_run_forces_every_algorithm_of_every_collective() {
        let cells = (2..=5).flat_map(|processes| Mpi::ALL.map(|mpi| Cell { mpi, processes }));
        let texts: Vec<String> = cells.map(Cell::algorithms).collect();
        let forced: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(';')).collect();
        for row in ALGORITHMS {
            for collective in row.collectives {
                let item = format!("{}={}", collective.name(), row.name);
                assert!(forced.contains(item.as_str()), "{item}");
            }
        }
    }
}
