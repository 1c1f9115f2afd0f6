//! A non-blocking operation of the library, looked at until it is complete.

use crate::real::Real;
use mpi::ffi::MPI_Request;
use std::ffi::c_int;

/// The code with which the operation of `request` ends. `meanwhile` is called after each look that does not find it
/// complete, with how many looks there were.
///
/// # Errors
/// That of `meanwhile`, which gives the operation up.
pub fn complete<E>(
    real: &Real,
    mut request: MPI_Request,
    mut meanwhile: impl FnMut(u32) -> Result<(), E>,
) -> Result<c_int, E> {
    let mut looks = 0u32;
    loop {
        let mut done = 0;
        // SAFETY: the request of an operation that is not complete yet; MPI_Status is plain data.
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

/// The code with which the operation of `request` ends; meanwhile others have the processor.
#[cfg(mpi_family = "mpich")]
pub fn completed(real: &Real, request: MPI_Request) -> c_int {
    let Ok(code) = complete(real, request, offering());
    code
}

/// What a rank does between two looks that lets others have the processor.
#[cfg(mpi_family = "mpich")]
pub fn offering() -> impl FnMut(u32) -> Result<(), std::convert::Infallible> {
    let mut patience = super::wait::Patience::new(super::wait::Waiting::Offering);
    move |looks| {
        patience.wait(looks);
        Ok(())
    }
}
