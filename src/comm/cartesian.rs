//! The grid of a Cartesian communicator, as the MPI library tells it.

use crate::real::Real;
use mpi::ffi::MPI_Comm;
use nagare_plan::topology::Cartesian;
use std::ffi::c_int;

#[cfg(mpi_family = "openmpi")]
const CART: c_int = 1;
#[cfg(mpi_family = "mpich")]
const CART: c_int = 2;

/// Shape of `comm`, an intracommunicator; `None` if it has no Cartesian topology, or one without dimensions. Local
/// calls; the same on all ranks (MPI 4.0 section 8.5.5).
pub fn of(real: &Real, comm: MPI_Comm) -> Option<Cartesian> {
    let mpi = &real.mpi;
    let (mut kind, mut count) = (0, 0);
    // SAFETY: valid communicator and pointers; the number of dimensions is asked only of a Cartesian communicator.
    let known = unsafe {
        (mpi.topo_test)(comm, &raw mut kind) == 0 && kind == CART && (mpi.cartdim_get)(comm, &raw mut count) == 0
    };
    let entries = usize::try_from(count).ok().filter(|&count| known && count > 0)?;
    let (mut sizes, mut periods, mut own) = (vec![0; entries], vec![0; entries], vec![0; entries]);
    // SAFETY: each array has as many entries as the communicator has dimensions.
    let code = unsafe { (mpi.cart_get)(comm, count, sizes.as_mut_ptr(), periods.as_mut_ptr(), own.as_mut_ptr()) };
    let sizes: Vec<u32> = sizes.into_iter().map(|size: c_int| u32::try_from(size).unwrap_or(0)).collect();
    let closed: Vec<bool> = periods.into_iter().map(|period: c_int| period != 0).collect();
    Cartesian::new(&sizes, &closed).filter(|_| code == 0)
}
