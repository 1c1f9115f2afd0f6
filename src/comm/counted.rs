//! The calls on one communicator, and the kind that the report counts it among: what the program calls it
//! (`MPI_Comm_set_name`, MPI 4.0 section 7.8), and its ranks.
//!
//! The name is asked for when the communicator is freed or a report is made: a program may give it at any time.

use crate::real::Real;
use crate::real::handles::RawHandle;
use crate::report::kinds::{Counters, Kind};
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use std::ffi::CStr;

/// More than any library's MPI_MAX_OBJECT_NAME: 64 in Open MPI, 128 in MPICH.
const LONGEST: usize = 1024;

/// How names begin that Open MPI gives to communicators without one: `MPI COMMUNICATOR 3 DUP FROM 0`. Their numbers
/// differ between ranks. MPICH gives none but those of the standard, such as `MPI_COMM_WORLD`.
const OF_THE_LIBRARY: [&str; 2] = ["MPI COMM", "MPI INTERCOMM "];

/// The timed calls on one communicator.
#[derive(Default)]
pub struct Counted(OnceCell<Box<Counters>>);

impl Counted {
    /// Counts one.
    pub fn count(&self, collective: Collective, on_nagare: bool, nanoseconds: u64) {
        self.0.get_or_init(Box::default).count(collective, on_nagare, nanoseconds);
    }

    /// Tells what was counted on the communicator of this handle and size.
    ///
    /// # Safety
    /// The communicator must live.
    pub unsafe fn tell(&self, real: &Real, (handle, size): (usize, u32), to: impl FnOnce(Kind, &Counters)) {
        if let Some(calls) = self.0.get() {
            // SAFETY: as demanded of the caller.
            to(Kind::new(size, &unsafe { name(real, handle) }), calls);
        }
    }
}

/// What the program or the standard calls it; empty if they do not.
///
/// # Safety
/// The communicator must live.
unsafe fn name(real: &Real, handle: usize) -> String {
    let (mut text, mut length) = ([0u8; LONGEST], 0);
    let comm = RawHandle(handle).into();
    // SAFETY: as demanded of the caller; the buffer is larger than any name.
    let code = unsafe { (real.mpi.comm_get_name)(comm, text.as_mut_ptr().cast(), &raw mut length) };
    let name = CStr::from_bytes_until_nul(&text).ok().filter(|_| code == 0).unwrap_or_default().to_string_lossy();
    if OF_THE_LIBRARY.iter().any(|begin| name.starts_with(begin)) { String::new() } else { name.into_owned() }
}
