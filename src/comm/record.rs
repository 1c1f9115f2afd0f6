//! What is kept of one communicator.

use super::counted::Counted;
use super::duplicates::DUPLICATES;
use super::learning::Learning;
use super::placement::{Placement, Planning};
use super::programs::Programs;
use super::told::Told;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::real::Real;
use crate::report::learned::Learned;
use crate::transport::mpi_transport::Spare;
use crate::transport::notice::{AbandonedCall, Name};
use crate::transport::private::Private;
use crate::transport::{agreement, making};
use crate::watch::Watch;
use crate::world::shim::Shim;
use mpi::ffi::MPI_Comm;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Reason, Rules};
use nagare_plan::collective::Collective;
use nagare_plan::execute::Credits;
use nagare_plan::schedule::{Program, Rank};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, MutexGuard};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Facts and plans of one communicator.
pub struct Communicator {
    /// Ranks in it (in the local group, for an intercommunicator).
    pub size: u32,
    /// This process's rank.
    pub rank: Rank,
    /// Whether it is an intercommunicator.
    pub inter: bool,
    /// Its handle's value.
    pub handle: usize,
    place: OnceCell<Result<Placement, Reason>>,
    /// Below this many bytes no call of the collective runs on our algorithms here.
    floors: [AtomicU64; Collective::ALL.len()],
    /// The private communicator, made when one of our algorithms first runs; an error if all ranks agreed to do
    /// without.
    private: Mutex<Option<Result<Arc<Private>, Reason>>>,
    /// Of the private communicator's connections.
    traffic: Mutex<ConnectionState>,
    /// Set when a call of ours failed: what is left in the queues of the private communicator would match later calls.
    failure: Mutex<Option<Failure>>,
    programs: Programs,
    /// Rules set at run time, before those of the environment.
    rules: Mutex<Option<Arc<Rules>>>,
    learning: Mutex<Learning>,
    /// Its calls, for the report.
    pub counted: Counted,
    /// What has been told of them.
    pub told: Told,
    /// What the watch calls this communicator, and the collectives that it has seen on it.
    watched: (OnceCell<u64>, AtomicU64),
}

/// What is kept of a private communicator's connections from call to call.
#[derive(Default)]
pub struct ConnectionState {
    /// Segments under way.
    pub credits: Credits,
    /// Of the call that this rank gave up.
    pub abandoned: AbandonedCall,
    /// Memory of the call before.
    pub spare: Option<Spare>,
    /// Calls and agreements that were begun, the same on all ranks.
    calls: u32,
}

impl ConnectionState {
    /// The number of a call, or of an agreement before one, that begins now.
    pub fn next_call(&mut self) -> u32 {
        let number = self.calls;
        self.calls = number.wrapping_add(1);
        number
    }
}

impl Communicator {
    /// Of a communicator about which only the library has been asked.
    pub fn new(handle: usize, (size, rank): (u32, Rank), inter: bool) -> Self {
        Self {
            size,
            rank,
            inter,
            handle,
            place: OnceCell::new(),
            floors: Default::default(),
            private: Mutex::new(None),
            traffic: Mutex::default(),
            failure: Mutex::new(None),
            programs: Programs::default(),
            rules: Mutex::new(None),
            learning: Mutex::default(),
            counted: Counted::default(),
            told: Told::default(),
            watched: (OnceCell::new(), AtomicU64::new(0)),
        }
    }

    /// Where the ranks are, found at the first call.
    pub fn place(&self, shim: &Shim, comm: MPI_Comm) -> Result<&Placement, Reason> {
        let find = || {
            let place = Placement::find(shim, comm, (self.size, self.rank), self.inter)?;
            self.set_floors(shim, &place.rules, &place);
            Ok(place)
        };
        self.place.get_or_init(find).as_ref().map_err(|&reason| reason)
    }

    fn set_floors(&self, shim: &Shim, rules: &Rules, place: &Placement) {
        for collective in Collective::ALL {
            let floor = rules.floor_on(collective, place.nodes, place.planner.floor(collective, shim.measures()));
            self.floors[collective as usize].store(floor, Ordering::Relaxed);
        }
    }

    /// Bytes below which a call of `collective` on this communicator is always left to the library.
    pub fn floor(&self, collective: Collective) -> u64 {
        self.floors[collective as usize].load(Ordering::Relaxed)
    }

    /// Whether there is a private communicator, or all ranks know that there is none to be had.
    pub fn has_private(&self) -> bool {
        self.private.lock().is_some()
    }

    /// The private communicator of `comm`; collective at its first call. All ranks get one or none.
    pub fn private(&self, shim: &Shim, comm: MPI_Comm, place: &Placement) -> Result<Arc<Private>, Reason> {
        let mut private = self.private.lock();
        let private = private.get_or_insert_with(|| {
            let made = stack::on_large(|| self.make_private(shim, comm, place));
            if made.is_ok() {
                DUPLICATES.enter(ptr::from_ref(self) as usize);
            }
            made.map(Arc::new)
        });
        private.clone()
    }

    /// Libraries have few communicators to give (MPICH about 2000): the program's own come first. Where others may be
    /// in the making on some rank, one of the pool serves (docs/decisions/0013-pool.md).
    fn make_private(&self, shim: &Shim, comm: MPI_Comm, place: &Placement) -> Result<Private, Reason> {
        // All ranks of the world have this one, or none.
        let notices = shim.notices().ok_or(Reason::Communicators)?;
        let pool = shim.pool();
        let threads = pool.as_ref().is_some_and(|pool| pool.threads);
        let in_the_way = shim.duplicates.load(Ordering::Acquire);
        let world_ranks = Arc::clone(&place.world_ranks);
        if !threads && agreement::all_agree(shim.real, comm, !in_the_way) {
            let has_room = DUPLICATES.has_room();
            let epoch = DUPLICATES.next_epoch(shim.real, comm, has_room).ok_or(Reason::Communicators)?;
            let comm = making::same_ranks(shim.real, comm).ok_or(Reason::Communicators)?;
            return Ok(Private { comm, name: Name { epoch, place: 0 }, notices, world_ranks, lease: None });
        }
        let lease = pool.and_then(|pool| pool.lease(shim.real, comm, self.rank == 0)).ok_or(Reason::Communicators)?;
        // Asked for while the place is held: whoever had it before had a smaller epoch.
        let epoch = DUPLICATES.next_epoch(shim.real, comm, true).ok_or(Reason::Communicators)?;
        let name = Name { epoch, place: lease.place() };
        Ok(Private { comm: lease.comm(), name, notices, world_ranks, lease: Some(lease) })
    }

    /// Frees the private communicator, unless a call has failed there.
    pub fn free_private(&self, real: &Real) {
        match self.private.lock().take() {
            // What is left in its queues, or on its way, would match the messages of whoever gets its context id or
            // its place next.
            Some(Ok(private)) if self.failure.lock().is_some() => {
                self.traffic.lock().abandoned.tell_the_rest(real, &*private, self.rank);
                DUPLICATES.keep();
                std::mem::forget(private);
            }
            Some(Ok(private)) if private.lease.is_none() => {
                let mut comm = private.comm;
                // SAFETY: we made it, and no call of this rank is under way on it. All ranks for which no
                // call has failed free it with the original or at finalisation. Where one has failed it never does; the
                // others return all the same, since the libraries free their own part, as MPI 4.0 section 7.4.3 expects
                // of them (advice to implementors).
                unsafe { (real.mpi.comm_free)(&raw mut comm) };
            }
            _ => {}
        }
    }

    /// What is kept of the private communicator's connections; locked for the time of a call.
    pub fn traffic(&self) -> MutexGuard<'_, ConnectionState> {
        self.traffic.lock()
    }

    /// Notes that a call failed.
    pub fn fail(&self, failure: Failure) {
        *self.failure.lock() = Some(failure);
    }

    /// The failure of an earlier call, which is that of every later one.
    pub fn failed(&self) -> Result<(), Failure> {
        self.failure.lock().map_or(Ok(()), Err)
    }

    /// What this rank does in a call of `bytes`, which all ranks know; `None` if the algorithm does not implement the
    /// collective.
    pub fn program(
        &self,
        Planning { planner, is_tested }: Planning,
        collective: Collective,
        algorithm: Algorithm,
        root: Rank,
        bytes: u64,
    ) -> Option<Arc<Program>> {
        let key = (collective, algorithm, root, planner.chunks(collective, algorithm, bytes), is_tested);
        self.programs.get(planner, key, self.rank)
    }

    /// What the watch calls this communicator of these ranks, which is that of the world or not, and the number of a
    /// collective that begins now on it.
    pub fn watched(&self, watch: &Watch, members: &[Rank], is_world: bool) -> (u64, u64) {
        let (name, calls) = &self.watched;
        (*name.get_or_init(|| watch.name(members, is_world)), calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What calls have taught; locked while one is measured.
    pub fn learning(&self) -> MutexGuard<'_, Learning> {
        self.learning.lock()
    }

    /// What calls have taught, for the report: nothing while one is measured in another thread.
    pub fn learned(&self) -> Vec<Learned> {
        let Some(Ok(place)) = self.place.get() else { return Vec::new() };
        let in_order = place.world_ranks.iter().zip(0..).all(|(&rank, at)| rank == at);
        let place = (self.size, place.nodes, in_order);
        self.learning.try_lock().map_or_else(Vec::new, |learning| learning.learned(place).collect())
    }

    /// Plans made so far, for descriptions.
    pub fn plans(&self) -> Vec<Arc<Program>> {
        self.programs.all()
    }

    /// Rules set at run time.
    pub fn rules(&self) -> Option<Arc<Rules>> {
        self.rules.lock().clone()
    }

    /// Sets or clears the rules of this communicator; the same on all its ranks.
    pub fn set_rules(&self, shim: &Shim, comm: MPI_Comm, mut rules: Option<Rules>) {
        if let Ok(place) = self.place(shim, comm) {
            rules = rules.map(|rules| rules.before(&place.measured));
            self.set_floors(shim, rules.as_ref().unwrap_or(&place.rules), place);
        }
        shim.note_rules(ptr::from_ref(self) as usize, rules.as_ref());
        *self.rules.lock() = rules.map(Arc::new);
    }
}
