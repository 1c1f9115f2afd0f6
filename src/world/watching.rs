//! How the watches of all ranks come to know each other.

use super::setup::host_name;
use crate::real::Real;
use crate::report::content::program;
use crate::report::destination::job;
use crate::transport::gathered::{Plain, gathered};
use crate::watch::place::{Place, bind};
use crate::watch::{Setting, Watch};
use nagare_plan::topology::Topology;
use std::ffi::c_int;
use std::sync::Arc;

/// The fields and nothing else.
const _: () = assert!(size_of::<Place>() == 10 * size_of::<u32>() + 2 * size_of::<u64>());

// SAFETY: integers without padding, as asserted above.
unsafe impl Plain for Place {}

/// Starts the watch of this process, `rank` of the world; collective over it. `limit`: seconds after which a call is
/// overdue, for this rank.
pub fn start(real: &Real, rank: c_int, limit: Option<u32>, topology: &Arc<Topology>) -> Option<Arc<Watch>> {
    let bound = bind();
    let own = Place { limit: limit.unwrap_or(0), ..bound.as_ref().map_or_else(|_| Place::default(), |(_, own)| *own) };
    let (rank, host) = (rank as u32, host_name());
    // Every rank is in this call, for all know that one wants it.
    let places = match gathered(real, real.handles.comm_world, own) {
        Ok(places) => places,
        Err(code) => {
            log::warn!(
                "NAGARE_WATCH: rank {rank} on {host}: the MPI library failed ({code}); its calls are not watched"
            );
            return None;
        }
    };
    let program = program();
    let setting = Setting { rank, host, places, topology: Arc::clone(topology), program, job: job() };
    let started = bound.and_then(|(socket, _)| Watch::start(socket, setting));
    match started {
        Ok(watch) => Some(watch),
        Err(error) => {
            log::warn!("NAGARE_WATCH: rank {rank} on {}: {error}; its calls are not watched", host_name());
            None
        }
    }
}
