//! The messages of a self-test (docs/decisions/0022): what each stage sends, and how long it takes on this rank.

use super::completion::FRUITLESS;
use super::private::Private;
use super::tags::Tags;
use super::wait::{Patience, Waiting};
use crate::boundary::failure::Failure;
use crate::real::Real;
use crate::real::handles::STATUS_IGNORE;
use mpi::ffi::MPI_Request;
use nagare_plan::schedule::Rank;
use nagare_plan::self_test::Stage;
use std::ffi::c_int;
use std::time::Instant;

/// Bytes of a short message.
const SHORT: usize = 64;

/// Bytes of a piece of a shift, at least: of shorter ones messages would count, not bytes.
const SHORTEST_PIECE: u64 = 4 << 10;

/// Where a test sends its messages.
#[derive(Clone, Copy)]
pub struct Ways<'t> {
    /// The MPI library.
    pub real: &'t Real,
    /// Of whose ranks none is in another call meanwhile.
    pub private: &'t Private,
    /// How messages are told apart.
    pub tags: Tags,
    /// The number of the agreement before.
    pub call: u32,
    /// How ranks wait.
    pub waiting: Waiting,
    /// Bytes that a message carries well.
    pub message: u64,
}

/// Memory and requests for so many messages to a rank, and as many from one. Not freed where it is dropped: the library
/// may read and write it until all is complete, and what has failed never may be.
struct Messages {
    memory: *mut [u8],
    count: usize,
    bytes: usize,
    requests: Vec<MPI_Request>,
    finished: Vec<c_int>,
}

impl Messages {
    /// Of so many bytes each.
    ///
    /// # Errors
    /// There is no memory.
    fn new(count: usize, bytes: usize) -> Result<Self, Failure> {
        let (mut memory, mut requests, mut finished) = (Vec::new(), Vec::new(), Vec::new());
        let all = 2 * count * bytes;
        memory.try_reserve_exact(all).map_err(|_| Failure::Memory)?;
        requests.try_reserve_exact(2 * count).map_err(|_| Failure::Memory)?;
        finished.try_reserve_exact(2 * count).map_err(|_| Failure::Memory)?;
        // Written, so that the kernel has given it before the clock runs.
        memory.resize(all, 1);
        finished.resize(2 * count, 0);
        Ok(Self { memory: Box::into_raw(memory.into_boxed_slice()), count, bytes, requests, finished })
    }

    /// The address of a message, that of one which is received, or of one which is sent.
    fn address(&self, number: usize, sends: bool) -> *mut u8 {
        let at = number + if sends { self.count } else { 0 };
        // SAFETY: `number` is less than `count`, and the memory has room for twice as many messages.
        unsafe { self.memory.cast::<u8>().add(at * self.bytes) }
    }

    /// Frees the memory.
    ///
    /// # Safety
    /// All requests must be complete.
    unsafe fn free(self) {
        // SAFETY: from `Box::into_raw`, and by the caller's word the library is done with it.
        drop(unsafe { Box::from_raw(self.memory) });
    }
}

impl Ways<'_> {
    /// Carries out this rank's part of a stage, nanoseconds; 0 if it has none. `firsts`: the first rank of each node,
    /// two or more, of which this `rank` may be one.
    ///
    /// # Errors
    /// A rank has given up, the library fails, or there is no memory; then requests may be left, as of an agreement.
    pub fn carry_out(&self, stage: Stage, firsts: &[Rank], rank: Rank) -> Result<u64, Failure> {
        let count = firsts.len();
        let Some(at) = firsts.iter().position(|&first| first == rank) else { return Ok(0) };
        let [next, before] = [firsts[(at + 1) % count], firsts[(at + count - 1) % count]];
        let [first, middle] = [firsts[0], firsts[count / 2]];
        let (messages, bytes) = match stage {
            Stage::RoundTrips(_) if rank != first && rank != middle => return Ok(0),
            Stage::RoundTrips(_) => (1, SHORT),
            Stage::Stream(messages) => (messages as usize, SHORT),
            Stage::Shift(bytes) => {
                // Longer ones wait for their receivers, and the two ways of a link for each other.
                let pieces = bytes.div_ceil(self.message.clamp(SHORTEST_PIECE, bytes));
                (pieces as usize, bytes.div_ceil(pieces) as usize)
            }
        };
        let mut messages = Messages::new(messages, bytes)?;
        let start = Instant::now();
        match stage {
            Stage::RoundTrips(trips) => {
                let peer = if rank == first { middle } else { first };
                for _ in 0..trips {
                    for sends in if rank == first { [true, false] } else { [false, true] } {
                        self.start(&mut messages, peer, sends)?;
                        self.wait(&mut messages)?;
                    }
                }
            }
            Stage::Stream(_) | Stage::Shift(_) => {
                self.start(&mut messages, before, false)?;
                self.start(&mut messages, next, true)?;
                self.wait(&mut messages)?;
            }
        }
        let took = start.elapsed().as_nanos() as u64;
        // SAFETY: waited for.
        unsafe { messages.free() };
        Ok(took)
    }

    /// Starts all messages to, or from, a rank.
    fn start(&self, messages: &mut Messages, peer: Rank, sends: bool) -> Result<(), Failure> {
        let Self { real, private, .. } = self;
        let (byte, comm, peer) = (real.handles.byte, private.comm, private.rank(peer));
        let tag = self.tags.of(0, self.call, [messages.bytes as u64; 2]);
        for number in 0..messages.count {
            let (address, bytes) = (messages.address(number, sends).cast(), messages.bytes as c_int);
            let mut request = real.handles.request_null;
            // SAFETY: the address has as many bytes, which are no other message's; they are freed once all is complete,
            // or never. The communicator is valid, and the peer one of its ranks.
            let code = unsafe {
                if sends {
                    (real.mpi.isend)(address, bytes, byte, peer, tag, comm, &raw mut request)
                } else {
                    (real.mpi.irecv)(address, bytes, byte, peer, tag, comm, &raw mut request)
                }
            };
            if code != 0 {
                return Err(Failure::Mpi(code));
            }
            messages.requests.push(request);
        }
        Ok(())
    }

    /// Waits until all that was started is complete, or a rank says that it has given up.
    fn wait(&self, messages: &mut Messages) -> Result<(), Failure> {
        let Self { real, private, .. } = self;
        let Messages { requests, finished, .. } = messages;
        let (mut patience, mut looks, mut left) = (Patience::new(self.waiting), 0u32, requests.len());
        while left > 0 {
            let mut done = 0;
            // SAFETY: there are at least as many numbers as requests, which are under way, or complete and then null.
            let code = unsafe {
                (real.mpi.testsome)(
                    requests.len() as c_int,
                    requests.as_mut_ptr(),
                    &raw mut done,
                    finished.as_mut_ptr(),
                    STATUS_IGNORE,
                )
            };
            if code != 0 {
                return Err(Failure::Mpi(code));
            }
            if done > 0 {
                (left, looks) = (left - done as usize, 0);
                continue;
            }
            looks = looks.saturating_add(1);
            if looks.is_multiple_of(FRUITLESS) {
                private.notices.look(real);
                private.notices.check(*private, self.call)?;
            }
            patience.wait(looks);
        }
        requests.clear();
        Ok(())
    }
}
