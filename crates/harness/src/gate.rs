//! How many jobs of a process run at once: one more than there are cores, since a job mostly waits while it starts or
//! ends.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::available_parallelism;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A job's turn, for as long as it is kept.
pub(crate) struct Turn;

/// Waits for a turn.
pub(crate) fn enter() -> Turn {
    let most = available_parallelism().map_or(1, usize::from) + 1;
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut running = ENDED.wait_while(running, |running| *running >= most).unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    Turn
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}
