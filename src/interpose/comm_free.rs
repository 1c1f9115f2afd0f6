//! `MPI_Comm_free` and `MPI_Comm_disconnect` (MPI 4.0 sections 7.4.3 and 11.10.4): forwarded, and so are calls on the
//! communicator in the meantime.
//!
//! The library deletes the communicator's attributes in an order of its own, which may differ from rank to rank: our
//! record among them, and those of the program, whose callbacks may call collectives on the communicator. If a call
//! attached a new record after the library has deleted ours, the library would never delete it, and the next
//! communicator with the same handle would inherit it.

use crate::boundary::panics::guard;
use crate::comm::registry::Closing;
use crate::real;
use crate::world::shim::{Shim, shim};
use mpi::ffi::MPI_Comm;
use std::ffi::{c_int, c_void};

/// Has `free` called with the calls on the communicator of that handle left to the library.
///
/// # Safety
/// `comm` must be null or point to a handle of a communicator.
unsafe fn closing(shim: &Shim, comm: *mut c_void, free: impl FnOnce() -> c_int) -> c_int {
    if comm.is_null() || !shim.is_open() {
        return free();
    }
    // SAFETY: not null, and the caller vouches for what it points to; the library is of the family whose handles these
    // are.
    let handle = unsafe { *comm.cast::<MPI_Comm>() };
    let _closing = Closing::new(handle);
    free()
}

macro_rules! entry {
    ($symbol:ident, $free:ident) => {
        super::next::exported! {
            pub unsafe extern "C-unwind" fn $symbol(comm: *mut c_void) -> c_int {
                guard(stringify!($symbol), || {
                    let Ok(real) = real::real() else { return real::MISSING };
                    // SAFETY: the caller's own argument.
                    let free = || unsafe { (real.mpi.$free)(comm.cast()) };
                    match shim() {
                        // SAFETY: as above.
                        Some(shim) => unsafe { closing(shim, comm, free) },
                        None => free(),
                    }
                })
            }
        }
    };
}

entry!(MPI_Comm_free, comm_free);
entry!(PMPI_Comm_free, comm_free);
entry!(MPI_Comm_disconnect, comm_disconnect);
entry!(PMPI_Comm_disconnect, comm_disconnect);
