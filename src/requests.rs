//! The requests of a call that are under way. Those of one stream are looked at in the order in which they were started: only the oldest of each
//! is shown to the library, so that a look costs the same however many segments a window has.
//!
//! ```text
//!   front    [ stream 4 ][ stream 0 ][   null   ][ stream 7 ]     MPI_Testsome
//!                 │           │                        │
//!   later        ●─●─●        ●                       (none)      in the order of their starts
//! ```

use crate::failure::Failure;
use crate::real::Real;
use mpi::ffi::{MPI_Request, MPI_Status};
use std::ffi::c_int;

/// Entries that are made at a time.
const ENTRIES: u32 = 32;

/// No entry.
const NONE: u32 = u32::MAX;

/// Requests by stream, a number that the caller chooses; the caller keeps a [`Queue`] for each.
pub struct Requests {
    null: MPI_Request,
    /// The oldest request of each stream that has any, null where the place is not in use.
    front: Vec<MPI_Request>,
    /// Which streams these are.
    owners: Vec<u32>,
    /// Places that are not in use.
    vacant: Vec<u32>,
    /// The younger requests, as linked lists; entries that are not in use are linked from `unused`.
    later: Vec<Later>,
    unused: u32,
    under_way: usize,
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
}

/// The requests of one stream.
#[derive(Clone, Copy)]
pub struct Queue {
    /// Place of the oldest in the front.
    place: u32,
    /// The second oldest, and the youngest.
    second: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct Later {
    request: MPI_Request,
    next: u32,
}

impl Queue {
    /// Without any.
    pub const EMPTY: Self = Self { place: NONE, second: NONE, last: NONE };
}

impl Requests {
    /// None yet.
    pub fn new(real: &Real) -> Self {
        Self {
            null: real.handles.request_null,
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

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Adds the youngest request of a stream.
    #[inline]
    pub fn push(&mut self, stream: u32, queue: &mut Queue, request: MPI_Request) {
        self.under_way += 1;
        if queue.place == NONE {
            queue.place = self.vacant.pop().unwrap_or_else(|| self.new_place());
            self.front[queue.place as usize] = request;
            self.owners[queue.place as usize] = stream;
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
            None => queue.second = at,
        }
        queue.last = at;
    }

    /// Looks which of the oldest requests are complete; how many. All requests must be active, and their buffers valid.
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

    /// Place and stream of the request that [`Self::test`] found complete as number `nth`.
    #[inline]
    pub fn finished(&self, nth: usize) -> (u32, u32) {
        let place = self.finished[nth] as u32;
        (place, self.owners[place as usize])
    }

    /// The status of number `nth`.
    #[inline]
    pub fn status(&self, nth: usize) -> &MPI_Status {
        &self.statuses[nth]
    }

    /// Puts the next request of a stream at the place of one that was complete.
    #[inline]
    pub fn advance(&mut self, place: u32, queue: &mut Queue) {
        self.under_way -= 1;
        match self.later.get_mut(queue.second as usize) {
            Some(entry) => {
                self.front[place as usize] = entry.request;
                let at = std::mem::replace(&mut queue.second, entry.next);
                if queue.second == NONE {
                    queue.last = NONE;
                }
                entry.next = std::mem::replace(&mut self.unused, at);
            }
            None => {
                self.front[place as usize] = self.null;
                self.vacant.push(place);
                queue.place = NONE;
            }
        }
    }

    #[cold]
    fn new_place(&mut self) -> u32 {
        let place = self.front.len() as u32;
        self.front.push(self.null);
        self.owners.push(NONE);
        self.finished.push(0);
        // SAFETY: MPI_Status is plain data.
        self.statuses.push(unsafe { std::mem::zeroed() });
        // There is room for all of them.
        self.vacant.reserve(self.front.len());
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

    /// The oldest request of each stream that has any, with the stream.
    pub fn oldest(&mut self) -> impl Iterator<Item = (u32, &mut MPI_Request)> {
        let null = self.null;
        self.owners.iter().copied().zip(&mut self.front).filter(move |(_, request)| **request != null)
    }

    /// Takes all requests out, with their streams, the oldest of each first; those that have failed are none any more. `queues`: of all streams.
    pub fn take_all<'q>(&mut self, queues: impl Iterator<Item = (u32, &'q mut Queue)>) -> Vec<(u32, MPI_Request)> {
        let mut all: Vec<_> = self.oldest().map(|(stream, request)| (stream, *request)).collect();
        for (stream, queue) in queues {
            let mut at = queue.second;
            while let Some(entry) = self.later.get(at as usize) {
                all.push((stream, entry.request));
                at = entry.next;
            }
            *queue = Queue::EMPTY;
        }
        self.under_way = 0;
        self.front.clear();
        self.owners.clear();
        self.vacant.clear();
        self.finished.clear();
        self.statuses.clear();
        all
    }
}
