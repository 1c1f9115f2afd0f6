//! `MPI_Finalize` (MPI 4.0 section 11.2): the report, what later jobs are to know, and the end of private
//! communicators, before the library closes.

use crate::boundary::panics::guard;
use crate::boundary::stack;
use crate::call;
use crate::comm::registry;
use crate::real;
use crate::world::collect;
use crate::world::shim::shim;
use crate::world::taught;
use std::ffi::c_int;

fn finalize(function: &'static str) -> c_int {
    guard(function, || {
        // Until the library has closed: ranks wait for each other there too.
        let watched = shim().and_then(call::finalizing);
        if let Some(shim) = shim() {
            // First: callbacks that the program attached to MPI_COMM_SELF may still call collectives.
            stack::on_large(|| {
                collect::at_finalize(shim, || registry::kinds(shim, true), || registry::learned(shim));
                taught::write(shim, || registry::learned(shim));
                registry::close(shim);
            });
        }
        let code = match real::real() {
            // SAFETY: the program asks for it.
            Ok(real) => unsafe { (real.mpi.finalize)() },
            Err(_) => real::MISSING,
        };
        drop(watched);
        code
    })
}

super::next::exported! {
    pub unsafe extern "C-unwind" fn MPI_Finalize() -> c_int {
        finalize("MPI_Finalize")
    }
}

super::next::exported! {
    pub unsafe extern "C-unwind" fn PMPI_Finalize() -> c_int {
        finalize("PMPI_Finalize")
    }
}
