//! How a rank waits for its messages, between polls without success.
//!
//! ```text
//!   Keeping    polls again at once, as a library does that keeps the processor; once the kernel has taken this
//!              processor away, as Offering
//!   Offering   lets others have the processor after each poll but the first two, and after a second of that sleeps
//!              between polls
//!   Yielding   polls again at once, as the library yields in each poll; after a second of it sleeps between polls
//!   Pausing    sleeps between polls from the third on
//! ```
//! `docs/decisions/0008-waiting.md` has the measurements.

use crate::real::Real;
use crate::real::cvar::Variables;
use nagare_config::Wait;
use std::cell::Cell;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

/// What a rank does between polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// As the library does, which keeps the processor, unless others want it.
    Keeping,
    /// Offers the processor where the library would keep it: there are more ranks than processors.
    Offering,
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

/// After so much time of yielding a rank sleeps between bursts of so many polls: each poll lets the library go on with
/// the program's own messages too, and the bursts cost 2 to 3 % of a processor (docs/benchmarks.md, "Waiting").
const LATE: Duration = Duration::from_secs(1);
const BURST: u32 = 16;
/// The time of waiting is so many times as long as such a sleep,
const SHORTER: u32 = 1024;
/// which takes at least so long,
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);
/// and at most so long: what comes at last goes through ranks one after another, each of which may be asleep.
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

/// Polls without success between two looks at the clock, or at who else wants the processor.
const CLOCK: u32 = 64;

/// Polls without success before the first look at who else wants the processor; the next come at 32, 64, and every
/// 64th: polls may take so long that the kernel takes the processor away within a few.
const WANTED: u32 = 16;

/// Polls without success before the processor is offered to others that want it: a message may be about to arrive.
const OFFERED: u32 = 2;

/// So many polls without success a rank offers the processor after each, once the kernel has taken it away while the
/// rank was waiting. Not only as long as somebody takes it: the kernel may hold a rank that has run little to be
/// entitled to go on through thousands of offers. A rank from which a daemon took the processor pays a system call a
/// poll for them.
const OFFERS: u32 = 1 << 18;

thread_local! {
    /// How many more times this thread offers its processor.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// How many times the kernel has given this thread's processor to another although the thread could go on.
fn switches() -> i64 {
    // SAFETY: a structure of integers, which the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_nivcsw
    }
}

impl Waiting {
    /// As configured, else by whether the library yields when idle, which it does if its user says so or if it has
    /// found more processes than cores. `is_crowded`: whether there are more ranks than processors for them.
    pub fn find(real: &Real, wait: Option<Wait>, is_crowded: bool) -> Self {
        match wait {
            Some(Wait::Pause) => Self::Pausing,
            _ if Variables::open(real).is_some_and(|v| v.is_on(c"mpi_yield_when_idle")) => Self::Yielding,
            _ if is_crowded => Self::Offering,
            _ => Self::Keeping,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keeping => "looks again at once, and yields where others want the processor,",
            Self::Offering => "yields, as ranks outnumber processors,",
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
    /// How long to sleep between bursts: not at all before [`LATE`].
    sleep: Duration,
    /// See [`switches`], by the last look in this wait.
    switches: Option<i64>,
}

impl Patience {
    /// Of a rank that waits in this way.
    pub fn new(waiting: Waiting) -> Self {
        Self { waiting, since: None, sleep: Duration::ZERO, switches: None }
    }

    /// What a rank does after `looks` polls without success in a row.
    pub fn wait(&mut self, looks: u32) {
        if looks < CLOCK {
            (self.since, self.sleep) = (None, Duration::ZERO);
        }
        match self.waiting {
            Waiting::Keeping => {
                let left = LEFT.get();
                if left == 0 {
                    self.look_for_others(looks);
                } else if looks > OFFERED {
                    LEFT.set(left - 1);
                    self.offer(looks);
                }
            }
            Waiting::Offering if looks > OFFERED => self.offer(looks),
            Waiting::Offering => {}
            Waiting::Yielding => self.sleep_if_late(looks),
            Waiting::Pausing if looks > LOOKS => sleep(PAUSE * (1 + (looks - LOOKS) / PATIENCE).min(LONGEST)),
            Waiting::Pausing => {}
        }
    }

    /// Begins to offer the processor if it was taken away in this wait.
    fn look_for_others(&mut self, looks: u32) {
        if looks < WANTED {
            self.switches = None;
        } else if looks.is_power_of_two() || looks.is_multiple_of(CLOCK) {
            let now = switches();
            if self.switches.replace(now).is_some_and(|before| now > before) {
                LEFT.set(OFFERS);
                (self.since, self.switches) = (None, None);
            }
        }
    }

    fn offer(&mut self, looks: u32) {
        yield_now();
        self.sleep_if_late(looks);
    }

    /// Sleeps now and then, once a second has passed without success.
    fn sleep_if_late(&mut self, looks: u32) {
        if looks < CLOCK {
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if looks.is_multiple_of(CLOCK) {
            self.sleep = sleep_after(since.elapsed());
        }
        if !self.sleep.is_zero() && looks.is_multiple_of(BURST) {
            sleep(self.sleep);
        }
    }
}

/// How long a rank sleeps between bursts that has waited for so long.
fn sleep_after(waited: Duration) -> Duration {
    if waited < LATE { Duration::ZERO } else { (waited / SHORTER).clamp(SHORTEST_SLEEP, LONGEST_SLEEP) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

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
        assert!(patience.sleep.is_zero());
        std::thread::sleep(LATE);
        patience.wait(2 * CLOCK);
        assert!(patience.sleep >= SHORTEST_SLEEP);
        assert!(waited(&mut patience, 129..129 + 10 * BURST) >= 10 * SHORTEST_SLEEP.as_micros());
        // A message has come.
        patience.wait(1);
        assert!(patience.sleep.is_zero() && patience.since.is_none());
    }

    #[test]
    fn the_longer_a_rank_has_waited_the_longer_it_sleeps() {
        let sleeps = [999, 1000, 1536, 10_000].map(|waited| sleep_after(Duration::from_millis(waited)));
        assert_eq!(sleeps.map(|sleep| sleep.as_micros()), [0, 1000, 1500, 2000]);
    }

    #[test]
    fn who_is_one_of_a_crowd_sleeps_once_somebody_is_late() {
        let mut patience = Patience::new(Waiting::Offering);
        (1..=CLOCK).for_each(|looks| patience.wait(looks));
        assert!(patience.sleep.is_zero());
        std::thread::sleep(LATE);
        patience.wait(2 * CLOCK);
        assert!(waited(&mut patience, 129..129 + 10 * BURST) >= 10 * SHORTEST_SLEEP.as_micros());
    }

    /// Two threads of one processor, one of which never lets go of it: the other comes to know, whatever else runs.
    #[test]
    fn who_keeps_the_processor_learns_that_others_want_it() {
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                share_a_processor();
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            scope.spawn(|| {
                share_a_processor();
                let mut patience = Patience::new(Waiting::Keeping);
                let start = Instant::now();
                let offers = (1..).find(|&looks| {
                    patience.wait(looks);
                    LEFT.get() > 0 || looks.is_multiple_of(CLOCK) && start.elapsed() > ENOUGH
                });
                let offers = offers.filter(|_| LEFT.get() > 0);
                ends.store(true, Ordering::Relaxed);
                assert!(offers.is_some_and(|looks| looks > WANTED), "{offers:?}");
            });
        });
    }

    /// Long after every machine has let both threads run.
    const ENOUGH: Duration = Duration::from_secs(120);

    /// Binds the thread to the first of the processors that the process may use, where it can be bound.
    fn share_a_processor() {
        // SAFETY: a set of processors, plain data of that size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
            let Some(first) = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set)) else { return };
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
        }
    }

    #[test]
    fn who_pauses_sleeps_from_the_third_look_on() {
        let mut patience = Patience::new(Waiting::Pausing);
        assert!(waited(&mut patience, LOOKS + 1..LOOKS + 11) >= 10 * PAUSE.as_micros());
    }
}
