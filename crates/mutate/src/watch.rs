//! Cases that never end: one thread looks at all that are running.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Far longer than any case takes on the slowest machine; what lasts longer would go on for ever.
const LONGEST: Duration = Duration::from_secs(300);

/// A case that runs; it ends with the value.
pub(crate) struct Watched(u64);

#[derive(Default)]
struct Running {
    next: u64,
    cases: Vec<(u64, Instant, String)>,
}

static RUNNING: LazyLock<Mutex<Running>> = LazyLock::new(|| {
    spawn(look);
    Mutex::default()
});

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a case with its input.
pub(crate) fn start(input: String) -> Watched {
    let mut running = running();
    running.next += 1;
    let number = running.next;
    running.cases.push((number, Instant::now(), input));
    Watched(number)
}

impl Drop for Watched {
    fn drop(&mut self) {
        running().cases.retain(|(number, ..)| *number != self.0);
    }
}

fn look() {
    loop {
        sleep(Duration::from_secs(1));
        if let Some((_, _, input)) = running().cases.iter().find(|(_, started, _)| started.elapsed() > LONGEST) {
            // No thread can be stopped from outside: the whole test ends, with what it hangs on.
            eprintln!("a case has not ended in {} s: {input:.4000}", LONGEST.as_secs());
            std::process::abort();
        }
    }
}
