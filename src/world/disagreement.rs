//! Why the ranks of a world leave all calls to the MPI library.

use nagare_plan::choice::Reason;
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
    /// Some ranks have no Nagare.
    #[error(
        "{missing} of {ranks} ranks have no libnagare.so, the first is rank {first}; expected in all, as `nagare run` \
         ensures, or in none"
    )]
    Missing {
        /// How many.
        missing: usize,
        /// The first of them.
        first: u32,
        /// In the world.
        ranks: c_int,
        /// The first that has it, which says so for all.
        speaker: u32,
        /// Whether some rank wants the job to end then.
        strict: bool,
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

impl Disagreement {
    /// Which rank says it.
    pub fn speaker(&self) -> u32 {
        match self {
            Self::Missing { speaker, .. } => *speaker,
            _ => 0,
        }
    }

    /// Why calls are the library's then.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Off { .. } => Reason::Disabled,
            Self::Missing { .. }
            | Self::Problem(_)
            | Self::Build
            | Self::Settings(..)
            | Self::File(_)
            | Self::Profile(_) => Reason::Configuration,
            Self::Topology(_) | Self::Exchange(_) => Reason::Topology,
        }
    }
}
