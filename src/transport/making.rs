//! Communicators of our own, with the ranks of one of the program's or of the world.

use super::agreement::all_agree;
use crate::real::Real;
use mpi::ffi::MPI_Comm;
use std::ffi::c_int;

/// A communicator of the ranks of `comm`, which returns its errors; collective over it. `None` on all ranks if one
/// cannot have it.
///
/// Made from the group, not by `MPI_Comm_dup`, which would call the program's attribute copy functions.
pub fn same_ranks(real: &Real, comm: MPI_Comm) -> Option<MPI_Comm> {
    let mpi = &real.mpi;
    made(real, comm, |place| {
        // SAFETY: valid communicator, all of whose ranks are in this collective call; the group is freed here.
        unsafe {
            let mut group = std::mem::zeroed();
            let mut code = (mpi.comm_group)(comm, &raw mut group);
            if code == 0 {
                code = (mpi.comm_create)(comm, group, place);
                (mpi.group_free)(&raw mut group);
            }
            code
        }
    })
}

/// A communicator of the ranks of the world, likewise; collective over it, inside `MPI_Init`, where the program has no
/// attributes yet.
#[cfg(mpi_family = "openmpi")]
pub fn of_world(real: &Real) -> Option<MPI_Comm> {
    same_ranks(real, real.handles.comm_world)
}

/// A communicator of the ranks of the world, likewise; collective over it, inside `MPI_Init`, where the program has no
/// attributes yet. By `MPI_Comm_idup`, since MPICH's `MPI_Comm_create` waits without giving the processor away: among
/// sixteen ranks on two processors that takes MPICH 4 200 ms, this 4 to 17. Where it fails on one rank only, ranks may
/// not come to agree on that (`README.md`).
#[cfg(mpi_family = "mpich")]
pub fn of_world(real: &Real) -> Option<MPI_Comm> {
    let world = real.handles.comm_world;
    made(real, world, |place| {
        super::pending::run_offering(real, |request| {
            // SAFETY: the world, all of whose ranks are in this call; `made` keeps the place until that is complete.
            unsafe { (real.mpi.comm_idup)(world.into(), place, request) }
        })
    })
}

/// A communicator of the ranks of `comm` that returns its errors. `make` writes it and returns the library's code.
/// `None` on all ranks if one cannot have it.
fn made(real: &Real, comm: MPI_Comm, make: impl FnOnce(*mut MPI_Comm) -> c_int) -> Option<MPI_Comm> {
    let (mpi, handles) = (&real.mpi, &real.handles);
    // Freed only where all has gone well: otherwise the library may still write to it.
    let place = Box::into_raw(Box::new(handles.comm_null));
    // SAFETY: valid communicator. The program's error handler is set aside meanwhile, since failing here is no error of
    // the program. The place is written once `make` has returned without an error.
    let code = unsafe {
        let mut handler = std::mem::zeroed();
        (mpi.comm_get_errhandler)(comm, &raw mut handler);
        (mpi.comm_set_errhandler)(comm, handles.errors_return);
        let mut code = make(place);
        if code == 0 {
            code = (mpi.comm_set_errhandler)(*place, handles.errors_return);
        }
        (mpi.comm_set_errhandler)(comm, handler);
        (mpi.errhandler_free)(&raw mut handler);
        code
    };
    let agreed = all_agree(real, comm, code == 0);
    if code != 0 {
        return None;
    }
    // SAFETY: from `Box::into_raw` above, and the library is done with it.
    let mut comm = *unsafe { Box::from_raw(place) };
    if agreed {
        return Some(comm);
    }
    // SAFETY: just made, unused.
    unsafe { (mpi.comm_free)(&raw mut comm) };
    None
}
