//! `PMIx_Commit` (PMIx Standard 4.1 section 6.2.3), which Open MPI calls in `MPI_Init`: before it, every rank puts the
//! key that says that it has this library.

use crate::boundary::panics::guard;
use crate::real::pmix::commit;
use std::ffi::c_int;

/// # Safety
/// As PMIx demands of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn PMIx_Commit() -> c_int {
    guard("PMIx_Commit", commit)
}
