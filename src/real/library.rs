//! Finding the MPI library among the objects that are already in the process.

use libloading::os::unix::Library;
use std::ffi::{CStr, c_int, c_void};
use thiserror::Error;

/// The process has no MPI library.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// None of the loaded objects is one.
    #[error("no MPI library (libmpi.so.*, libmpich.so.*) is loaded in this process")]
    NotLoaded,
    /// It is there but cannot be opened.
    #[error("{path}: {detail}")]
    Open {
        /// File of the library.
        path: String,
        /// The loader's words.
        detail: String,
    },
}

/// A loaded MPI library.
pub struct Found {
    /// Handle to ask for symbols; also works where the library was opened with local scope, as Python does.
    pub library: Library,
    /// File it was loaded from.
    pub path: String,
}

/// Whether an object is an MPI library, by the name of its file: `libmpi.so.*` (Open MPI; MPICH's ABI family) or
/// `libmpich.so.*` (Debian's MPICH).
pub fn is_mpi_library(path: &[u8]) -> bool {
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    [b"libmpi.so".as_slice(), b"libmpich.so"].iter().any(|name| file.starts_with(name))
}

/// Finds the loaded MPI library by the names of the loaded objects.
///
/// # Errors
/// [`LibraryError`] if there is none or it cannot be opened.
pub fn locate() -> Result<Found, LibraryError> {
    let path = loaded(is_mpi_library).into_iter().next().ok_or(LibraryError::NotLoaded)?;
    // SAFETY: the object is already loaded (RTLD_NOLOAD), so no initialiser runs.
    let library = unsafe { Library::open(Some(&path), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    match library {
        Ok(library) => Ok(Found { library, path }),
        Err(error) => Err(LibraryError::Open { path, detail: error.to_string() }),
    }
}

/// Paths of the loaded objects of which `is_one` says so, given path or name, in the order in which they were loaded.
pub fn loaded(is_one: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    // SAFETY: the callback matches the signature dl_iterate_phdr expects, does not unwind, and gets a pointer to
    // `paths` that is valid for the duration of the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut paths).cast()) };
    paths.retain(|path| is_one(path.as_bytes()));
    paths
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info structure and the `data` given to it, which is a `Vec<String>` that
    // nobody else touches meanwhile; dlpi_name is a C string or null.
    unsafe {
        let paths = &mut *data.cast::<Vec<String>>();
        let name = (*info).dlpi_name;
        if !name.is_null() {
            paths.push(CStr::from_ptr(name).to_string_lossy().into_owned());
        }
    }
    0
}
