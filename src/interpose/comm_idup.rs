//! `MPI_Comm_idup` (MPI 4.0 section 7.4.2): forwarded, and noted.
//!
//! While an `MPI_Comm_idup` is pending, a rank that makes a private communicator may wait for ever: each rank of Open
//! MPI gives context ids to one new communicator after another, and works on pending duplicates inside other calls
//! (docs/decisions/0013-pool.md). MPICH does not, so that Nagare leaves the function alone there.

use crate::boundary::panics::guard;
use crate::real;
use crate::real::handles::RawHandle;
use crate::world::shim::shim;
use mpi::ffi::{MPI_Comm, MPI_Request};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

macro_rules! entry {
    ($idup:ident) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $idup(
                comm: RawHandle,
                made: *mut MPI_Comm,
                request: *mut MPI_Request,
            ) -> c_int {
                guard(stringify!($idup), || {
                    if let Some(shim) = shim() {
                        shim.duplicates.store(true, Ordering::Release);
                    }
                    // SAFETY: the caller's own arguments.
                    real::real().map_or(real::MISSING, |real| unsafe { (real.mpi.comm_idup)(comm, made, request) })
                })
            }
        }
    };
}

entry!(MPI_Comm_idup);
entry!(PMPI_Comm_idup);
