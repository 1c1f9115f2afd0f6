//! The minimum of each of some numbers over all ranks, by a non-blocking Allreduce of the library.

use super::pending;
use crate::real::Real;
use mpi::ffi::{MPI_Comm, MPI_Request};
use std::ffi::c_int;

/// Finds it; collective over `comm`. `meanwhile` is called after each look at the operation that does not find it
/// complete, with how many looks there were. The inner error is the code with which the library fails.
///
/// # Errors
/// That of `meanwhile`, which gives the operation up.
pub fn minimum<const N: usize, E>(
    real: &Real,
    comm: MPI_Comm,
    own: [c_int; N],
    meanwhile: impl FnMut(u32) -> Result<(), E>,
) -> Result<Result<[c_int; N], c_int>, E> {
    let (mpi, handles) = (&real.mpi, &real.handles);
    // Freed only where the operation is complete: the library may write to it until then.
    let numbers = Box::into_raw(Box::new([own, [0; N]]));
    let start = |request: *mut MPI_Request| {
        // SAFETY: `comm` is valid, as are the handles; `N` integers each, which live until the operation is complete;
        // all ranks are here, or the caller looks for those that are not.
        unsafe {
            let [input, output] = [0, 1].map(|which| numbers.cast::<[c_int; N]>().add(which));
            let (int, min) = (handles.int.into(), handles.min.into());
            (mpi.iallreduce)(input.cast(), output.cast(), const { N as c_int }, int, min, comm.into(), request)
        }
    };
    let code = pending::run(real, start, meanwhile)?;
    if code != 0 {
        return Ok(Err(code));
    }
    // SAFETY: from `Box::into_raw` above, and the library is done with it.
    let [_, minimum] = *unsafe { Box::from_raw(numbers) };
    Ok(Ok(minimum))
}
