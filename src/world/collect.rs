//! The report of a world: the counters of all ranks, collected while it ends.

use super::setup::host_name;
use super::shim::Shim;
use crate::report::content::{Known, Report, SelfTest};
use crate::report::destination::job;
use crate::report::kinds::Kinds;
use crate::report::learned::Learned;
use std::ffi::c_int;

/// The report on what this rank has counted so far, by kinds of communicators as well, and what calls have taught it.
pub fn report(shim: &Shim, kinds: &Kinds, learned: Vec<Learned>) -> Report {
    on(shim, &shim.statistics.snapshot(&host_name(), kinds), learned, false)
}

/// The report on `snapshots` of some ranks of this world, one after another.
fn on(shim: &Shim, snapshots: &[u64], learned: Vec<Learned>, has_ended: bool) -> Report {
    let world = shim.world();
    let facts = world.as_ref().and_then(|world| world.facts.as_ref().ok());
    let topology = facts.map(|facts| &*facts.topology);
    let profiles = facts.map(|facts| facts.profiles.names().map(str::to_owned).collect()).unwrap_or_default();
    let outcome = world.as_ref().and_then(|world| world.self_test.outcome());
    let self_test = outcome.map(|outcome| SelfTest::new(outcome.took, outcome.found.unwrap_or_default()));
    let problems = world.as_ref().map_or_else(|| shim.setup().problems.clone(), |world| world.problems.clone());
    let topology_from = shim.setup().topology_origin.clone();
    let known = Known { topology, topology_from, profiles, self_test, problems, job: job(), has_ended };
    Report::new(shim.real.version(), known, snapshots, learned)
}

/// Collects the counters of all ranks and writes the report, if some rank wants one; collective over the world.
/// `kinds`: the calls by kinds of communicators; `learned`: what calls have taught, asked where the report is written.
pub fn at_finalize(shim: &Shim, kinds: impl FnOnce() -> Kinds, learned: impl FnOnce() -> Vec<Learned>) {
    let Some(world) = shim.world().filter(|world| world.report) else { return };
    let Some(rank) = shim.world_rank() else { return };
    let own = shim.statistics.snapshot(&host_name(), &kinds());
    let mpi = &shim.real.mpi;
    let mut size = 0;
    // SAFETY: the world is a valid communicator until finalisation.
    unsafe { (mpi.comm_size)(shim.real.handles.comm_world.into(), &raw mut size) };
    let mut all = vec![0u64; if rank == 0 { own.len() * size as usize } else { 0 }];
    let bytes = size_of_val(own.as_slice()) as c_int;
    // SAFETY: every rank of the world is in its finalisation wrapper; the send buffer has `bytes` bytes, the receive
    // buffer at rank 0 as many per rank.
    let code = unsafe {
        (mpi.gather)(
            own.as_ptr().cast(),
            bytes,
            shim.real.handles.byte.into(),
            all.as_mut_ptr().cast(),
            bytes,
            shim.real.handles.byte.into(),
            0,
            shim.real.handles.comm_world.into(),
        )
    };
    if rank != 0 || code != 0 {
        return;
    }
    if let Some(destination) = &world.destination {
        destination.write(&on(shim, &all, learned(), true));
    }
}
