//! The active requests of a call. Those of one stream complete in the order in which they were started, or the
//! transport treats them as if they did, so it tests only the oldest of each: a poll costs the same however many
//! segments a window has.
//!
//! ```text
//!   front    [ stream 4: ● ● ● ● ][ stream 0: ● ○ ○ ○ ][ not in use ][ stream 7: ● ● ○ ○ ]    MPI_Testsome
//!   later      ● ● ●                                                                         in the order of starts
//! ```

use crate::boundary::failure::Failure;
use crate::real::Real;
use mpi::ffi::{MPI_Request, MPI_Status};
use std::ffi::c_int;

/// Requests of a stream that are shown to the library: segments arrive in twos and threes.
const SHOWN: u32 = 4;

/// Entries that are made at a time.
const ENTRIES: u32 = 32;

/// No entry.
const NONE: u32 = u32::MAX;

/// Requests by stream, a number that the caller chooses; the caller keeps a [`Queue`] for each.
pub struct Requests {
    null: MPI_Request,
    /// [`SHOWN`] requests for each place, null where there is none.
    front: Vec<MPI_Request>,
    /// The stream whose places these are, or [`NONE`].
    owners: Vec<u32>,
    /// Places of no stream.
    vacant: Vec<u32>,
    /// The younger requests, as linked lists; entries that are not in use are linked from `unused`.
    later: Vec<Later>,
    unused: u32,
    under_way: usize,
    /// What the last poll found, as many as there are places for.
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
}

/// The requests of one stream.
#[derive(Clone, Copy)]
pub struct Queue {
    /// In the front.
    place: u32,
    /// Which of the place's requests is the oldest, how many it has from there on, round and round, and which of them
    /// are known to be complete.
    oldest: u32,
    shown: u32,
    complete: u32,
    /// The first that is not shown, and the youngest.
    next: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct Later {
    request: MPI_Request,
    next: u32,
}

/// A request that is complete.
#[derive(Clone, Copy)]
pub struct Finished {
    index: u32,
    /// Its stream.
    pub stream: u32,
}

impl Queue {
    /// Without any.
    pub const EMPTY: Self = Self { place: NONE, oldest: 0, shown: 0, complete: 0, next: NONE, last: NONE };

    /// How many older requests of the stream have not been reported.
    #[inline]
    pub fn before(&self, finished: Finished) -> u32 {
        finished.index.wrapping_sub(self.oldest) % SHOWN
    }

    /// Index in the front of the request that comes `nth` after the oldest.
    #[inline]
    fn index(&self, nth: u32) -> usize {
        (self.place * SHOWN + (self.oldest + nth) % SHOWN) as usize
    }
}

impl Requests {
    /// None yet. `null`: the library's request that is none.
    pub fn new(null: MPI_Request) -> Self {
        Self {
            null,
            front: Vec::new(),
            owners: Vec::new(),
            vacant: Vec::new(),
            later: Vec::new(),
            unused: NONE,
            under_way: 0,
            finished: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// As [`Self::new`], in the memory of these, of which none is under way.
    pub fn again(mut self) -> Self {
        self.front.clear();
        self.owners.clear();
        self.vacant.clear();
        self.later.clear();
        self.finished.clear();
        self.statuses.clear();
        (self.unused, self.under_way) = (NONE, 0);
        self
    }

    /// Whether nothing is under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Adds the youngest request of a stream.
    #[inline]
    pub fn push(&mut self, stream: u32, queue: &mut Queue, request: MPI_Request) {
        self.under_way += 1;
        if queue.place == NONE {
            queue.place = self.vacant.pop().unwrap_or_else(|| self.new_place());
            self.owners[queue.place as usize] = stream;
        }
        if queue.shown < SHOWN {
            self.front[queue.index(queue.shown)] = request;
            queue.shown += 1;
            return;
        }
        let at = self.unused;
        let at = match self.later.get_mut(at as usize) {
            Some(entry) => {
                self.unused = entry.next;
                *entry = Later { request, next: NONE };
                at
            }
            None => self.new_entry(request),
        };
        match self.later.get_mut(queue.last as usize) {
            Some(last) => last.next = at,
            None => queue.next = at,
        }
        queue.last = at;
    }

    /// Tests the requests that are shown to the library and returns how many are complete. All requests must be
    /// active, and their buffers valid.
    ///
    /// # Errors
    /// The error of one that has failed.
    #[inline]
    pub fn test(&mut self, real: &Real) -> Result<usize, Failure> {
        let mut done = 0;
        // SAFETY: the arrays are as long as the first; every request that is not null is active and its buffer valid.
        let code = unsafe {
            (real.mpi.testsome)(
                self.front.len() as c_int,
                self.front.as_mut_ptr(),
                &raw mut done,
                self.finished.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        let done = done.max(0) as usize;
        if code == 0 { Ok(done) } else { Err(self.failure(code, done)) }
    }

    /// The code says "look at the statuses"; the first real one is what the user should see.
    #[cold]
    fn failure(&self, code: c_int, done: usize) -> Failure {
        let failed = self.statuses.iter().take(done).map(|s| s.MPI_ERROR).find(|&e| e != 0);
        Failure::Mpi(failed.unwrap_or(code))
    }

    /// The request that [`Self::test`] found complete as number `nth`.
    #[inline]
    pub fn finished(&self, nth: usize) -> Finished {
        let index = self.finished[nth] as u32;
        Finished { index, stream: self.owners[(index / SHOWN) as usize] }
    }

    /// The status of number `nth`.
    #[inline]
    pub fn status(&self, nth: usize) -> &MPI_Status {
        &self.statuses[nth]
    }

    /// Takes out a request that is complete; how many of its stream can be reported: those without an older one that is
    /// not complete.
    #[inline]
    pub fn take(&mut self, finished: Finished, queue: &mut Queue) -> u32 {
        self.under_way -= 1;
        queue.complete |= 1 << (finished.index % SHOWN);
        let mut reported = 0;
        while queue.complete & 1 << queue.oldest != 0 {
            queue.complete &= !(1 << queue.oldest);
            reported += 1;
            // The place of the oldest becomes that of the youngest.
            match self.later.get_mut(queue.next as usize) {
                Some(entry) => {
                    self.front[queue.index(0)] = entry.request;
                    let at = std::mem::replace(&mut queue.next, entry.next);
                    if queue.next == NONE {
                        queue.last = NONE;
                    }
                    entry.next = std::mem::replace(&mut self.unused, at);
                }
                None => queue.shown -= 1,
            }
            queue.oldest = (queue.oldest + 1) % SHOWN;
        }
        if queue.shown == 0 {
            self.owners[queue.place as usize] = NONE;
            self.vacant.push(queue.place);
            queue.place = NONE;
        }
        reported
    }

    /// The streams that have requests.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        self.owners.iter().copied().filter(|&stream| stream != NONE)
    }

    /// The oldest request of a stream that has any.
    pub fn oldest(&mut self, queue: &Queue) -> &mut MPI_Request {
        &mut self.front[queue.index(0)]
    }

    /// Takes the requests of a stream out, the oldest first; of those that have failed or are complete nothing is left
    /// but null.
    pub fn take_all(&mut self, queue: &mut Queue) -> Vec<MPI_Request> {
        let mut all: Vec<_> = (0..queue.shown).map(|nth| self.front[queue.index(nth)]).collect();
        let mut at = queue.next;
        while let Some(entry) = self.later.get(at as usize) {
            all.push(entry.request);
            at = entry.next;
        }
        *queue = Queue::EMPTY;
        all
    }

    #[cold]
    fn new_place(&mut self) -> u32 {
        let place = self.owners.len() as u32;
        self.owners.push(NONE);
        let shown = self.owners.len() * SHOWN as usize;
        self.front.resize(shown, self.null);
        self.finished.resize(shown, 0);
        // SAFETY: MPI_Status is plain data.
        self.statuses.resize_with(shown, || unsafe { std::mem::zeroed() });
        // There is room for all of them.
        self.vacant.reserve(self.owners.len());
        place
    }

    /// An entry, with others beside it that are not in use yet.
    #[cold]
    fn new_entry(&mut self, request: MPI_Request) -> u32 {
        let at = self.later.len() as u32;
        let next = |entry| if entry + 1 < at + ENTRIES { entry + 1 } else { NONE };
        self.later.extend((at..at + ENTRIES).map(|entry| Later { request, next: next(entry) }));
        self.unused = self.later[at as usize].next;
        self.later[at as usize].next = NONE;
        at
    }
}

#[cfg(test)]
mod tests;
