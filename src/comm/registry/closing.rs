//! Communicators that the program is freeing.

use super::{NO_RECENT, RECENT};
use crate::boundary::thread_list::ThreadList;
use mpi::ffi::MPI_Comm;

thread_local! {
    /// Handles of the communicators that this thread is freeing. Another thread may be given such a handle for one that
    /// it makes.
    static CLOSING: ThreadList<usize> = const { ThreadList::new() };
}

/// A communicator that the program is freeing in this thread.
pub struct Closing(usize);

impl Closing {
    /// From now on, until what is returned is dropped, this thread's calls on `comm` are the library's: its attributes
    /// are deleted one after another, ours among them, and the callbacks of others may call collectives. All ranks are
    /// in the function that frees it, so all do alike.
    pub fn new(comm: MPI_Comm) -> Self {
        let handle = comm.0 as usize;
        CLOSING.with(|list| list.change(|closing| closing.push(handle)));
        RECENT.set(NO_RECENT);
        Self(handle)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        CLOSING.with(|list| list.change(|closing| closing.retain(|&handle| handle != self.0)));
    }
}

/// Whether this thread is freeing the communicator of that handle.
pub(super) fn is_closing(comm: MPI_Comm) -> bool {
    CLOSING.with(|list| list.read(|closing| closing.contains(&(comm.0 as usize))))
}
