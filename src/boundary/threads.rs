//! Threads of our own in the program's process.

use std::ffi::c_void;
use std::io::Result;
use std::thread::{Builder, JoinHandle};

/// Bytes of stack that one has beside the thread-local data of the process.
const STACK: usize = 256 << 10;

/// Starts one of that name with all signals blocked, which are for the program's threads.
///
/// # Errors
/// If there is no thread to be had.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.to_owned()).stack_size(STACK + taken());
    // SAFETY: both sets are this function's own; a signal set is plain data.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        let started = builder.spawn(body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    }
}

/// Bytes that the C library takes of a stack before the thread runs: glibc has the thread-local data of the program and
/// its libraries there. Others, which do not say, map room for it besides.
fn taken() -> usize {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    if found.is_null() {
        return 0;
    }
    // SAFETY: glibc's function of that name has this signature since version 2.15, as Rust's own threads rely on; the
    // attributes are initialised before it gets them, and destroyed once.
    unsafe {
        let least: unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize =
            std::mem::transmute::<*mut c_void, _>(found);
        let mut attributes = std::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return 0;
        }
        let bytes = least(&raw const attributes);
        libc::pthread_attr_destroy(&raw mut attributes);
        bytes
    }
}
