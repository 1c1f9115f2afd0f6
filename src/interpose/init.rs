//! `MPI_Init` and `MPI_Init_thread` (MPI 4.0 section 11.2): the only places where ranks exchange facts over the world.

use super::next;
use crate::boundary::panics::guard;
use crate::boundary::stack;
use crate::comm::registry;
use crate::real;
use crate::world::family::refuse;
use crate::world::shim::shim;
use std::ffi::{c_char, c_int};

/// Lets the library initialise itself, then exchanges facts if that worked.
fn enter(function: &'static str, initialise: impl FnOnce(&real::Functions) -> c_int) -> c_int {
    guard(function, || {
        next::initialising();
        let shim = shim();
        if let Some(shim) = shim {
            // Before: ranks whose files are slow to read are waited for by the library, which says nothing about them.
            shim.setup();
        }
        let Ok(real) = real::real() else { return real::MISSING };
        if real.is_refused() {
            refuse(real);
        }
        let code = initialise(&real.mpi);
        if let (0, Some(shim)) = (code, shim) {
            stack::on_large(|| {
                if shim.enter_world() {
                    registry::open(shim);
                }
            });
        }
        code
    })
}

macro_rules! entry {
    ($init:ident, $init_thread:ident) => {
        next::exported! {
            pub unsafe extern "C-unwind" fn $init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
                // SAFETY: the caller's own arguments.
                enter(stringify!($init), |f| unsafe { (f.init)(argc, argv) })
            }
        }

        next::exported! {
            pub unsafe extern "C-unwind" fn $init_thread(
                argc: *mut c_int,
                argv: *mut *mut *mut c_char,
                required: c_int,
                provided: *mut c_int,
            ) -> c_int {
                // SAFETY: the caller's own arguments.
                enter(stringify!($init_thread), |f| unsafe { (f.init_thread)(argc, argv, required, provided) })
            }
        }
    };
}

entry!(MPI_Init, MPI_Init_thread);
entry!(PMPI_Init, PMPI_Init_thread);
