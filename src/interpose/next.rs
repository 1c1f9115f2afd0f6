//! What follows our `MPI_X` in the order of symbols: a tool of the profiling interface that was loaded after us (docs/tools.md).
//!
//! Such a tool is called first, as without Nagare, and comes back by the `PMPI_X` that it finds, which is ours.

use crate::real::is_mpi_library;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of one name that comes after ours, looked for at the first call.
pub struct Next {
    name: &'static CStr,
    /// Null until it has been looked for, [`NONE`] where there is no tool.
    found: AtomicPtr<c_void>,
}

const NONE: *mut c_void = without_provenance_mut(1);

impl Next {
    /// After our function `name`, which ends with a zero.
    pub const fn after(name: &'static str) -> Self {
        let Ok(name) = CStr::from_bytes_with_nul(name.as_bytes()) else { panic!("a name that ends with a zero") };
        Self { name, found: AtomicPtr::new(null_mut()) }
    }

    /// The tool's function, if there is one.
    #[inline(always)]
    pub fn tool(&self) -> Option<*mut c_void> {
        let found = self.found.load(Ordering::Relaxed);
        if found == NONE { None } else { self.look(found) }
    }

    /// Threads that look at the same time find the same.
    #[cold]
    #[inline(never)]
    fn look(&self, found: *mut c_void) -> Option<*mut c_void> {
        if !found.is_null() {
            return Some(found);
        }
        // SAFETY: the name is a C string. Where this library was opened by the program there may be none after it.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        let tool = Some(next).filter(|next| !next.is_null() && !is_of_mpi_library(*next));
        self.found.store(tool.unwrap_or(NONE), Ordering::Relaxed);
        tool
    }
}

/// Whether a function is an MPI library's: told by the file, since a process may have two of them, of which ours calls one.
fn is_of_mpi_library(function: *mut c_void) -> bool {
    let mut object = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: dladdr looks the address up, and fills the structure in if it returns anything but 0; the name is then a C string
    // that stays as long as the object.
    unsafe {
        libc::dladdr(function, object.as_mut_ptr()) != 0
            && is_mpi_library(CStr::from_ptr(object.assume_init().dli_fname).to_bytes())
    }
}

/// Whether tools wrap the function of that name: `MPI_X`; they go on to `PMPI_X`.
pub const fn is_wrapped(name: &str) -> bool {
    name.as_bytes()[0] == b'M'
}

/// Goes on to the tool's function of the same name, if one was loaded after us: the first words of every function that programs call.
macro_rules! go_on {
    ($symbol:ident($($argument:ident),*)) => {
        if const { $crate::interpose::next::is_wrapped(stringify!($symbol)) } {
            use $crate::interpose::next::Next;
            static NEXT: Next = Next::after(concat!(stringify!($symbol), "\0"));
            if let Some(tool) = NEXT.tool() {
                // SAFETY: a function of this name has the signature that the MPI standard gives it, as ours has; the arguments are the caller's own.
                return unsafe {
                    let tool: unsafe extern "C-unwind" fn($($crate::interpose::next::any!($argument)),*) -> std::ffi::c_int =
                        std::mem::transmute(tool);
                    tool($($argument),*)
                };
            }
        }
    };
}
pub(crate) use go_on;

/// The type that an argument has.
macro_rules! any {
    ($argument:ident) => {
        _
    };
}
pub(crate) use any;
