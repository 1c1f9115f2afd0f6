//! The functions a program sees: one file each, without any algorithm.
//!
//! Every function is exported as `MPI_X` and as `PMPI_X`: C programs call the first, the Fortran libraries of Open MPI the
//! second (docs/decisions/0002-symbols.md).
//!
//! May enter: signatures, and what is passed on. May not: decisions and algorithms.

mod allgather;
mod allreduce;
mod alltoall;
mod alltoallv;
mod bcast;
mod comm_free;
#[cfg(mpi_family = "openmpi")]
mod comm_idup;
mod finalize;
mod gather;
mod init;
mod next;
mod reduce;
mod reduce_scatter;
mod reduce_scatter_block;

use crate::boundary::panics::guard;
use crate::call;
use crate::call::arguments::Arguments;
use crate::real::{self, Real};
use crate::world::shim::shim;
use std::ffi::c_int;

/// Handles a collective: on our schedules or by `forward`, the library's own function.
#[inline]
fn collective(function: &'static str, arguments: &Arguments, forward: impl FnOnce(&Real) -> c_int) -> c_int {
    guard(function, || match shim() {
        Some(shim) => call::handle(shim, arguments, || forward(shim.real)),
        None => real::real().map_or(real::MISSING, forward),
    })
}
