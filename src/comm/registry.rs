//! Which record a communicator has: an attribute that the library deletes with the communicator.
//!
//! ```text
//!   handle ─► the thread's last one ─► known handles ─► attached now
//!                                            ▲
//!                   MPI_Comm_free ─► delete ─┘         the handle's value may come again, but not before that
//! ```

mod all;
mod closing;

pub use all::{close, kinds, learned, open};
pub use closing::Closing;

use super::duplicates::DUPLICATES;
use super::record::Communicator;
use super::witness::Witness;
use crate::boundary::panics::guard;
use crate::real::Real;
use crate::world::shim::{Shim, shim};
use closing::is_closing;
use mpi::ffi::MPI_Comm;
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Rank;
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, RwLock};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The communicator a thread used last, which spares most calls the look-up.
#[derive(Clone, Copy)]
struct Recent {
    comm: usize,
    /// Value of [`DELETIONS`] when this was noted: a handle value can be reused only after a deletion.
    deletions: u64,
    record: *const Communicator,
}

const NO_RECENT: Recent = Recent { comm: 0, deletions: u64::MAX, record: ptr::null() };

thread_local! {
    static RECENT: Cell<Recent> = const { Cell::new(NO_RECENT) };
}

/// Records deleted so far.
static DELETIONS: AtomicU64 = AtomicU64::new(0);

/// How many records have been deleted so far: while the number stays, all of them live.
pub fn deletions() -> u64 {
    DELETIONS.load(Ordering::Acquire)
}

/// The attribute key, and the communicators that have a record.
struct Registry {
    keyval: OnceCell<c_int>,
    /// Addresses of the records, by handle: until its record is deleted, a handle means the same communicator.
    known: RwLock<BTreeMap<usize, usize>>,
    /// Held while a communicator gets its record, of which it must have one only.
    attaching: Mutex<()>,
    witness: OnceCell<Witness>,
}

static REGISTRY: Registry = Registry {
    keyval: OnceCell::new(),
    known: RwLock::new(BTreeMap::new()),
    attaching: Mutex::new(()),
    witness: OnceCell::new(),
};

impl Registry {
    fn keyval(&self, real: &Real) -> Result<c_int, c_int> {
        self.keyval
            .get_or_try_init(|| {
                let mut keyval = 0;
                // SAFETY: both callbacks have the signatures of MPI 4.0 section 7.7.2 and do not unwind.
                let code = unsafe {
                    (real.mpi.comm_create_keyval)(Some(copy_nothing), Some(delete), &raw mut keyval, ptr::null_mut())
                };
                if code == 0 { Ok(keyval) } else { Err(code) }
            })
            .copied()
    }

    fn leave(&self, record: &Communicator) {
        let mut known = self.known.write();
        if known.get(&record.handle) == Some(&(ptr::from_ref(record) as usize)) {
            known.remove(&record.handle);
        }
    }
}

/// A duplicated communicator starts without our record.
unsafe extern "C" fn copy_nothing(
    _comm: MPI_Comm,
    _keyval: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a valid pointer for the flag.
    unsafe { *flag = 0 };
    0
}

unsafe extern "C" fn delete(_comm: MPI_Comm, _keyval: c_int, value: *mut c_void, _extra: *mut c_void) -> c_int {
    guard("the deletion of a communicator's attribute", || {
        let Some(shim) = shim() else { return };
        DELETIONS.fetch_add(1, Ordering::Release);
        // SAFETY: the value is the box that `attach` leaked; MPI deletes an attribute once, when no call on the
        // communicator is under way.
        let record = unsafe { Box::from_raw(value.cast::<Communicator>()) };
        REGISTRY.leave(&record);
        shim.learned.keep(record.learned().into_iter());
        // Later there is no report, and the library may be closing.
        if shim.is_open() {
            let keep = |kind, calls: &_| shim.statistics.keep(kind, calls);
            // SAFETY: the library deletes the attributes of a communicator before it frees it.
            unsafe { record.counted.tell_last(shim.real, (record.handle, record.size), keep) };
        }
        DUPLICATES.leave(value as usize);
        shim.note_rules(value as usize, None);
        record.free_private(shim.real);
    });
    0
}

/// The record of `comm`, attached at the first call.
///
/// # Errors
/// Why calls on it are the library's: it is being freed, or the library does not know it.
///
/// # Safety
/// `comm` must be a valid communicator, and the reference must not be used after the communicator is freed.
#[inline]
pub unsafe fn of<'a>(shim: &Shim, comm: MPI_Comm) -> Result<&'a Communicator, Reason> {
    let recent = RECENT.get();
    if recent.comm == comm.0 as usize && recent.deletions == DELETIONS.load(Ordering::Acquire) {
        // SAFETY: the record was this communicator's when no fewer records had been deleted, so it still is.
        return Ok(unsafe { &*recent.record });
    }
    // SAFETY: as demanded of the caller.
    let record = unsafe { look_up(shim, comm) }?;
    RECENT.set(Recent { comm: comm.0 as usize, deletions: DELETIONS.load(Ordering::Acquire), record });
    Ok(record)
}

/// Counts, by communicator, a timed call that the library has carried out, and that has returned without an error.
pub fn count(shim: &Shim, comm: MPI_Comm, collective: Collective, nanoseconds: u64) {
    if !shim.is_open() || comm == shim.real.handles.comm_null {
        return;
    }
    // SAFETY: the communicator is valid, or a handler of the program said what the call returned, which only MPICH
    // lets it: there the library says whether the handle is one.
    match unsafe { of(shim, comm) } {
        Ok(record) => {
            // SAFETY: as above.
            unsafe { record.counted.count(shim.real, record.handle, collective, false, nanoseconds) }
        }
        Err(_) => shim.statistics.count_elsewhere(collective, false, nanoseconds),
    }
}

/// # Safety
/// As for [`of`].
unsafe fn look_up<'a>(shim: &Shim, comm: MPI_Comm) -> Result<&'a Communicator, Reason> {
    // The key is the library's again.
    if !shim.is_open() {
        return Err(Reason::Outside);
    }
    if is_closing(comm) {
        return Err(Reason::BeingFreed);
    }
    let known = REGISTRY.known.read().get(&(comm.0 as usize)).copied();
    if let Some(address) = known {
        // SAFETY: an address is known only while the record it belongs to is alive.
        return Ok(unsafe { &*(address as *const Communicator) });
    }
    let keyval = REGISTRY.keyval(shim.real).map_err(|_| Reason::Argument)?;
    if REGISTRY.witness.get().is_some_and(|witness| !witness.accepts(shim.real, comm)) {
        return Err(Reason::Argument);
    }
    let _one = REGISTRY.attaching.lock();
    let known = REGISTRY.known.read().get(&(comm.0 as usize)).copied();
    if let Some(address) = known {
        // SAFETY: as above: another thread has been faster.
        return Ok(unsafe { &*(address as *const Communicator) });
    }
    // SAFETY: as demanded of the caller.
    unsafe { attach(shim, comm, keyval) }.ok_or(Reason::Argument)
}

/// # Safety
/// As for [`of`].
unsafe fn attach<'a>(shim: &Shim, comm: MPI_Comm, keyval: c_int) -> Option<&'a Communicator> {
    let mpi = &shim.real.mpi;
    let (mut size, mut rank, mut inter) = (0, 0, 0);
    // SAFETY: valid communicator and pointers; the box becomes the attribute's and is taken back by `delete`, or
    // here if the library refuses it.
    unsafe {
        let codes = [
            (mpi.comm_size)(comm.into(), &raw mut size),
            (mpi.comm_rank)(comm, &raw mut rank),
            (mpi.comm_test_inter)(comm.into(), &raw mut inter),
        ];
        if codes != [0; 3] {
            return None;
        }
        let ranks = (size as u32, rank as Rank);
        let record = Box::into_raw(Box::new(Communicator::new(comm.0 as usize, ranks, inter != 0)));
        if (mpi.comm_set_attr)(comm, keyval, record.cast()) != 0 {
            drop(Box::from_raw(record));
            return None;
        }
        REGISTRY.known.write().insert(comm.0 as usize, record as usize);
        Some(&*record)
    }
}
