//! Functions of libraries that the process may have loaded, and that Nagare never loads itself.

use std::ffi::{CStr, c_void};

/// The address of a function in a library that the process has loaded already; null if there is none.
pub fn function(library: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: plain calls of the loader. The handle is never closed, so that the function stays.
    unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() { handle } else { libc::dlsym(handle, name.as_ptr()) }
    }
}
