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
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ops::Range;

/// Requests of a stream that are shown to the library: segments arrive in twos and threes.
const SHOWN: u32 = 4;

/// No stream, no place.
const NONE: u32 = u32::MAX;

/// Requests by stream, a number that the caller chooses; the caller keeps a [`Queue`] for each.
pub struct Requests {
    null: MPI_Request,
    /// For each place, null where there is none.
    front: Vec<[MPI_Request; SHOWN as usize]>,
    /// The stream whose places these are, or [`NONE`].
    owners: Vec<u32>,
    /// Places that have had a stream, the first ones, and those of them that have none now.
    places: u32,
    vacant: Vec<u32>,
    under_way: usize,
    /// What the last poll found, as many as there may be.
    finished: Vec<c_int>,
    statuses: Vec<MPI_Status>,
}

/// The requests of one stream.
#[derive(Clone)]
pub struct Queue {
    /// In the front.
    place: u32,
    /// Which of the place's requests is the oldest, how many it has from there on, round and round, and which of them
    /// are known to be complete, the oldest in the lowest bit.
    oldest: u32,
    shown: u32,
    complete: u32,
    /// The younger requests.
    later: VecDeque<MPI_Request>,
}

impl Queue {
    /// Without any.
    pub const EMPTY: Self = Self { place: NONE, oldest: 0, shown: 0, complete: 0, later: VecDeque::new() };

    /// The same for another stream, in the memory of this one.
    pub fn emptied(self) -> Self {
        let mut later = self.later;
        later.clear();
        Self { later, ..Self::EMPTY }
    }

    /// How many requests of the stream that have not been reported are older than the one at `index` in the front.
    #[inline]
    pub fn before(&self, index: u32) -> u32 {
        index.wrapping_sub(self.oldest) % SHOWN
    }

    /// Whether the request at `index` in the front is of the stream.
    #[inline]
    pub fn has(&self, index: u32) -> bool {
        index / SHOWN == self.place
    }

    /// Takes note that the one is complete before which there are so many.
    #[inline]
    pub fn complete(&mut self, before: u32) {
        self.complete |= 1 << before;
    }

    /// Takes note that those in the front are complete which are of the stream, up to the first that is not: how many.
    #[inline]
    pub fn complete_all(&mut self, places: &[c_int]) -> usize {
        let mut count = 0;
        for &index in places {
            if !self.has(index as u32) {
                break;
            }
            self.complete(self.before(index as u32));
            count += 1;
        }
        count
    }

    /// Which of the place's requests comes `nth` after the oldest.
    #[inline]
    fn at(&self, nth: u32) -> usize {
        ((self.oldest + nth) % SHOWN) as usize
    }
}

impl Requests {
    /// None yet. `null`: the library's request that is none.
    pub fn new(null: MPI_Request) -> Self {
        Self {
            null,
            front: Vec::new(),
            owners: Vec::new(),
            places: 0,
            vacant: Vec::new(),
            under_way: 0,
            finished: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Begins a call in the memory of the one before. If none of its requests is under way, no place has a stream.
    pub fn begin(&mut self) {
        if !self.is_empty() {
            *self = Self::new(self.null);
        }
        self.vacant.clear();
        self.places = 0;
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
            queue.place = self.vacant.pop().unwrap_or_else(|| self.next_place());
            self.owners[queue.place as usize] = stream;
        }
        if queue.shown < SHOWN {
            self.front[queue.place as usize][queue.at(queue.shown)] = request;
            queue.shown += 1;
            return;
        }
        queue.later.push_back(request);
    }

    /// Tests the requests that are shown to the library, if there are any, and returns how many are complete. All
    /// requests must be active, and their buffers valid.
    ///
    /// # Errors
    /// The error of one that has failed.
    #[inline]
    pub fn test(&mut self, real: &Real) -> Result<usize, Failure> {
        if self.is_empty() {
            return Ok(0);
        }
        let mut done = 0;
        // SAFETY: the arrays are as long as the first; every request that is not null is active and its buffer valid.
        let code = unsafe {
            (real.mpi.testsome)(
                (self.places * SHOWN) as c_int,
                self.front.as_mut_ptr().cast(),
                &raw mut done,
                self.finished.as_mut_ptr(),
                self.statuses.as_mut_ptr(),
            )
        };
        let done = done.max(0) as usize;
        if code != 0 {
            return Err(self.failure(code, done));
        }
        self.under_way -= done;
        Ok(done)
    }

    /// The code says "look at the statuses"; the first real one is what the user should see.
    #[cold]
    fn failure(&self, code: c_int, done: usize) -> Failure {
        let failed = self.statuses.iter().take(done).map(|s| s.MPI_ERROR).find(|&e| e != 0);
        Failure::Mpi(failed.unwrap_or(code))
    }

    /// The stream of the request that [`Self::test`] found complete as number `nth`.
    #[inline]
    pub fn stream(&self, nth: usize) -> u32 {
        self.owners[self.finished[nth] as usize / SHOWN as usize]
    }

    /// Where the requests are in the front that [`Self::test`] found complete, those of the numbers `which`.
    #[inline]
    pub fn places(&self, which: Range<usize>) -> &[c_int] {
        &self.finished[which]
    }

    /// The same, with their statuses.
    #[inline]
    pub fn found(&self, which: Range<usize>) -> impl Iterator<Item = (u32, &MPI_Status)> {
        self.places(which.clone()).iter().map(|&index| index as u32).zip(&self.statuses[which])
    }

    /// Takes out the requests of a stream that are complete, up to the first that is not: how many.
    #[inline]
    pub fn report(&mut self, queue: &mut Queue) -> u32 {
        let front = &mut self.front[queue.place as usize];
        let reported = queue.complete.trailing_ones();
        queue.complete >>= reported;
        // The place of the oldest becomes that of the youngest.
        let mut moved = 0;
        while moved < reported {
            let Some(request) = queue.later.pop_front() else { break };
            front[queue.at(moved)] = request;
            moved += 1;
        }
        queue.shown -= reported - moved;
        queue.oldest = (queue.oldest + reported) % SHOWN;
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
        &mut self.front[queue.place as usize][queue.at(0)]
    }

    /// Takes the requests of a stream out, the oldest first; of those that have failed or are complete nothing is left
    /// but null.
    pub fn take_all(&mut self, queue: &mut Queue) -> Vec<MPI_Request> {
        let mut all: Vec<_> = (0..queue.shown).map(|nth| self.front[queue.place as usize][queue.at(nth)]).collect();
        all.extend(queue.later.iter());
        *queue = Queue::EMPTY;
        all
    }

    #[inline]
    fn next_place(&mut self) -> u32 {
        let place = self.places;
        if place as usize == self.owners.len() {
            self.make_place();
        }
        self.places += 1;
        place
    }

    #[cold]
    fn make_place(&mut self) {
        self.owners.push(NONE);
        self.front.push([self.null; SHOWN as usize]);
        let shown = self.owners.len() * SHOWN as usize;
        self.finished.resize(shown, 0);
        // SAFETY: MPI_Status is plain data.
        self.statuses.resize_with(shown, || unsafe { std::mem::zeroed() });
        // There is room for all of them.
        self.vacant.reserve(self.owners.len());
    }
}

#[cfg(test)]
mod tests;
