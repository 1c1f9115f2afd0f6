//! How a rank waits for its messages, between polls without success.
//!
//! ```text
//!   AsLibrary   polls again at once: the MPI library yields where it finds more processes than cores
//!   Yielding    the same, and after a second of it sleeps between polls: somebody is late
//!   Pausing     sleeps between polls from the third on
//! ```
//! `docs/decisions/0008-waiting.md` has the measurements.

use crate::real::Real;
use crate::real::cvar::Variables;
use nagare_config::Wait;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a rank does between polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// As the library does, which keeps the processor.
    AsLibrary,
    /// As the library does, which yields the processor when idle.
    Yielding,
    /// Short pauses.
    Pausing,
}

/// Polls without success before the first pause, so that a rank does not sleep while a message is about to arrive.
const LOOKS: u32 = 2;

/// Polls without success after which the next pauses are longer by one, and how many times the first they get at most:
/// a rank that has waited for long will hardly miss what it sleeps through, and every poll costs two or three system
/// calls.
const PATIENCE: u32 = 4;
const LONGEST: u32 = 8;

/// Length of the first pause. The kernel adds its timer slack, usually as much again.
const PAUSE: Duration = Duration::from_micros(50);

/// After so much time of yielding a rank sleeps between bursts of so many polls, so long: each poll lets the library go
/// on with the program's own messages too, and the burst takes some 20 microseconds.
const LATE: Duration = Duration::from_secs(1);
const BURST: u32 = 16;
const SLEEP: Duration = Duration::from_millis(1);

/// Polls without success between two looks at the clock.
const CLOCK: u32 = 64;

impl Waiting {
    /// As configured, else by whether the library yields when idle, which it does if its user says so or if it has
    /// found more processes than cores.
    pub fn find(real: &Real, wait: Option<Wait>) -> Self {
        match wait {
            Some(Wait::Pause) => Self::Pausing,
            _ if Variables::open(real).is_some_and(|v| v.is_on(c"mpi_yield_when_idle")) => Self::Yielding,
            _ => Self::AsLibrary,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsLibrary => "looks again at once",
            Self::Yielding => "yields, and sleeps after a second,",
            Self::Pausing => "pauses",
        }
    }
}

/// One wait, or several after one another.
#[derive(Debug)]
pub struct Patience {
    waiting: Waiting,
    /// Since when; looked at now and then.
    since: Option<Instant>,
    /// Whether that is long ago.
    is_late: bool,
}

impl Patience {
    /// Of a rank that waits in this way.
    pub fn new(waiting: Waiting) -> Self {
        Self { waiting, since: None, is_late: false }
    }

    /// What a rank does after `looks` polls without success in a row.
    pub fn wait(&mut self, looks: u32) {
        match self.waiting {
            Waiting::AsLibrary => {}
            Waiting::Pausing if looks > LOOKS => sleep(PAUSE * (1 + (looks - LOOKS) / PATIENCE).min(LONGEST)),
            Waiting::Pausing => {}
            Waiting::Yielding if looks < CLOCK => (self.since, self.is_late) = (None, false),
            Waiting::Yielding => {
                let since = *self.since.get_or_insert_with(Instant::now);
                if looks.is_multiple_of(CLOCK) {
                    self.is_late = since.elapsed() >= LATE;
                }
                if self.is_late && looks.is_multiple_of(BURST) {
                    sleep(SLEEP);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Microseconds of a wait after each of `looks` polls.
    fn waited(patience: &mut Patience, looks: impl Iterator<Item = u32>) -> u128 {
        let start = Instant::now();
        looks.for_each(|looks| patience.wait(looks));
        start.elapsed().as_micros()
    }

    #[test]
    fn who_yields_sleeps_once_somebody_is_late() {
        let mut patience = Patience::new(Waiting::Yielding);
        (1..=CLOCK).for_each(|looks| patience.wait(looks));
        assert!(!patience.is_late);
        std::thread::sleep(LATE);
        patience.wait(2 * CLOCK);
        assert!(patience.is_late);
        assert!(waited(&mut patience, 129..129 + 10 * BURST) >= 10 * SLEEP.as_micros());
        // A message has come.
        patience.wait(1);
        assert!(!patience.is_late && patience.since.is_none());
    }

    #[test]
    fn who_pauses_sleeps_from_the_third_look_on() {
        let mut patience = Patience::new(Waiting::Pausing);
        assert!(waited(&mut patience, LOOKS + 1..LOOKS + 11) >= 10 * PAUSE.as_micros());
    }
}
