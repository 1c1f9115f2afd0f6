//! What follows our `MPI_X` in the order of symbols: a tool of the profiling interface that was loaded after us
//! (docs/tools.md). Our `MPI_X` calls it first, as without Nagare, and it calls the `PMPI_X` that it finds, which is
//! ours.

use crate::real::library::{file_of, is_mpi_library};
use crate::real::real;
use crate::world::shim::passed_by;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a call that initialises MPI has come to Nagare.
static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Notes such a call.
pub fn initialising() {
    INITIALISED.store(true, Ordering::Relaxed);
}

/// Whether tools wrap the function of that name: `MPI_X`; they go on to `PMPI_X`.
pub const fn is_wrapped(name: &str) -> bool {
    name.as_bytes()[0] == b'M'
}

/// The tool's function of that name, which ends with a zero, if one was loaded after this library.
pub fn tool(name: &'static str) -> Option<*mut c_void> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).ok()?;
    // SAFETY: the name is a C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    Some(next).filter(|next| !next.is_null() && !is_of_mpi_library(*next) && !is_nagare())
}

/// Whether a second copy of this library follows: the one that comes first handles all calls, and no tool is looked for
/// behind it.
fn is_nagare() -> bool {
    // SAFETY: the name is a C string.
    !unsafe { libc::dlsym(libc::RTLD_NEXT, c"nagare_version".as_ptr()) }.is_null()
}

/// Whether a function is an MPI library's: told by the file, since a process may have two of them, and we call one.
fn is_of_mpi_library(function: *mut c_void) -> bool {
    let is_ours = |file: &CStr| real().is_ok_and(|real| real.path.as_bytes() == file.to_bytes());
    file_of(function).is_some_and(|file| is_mpi_library(file.to_bytes()) || is_ours(file))
}

/// A tool's function, the first that follows ours of that name, has returned for the first time. If it has initialised
/// MPI without us, it calls the MPI library itself.
pub fn has_returned(symbol: &str, next: *mut c_void, code: c_int) {
    if matches!(symbol, "MPI_Init" | "MPI_Init_thread") && code == 0 && !INITIALISED.load(Ordering::Relaxed) {
        let file = file_of(next).map_or("a tool".into(), |file| file.to_string_lossy());
        passed_by(&file);
    }
}

/// Defines a function that programs call. `MPI_X` goes on to a tool's of that name, if one was loaded after us, and
/// otherwise to the body; which of them is found out by the first call. `PMPI_X` is the body.
macro_rules! exported {
    (pub unsafe extern $abi:literal fn $symbol:ident($($argument:ident: $type:ty),* $(,)?) -> c_int $body:block) => {
        /// # Safety
        /// As the MPI standard demands of the caller.
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn $symbol($($argument: $type),*) -> c_int {
            type Function = unsafe extern $abi fn($($type),*) -> c_int;
            static NEXT: std::sync::atomic::AtomicPtr<()> =
                std::sync::atomic::AtomicPtr::new(first as Function as *mut ());

            unsafe extern $abi fn first($($argument: $type),*) -> c_int {
                let next = match $crate::interpose::next::tool(concat!(stringify!($symbol), "\0")) {
                    // SAFETY: a function of this name has the signature that the MPI standard gives it, as ours has.
                    Some(tool) => unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(tool) },
                    None => ours as Function,
                };
                // Threads that are here at the same time find the same.
                NEXT.store(next as *mut (), std::sync::atomic::Ordering::Relaxed);
                // SAFETY: the caller's own arguments.
                let code = unsafe { next($($argument),*) };
                $crate::interpose::next::has_returned(stringify!($symbol), next as *mut std::ffi::c_void, code);
                code
            }

            unsafe extern $abi fn ours($($argument: $type),*) -> c_int $body

            if const { !$crate::interpose::next::is_wrapped(stringify!($symbol)) } {
                // SAFETY: the caller's own arguments.
                return unsafe { ours($($argument),*) };
            }
            let next = NEXT.load(std::sync::atomic::Ordering::Relaxed);
            // SAFETY: only functions of this type are stored there.
            let next = unsafe { std::mem::transmute::<*mut (), Function>(next) };
            // SAFETY: the caller's own arguments.
            unsafe { next($($argument),*) }
        }
    };
}
pub(crate) use exported;
