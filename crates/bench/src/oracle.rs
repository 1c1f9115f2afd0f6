//! What an MPI library can be told to run: its algorithms and segment sizes, named as the library names them.
//!
//! * Open MPI: `coll_tuned_COLLECTIVE_algorithm…`, read when a communicator is made, if `coll_tuned_use_dynamic_rules`
//!   was set at the start; and the components HAN and ADAPT, which the key `ompi_comm_coll_preference` of a
//!   communicator's info brings to the front.
//! * MPICH: `MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM`, and with `MPIR_CVAR_DEVICE_COLLECTIVES` whether the device may put
//!   a composition of its own around it; both read at every call.
//!
//! Left out are algorithms for two ranks only, of the exchanges those that work in place only, and MPICH's
//! `noncommutative` of the two Reduce_scatters, which ends the job where blocks differ or ranks are no power of two.

mod mpich;
mod open_mpi;

pub use self::mpich::items_in_description;
use crate::operation::Operation;

/// Libraries that are told in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Open MPI 4 and 5.
    OpenMpi,
    /// MPICH 4 and 5.
    Mpich,
}

/// The variable without which Open MPI's others say nothing.
pub const DYNAMIC_RULES: &str = "coll_tuned_use_dynamic_rules";
/// A value of a control variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i32),
    /// An item of the variable's enumeration.
    Item(&'static str),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Item(item) => item.fmt(f),
        }
    }
}

/// One way to run an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Short, such as `pipeline 16K`; its first word is the algorithm.
    pub name: String,
    /// Control variables and what they are set to.
    pub variables: Vec<(String, Value)>,
    /// Open MPI's component for the communicator.
    pub component: Option<&'static str>,
}

impl Family {
    /// The family of a library, by what it says of itself.
    pub fn of(version: &str) -> Option<Self> {
        match version {
            v if v.starts_with("Open MPI") => Some(Self::OpenMpi),
            v if v.starts_with("MPICH") => Some(Self::Mpich),
            _ => None,
        }
    }

    /// How the settings reach the library, in words.
    pub const fn how(self) -> &'static str {
        match self {
            Self::OpenMpi => {
                "in the same job: MPI_T control variables or the communicator's info, one communicator per setting"
            }
            Self::Mpich => "in the same job: MPI_T control variables, written before and restored after every call",
        }
    }

    /// Everything to be tried with messages of `bytes` (of a block, where there are blocks), the most promising first.
    pub fn settings(self, operation: Operation, bytes: u64) -> Vec<Setting> {
        match self {
            Self::OpenMpi => open_mpi::settings(operation, bytes),
            Self::Mpich => mpich::settings(operation, bytes),
        }
    }
}

#[cfg(test)]
mod tests;
