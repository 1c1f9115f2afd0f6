//! How many private communicators there are, in which order they were made, and the largest epoch so far.

use crate::real::Real;
use crate::transport::agreement;
use mpi::ffi::MPI_Comm;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Private communicators at most; calls on communicators beyond that are left to the library. MPICH has 2048
/// communicators in a process, and what we take is what the program lacks; Open MPI has 65 536 and more
/// (docs/decisions/0005).
const MOST: usize = if cfg!(mpi_family = "mpich") { 64 } else { 512 };

/// Those of this process.
pub static DUPLICATES: Duplicates = Duplicates {
    live: Mutex::new(Live { made: 0, records: BTreeMap::new() }),
    epoch: AtomicI32::new(0),
    kept: AtomicUsize::new(0),
};

/// The private communicators that belong to one of the program's.
pub struct Duplicates {
    live: Mutex<Live>,
    /// The largest epoch so far.
    epoch: AtomicI32,
    /// Those that are never freed, since a call has failed there.
    kept: AtomicUsize,
}

/// Addresses of the records with a private communicator, by order of creation: freeing is collective, and communicators
/// that share ranks were made in the same order on all of them.
struct Live {
    made: u64,
    records: BTreeMap<u64, usize>,
}

impl Duplicates {
    /// Whether one more may be made.
    pub fn has_room(&self) -> bool {
        self.live.lock().records.len() + self.kept.load(Ordering::Relaxed) < MOST
    }

    /// An epoch for a communicator of the ranks of `comm`: larger than that of any private communicator that one of
    /// them has had; collective over it. `None` unless all `may` have one.
    pub fn next_epoch(&self, real: &Real, comm: MPI_Comm, may: bool) -> Option<u32> {
        // One more than the largest of all ranks, which is the least of their negatives.
        let own = if may { -self.epoch.load(Ordering::Relaxed) } else { c_int::MIN };
        let next = agreement::least(real, comm, own).ok().filter(|&least| least > -c_int::MAX)?.abs() + 1;
        self.epoch.fetch_max(next, Ordering::Relaxed);
        u32::try_from(next).ok()
    }

    /// Notes that the record at this address has one from now on.
    pub fn enter(&self, record: usize) {
        let mut live = self.live.lock();
        live.made += 1;
        let number = live.made;
        live.records.insert(number, record);
    }

    /// Notes that the record at this address is no more.
    pub fn leave(&self, record: usize) {
        self.live.lock().records.retain(|_, &mut other| other != record);
    }

    /// Notes that one will never be freed.
    pub fn keep(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets all: the addresses of the records that have one, in the order in which they are freed.
    pub fn take(&self) -> impl Iterator<Item = usize> {
        std::mem::take(&mut self.live.lock().records).into_values()
    }
}
