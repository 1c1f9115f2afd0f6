//! The border between C and Rust: a panic in Nagare ends the job where it happens; an exception of the program passes
//! through.
//!
//! ```text
//!   program ─► MPI_X (ours) ─► PMPI_X ─► the program's error handler, operation or callback, which throws
//!           ◄──────────────── nothing on the way catches it, and destructors run ◄──┘
//! ```

use crate::real::Real;
use std::cell::Cell;
use std::ffi::c_int;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::time::Duration;

/// What a launcher needs to pass on the last lines of a rank. MPICH's kills the ranks of an aborted job without reading
/// what is left in their pipes.
const LAST_LINES: Duration = Duration::from_secs(1);

thread_local! {
    /// Nagare's function that the program called last in this thread.
    static FUNCTION: Cell<&'static str> = const { Cell::new("a thread of its own") };
}

/// Ends the job, after what this rank has said has reached the user.
pub fn abort(real: &Real, code: c_int) {
    std::thread::sleep(LAST_LINES);
    // SAFETY: MPI_COMM_WORLD is a valid communicator; MPI_Abort may be called at any time after MPI_Init, and before it
    // the library itself ends the process.
    unsafe { (real.mpi.abort)(real.handles.comm_world, code) };
}

/// Runs the body of the C entry point `function`. Nothing is caught here: Rust cannot catch an exception of another
/// language, and a panic in Nagare never gets this far ([`end_at_panics`]).
#[inline]
pub fn guard<R>(function: &'static str, body: impl FnOnce() -> R) -> R {
    FUNCTION.set(function);
    body()
}

/// From now on a panic ends the job where it happens, before anything is unwound: a rank that returned silently would
/// leave the others waiting for ever, and a program in C++ would take the panic for an exception.
pub fn end_at_panics() {
    static ONCE: Once = Once::new();
    // The standard library in a shared library is its own: a program in Rust keeps its hook.
    ONCE.call_once(|| std::panic::set_hook(Box::new(end)));
}

fn end(panic: &PanicHookInfo) {
    let function = FUNCTION.get();
    super::say(&format!("nagare: internal error in {function}: {panic}; the job is aborted\n"));
    if let Ok(real) = crate::real::real() {
        abort(real, 70);
    }
    std::process::abort()
}
