//! The border between C and Rust: a panic never crosses it.

use crate::real::Real;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a launcher needs to pass on the last lines of a rank. MPICH's kills the ranks of an aborted job without reading what is
/// left in their pipes.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Ends the job, after what this rank has said has reached the user.
pub fn abort(real: &Real, code: c_int) {
    std::thread::sleep(LAST_LINES);
    // SAFETY: MPI_COMM_WORLD is a valid communicator; MPI_Abort may be called at any time after MPI_Init, and before it the
    // library itself ends the process.
    unsafe { (real.mpi.abort)(real.handles.comm_world, code) };
}

/// Runs the body of the C entry point `function`. A panic ends the job: a rank that returned silently would leave the others
/// waiting for ever.
pub fn guard<R>(function: &str, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(_) => {
            crate::shim::say(&format!("nagare: internal error in {function} (message above); the job is aborted\n"));
            if let Ok(real) = crate::real::real() {
                abort(real, 70);
            }
            std::process::abort()
        }
    }
}
