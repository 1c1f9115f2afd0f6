//! What this rank tells the others about itself.

use super::{Facts, REPORT, THREADS, WATCH};
use crate::buffers::device;
use crate::real::Real;
use crate::real::eager::{self, EagerLimits};
use crate::real::handles::TAG_UB;
use crate::world::locality;
use crate::world::machine::Said;
use crate::world::setup::{MAX_LEVELS, Setup};
use nagare_config::DeviceMemory;
use nagare_plan::stock::Library;
use nagare_plan::topology::Location;
use std::ffi::c_int;

/// The facts of this rank at `place`, which has found so many bytes of profiles. `usable`: it has a configuration and a
/// place. `rank`: its number in the world; `leader`: the smallest rank on its machine.
pub(super) fn facts(
    real: &Real,
    setup: &Setup,
    (place, profile_bytes): (&Location, u64),
    usable: bool,
    (rank, leader): (u64, u64),
) -> Facts {
    // Where only some ranks are on, the others tell what is compared.
    let on = setup.config.enable;
    let limits = if on { eager::limits(real) } else { EagerLimits::UNKNOWN };
    let mut groups = [0; MAX_LEVELS];
    for (into, &from) in groups.iter_mut().zip(&place.groups) {
        *into = from;
    }
    // A pretended machine that says one of them has no real processors, nor adapters beside them.
    let is_told = place.core.is_some() || place.numa.is_some();
    let bound = if on && !is_told { locality::bound() } else { None };
    Facts {
        settings: setup.settings_hash,
        file: setup.file_hash,
        profile_bytes,
        memory: leader,
        groups,
        node: place.node.unwrap_or(leader),
        core: place.core.or(bound.map(|b| u64::from(b.core))).unwrap_or(0),
        eager_local: limits.local,
        eager_remote: limits.remote,
        over_tcp: limits.over_tcp,
        reserved: 0,
        levels: place.groups.len().min(MAX_LEVELS) as u32,
        problem: u16::from(!usable),
        strict: u16::from(setup.config.strict),
        flags: if setup.config.report.is_some() { REPORT } else { 0 }
            | if setup.config.watch.is_some() { WATCH } else { 0 }
            | if may_call_at_once(real) { THREADS } else { 0 },
        tag_bits: tag_bits(real),
        numa: place.numa.map_or_else(|| bound.map_or(0, |b| b.numa), |numa| numa as u32),
        library: Library::from_version(&real.version()).map_or(Library::UNKNOWN, Library::code),
        devices: u16::from(on && setup.config.device_memory != DeviceMemory::Never && device::may_be_here()),
        machine: if on && leader == rank { Said::here(real, !setup.has_network() && !is_told) } else { Said::NOTHING },
    }
}

/// Whether threads of this process may make calls at the same time (`MPI_THREAD_MULTIPLE`), or nobody knows.
fn may_call_at_once(real: &Real) -> bool {
    let mut level = 0;
    // SAFETY: MPI is initialised and not finalised: this is called inside the initialisation wrapper.
    let code = unsafe { (real.mpi.query_thread)(&raw mut level) };
    code != 0 || level >= THREAD_MULTIPLE
}

/// `MPI_THREAD_MULTIPLE` (both families).
const THREAD_MULTIPLE: c_int = 3;

/// Bits that a tag may have, of the largest that the library allows or the standard demands (MPI 4.0 section 9.1.2).
fn tag_bits(real: &Real) -> u16 {
    let (mut value, mut found): (*const c_int, c_int) = (std::ptr::null(), 0);
    let world = real.handles.comm_world;
    // SAFETY: the world is a valid communicator; the attribute is a pointer to an integer that lives as long as the
    // library.
    let largest = unsafe {
        let code = (real.mpi.comm_get_attr)(world, TAG_UB, (&raw mut value).cast(), &raw mut found);
        if code == 0 && found != 0 && !value.is_null() { *value } else { 0 }
    };
    let tags = u32::try_from(largest).unwrap_or(0).max(32767).saturating_add(1);
    tags.ilog2() as u16
}
