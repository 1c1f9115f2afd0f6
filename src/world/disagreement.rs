//! Why the ranks of a world leave all calls to the MPI library.

use std::ffi::c_int;
use thiserror::Error;

/// Why ranks cannot plan together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Disagreement {
    /// Not a disagreement: Nagare is off on all ranks, which tell each other nothing more.
    #[error("NAGARE_ENABLE=0")]
    Off {
        /// Whether some rank wants a report.
        report: bool,
    },
    /// Some rank has an unusable configuration and says so itself.
    #[error("rank {0} cannot use its configuration")]
    Problem(usize),
    /// Builds of the library that do not understand each other.
    #[error("ranks have different builds of libnagare.so; expected the same on all ranks")]
    Build,
    /// The environment differs; the second says in what.
    #[error("rank {0} has other settings than rank 0 ({1}); expected the same on all ranks")]
    Settings(usize, String),
    /// The file differs.
    #[error("rank {0} reads another topology file than rank 0; expected the same contents on all hosts")]
    File(usize),
    /// The levels contradict each other.
    #[error("{0}")]
    Topology(String),
    /// A profile cannot be used.
    #[error("{0}")]
    Profile(String),
    /// The exchange itself failed.
    #[error("exchanging facts failed with MPI error {0}")]
    Exchange(c_int),
}
