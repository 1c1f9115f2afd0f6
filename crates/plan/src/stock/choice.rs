//! What MPI libraries are known to choose: their names and versions, and which table is whose.

use super::part::{Part, Shape};
use super::{mpich, open_mpi};
use crate::collective::Collective;

/// An MPI library, as far as its choice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Open MPI 4.1, without `coll/han` by default. Older ones have other tables.
    OpenMpi4,
    /// Open MPI 5.0, with it.
    OpenMpi5,
    /// MPICH 4 and 5. What is made from it decides by tables of its own.
    Mpich,
    /// Any other, and other versions of these: taken to be as fast as the faster of Open MPI 4.1 and MPICH.
    Other,
}

impl Library {
    /// The code of none.
    pub const UNKNOWN: u16 = 0;

    /// A number that ranks can tell each other.
    pub fn code(self) -> u16 {
        self as u16 + 1
    }

    /// The library of that number.
    pub fn of_code(code: u16) -> Option<Self> {
        [Self::OpenMpi4, Self::OpenMpi5, Self::Mpich, Self::Other].into_iter().find(|library| library.code() == code)
    }

    /// By what the library calls itself: `Open MPI v4.1.4`, `MPICH Version: 4.0.2`; `None` if it says nothing.
    pub fn from_version(version: &str) -> Option<Self> {
        let version = version.trim();
        let of = |name: &str| version.strip_prefix(name).map(|rest| rest.trim_start().split('.'));
        let known = match (of("MPICH Version:"), of("Open MPI v")) {
            (Some(mut mpich), _) => matches!(mpich.next(), Some("4" | "5")).then_some(Self::Mpich),
            (_, Some(mut open)) => match (open.next(), open.next()) {
                (Some("4"), Some("1")) => Some(Self::OpenMpi4),
                (Some("5"), Some("0")) => Some(Self::OpenMpi5),
                _ => None,
            },
            _ => None,
        };
        known.or((!version.is_empty()).then_some(Self::Other))
    }

    /// The libraries by whose tables its time is predicted: that of the fastest counts.
    pub(super) fn tables(self) -> &'static [Self] {
        match self {
            Self::OpenMpi4 => &[Self::OpenMpi4],
            Self::OpenMpi5 => &[Self::OpenMpi5],
            Self::Mpich => &[Self::Mpich],
            Self::Other => &[Self::OpenMpi4, Self::Mpich],
        }
    }
}

/// The algorithms that `library`, one of [`Library::tables`], runs after one another for a call whose vector has
/// `bytes`, those of all blocks together; reductions are by operations that commute, and all blocks of one size.
pub fn parts(library: Library, collective: Collective, shape: Shape, bytes: u64) -> Vec<Part> {
    match library {
        Library::OpenMpi4 => open_mpi::parts(collective, shape, bytes, false),
        Library::OpenMpi5 => open_mpi::parts(collective, shape, bytes, true),
        Library::Mpich | Library::Other => mpich::parts(collective, shape, bytes),
    }
}
