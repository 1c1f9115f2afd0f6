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

/// No entry.
const NONE: u32 = u32::MAX;

/// Requests by stream, a number that the caller chooses, small if possible.
pub struct Requests {
    null: MPI_Request,
    /// The oldest request of each stream that has any, null where the place is not in use.
    front: Vec<MPI_Request>,
    /// Which streams these are.
    owners: Vec<u32>,
    /// Places that are not in use.
    vacant: Vec<u32>,
    queues: Vec<Queue>,
    /// The younger requests, as linked lists; entries that are not in use are linked from `unused`.
    later: Vec<Later>,
    unused: u32,
    under_way: usize,
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
}

/// The requests of one stream.
#[derive(Clone, Copy)]
struct Queue {
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

const EMPTY: Queue = Queue { place: NONE, second: NONE, last: NONE };

impl Requests {
    /// None yet.
    pub fn new(real: &Real) -> Self {
        Self {
            null: real.handles.request_null,
            front: Vec::new(),
            owners: Vec::new(),
            vacant: Vec::new(),
            queues: Vec::new(),
            later: Vec::new(),
            unused: NONE,
            under_way: 0,
            finished: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Makes room for a stream of that number.
    pub fn open(&mut self, stream: u32) {
        if stream as usize >= self.queues.len() {
            self.queues.resize(stream as usize + 1, EMPTY);
        }
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.under_way == 0
    }

    /// Adds the youngest request of a stream that was opened.
    #[inline]
    pub fn push(&mut self, stream: u32, request: MPI_Request) {
        self.under_way += 1;
        if self.queues[stream as usize].place == NONE {
            let place = self.vacant.pop().unwrap_or_else(|| self.new_place());
            self.queues[stream as usize].place = place;
            self.front[place as usize] = request;
            self.owners[place as usize] = stream;
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
        let queue = &mut self.queues[stream as usize];
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

    /// The stream and the status of the request that [`Self::test`] found complete as number `nth`, which must be asked for once; the next of
    /// its stream takes its place.
    #[inline]
    pub fn take(&mut self, nth: usize) -> (u32, &MPI_Status) {
        let place = self.finished[nth] as usize;
        let stream = self.owners[place];
        let queue = &mut self.queues[stream as usize];
        self.under_way -= 1;
        match self.later.get_mut(queue.second as usize) {
            Some(entry) => {
                self.front[place] = entry.request;
                let at = std::mem::replace(&mut queue.second, entry.next);
                if queue.second == NONE {
                    queue.last = NONE;
                }
                entry.next = std::mem::replace(&mut self.unused, at);
            }
            None => {
                self.front[place] = self.null;
                self.vacant.push(place as u32);
                queue.place = NONE;
            }
        }
        (stream, &self.statuses[nth])
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

    #[cold]
    fn new_entry(&mut self, request: MPI_Request) -> u32 {
        self.later.push(Later { request, next: NONE });
        self.later.len() as u32 - 1
    }

    /// The oldest request of each stream that has any, with the stream.
    pub fn oldest(&mut self) -> impl Iterator<Item = (u32, &mut MPI_Request)> {
        let null = self.null;
        self.owners.iter().copied().zip(&mut self.front).filter(move |(_, request)| **request != null)
    }

    /// Takes all requests out, with their streams; those that have failed are none any more.
    pub fn take_all(&mut self) -> Vec<(u32, MPI_Request)> {
        let mut all: Vec<_> = self.oldest().map(|(stream, request)| (stream, *request)).collect();
        for (stream, queue) in (0..).zip(&mut self.queues) {
            let mut at = queue.second;
            while let Some(entry) = self.later.get(at as usize) {
                all.push((stream, entry.request));
                at = entry.next;
            }
            *queue = EMPTY;
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
