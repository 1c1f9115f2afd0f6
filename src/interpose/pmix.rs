//! `PMIx_Put` and `PMIx_Commit` (PMIx Standard 4.1 sections 6.2.1 and 6.2.3), which Open MPI calls in `MPI_Init`: we
//! remember what it puts, and every rank puts the key that says that it has this library.

use crate::boundary::panics::guard;
use crate::real::pmix::{self, Value};
use std::ffi::{c_char, c_int};

/// # Safety
/// As PMIx demands of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn PMIx_Put(scope: u8, key: *const c_char, value: *mut Value) -> c_int {
    // SAFETY: as the caller demands.
    guard("PMIx_Put", || unsafe { pmix::put(scope, key, value) })
}

/// # Safety
/// As PMIx demands of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn PMIx_Commit() -> c_int {
    guard("PMIx_Commit", pmix::commit)
}
