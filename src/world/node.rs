//! Which ranks are on one machine, where nothing else is told of nodes: those that name the same boot of a kernel, the
//! same host and the same network of it. Hosts that a testbed pretends have networks of their own, and machines that
//! began as copies of one another have names.
//!
//! The MPI library is not asked. `MPI_Comm_split_type` (MPI 4.0 section 7.4.2) makes a communicator, which among 16
//! ranks of MPICH on two processors took half of what Nagare added to the start of a job. And where Open MPI 4.1 keeps
//! the keys of its ranks in its store `hash`, it splits several ranks of a host into other parts on each of them, so
//! that a job ends in no collective after it, with Nagare or without.

use super::setup::host_name;
use crate::real::Real;
use mpi::ffi::MPI_Comm;
use std::ffi::c_int;
use std::fs::{read, read_link};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number for the machine of this process. What cannot be read counts as nothing.
fn machine() -> u64 {
    let mut hasher = DefaultHasher::new();
    read("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hasher);
    host_name().hash(&mut hasher);
    read_link("/proc/self/ns/net").unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The smallest of the `size` ranks of `comm` on the machine of `rank`, which is this process's; collective over it.
///
/// # Errors
/// The code with which the MPI library fails.
pub fn leader(real: &Real, comm: MPI_Comm, (rank, size): (c_int, c_int)) -> Result<c_int, c_int> {
    let own = machine();
    let mut machines = vec![own; size as usize];
    let bytes = size_of::<u64>() as c_int;
    // SAFETY: the send buffer is one number, the receive buffer `size` of them; all ranks are in this call.
    let code = unsafe {
        (real.mpi.allgather)(
            (&raw const own).cast(),
            bytes,
            real.handles.byte.into(),
            machines.as_mut_ptr().cast(),
            bytes,
            real.handles.byte.into(),
            comm.into(),
        )
    };
    let first = machines.iter().position(|&machine| machine == own).map_or(rank, |first| first as c_int);
    if code == 0 { Ok(first) } else { Err(code) }
}
