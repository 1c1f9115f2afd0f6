//! Tells the watch which collective this thread is in (`NAGARE_WATCH`).

use super::arguments::Arguments;
use crate::comm::registry;
use crate::watch::Watch;
use crate::watch::doing::CALLS;
use crate::world::shim::Shim;
use mpi::ffi::MPI_Comm;
use nagare_watch::{Call, FINALIZE, LIBRARY};
use std::sync::Arc;

/// A call that is watched until this is dropped.
pub struct Watched(usize);

impl Watched {
    /// What carries it out.
    pub fn runs(&self, name: &'static str) {
        CALLS.runs(self.0, name);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        CALLS.leave(self.0);
    }
}

/// A call of a collective that Nagare handles; `None` where it is not watched.
#[cold]
pub fn handled(shim: &Shim, arguments: &Arguments) -> Option<Watched> {
    let bytes = match arguments.bytes(shim) {
        // Of these every rank has its own.
        Ok(bytes) if !arguments.collective.has_own_sizes() => format!("{bytes} bytes"),
        Ok(_) => String::new(),
        Err(_) => "nothing".to_owned(),
    };
    let root = if arguments.collective.is_rooted() { format!("root {}", arguments.root) } else { String::new() };
    let words = [bytes, root].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
    begin(shim, arguments.comm, arguments.collective.name(), words)
}

/// A call of another collective.
#[cold]
pub fn other(shim: &Shim, comm: MPI_Comm, name: &'static str) -> Option<Watched> {
    let watched = begin(shim, comm, name, String::new())?;
    watched.runs(LIBRARY);
    Some(watched)
}

/// `MPI_Finalize`, as a collective over the world; with the end of this the watch ends as well.
pub struct Finalizing {
    within: Option<Watched>,
    watch: Arc<Watch>,
}

impl Drop for Finalizing {
    fn drop(&mut self) {
        self.within = None;
        self.watch.end();
    }
}

/// Begins that, where calls are watched.
pub fn finalizing(shim: &Shim) -> Option<Finalizing> {
    let watch = Arc::clone(shim.world()?.watch.as_ref()?);
    let within = other(shim, shim.real.handles.comm_world, FINALIZE);
    Some(Finalizing { within, watch })
}

fn begin(shim: &Shim, comm: MPI_Comm, name: &str, arguments: String) -> Option<Watched> {
    let world = shim.world().filter(|_| shim.is_open() && comm != shim.real.handles.comm_null)?;
    let watch = world.watch.as_ref()?;
    // SAFETY: not null; the library detects any other handle that is none, or not. The record is used here only, at
    // the start of a call on the communicator.
    let record = unsafe { registry::of(shim, comm) }.ok().filter(|record| !record.inter)?;
    let members = Arc::clone(&record.place(shim, comm).ok()?.world_ranks);
    let (comm, number) = record.watched(watch, &members, comm == shim.real.handles.comm_world);
    let call = Call { function: name.to_owned(), arguments, comm, number };
    let (frame, patience) = ((&raw const record) as usize, watch.patience(record.rank));
    Some(Watched(CALLS.enter(call, members, frame, patience)))
}
