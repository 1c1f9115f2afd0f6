//! Values that stand for something else where a buffer, a rank, a tag or a status is expected.

use mpi::ffi::MPI_Status;
use std::ffi::{c_int, c_void};

/// `MPI_IN_PLACE`.
#[cfg(mpi_family = "openmpi")]
pub const IN_PLACE: *const c_void = std::ptr::without_provenance(1);
/// `MPI_IN_PLACE`.
#[cfg(mpi_family = "mpich")]
pub const IN_PLACE: *const c_void = std::ptr::without_provenance(usize::MAX);

/// `MPI_PROC_NULL`.
pub const PROC_NULL: c_int = if cfg!(mpi_family = "openmpi") { -2 } else { -1 };

/// `MPI_ANY_SOURCE`.
pub const ANY_SOURCE: c_int = if cfg!(mpi_family = "openmpi") { -1 } else { -2 };

/// `MPI_ANY_TAG`.
pub const ANY_TAG: c_int = -1;

/// `MPI_TAG_UB`.
pub const TAG_UB: c_int = if cfg!(mpi_family = "openmpi") { 0 } else { 0x6440_0001 };

/// `MPI_STATUS_IGNORE`, also `MPI_STATUSES_IGNORE`.
#[cfg(mpi_family = "openmpi")]
pub const STATUS_IGNORE: *mut MPI_Status = std::ptr::null_mut();
/// `MPI_STATUS_IGNORE`, also `MPI_STATUSES_IGNORE`.
#[cfg(mpi_family = "mpich")]
pub const STATUS_IGNORE: *mut MPI_Status = std::ptr::without_provenance_mut(1);
