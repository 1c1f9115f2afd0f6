//! Private communicators over all ranks of the world, made in `MPI_Init` for calls in which none may be made: with
//! `MPI_THREAD_MULTIPLE`, and on Open MPI while an `MPI_Comm_idup` of the program may be pending.
//!
//! A library may be able to make only one communicator at a time: each rank of Open MPI lets the one whose parent has
//! the smallest id go first. A thread that makes one inside a Bcast, where the program makes none, can therefore wait
//! for another thread of its process, which waits for a rank that waits for the first (docs/decisions/0013). So none is
//! made there: the ranks of a communicator agree on one of these that none of them uses.
//!
//! ```text
//!            rank 0     rank 1     rank 2     rank 3          agreed by the ranks of each communicator:
//!   [0]        A          A          B          B             the first rank of all takes a free place,
//!   [1]        C          C          C          C             the others take it too, or all try the next
//! ```

use super::{agreement, making};
use crate::real::Real;
use mpi::ffi::MPI_Comm;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::Arc;

/// Communicators in a pool where threads call at once: with more communicators in use at once, the others are left to
/// the library.
const SIZE: usize = 64;

/// Communicators in a pool for programs that make duplicates (`MPI_Comm_idup`): only Open MPI's hinder
/// the making of others.
const SPARE: usize = if cfg!(mpi_family = "openmpi") { 16 } else { 0 };

/// The pool of the world.
pub struct Pool {
    /// Whether no communicator may be made later, whatever the program does.
    pub threads: bool,
    comms: Vec<MPI_Comm>,
    used: Mutex<[bool; SIZE]>,
}

// SAFETY: the handles are names that MPI makes usable from every thread; they are not changed while the pool is shared.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// A place in the pool, given back when it is dropped.
pub struct Lease {
    pool: Arc<Pool>,
    index: usize,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.used.lock()[self.index] = false;
    }
}

impl Lease {
    /// The communicator.
    pub fn comm(&self) -> MPI_Comm {
        self.pool.comms[self.index]
    }

    /// Its place in the pool, from 1, the same on all ranks.
    pub fn place(&self) -> u32 {
        self.index as u32 + 1
    }
}

impl Pool {
    /// A pool over the world: collective over it, inside `MPI_Init`. It is empty unless `wanted`. `threads`: whether
    /// threads of some rank may make calls at the same time. Both are the same on all ranks.
    pub fn of_world(real: &Real, threads: bool, wanted: bool) -> Arc<Self> {
        let mut comms = Vec::with_capacity(SIZE);
        let size = if threads { SIZE } else { SPARE };
        for _ in 0..if wanted { size } else { 0 } {
            // What one rank cannot have, none has: the pool is as long on all ranks.
            match making::of_world(real) {
                Some(comm) => comms.push(comm),
                None => break,
            }
        }
        Arc::new(Self { threads, comms, used: Mutex::new([false; SIZE]) })
    }

    /// Whether calls of this process can have a private communicator at all; the same on all ranks.
    pub fn serves(&self) -> bool {
        !self.threads || !self.comms.is_empty()
    }

    /// A place that no rank of `comm` uses; collective over it, and waits for none but its ranks. None if there is
    /// none.
    pub fn lease(self: &Arc<Self>, real: &Real, comm: MPI_Comm, first: bool) -> Option<Lease> {
        let mut from = 0;
        loop {
            let own = if first { self.take_from(from) } else { None };
            let proposal = broadcast(real, comm, own.as_ref().map_or(self.comms.len(), |lease| lease.index));
            let Some(proposal) = proposal.filter(|&index| index < self.comms.len()) else {
                // No place is left; or the broadcast failed here, and the other ranks go on to the next place without
                // this rank.
                agreement::all_agree(real, comm, false);
                return None;
            };
            let lease = own.or_else(|| self.take(proposal));
            if agreement::all_agree(real, comm, lease.is_some()) {
                return lease;
            }
            from = proposal + 1;
        }
    }

    fn take(self: &Arc<Self>, index: usize) -> Option<Lease> {
        let mut used = self.used.lock();
        let free = !used[index];
        used[index] = true;
        free.then(|| Lease { pool: Arc::clone(self), index })
    }

    fn take_from(self: &Arc<Self>, from: usize) -> Option<Lease> {
        (from..self.comms.len()).find_map(|index| self.take(index))
    }

    /// Frees the communicators; collective over the world, when nothing is under way on them.
    pub fn free(&self, real: &Real) {
        for &comm in &self.comms {
            let mut comm = comm;
            // SAFETY: ours, and not used any more: the pool is freed at finalisation.
            unsafe { (real.mpi.comm_free)(&raw mut comm) };
        }
    }
}

/// The place, or the length of the pool, that the first rank of `comm` broadcasts; `None` if the broadcast failed.
fn broadcast(real: &Real, comm: MPI_Comm, number: usize) -> Option<usize> {
    let mut number = number as c_int;
    // SAFETY: one integer, valid handles; all ranks of `comm` are in this call.
    let code = unsafe { (real.mpi.bcast)((&raw mut number).cast(), 1, real.handles.int.into(), 0, comm.into()) };
    usize::try_from(number).ok().filter(|_| code == 0)
}
