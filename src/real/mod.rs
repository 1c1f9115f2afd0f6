//! The MPI library that the process already has: its functions, handles and sentinels.
//!
//! Everything is found at run time, so that this library names no MPI library in its dynamic section. Inside Nagare
//! every MPI call goes through [`Functions`]; the symbols `MPI_X` and `PMPI_X` are our own.
//!
//! May enter: what the library has and says of itself. May not: anything of Nagare.

pub mod cvar;
pub mod eager;
mod functions;
pub mod handles;
pub mod library;
pub mod loaded;
pub mod others;
#[cfg(mpi_family = "openmpi")]
pub mod pmix;
pub mod signatures;
pub mod transport;

pub use functions::others::{NAMES as OTHERS, Other, Word};
pub use functions::{Functions, MISSING};
pub use handles::Handles;
pub use library::{LibraryError, locate};

use once_cell::sync::OnceCell;
use std::ffi::c_int;

/// The real library, found once.
pub struct Real {
    /// Its functions.
    pub mpi: Functions,
    /// Its large-count functions.
    #[cfg(mpi_large_count)]
    pub large: functions::large::Functions,
    /// Collectives that are always passed on.
    pub others: functions::others::Functions,
    /// The same with large counts.
    #[cfg(mpi_large_count)]
    pub large_others: functions::others::large::Functions,
    /// Its predefined handles.
    pub handles: Handles,
    /// File it was loaded from.
    pub path: String,
    /// Whether it is of the family this build is for; if not, calls are only passed on.
    pub fits: bool,
}

impl Real {
    /// Whether calls of a library of the wrong family cannot even be passed on: this build exports functions that it
    /// lacks, and a program that looks for them, such as mpi4py, would find ours.
    pub fn is_refused(&self) -> bool {
        !self.fits && self.lacks_large_counts()
    }

    /// Whether this build exports functions with large counts that the library lacks. Nagare carries out no call then:
    /// it asks what types are made of by such functions.
    pub fn lacks_large_counts(&self) -> bool {
        #[cfg(mpi_large_count)]
        return !self.large.missing.is_empty();
        #[cfg(not(mpi_large_count))]
        return false;
    }

    /// First line of what the library says of itself.
    pub fn version(&self) -> String {
        let text = self.description();
        text.lines().next().unwrap_or_default().split(", package").next().unwrap_or_default().trim().to_owned()
    }

    /// MPICH's device, such as `ch4:ofi`.
    pub fn device(&self) -> Option<String> {
        let text = self.description();
        text.lines().find_map(|line| Some(line.strip_prefix("MPICH Device:")?.trim().to_owned()))
    }

    fn description(&self) -> String {
        // MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH.
        let mut buffer = vec![0u8; 8192];
        let mut length: c_int = 0;
        // SAFETY: the buffer has room for the longest string of both families.
        unsafe { (self.mpi.get_library_version)(buffer.as_mut_ptr().cast(), &raw mut length) };
        buffer.truncate(buffer.iter().position(|&b| b == 0).unwrap_or(0));
        String::from_utf8_lossy(&buffer).replace('\t', " ")
    }
}

static REAL: OnceCell<Real> = OnceCell::new();

/// The real library.
///
/// # Errors
/// [`LibraryError`] if the process has none.
pub fn real() -> Result<&'static Real, LibraryError> {
    REAL.get_or_try_init(|| {
        let found = locate()?;
        let fits = handles::fits(&found.library, &found.path);
        let handles = Handles::load(&found.library);
        let mpi = Functions::load(&found.library);
        #[cfg(mpi_large_count)]
        let large = functions::large::Functions::load(&found.library);
        let others = functions::others::Functions::load(&found.library);
        #[cfg(mpi_large_count)]
        let large_others = functions::others::large::Functions::load(&found.library);
        // The library outlives every use of these addresses: it is never closed.
        std::mem::forget(found.library);
        Ok(Real {
            mpi,
            #[cfg(mpi_large_count)]
            large,
            others,
            #[cfg(mpi_large_count)]
            large_others,
            handles,
            path: found.path,
            fits,
        })
    })
}
