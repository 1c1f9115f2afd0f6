//! All ranks of a communicator at one point, and what a call took the slowest of them: how a measured call begins
//! (docs/decisions/0017).

use super::agreement::{to_number, to_time};
use super::private::Private;
use super::wait::{Patience, Waiting};
use crate::boundary::failure::Failure;
use crate::real::Real;
use std::ffi::c_int;

/// Times of a rank, nanoseconds.
pub type Times = [u64; TIMES];

/// How many.
const TIMES: usize = 3;

/// Waits for all ranks, and tells the longest of their `own` times, each by itself. Collective over `private`, which
/// must be no place of the pool. `call`: the number of this agreement.
///
/// # Errors
/// [`Failure::GivenUp`] if a rank has given up an earlier call and will not come; then no rank's time is known.
pub fn longest(real: &Real, private: &Private, call: u32, own: Times, waiting: Waiting) -> Result<Times, Failure> {
    let (mpi, handles) = (&real.mpi, &real.handles);
    // Freed only where the operation is complete: the library may write to it until then.
    let numbers = Box::into_raw(Box::new([own.map(to_number), [0; TIMES]]));
    let mut request = handles.request_null;
    // SAFETY: valid handles, so many integers each; all ranks are here, or have told that they will not come. The
    // buffers live until the operation is complete.
    let mut code = unsafe {
        let [input, output] = [0, 1].map(|which| numbers.cast::<[c_int; TIMES]>().add(which));
        (mpi.iallreduce)(
            input.cast(),
            output.cast(),
            const { TIMES as c_int },
            handles.int.into(),
            handles.min.into(),
            private.comm.into(),
            &raw mut request,
        )
    };
    let (mut done, mut looks, mut patience) = (0, 0u32, Patience::new(waiting));
    while code == 0 && done == 0 {
        // SAFETY: the request of that operation; MPI_Status is plain data.
        code = unsafe {
            let mut status = std::mem::zeroed();
            (mpi.test)(&raw mut request, &raw mut done, &raw mut status)
        };
        if done == 0 {
            private.notices.look(real);
            private.notices.check(private, call)?;
            looks = looks.saturating_add(1);
            patience.wait(looks);
        }
    }
    if code != 0 {
        return Err(Failure::Mpi(code));
    }
    // SAFETY: from `Box::into_raw` above, and the library is done with it.
    let [_, longest] = *unsafe { Box::from_raw(numbers) };
    // The operation goes on without a rank that has left it, and completes. The notice of that rank was sent before the
    // others could complete it, so that it is here in all likelihood; a rank that missed it would enter the library's
    // collective alone.
    private.notices.look(real);
    private.notices.check(private, call)?;
    Ok(longest.map(to_time))
}
