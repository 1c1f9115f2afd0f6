//! A private communicator, for the messages of one of the program's (docs/decisions/0005).

use super::notice::{Members, Name, Notices};
use super::pool::Lease;
use crate::real::handles::PROC_NULL;
use mpi::ffi::MPI_Comm;
use nagare_plan::schedule::Rank;
use std::ffi::c_int;
use std::sync::Arc;

/// A private communicator, for the messages of one of the program's.
pub struct Private {
    /// Its handle.
    pub comm: MPI_Comm,
    /// What notices call it.
    pub name: Name,
    /// Where notices are sent.
    pub notices: Arc<Notices>,
    /// What the ranks of the program's communicator are called in the world.
    pub world_ranks: Arc<[Rank]>,
    /// Of one of the pool, whose communicators have the ranks of the world.
    pub lease: Option<Lease>,
}

// SAFETY: the only member that is not already so is the handle, a name that MPI makes usable from every thread; it is
// not changed.
unsafe impl Send for Private {}
// SAFETY: as above.
unsafe impl Sync for Private {}

impl Private {
    /// The rank in the private communicator of `rank` of the program's.
    #[inline]
    pub fn rank(&self, rank: Rank) -> c_int {
        match self.lease {
            None => rank as c_int,
            // A schedule names no other ranks.
            Some(_) => self.world_ranks.get(rank as usize).map_or(PROC_NULL, |&rank| rank as c_int),
        }
    }
}

impl Members for Private {
    fn name(&self) -> Name {
        self.name
    }

    fn world_ranks(&self) -> &[Rank] {
        &self.world_ranks
    }

    fn notices(&self) -> &Notices {
        &self.notices
    }
}
