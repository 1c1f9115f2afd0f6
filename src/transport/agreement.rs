//! What ranks find out together by the library's own collectives: at initialisation, before early calls, and where a
//! private communicator is made; never while Nagare's messages are under way on the communicator.

use crate::real::Real;
use mpi::ffi::MPI_Comm;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;

/// Ranks of `of` numbered in `within`: `result[rank in of] = rank in within`, `None` if some are not in it.
pub fn translate(real: &Real, of: MPI_Comm, within: MPI_Comm, size: c_int) -> Option<Vec<Rank>> {
    let mpi = &real.mpi;
    let own: Vec<c_int> = (0..size).collect();
    let mut there = vec![-1; own.len()];
    // SAFETY: both communicators are valid; the groups are freed here; the arrays have `size` entries.
    let code = unsafe {
        let (mut group, mut target) = (std::mem::zeroed(), std::mem::zeroed());
        (mpi.comm_group)(of, &raw mut group);
        (mpi.comm_group)(within, &raw mut target);
        let code = (mpi.group_translate_ranks)(group, size, own.as_ptr(), target, there.as_mut_ptr());
        (mpi.group_free)(&raw mut group);
        (mpi.group_free)(&raw mut target);
        code
    };
    let there: Option<Vec<Rank>> = there.into_iter().map(|r| Rank::try_from(r).ok()).collect();
    there.filter(|_| code == 0)
}

/// Whether `yes` holds on all ranks of `comm`; collective over it.
pub fn all_agree(real: &Real, comm: MPI_Comm, yes: bool) -> bool {
    least(real, comm, c_int::from(yes)) == Ok(1)
}

/// The least of the numbers of all ranks of `comm`; collective over it.
///
/// # Errors
/// The code with which the library fails; it has called the error handler of `comm`.
pub fn least(real: &Real, comm: MPI_Comm, own: c_int) -> Result<c_int, c_int> {
    let mut least = 0;
    let handles = &real.handles;
    // SAFETY: valid communicator and handles, one integer each; all ranks are in this call.
    let code = unsafe {
        (real.mpi.allreduce)(
            (&raw const own).cast(),
            (&raw mut least).cast(),
            1,
            handles.int.into(),
            handles.min.into(),
            comm.into(),
        )
    };
    if code == 0 { Ok(least) } else { Err(code) }
}

/// A communicator of the ranks of `comm`, which returns its errors; collective over it. `None` on all ranks if one
/// cannot have it.
///
/// Made from the group, not by `MPI_Comm_dup`, which would call the program's attribute copy functions.
pub fn same_ranks(real: &Real, comm: MPI_Comm) -> Option<MPI_Comm> {
    let (mpi, handles) = (&real.mpi, &real.handles);
    let mut made = handles.comm_null;
    // SAFETY: valid communicator, all of whose ranks are in this collective call; the group is freed here. The
    // program's error handler is set aside meanwhile, since failing here is no error of the program.
    let code = unsafe {
        let mut handler = std::mem::zeroed();
        let mut group = std::mem::zeroed();
        (mpi.comm_get_errhandler)(comm, &raw mut handler);
        (mpi.comm_set_errhandler)(comm, handles.errors_return);
        let mut code = (mpi.comm_group)(comm, &raw mut group);
        if code == 0 {
            code = (mpi.comm_create)(comm, group, &raw mut made);
            (mpi.group_free)(&raw mut group);
        }
        if code == 0 {
            code = (mpi.comm_set_errhandler)(made, handles.errors_return);
        }
        (mpi.comm_set_errhandler)(comm, handler);
        (mpi.errhandler_free)(&raw mut handler);
        code
    };
    if all_agree(real, comm, code == 0) {
        return Some(made);
    }
    if code == 0 {
        // SAFETY: just made, unused.
        unsafe { (mpi.comm_free)(&raw mut made) };
    }
    None
}
