//! Why a call that Nagare carries out has failed, and which error the program gets.

use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// Why a call that Nagare carries out has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An error code of the MPI library.
    Mpi(c_int),
    /// No memory for segments or copies; nothing has been sent.
    Memory,
    /// A message of `peer` is not as long as this rank expects, in bytes: ranks disagree on the size of the call.
    Length {
        /// Sender.
        peer: Rank,
        /// Bytes that were expected.
        expected: u64,
        /// Bytes that came.
        got: u64,
    },
    /// The plan waits for nothing: an error in Nagare.
    Stalled,
    /// The program's own code, called in the middle of a call, has left it by an exception or by the end of its thread.
    Left,
    /// Another rank has given up the call or an earlier one, and said so.
    GivenUp {
        /// That rank.
        peer: Rank,
        /// The class of its error.
        class: c_int,
    },
}

impl Failure {
    /// The error code of the call.
    pub const fn code(self) -> c_int {
        match self {
            Self::Mpi(code) | Self::GivenUp { class: code, .. } => code,
            Self::Memory => NO_MEM,
            Self::Length { .. } => TRUNCATE,
            Self::Stalled => INTERN,
            Self::Left => OTHER,
        }
    }

    /// Whether this rank is the first to know, and the others would wait for it. An error of the library itself has the
    /// same effect as without Nagare: other ranks get it too, or wait; and a library that has failed once may be unable
    /// to send another message.
    pub const fn is_news(self) -> bool {
        matches!(self, Self::Memory | Self::Length { .. } | Self::Stalled | Self::Left)
    }
}

/// `MPI_ERR_NO_MEM`, `MPI_ERR_TRUNCATE`, `MPI_ERR_INTERN`, `MPI_ERR_OTHER`.
#[cfg(mpi_family = "openmpi")]
const NO_MEM: c_int = 39;
#[cfg(mpi_family = "openmpi")]
const TRUNCATE: c_int = 15;
#[cfg(mpi_family = "openmpi")]
const INTERN: c_int = 17;
#[cfg(mpi_family = "openmpi")]
const OTHER: c_int = 16;
#[cfg(mpi_family = "mpich")]
const NO_MEM: c_int = 34;
#[cfg(mpi_family = "mpich")]
const TRUNCATE: c_int = 14;
#[cfg(mpi_family = "mpich")]
const INTERN: c_int = 16;
#[cfg(mpi_family = "mpich")]
const OTHER: c_int = 15;
