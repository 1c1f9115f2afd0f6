//! How a rank waits for its messages.
//!
//! Where processes outnumber cores, a rank that spins takes the time of one that has work. The MPI library then yields
//! when idle, but the scheduler shares the processor fairly among all that yield: two idle ranks take turns for
//! milliseconds while a third, which has just done more work, waits. A rank that pauses leaves the processor to the
//! others. `docs/decisions/0008-waiting.md` has the measurements.

use crate::real::Real;
use crate::real::cvar::Variables;
use nagare_config::Wait;
use std::time::Duration;

/// Polls without success before the first pause, so that a rank does not sleep while a message is about to arrive.
pub const LOOKS: u32 = 2;

/// Polls without success after which the next pauses are longer by one, and how many times the first they get at most:
/// a rank that has waited for long will hardly miss what it sleeps through, and every poll costs two or three system
/// calls.
const PATIENCE: u32 = 4;
const LONGEST: u32 = 8;

/// Length of the next pause, in first pauses, after `looks` polls without success, more than [`LOOKS`].
pub fn patience(looks: u32) -> u32 {
    (1 + looks.saturating_sub(LOOKS) / PATIENCE).min(LONGEST)
}

/// Length of the first pause. The kernel adds its timer slack, usually as much again.
const PAUSE: Duration = Duration::from_micros(50);

/// The pause between two polls, `None` where the MPI library does the waiting: as configured, else by whether the
/// library yields when idle, which it does if its user says so or if it has found more processes than cores.
pub fn pause(real: &Real, wait: Option<Wait>) -> Option<Duration> {
    let yields = || Variables::open(real).is_some_and(|v| v.is_on(c"mpi_yield_when_idle"));
    let pauses = wait.map_or_else(yields, |wait| wait == Wait::Pause);
    pauses.then_some(PAUSE)
}
