//! The border between C and Rust: a panic never crosses it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of the C entry point `function`. A panic ends the job: a rank that returned silently would leave the others
/// waiting for ever.
pub fn guard<R>(function: &str, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(_) => {
            crate::shim::say(&format!("nagare: internal error in {function} (message above); the job is aborted\n"));
            if let Ok(real) = crate::real::real() {
                // SAFETY: MPI_COMM_WORLD is a valid communicator; MPI_Abort may be called at any time after MPI_Init, and
                // before it the library itself ends the process.
                unsafe { (real.mpi.abort)(real.handles.comm_world, 70) };
            }
            std::process::abort()
        }
    }
}
