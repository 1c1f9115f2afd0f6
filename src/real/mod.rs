//! The MPI library that the process already has: its functions, handles and sentinels.
//!
//! Everything is found at run time, so that this library names no MPI library in its dynamic section. Inside Nagare every MPI
//! call goes through [`Functions`]; the symbols `MPI_X` and `PMPI_X` are our own.

mod functions;
pub mod handles;
mod library;

pub use functions::{Functions, MISSING};
pub use handles::Handles;
pub use library::{LibraryError, is_mpi_library, locate};

use once_cell::sync::OnceCell;

/// The real library, found once.
pub struct Real {
    /// Its functions.
    pub mpi: Functions,
    /// Its large-count functions.
    #[cfg(mpi_large_count)]
    pub large: functions::large::Functions,
    /// Its predefined handles.
    pub handles: Handles,
    /// File it was loaded from.
    pub path: String,
    /// Whether it is of the family this build is for; if not, calls are only passed on.
    pub fits: bool,
}

static REAL: OnceCell<Real> = OnceCell::new();

/// The real library.
///
/// # Errors
/// [`LibraryError`] if the process has none.
pub fn real() -> Result<&'static Real, LibraryError> {
    REAL.get_or_try_init(|| {
        let found = locate()?;
        let fits = handles::fits(&found.library);
        let handles = Handles::load(&found.library);
        let mpi = Functions::load(&found.library);
        #[cfg(mpi_large_count)]
        let large = functions::large::Functions::load(&found.library);
        #[cfg(mpi_large_count)]
        let large = if fits { large } else { large.through_int_counts() };
        // The library outlives every use of these addresses: it is never closed.
        std::mem::forget(found.library);
        Ok(Real {
            mpi,
            #[cfg(mpi_large_count)]
            large,
            handles,
            path: found.path,
            fits,
        })
    })
}
