//! Whether a handle is that of a communicator, without a word to the program's error handlers.
//!
//! An inquiry about a freed communicator is an error in a function that the program has not called, which MPICH
//! raises on the world or on `MPI_COMM_SELF`: a handler of the program would be called once more than without us, and
//! the line that ends a job would name the inquiry. The error of a comparison is raised on the first of the two
//! communicators, which is ours.
//!
//! Open MPI's handles are addresses, and a freed one may point to anything: no inquiry can tell.

use crate::real::Real;
use mpi::ffi::MPI_Comm;

/// A communicator of this rank alone that others are compared with.
#[cfg(mpi_family = "mpich")]
pub struct Witness(MPI_Comm);

#[cfg(mpi_family = "mpich")]
impl Witness {
    /// Makes one, of this rank alone.
    pub fn new(real: &Real) -> Option<Self> {
        crate::transport::making::same_ranks(real, real.handles.comm_self).map(Self)
    }

    /// Whether the library knows `comm`.
    pub fn accepts(&self, real: &Real, comm: MPI_Comm) -> bool {
        // MPICH reports a comparison with a handle that is no communicator's to the program's error handlers. Bits 26
        // to 29 of a handle name its kind, so such handles are refused here.
        if comm.0 as u32 >> 26 & 0xf != 1 {
            return false;
        }
        let mut result = 0;
        // SAFETY: our communicator is valid and returns its errors; the library checks the other.
        unsafe { (real.mpi.comm_compare)(self.0, comm, &raw mut result) == 0 }
    }

    /// Frees it; nothing is tested any more.
    pub fn free(&self, real: &Real) {
        let mut comm = self.0;
        // SAFETY: ours, freed once, before the library is finalised.
        unsafe { (real.mpi.comm_free)(&raw mut comm) };
    }
}

/// None is needed.
#[cfg(mpi_family = "openmpi")]
pub enum Witness {}

#[cfg(mpi_family = "openmpi")]
impl Witness {
    /// None.
    pub fn new(_real: &Real) -> Option<Self> {
        None
    }

    /// Never asked.
    pub fn accepts(&self, _real: &Real, _comm: MPI_Comm) -> bool {
        match *self {}
    }

    /// Never there.
    pub fn free(&self, _real: &Real) {
        match *self {}
    }
}
