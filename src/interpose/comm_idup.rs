//! `MPI_Comm_idup` and `MPI_Comm_idup_with_info` (MPI 4.0 section 7.4.2): passed on, and noted.
//!
//! A communicator that is still being made is in the way of ours: Open MPI gives numbers to one after another, on every rank by itself, and
//! takes steps of those under way inside other calls (docs/decisions/0013-pool.md).

use crate::boundary::guard;
use crate::real;
use crate::real::handles::RawHandle;
use crate::shim::shim;
use mpi::ffi::{MPI_Comm, MPI_Request};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

fn duplicate(function: &str, forward: impl FnOnce(&real::Functions) -> c_int) -> c_int {
    guard(function, || {
        if let Some(shim) = shim() {
            shim.duplicates.store(true, Ordering::Release);
        }
        real::real().map_or(real::MISSING, |real| forward(&real.mpi))
    })
}

macro_rules! entry {
    ($idup:ident, $idup_with_info:ident) => {
        /// # Safety
        /// As the MPI standard demands of the caller.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $idup(comm: RawHandle, made: *mut MPI_Comm, request: *mut MPI_Request) -> c_int {
            // SAFETY: the caller's own arguments.
            duplicate(stringify!($idup), |f| unsafe { (f.comm_idup)(comm, made, request) })
        }

        /// # Safety
        /// As the MPI standard demands of the caller.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $idup_with_info(
            comm: RawHandle,
            info: RawHandle,
            made: *mut MPI_Comm,
            request: *mut MPI_Request,
        ) -> c_int {
            // SAFETY: the caller's own arguments.
            duplicate(stringify!($idup_with_info), |f| unsafe { (f.comm_idup_with_info)(comm, info, made, request) })
        }
    };
}

entry!(MPI_Comm_idup, MPI_Comm_idup_with_info);
entry!(PMPI_Comm_idup, PMPI_Comm_idup_with_info);
