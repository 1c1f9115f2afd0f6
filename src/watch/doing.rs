//! What the threads of this process are in, and what they were in before.

use nagare_plan::schedule::Rank;
use nagare_watch::{Awaited, Call};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A call that a thread is in.
#[derive(Clone, Debug)]
pub struct Doing {
    /// Which.
    pub call: Call,
    /// The ranks of the communicator, as the world numbers them.
    pub members: Arc<[Rank]>,
    /// Since when.
    pub since: Instant,
    /// What carries it out; none while that is being decided.
    pub runs: Option<&'static str>,
    /// The messages that it waits for, where Nagare carries it out and it has waited for a while.
    pub awaited: Vec<Awaited>,
    /// When the watch last looked why it does not end.
    looked: Option<Instant>,
    /// Whether somebody has told that.
    is_told: bool,
}

/// The calls of this process.
pub struct Calls {
    now: Mutex<Vec<Option<Doing>>>,
    last: Mutex<Option<(Call, Instant)>>,
}

/// Those that are watched.
pub static CALLS: Calls = Calls::new();

thread_local! {
    /// The place of this thread's call.
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Whether those who wait are to say for what.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Whether this thread, which waits for messages, is to tell [`Calls::waits`] for which.
#[inline]
pub fn is_asked() -> bool {
    IS_ASKED.load(Relaxed)
}

impl Calls {
    const fn new() -> Self {
        Self { now: Mutex::new(Vec::new()), last: Mutex::new(None) }
    }

    /// This thread is in a call from now on; it returns the place that [`Self::leave`] wants.
    pub fn enter(&self, call: Call, members: Arc<[Rank]>) -> usize {
        let doing = Doing {
            call,
            members,
            since: Instant::now(),
            runs: None,
            awaited: Vec::new(),
            looked: None,
            is_told: false,
        };
        let mut now = self.now.lock();
        let free = now.iter().position(Option::is_none);
        let place = free.unwrap_or(now.len());
        match free {
            Some(place) => now[place] = Some(doing),
            None => now.push(Some(doing)),
        }
        PLACE.set(Some(place));
        place
    }

    /// Whoever entered at that place has left.
    pub fn leave(&self, place: usize) {
        PLACE.set(None);
        let left = self.now.lock().get_mut(place).and_then(Option::take);
        if let Some(doing) = left {
            *self.last.lock() = Some((doing.call, Instant::now()));
        }
    }

    /// What carries out the call at that place.
    pub fn runs(&self, place: usize, name: &'static str) {
        if let Some(Some(doing)) = self.now.lock().get_mut(place) {
            doing.runs = Some(name);
        }
    }

    /// The messages that this thread's call waits for.
    pub fn waits(&self, awaited: Vec<Awaited>) {
        let Some(place) = PLACE.get() else { return };
        IS_ASKED.store(false, Relaxed);
        if let Some(Some(doing)) = self.now.lock().get_mut(place) {
            doing.awaited = awaited;
        }
    }

    /// Those who wait are asked for what, if some call has taken so long.
    pub fn ask(&self, age: Duration) {
        if self.now.lock().iter().flatten().any(|doing| doing.since.elapsed() >= age) {
            IS_ASKED.store(true, Relaxed);
        }
    }

    /// The calls that threads are in now.
    pub fn now(&self) -> Vec<Doing> {
        self.now.lock().iter().flatten().cloned().collect()
    }

    /// The last call that came to its end, and when that was.
    pub fn last(&self) -> Option<(Call, Instant)> {
        self.last.lock().clone()
    }

    /// A call that has taken so long, which nobody has told, and which was not looked at for so long: looked at now.
    pub fn overdue(&self, limit: Duration) -> Option<Doing> {
        let mut now = self.now.lock();
        let is_due = |doing: &&mut Doing| !doing.is_told && doing.looked.unwrap_or(doing.since).elapsed() >= limit;
        let doing = now.iter_mut().flatten().find(is_due)?;
        doing.looked = Some(Instant::now());
        Some(doing.clone())
    }

    /// Somebody has told that this call does not end.
    pub fn told(&self, call: &Call) {
        self.now.lock().iter_mut().flatten().filter(|doing| doing.call == *call).for_each(|doing| doing.is_told = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64) -> Call {
        Call { function: "bcast".to_owned(), arguments: String::new(), comm: 7, number }
    }

    #[test]
    fn calls_come_and_go() {
        let (calls, members) = (Calls::new(), Arc::from([0, 1]));
        let first = calls.enter(call(1), Arc::clone(&members));
        calls.runs(first, "chain");
        calls.waits(vec![Awaited { peer: 1, receives: true }]);
        let now = calls.now();
        assert_eq!((now.len(), now[0].runs, now[0].awaited.len()), (1, Some("chain"), 1));
        assert!(calls.overdue(Duration::from_secs(3600)).is_none());
        assert_eq!(calls.overdue(Duration::ZERO).expect("one").call, call(1));
        assert!(calls.overdue(Duration::from_secs(3600)).is_none(), "looked at");
        assert!(calls.overdue(Duration::ZERO).is_some(), "looked at again");
        calls.told(&call(1));
        assert!(calls.overdue(Duration::ZERO).is_none(), "told once");
        calls.leave(first);
        assert!(calls.now().is_empty());
        assert_eq!(calls.last().expect("one").0, call(1));
        assert_eq!(calls.enter(call(2), members), first);
        assert!(calls.overdue(Duration::ZERO).is_some(), "another call");
    }
}
