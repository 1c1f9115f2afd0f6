//! The calls on one communicator, and the kind that the report counts it among: what the program calls it
//! (`MPI_Comm_set_name`, MPI 4.0 section 7.8), and its ranks.
//!
//! The name is asked for at the first call that is counted and, since a program may give it at any time, once more when
//! the communicator is freed or the world ends. A report in between has the first one: other threads may be inside the
//! library, which in MPICH answers under a lock that they hold while they wait for ours.

use crate::real::Real;
use crate::real::handles::RawHandle;
use crate::report::kinds::{Counters, Kind};
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use std::ffi::CStr;

/// More than any library's MPI_MAX_OBJECT_NAME: 64 in Open MPI, 128 in MPICH.
const LONGEST: usize = 1024;

/// The timed calls on one communicator, and its name at the first of them.
#[derive(Default)]
pub struct Counted(OnceCell<Box<(Counters, String)>>);

impl Counted {
    /// Counts a call on the communicator of this handle.
    ///
    /// # Safety
    /// The communicator must live.
    pub unsafe fn count(&self, real: &Real, handle: usize, collective: Collective, on_nagare: bool, nanoseconds: u64) {
        // SAFETY: as demanded of the caller.
        let first = || Box::new((Counters::default(), unsafe { name(real, handle) }));
        self.0.get_or_init(first).0.count(collective, on_nagare, nanoseconds);
    }

    /// Tells what was counted on the communicator of this size, by its name at the first call.
    pub fn tell(&self, size: u32, to: impl FnOnce(Kind, &Counters)) {
        if let Some(counted) = self.0.get() {
            to(Kind::new(size, &counted.1), &counted.0);
        }
    }

    /// The same of the communicator of this handle, by its name now.
    ///
    /// # Safety
    /// The communicator must live.
    pub unsafe fn tell_last(&self, real: &Real, (handle, size): (usize, u32), to: impl FnOnce(Kind, &Counters)) {
        if let Some(counted) = self.0.get() {
            // SAFETY: as demanded of the caller.
            to(Kind::new(size, &unsafe { name(real, handle) }), &counted.0);
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
    if is_the_library_s(&name) { String::new() } else { name.into_owned() }
}

/// Whether Open MPI itself gives such a name to a communicator without one: in one of the forms that the libraries of
/// 4.1.4 and 5.0.11 hold. They have its number and that of the one it was made from, which differ between ranks.
/// `MPI_Comm_get_name` of both tells none of them; other versions and builds may. MPICH gives none but those of the
/// standard, such as `MPI_COMM_WORLD`.
fn is_the_library_s(name: &str) -> bool {
    // Decimal in 4.1; 5.0 prints longer ones.
    let of_number = |c: char| c.is_ascii_hexdigit() || "x:.,-[]()".contains(c);
    let is_number = |word: &str| word.contains(|c: char| c.is_ascii_digit()) && word.chars().all(of_number);
    match name.split(' ').collect::<Vec<_>>()[..] {
        ["MPI", "COMM" | "COMMUNICATOR", own, made, "FROM", other] => {
            let is_made = ["CREATE", "DUP", "GROUP", "SHRUNK", "SPLIT", "SPLIT_TYPE"].contains(&made);
            is_made && is_number(own) && is_number(other)
        }
        ["MPI", "COMM" | "INTERCOMM", own, "FROM", "GROUP"] | ["MPI_COMMUNICATOR", own] => is_number(own),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_the_library_s;

    #[test]
    fn names_that_the_library_gives_are_told_from_those_of_programs() {
        for name in [
            "MPI COMMUNICATOR 3 DUP FROM 0",
            "MPI COMMUNICATOR 12 SPLIT_TYPE FROM 3",
            "MPI COMM 0x5 SPLIT FROM 0x0",
            "MPI COMM 7 FROM GROUP",
            "MPI INTERCOMM 7 FROM GROUP",
            "MPI_COMMUNICATOR 4",
        ] {
            assert!(is_the_library_s(name), "{name}");
        }
        for name in [
            "",
            "rows",
            "MPI_COMM_WORLD",
            "MPI COMM",
            "MPI COMM of the rows",
            "MPI COMMUNICATOR of rank 3",
            "MPI COMMUNICATOR 3 DUP FROM the world",
            "MPI COMMUNICATOR 3 MADE FROM 0",
            "MPI INTERCOMM ocean FROM GROUP",
        ] {
            assert!(!is_the_library_s(name), "{name}");
        }
    }
}
