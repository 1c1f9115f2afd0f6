//! All records together: from the opening of the world to its end, and what the calls of all have taught.

use super::REGISTRY;
use crate::comm::duplicates::DUPLICATES;
use crate::comm::record::Communicator;
use crate::comm::witness::Witness;
use crate::report::kinds::Kinds;
use crate::report::learned::Learned;
use crate::world::shim::Shim;

/// Opens the world for calls: collective over it. Makes what handles are tested with; no communicator is made later,
/// inside a call.
pub fn open(shim: &Shim) {
    let enabled = shim.setup().config.enable;
    if let Some(witness) = enabled.then(|| Witness::new(shim.real)).flatten() {
        // The world is entered once.
        let _ = REGISTRY.witness.set(witness);
    }
    shim.open();
}

/// Leaves the world, at the start of its finalisation: collective over it, when no call asks for a record any more.
/// Frees all private communicators that are left, the key, and what the ranks of the world have in common.
pub fn close(shim: &Shim) {
    let Some(world) = shim.leave_world() else { return };
    let real = shim.real;
    for address in DUPLICATES.take() {
        // SAFETY: an address is listed only while the record it belongs to is alive: `delete` takes it out first.
        let record = unsafe { &*(address as *const Communicator) };
        record.free_private(real);
    }
    if let Some(witness) = REGISTRY.witness.get() {
        witness.free(real);
    }
    if let Some(&(mut keyval)) = REGISTRY.keyval.get() {
        // SAFETY: our key, freed once; the library keeps it until the last record is deleted.
        unsafe { (real.mpi.comm_free_keyval)(&raw mut keyval) };
    }
    world.free(real);
}

/// What the calls so far have taught, also those on communicators that are freed.
pub fn learned(shim: &Shim) -> Vec<Learned> {
    let known = REGISTRY.known.read();
    // SAFETY: an address is known only while the record it belongs to is alive, and it is taken out under this lock.
    let records = known.values().map(|&address| unsafe { &*(address as *const Communicator) });
    shim.learned.with(records.flat_map(Communicator::learned))
}

/// The timed calls so far by kinds of communicators, also on those that are freed. `at_end`: no other thread is inside
/// the library any more.
pub fn kinds(shim: &Shim, at_end: bool) -> Kinds {
    let known = REGISTRY.known.read();
    let mut kinds = shim.statistics.kinds();
    for &address in known.values() {
        // SAFETY: as in `learned`.
        let record = unsafe { &*(address as *const Communicator) };
        let add = |kind, calls: &_| kinds.add(Some(kind), calls);
        if at_end {
            // SAFETY: the communicator lives, since the record is an attribute of it.
            unsafe { record.counted.tell_last(shim.real, (record.handle, record.size), add) };
        } else {
            record.counted.tell(record.size, add);
        }
    }
    kinds
}
