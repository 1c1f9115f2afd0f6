//! The functions a program sees, without any algorithm.
//!
//! Every function is exported as `MPI_X` and as `PMPI_X`: C programs call the first, the Fortran libraries of Open
//! MPI the second (docs/decisions/0002-symbols.md).
//!
//! May enter: signatures, and forwarding. May not: decisions and algorithms.

mod collectives;
mod comm_free;
#[cfg(mpi_family = "openmpi")]
mod comm_idup;
mod finalize;
mod init;
mod next;
mod others;
#[cfg(mpi_family = "openmpi")]
mod pmix;
