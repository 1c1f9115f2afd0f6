//! What the threads of this process are in, and what they were in before.

use crate::boundary::thread_list::ThreadList;
use nagare_plan::schedule::Rank;
use nagare_watch::{Awaited, Call};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
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
    /// Whether somebody has told why it does not end.
    pub is_told: bool,
    /// How often the watch has looked at it.
    pub looks: u32,
    /// When it is to look next.
    look_at: Instant,
}

/// Communicators of which it is known how far this process has come: those that were used last.
const COMMUNICATORS: usize = 256;

/// The calls of this process.
pub struct Calls {
    now: Mutex<Vec<Option<Doing>>>,
    ended: Mutex<Ended>,
}

/// Those that came to their end.
struct Ended {
    last: Option<(Call, Instant)>,
    /// Numbers by communicator, those that were used last at the end.
    numbers: Vec<(u64, u64)>,
}

/// Those that are watched.
pub static CALLS: Calls = Calls::new();

thread_local! {
    /// The calls that this thread is in, the innermost last: their places, and where each has its frame on the stack.
    static WITHIN: ThreadList<(usize, usize)> = const { ThreadList::new() };
    /// The question that this thread has answered.
    static ANSWERED: Cell<u32> = const { Cell::new(0) };
}

/// The question to those who wait, for what: a number.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// Whether this thread, which waits for messages, is to tell [`Calls::waits`] for which.
#[inline]
pub fn is_asked() -> bool {
    ASKED.load(Relaxed) != ANSWERED.get()
}

impl Calls {
    const fn new() -> Self {
        Self { now: Mutex::new(Vec::new()), ended: Mutex::new(Ended { last: None, numbers: Vec::new() }) }
    }

    /// This thread is in a call from now on, in a frame of that address; it returns the place that [`Self::leave`]
    /// wants. The watch looks at it after `limit`.
    pub fn enter(&self, call: Call, members: Arc<[Rank]>, frame: usize, limit: Duration) -> usize {
        let since = Instant::now();
        let look_at = since + limit;
        let mut now = self.now.lock();
        let enter = |within: &mut Vec<(usize, usize)>| {
            // An error handler may leave a call by longjmp. Stacks grow downwards: this one is not within a call whose
            // frame is not above its own; nor within one on its own communicator.
            within.retain(|&(place, outer)| {
                let is_left = outer <= frame || now[place].as_ref().is_none_or(|doing| doing.call.comm == call.comm);
                if is_left {
                    now[place] = None;
                }
                !is_left
            });
            let awaited = Vec::new();
            let doing = Doing { call, members, since, runs: None, awaited, is_told: false, looks: 0, look_at };
            let free = now.iter().position(Option::is_none);
            let place = free.unwrap_or(now.len());
            match free {
                Some(place) => now[place] = Some(doing),
                None => now.push(Some(doing)),
            }
            within.push((place, frame));
            place
        };
        WITHIN.with(|list| list.change(enter))
    }

    /// Whoever entered at that place has left.
    pub fn leave(&self, place: usize) {
        // It may have been taken for one that was left.
        let take_out = |within: &mut Vec<(usize, usize)>| {
            let before = within.len();
            within.retain(|(other, _)| *other != place);
            within.len() < before
        };
        let is_within = WITHIN.with(|list| list.change(take_out));
        let left = self.now.lock().get_mut(place).filter(|_| is_within).and_then(Option::take);
        if let Some(doing) = left {
            self.ended.lock().note(doing.call);
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
        ANSWERED.set(ASKED.load(Relaxed));
        let Some((place, _)) = WITHIN.with(|list| list.read(|within| within.last().copied())) else { return };
        if let Some(Some(doing)) = self.now.lock().get_mut(place) {
            doing.awaited = awaited;
        }
    }

    /// Those who wait are asked for what, if some call has taken so long.
    pub fn ask(&self, age: Duration) {
        if self.now.lock().iter().flatten().any(|doing| doing.since.elapsed() >= age) {
            ASKED.fetch_add(1, Relaxed);
        }
    }

    /// The calls that threads are in now.
    pub fn now(&self) -> Vec<Doing> {
        self.now.lock().iter().flatten().cloned().collect()
    }

    /// The last call that came to its end, and when that was.
    pub fn last(&self) -> Option<(Call, Instant)> {
        self.ended.lock().last.clone()
    }

    /// The number of the last call that came to its end on that communicator, if it was one of those used last.
    pub fn ended(&self, comm: u64) -> Option<u64> {
        self.ended.lock().numbers.iter().find(|(of, _)| *of == comm).map(|(_, number)| *number)
    }

    /// A call that the watch is to look at now, and again after `limit`.
    pub fn overdue(&self, limit: Duration) -> Option<Doing> {
        let mut now = self.now.lock();
        let at = Instant::now();
        let doing = now.iter_mut().flatten().find(|doing| !doing.is_told && doing.look_at <= at)?;
        doing.looks += 1;
        doing.look_at = at + limit;
        Some(doing.clone())
    }

    /// How long until the watch is to look at a call.
    pub fn next_look(&self) -> Option<Duration> {
        let now = self.now.lock();
        let next = now.iter().flatten().filter(|doing| !doing.is_told).map(|doing| doing.look_at).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Somebody has told that this call does not end.
    pub fn told(&self, call: &Call) {
        self.now.lock().iter_mut().flatten().filter(|doing| doing.call == *call).for_each(|doing| doing.is_told = true);
    }
}

impl Ended {
    fn note(&mut self, call: Call) {
        let found = self.numbers.iter().rposition(|(comm, _)| *comm == call.comm);
        match found {
            Some(at) if at + 1 == self.numbers.len() => {}
            Some(at) => self.numbers[at..].rotate_left(1),
            None => {
                if self.numbers.len() == COMMUNICATORS {
                    self.numbers.remove(0);
                }
                self.numbers.push((call.comm, 0));
            }
        }
        if let Some((_, number)) = self.numbers.last_mut() {
            *number = call.number;
        }
        self.last = Some((call, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn call(comm: u64, number: u64) -> Call {
        Call { function: "bcast".to_owned(), arguments: String::new(), comm, number }
    }

    fn members() -> Arc<[Rank]> {
        Arc::from([0, 1])
    }

    #[test]
    fn calls_come_and_go() {
        let calls = Calls::new();
        let first = calls.enter(call(7, 1), members(), 1000, Duration::ZERO);
        calls.runs(first, "chain");
        calls.waits(vec![Awaited { peer: 1, receives: true }]);
        let now = calls.now();
        assert_eq!((now.len(), now[0].runs, now[0].awaited.len()), (1, Some("chain"), 1));
        let looked_at = calls.overdue(HOUR).expect("one");
        assert_eq!((looked_at.call, looked_at.looks), (call(7, 1), 1));
        assert!(calls.overdue(HOUR).is_none(), "looked at");
        calls.leave(first);
        assert!(calls.now().is_empty());
        assert_eq!(calls.last().expect("one").0, call(7, 1));
        let second = calls.enter(call(7, 2), members(), 1000, Duration::ZERO);
        assert_eq!(second, first);
        calls.told(&call(7, 2));
        assert!(calls.now()[0].is_told);
        assert!(calls.overdue(Duration::ZERO).is_none(), "told once");
        calls.leave(second);
        calls.leave(calls.enter(call(7, 3), members(), 1000, HOUR));
        assert!(calls.overdue(Duration::ZERO).is_none(), "not yet");
    }

    #[test]
    fn what_a_call_waits_for_is_that_of_the_innermost() {
        let calls = Calls::new();
        let outer = calls.enter(call(7, 1), members(), 1000, HOUR);
        let inner = calls.enter(call(8, 1), members(), 900, HOUR);
        calls.waits(vec![Awaited { peer: 1, receives: true }]);
        calls.leave(inner);
        calls.waits(vec![Awaited { peer: 0, receives: true }; 2]);
        assert_eq!(calls.now()[0].awaited.len(), 2);
        calls.leave(outer);
    }

    #[test]
    fn a_call_left_by_longjmp_is_forgotten_at_the_next() {
        let calls = Calls::new();
        calls.enter(call(7, 1), members(), 1000, HOUR);
        calls.enter(call(8, 1), members(), 900, HOUR);
        for (frame, comm) in [(800, 9), (700, 8)] {
            calls.enter(call(comm, 1), members(), frame, HOUR);
        }
        assert_eq!(calls.now().len(), 3, "the second on communicator 8 is not within the first");
        let next = calls.enter(call(7, 2), members(), 1000, HOUR);
        let now: Vec<Call> = calls.now().into_iter().map(|doing| doing.call).collect();
        assert_eq!(now, [call(7, 2)]);
        calls.leave(next);
        assert!(calls.now().is_empty());
    }

    #[test]
    fn every_communicator_has_a_number_of_its_own() {
        let calls = Calls::new();
        for (comm, number) in [(7, 1), (8, 1), (7, 2), (9, 1)] {
            calls.leave(calls.enter(call(comm, number), members(), 1000, HOUR));
        }
        assert_eq!([7, 8, 9, 10].map(|comm| calls.ended(comm)), [Some(2), Some(1), Some(1), None]);
        for comm in 100..100 + COMMUNICATORS as u64 - 1 {
            calls.leave(calls.enter(call(comm, 1), members(), 1000, HOUR));
        }
        assert_eq!([7, 8, 9].map(|comm| calls.ended(comm)), [None, None, Some(1)], "those used last are kept");
    }
}
