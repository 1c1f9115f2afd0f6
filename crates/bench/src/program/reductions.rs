//! What it costs to combine two vectors (MPI_Reduce_local).

use crate::together::Together;
use mpi::datatype::Equivalence;
use mpi::raw::AsRaw;
use mpi::{collective::SystemOperation, ffi};
use nagare_bench::pairs::Reduction;
use nagare_bench::statistics::median;
use std::ffi::{c_int, c_void};
use std::time::Instant;

/// Bytes of a vector: a segment, which stays in the processor's cache.
const BYTES: usize = 64 << 10;
/// Calls of one repetition.
const CALLS: usize = 32;
/// Repetitions that count, after a first one.
const REPETITIONS: usize = 9;

/// Nanoseconds per byte of sums, at the slowest rank.
pub fn measure(together: &Together) -> Reduction {
    Reduction { int: together.largest(sum(1i32)), double: together.largest(sum(1f64)) }
}

fn sum<N: Equivalence + Clone>(one: N) -> f64 {
    let count = BYTES / size_of::<N>();
    let (own, mut other) = (vec![one.clone(); count], vec![one; count]);
    let (datatype, operation) = (N::equivalent_datatype(), SystemOperation::sum());
    let mut times = Vec::new();
    for repetition in 0..=REPETITIONS {
        let start = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: both vectors have `count` numbers of the datatype; sums are defined for it, and integers stay far
            // below their largest.
            unsafe {
                ffi::MPI_Reduce_local(
                    own.as_ptr().cast::<c_void>(),
                    other.as_mut_ptr().cast::<c_void>(),
                    count as c_int,
                    datatype.as_raw(),
                    operation.as_raw(),
                );
            }
        }
        if repetition > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e9 / (CALLS * BYTES) as f64);
        }
    }
    median(&times)
}
