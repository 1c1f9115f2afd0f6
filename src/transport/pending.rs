//! A non-blocking operation of the library, looked at until it is complete.

use crate::real::Real;
use mpi::ffi::MPI_Request;
use std::ffi::c_int;

/// Starts an operation by `start`, which writes the request and returns the library's code, looks at it until it is
/// complete, and returns the code with which it ended. `meanwhile` is called after each look that does not find it
/// complete, with the number of looks. What the operation uses must outlive it where the code is not 0 or `meanwhile`
/// fails.
///
/// # Errors
/// That of `meanwhile`, which gives the operation up.
pub fn run<E>(
    real: &Real,
    start: impl FnOnce(*mut MPI_Request) -> c_int,
    mut meanwhile: impl FnMut(u32) -> Result<(), E>,
) -> Result<c_int, E> {
    let mut request = real.handles.request_null;
    let code = start(&raw mut request);
    if code != 0 {
        return Ok(code);
    }
    let mut looks = 0u32;
    loop {
        let mut done = 0;
        // SAFETY: the request that was just started, which is not complete yet; MPI_Status is plain data.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            (real.mpi.test)(&raw mut request, &raw mut done, &raw mut status)
        };
        if code != 0 || done != 0 {
            return Ok(code);
        }
        looks = looks.saturating_add(1);
        meanwhile(looks)?;
    }
}

/// The same, letting others have the processor between looks.
#[cfg(mpi_family = "mpich")]
pub fn run_offering(real: &Real, start: impl FnOnce(*mut MPI_Request) -> c_int) -> c_int {
    let Ok(code) = run(real, start, offering());
    code
}

/// What lets others have the processor between looks.
#[cfg(mpi_family = "mpich")]
pub fn offering() -> impl FnMut(u32) -> Result<(), std::convert::Infallible> {
    let mut patience = super::wait::Patience::new(super::wait::Waiting::Offering);
    move |looks| {
        patience.wait(looks);
        Ok(())
    }
}
