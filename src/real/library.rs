//! Finding the MPI library among the objects that are already in the process.

use libloading::os::unix::Library;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use thiserror::Error;

/// The process has no MPI library.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// None of the loaded objects is one.
    #[error("no MPI library (libmpi.so.*, libmpich.so.*, or another with PMPI_Init) is loaded in this process")]
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

/// Whether an object is an MPI library, by the name of its file: `libmpi.so.*` (Open MPI; MPICH's ABI family),
/// `libmpich.so.*` (Debian's MPICH), or the one of the standard's ABI.
pub fn is_mpi_library(path: &[u8]) -> bool {
    let file = file_name(path);
    has_standard_abi(file) || [b"libmpi.so".as_slice(), b"libmpich.so"].iter().any(|name| file.starts_with(name))
}

/// Whether an object is the library of the standard's ABI (MPI 5.0 chapter 20), whose handles and constants are neither
/// family's, by the name of its file.
pub fn has_standard_abi(path: &[u8]) -> bool {
    file_name(path).starts_with(b"libmpi_abi.so")
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The file of the library whose functions programs call that have no other than ours: what vendors give another name.
fn next_in_order() -> Option<&'static CStr> {
    let find = |name: &CStr| {
        // SAFETY: the name is a C string.
        unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
    };
    let next = find(c"PMPI_Init");
    // Nor a second copy of this library.
    if next.is_null() || !find(c"nagare_version").is_null() { None } else { file_of(next) }
}

/// The file that a function was loaded from, as long as it is not unloaded.
pub fn file_of(function: *mut c_void) -> Option<&'static CStr> {
    let mut object = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: dladdr looks the address up, and fills the structure in if it returns anything but 0; the name is then a
    // C string that stays as long as the object, and libraries that define MPI's functions stay.
    unsafe {
        (libc::dladdr(function, object.as_mut_ptr()) != 0).then(|| CStr::from_ptr(object.assume_init().dli_fname))
    }
}

/// Finds the loaded MPI library, by the names of the loaded objects or by its functions.
///
/// # Errors
/// [`LibraryError`] if there is none or it cannot be opened.
pub fn locate() -> Result<Found, LibraryError> {
    let named = || Some(next_in_order()?.to_str().ok()?.to_owned());
    let path = loaded(is_mpi_library).into_iter().next().or_else(named).ok_or(LibraryError::NotLoaded)?;
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
