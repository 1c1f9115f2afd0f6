//! How the watches of all ranks come to know each other.

use super::setup::host_name;
use crate::real::Real;
use crate::report::content::program;
use crate::report::destination::job;
use crate::watch::place::{Place, bind};
use crate::watch::{Setting, Watch};
use nagare_plan::topology::Topology;
use std::ffi::c_int;
use std::sync::Arc;

/// Starts the watch of this process, `rank` of the world; collective over it. `limit`: seconds after which a call is
/// overdue, for this rank.
pub fn start(real: &Real, rank: c_int, limit: Option<u32>, topology: &Arc<Topology>) -> Option<Arc<Watch>> {
    let bound = bind();
    let own = Place { limit: limit.unwrap_or(0), ..bound.as_ref().map_or_else(|_| Place::default(), |(_, own)| *own) };
    let mpi = &real.mpi;
    let world = real.handles.comm_world;
    let (mut size, bytes) = (0, size_of::<Place>() as c_int);
    // SAFETY: the world is a valid communicator.
    unsafe { (mpi.comm_size)(world.into(), &raw mut size) };
    let mut places = vec![Place::default(); size.max(0) as usize];
    // SAFETY: every rank is in this call, for all know that one wants it; the send buffer is one place, the receive
    // buffer one for each rank, all plain data without padding bytes.
    let code = unsafe {
        (mpi.allgather)(
            (&raw const own).cast(),
            bytes,
            real.handles.byte.into(),
            places.as_mut_ptr().cast(),
            bytes,
            real.handles.byte.into(),
            world.into(),
        )
    };
    let (rank, host, program) = (rank as u32, host_name(), program());
    let setting = Setting { rank, host, places, topology: Arc::clone(topology), program, job: job() };
    let started = bound.and_then(|(socket, _)| Watch::start(socket, setting));
    match started {
        Ok(watch) if code == 0 => Some(watch),
        Ok(_) => None,
        Err(error) => {
            log::warn!("NAGARE_WATCH: rank {rank} on {}: {error}; its calls are not watched", host_name());
            None
        }
    }
}
