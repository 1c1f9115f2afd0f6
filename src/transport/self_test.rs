//! The messages of a self-test (docs/decisions/0022): what each stage sends, and how long it takes on this rank.

use super::private::Private;
use super::tags::Tags;
use super::wait::{Patience, Waiting};
use crate::boundary::failure::Failure;
use crate::real::Real;
use mpi::ffi::{MPI_Request, MPI_Status};
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
    /// Travels on this communicator, of whose ranks none is in another call, as call number `call`.
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

impl Ways<'_> {
    /// Carries out this rank's part of a stage, nanoseconds; 0 if it has none. `firsts`: the first rank of each node,
    /// two or more, of which this `rank` may be one.
    ///
    /// # Errors
    /// A rank has given up, the library fails, or there is no memory; then requests may be left.
    pub fn carry_out(&self, stage: Stage, firsts: &[Rank], rank: Rank) -> Result<u64, Failure> {
        let count = firsts.len();
        let Some(at) = firsts.iter().position(|&first| first == rank) else { return Ok(0) };
        let [next, before] = [firsts[(at + 1) % count], firsts[(at + count - 1) % count]];
        let middle = firsts[count / 2];
        let start = Instant::now();
        match stage {
            Stage::RoundTrips(trips) if at == 0 => {
                for _ in 0..trips {
                    self.exchange(Some(middle), None, 1, SHORT)?;
                    self.exchange(None, Some(middle), 1, SHORT)?;
                }
            }
            Stage::RoundTrips(trips) if rank == middle => {
                for _ in 0..trips {
                    self.exchange(None, Some(firsts[0]), 1, SHORT)?;
                    self.exchange(Some(firsts[0]), None, 1, SHORT)?;
                }
            }
            Stage::RoundTrips(_) => return Ok(0),
            Stage::Stream(messages) => self.exchange(Some(next), Some(before), messages as usize, SHORT)?,
            Stage::Shift(bytes) => {
                // Longer ones wait for their receivers, and the two ways of a link for each other.
                let pieces = bytes.div_ceil(self.message.clamp(SHORTEST_PIECE, bytes));
                self.exchange(Some(next), Some(before), pieces as usize, bytes.div_ceil(pieces) as usize)?;
            }
        }
        Ok(start.elapsed().as_nanos() as u64)
    }

    /// So many messages to a rank, and as many from one, all at once.
    fn exchange(&self, to: Option<Rank>, from: Option<Rank>, messages: usize, bytes: usize) -> Result<(), Failure> {
        let mut memory: Vec<u8> = Vec::new();
        let all = messages * bytes;
        memory.try_reserve_exact(2 * all).map_err(|_| Failure::Memory)?;
        memory.resize(2 * all, 0);
        // Freed only where all is complete: the library may read and write it until then.
        let memory = Box::into_raw(memory.into_boxed_slice());
        let mut requests = Vec::with_capacity(2 * messages);
        let sides = [(from, false), (to, true)];
        for (peer, sends) in sides.into_iter().filter_map(|(peer, sends)| Some((peer?, sends))) {
            for message in 0..messages {
                let at = message * bytes + if sends { 0 } else { all };
                // SAFETY: within the memory, which has `2 * all` bytes.
                let address = unsafe { memory.cast::<u8>().add(at) };
                // SAFETY: the address has `bytes` bytes that no other request is given, until it is complete.
                requests.push(unsafe { self.start(address, bytes, peer, sends) }?);
            }
        }
        self.wait(&mut requests)?;
        // SAFETY: from `Box::into_raw` above, and the library is done with it.
        drop(unsafe { Box::from_raw(memory) });
        Ok(())
    }

    /// Starts a message.
    ///
    /// # Safety
    /// `address` must have `bytes` bytes, which nobody else reads or writes before it is complete.
    unsafe fn start(&self, address: *mut u8, bytes: usize, peer: Rank, sends: bool) -> Result<MPI_Request, Failure> {
        let Self { real, private, .. } = self;
        let (byte, comm, peer) = (real.handles.byte, private.comm, private.rank(peer));
        let tag = self.tags.of(0, self.call, [bytes as u64; 2]);
        let mut request = real.handles.request_null;
        // SAFETY: the caller vouches for the address; the communicator is valid, and the peer one of its ranks.
        let code = unsafe {
            if sends {
                (real.mpi.isend)(address.cast(), bytes as c_int, byte, peer, tag, comm, &raw mut request)
            } else {
                (real.mpi.irecv)(address.cast(), bytes as c_int, byte, peer, tag, comm, &raw mut request)
            }
        };
        if code == 0 { Ok(request) } else { Err(Failure::Mpi(code)) }
    }

    /// Waits until all of these are complete, or a rank says that it has given up.
    fn wait(&self, requests: &mut [MPI_Request]) -> Result<(), Failure> {
        let Self { real, private, .. } = self;
        let (mut patience, mut looks, mut left) = (Patience::new(self.waiting), 0u32, requests.len());
        // SAFETY: plain data, which the library writes.
        let mut statuses: Vec<MPI_Status> = vec![unsafe { std::mem::zeroed() }; requests.len()];
        let mut finished = vec![0; requests.len()];
        while left > 0 {
            let mut done = 0;
            // SAFETY: the arrays are as long as the first, whose requests are under way or complete, and then null.
            let code = unsafe {
                (real.mpi.testsome)(
                    requests.len() as c_int,
                    requests.as_mut_ptr(),
                    &raw mut done,
                    finished.as_mut_ptr(),
                    statuses.as_mut_ptr(),
                )
            };
            if code != 0 {
                return Err(Failure::Mpi(code));
            }
            left -= done.max(0) as usize;
            looks = if done > 0 { 0 } else { looks.saturating_add(1) };
            if left > 0 && done <= 0 {
                private.notices.look(real);
                private.notices.check(&**private, self.call)?;
                patience.wait(looks);
            }
        }
        Ok(())
    }
}
