//! What Nagare keeps per communicator: an attribute that the library deletes with the communicator.

use crate::cartesian;
use crate::facts;
use crate::failure::Failure;
use crate::notice::{Name, Resignation};
use crate::private::Private;
use crate::real::Real;
use crate::shim::Shim;
use crate::tags::Tags;
use crate::witness::Witness;
use mpi::ffi::MPI_Comm;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Reason, Rules};
use nagare_plan::collective::Collective;
use nagare_plan::execute::Credits;
use nagare_plan::schedule::{Program, Rank};
use nagare_plan::topology::{Grid, Topology};
use once_cell::sync::OnceCell;
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// Duplicates at most; communicators beyond that are left to the library. MPICH has 2048 communicators in a process, and
/// what we take is what the program lacks; Open MPI has 65 536 and more (docs/decisions/0005).
const DUPLICATES: usize = if cfg!(mpi_family = "mpich") { 64 } else { 512 };

/// Plans kept per communicator.
const PROGRAMS: usize = 32;

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

/// A plan is kept for a collective, an algorithm, a root and a number of chunks.
type ProgramKey = (Collective, Algorithm, Rank, u32);

/// Facts and plans of one communicator.
pub struct Communicator {
    /// Ranks in it (in the local group, for an intercommunicator).
    pub size: u32,
    /// This process's rank.
    pub rank: Rank,
    /// Whether it is an intercommunicator.
    pub inter: bool,
    handle: usize,
    place: OnceCell<Result<Place, Reason>>,
    /// Below this many bytes no call of the collective runs on our algorithms here.
    floors: [AtomicU64; Collective::ALL.len()],
    /// Our duplicate, made when one of our algorithms first runs; an error if all ranks agreed to do without.
    private: Mutex<Option<Result<Arc<Private>, Reason>>>,
    /// Of the duplicate's connections.
    traffic: Mutex<Traffic>,
    /// Set when a call of ours failed: what is left in the duplicate's queues would match later calls.
    failure: Mutex<Option<Failure>>,
    programs: Mutex<VecDeque<(ProgramKey, Arc<Program>)>>,
    /// Rules set at run time, before those of the environment.
    rules: Mutex<Option<Arc<Rules>>>,
}

/// What is kept of a duplicate's connections from call to call.
#[derive(Default)]
pub struct Traffic {
    /// Segments under way.
    pub credits: Credits,
    /// Of the call that this rank gave up.
    pub resignation: Resignation,
    /// Calls that were begun, the same on all ranks.
    calls: u32,
}

impl Traffic {
    /// The number of a call that begins now.
    pub fn next_call(&mut self) -> u32 {
        let number = self.calls;
        self.calls = number.wrapping_add(1);
        number
    }
}

/// Where the ranks are.
pub struct Place {
    /// Makes the plans.
    pub planner: Planner,
    /// Nodes of the communicator.
    pub nodes: u32,
    /// Largest message that is sent without asking, bytes.
    pub eager: u64,
    /// What its ranks are called in the world.
    world_ranks: Arc<[Rank]>,
    /// How messages on the duplicate are told apart.
    pub tags: Tags,
}

/// The attribute key, and the communicators that have a duplicate.
#[derive(Default)]
pub struct Registry {
    keyval: OnceCell<c_int>,
    /// Addresses of the records, by handle: until its record is deleted, a handle means the same communicator.
    known: RwLock<HashMap<usize, usize>>,
    /// Held while a communicator gets its record, of which it must have one only.
    attaching: Mutex<()>,
    witness: OnceCell<Witness>,
    live: Mutex<Live>,
    /// The largest epoch so far.
    epoch: AtomicI32,
    /// Duplicates that are never freed, since a call has failed there.
    kept: AtomicUsize,
}

thread_local! {
    /// Handles of the communicators that this thread is freeing. Another thread may be given such a handle for one that
    /// it makes.
    static CLOSING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A communicator that the program is freeing in this thread.
pub struct Closing(usize);

impl Closing {
    /// From now on, until what is returned is dropped, this thread's calls on `comm` are the library's: its attributes
    /// are deleted one after another, ours among them, and the callbacks of others may call collectives. All ranks are
    /// in the function that frees it, so all do alike.
    pub fn new(comm: MPI_Comm) -> Self {
        let handle = comm.0 as usize;
        CLOSING.with_borrow_mut(|closing| closing.push(handle));
        RECENT.set(NO_RECENT);
        Self(handle)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        CLOSING.with_borrow_mut(|closing| closing.retain(|&handle| handle != self.0));
    }
}

/// Addresses of the records with a duplicate, by order of creation: freeing is collective, and communicators that share
/// ranks were made in the same order on all of them.
#[derive(Default)]
struct Live {
    made: u64,
    records: BTreeMap<u64, usize>,
}

impl Registry {
    /// Makes what handles are tested with; no communicator is made later, inside a call.
    pub fn open(&self, real: &Real) {
        if let Some(witness) = Witness::new(real) {
            // The world is entered once.
            let _ = self.witness.set(witness);
        }
    }

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

    /// Number of duplicates that exist.
    fn len(&self) -> usize {
        self.live.lock().records.len() + self.kept.load(Ordering::Relaxed)
    }

    /// An epoch for a communicator of the ranks of `comm`: larger than that of any communicator of ours that one of
    /// them has had; collective over it. `None` unless all `may` have one.
    fn next_epoch(&self, real: &Real, comm: MPI_Comm, may: bool) -> Option<u32> {
        // One more than the largest of all ranks, which is the least of their negatives.
        let own = if may { -self.epoch.load(Ordering::Relaxed) } else { c_int::MIN };
        let next = facts::least(real, comm, own).filter(|&least| least > -c_int::MAX)?.abs() + 1;
        self.epoch.fetch_max(next, Ordering::Relaxed);
        u32::try_from(next).ok()
    }

    fn enter(&self, record: &Communicator) {
        let mut live = self.live.lock();
        live.made += 1;
        let number = live.made;
        live.records.insert(number, ptr::from_ref(record) as usize);
    }

    fn leave(&self, record: &Communicator) {
        let address = ptr::from_ref(record) as usize;
        let mut known = self.known.write();
        if known.get(&record.handle) == Some(&address) {
            known.remove(&record.handle);
        }
        drop(known);
        self.live.lock().records.retain(|_, &mut other| other != address);
    }

    /// Frees all duplicates that are left, and the key; called at the start of finalisation, when no call asks for it
    /// any more.
    pub fn release(&self, real: &Real) {
        let records = std::mem::take(&mut self.live.lock().records);
        for address in records.into_values() {
            // SAFETY: an address is listed only while the record it belongs to is alive: `delete` takes it out first.
            let record = unsafe { &*(address as *const Communicator) };
            record.free_private(self, real);
        }
        if let Some(witness) = self.witness.get() {
            witness.free(real);
        }
        if let Some(&(mut keyval)) = self.keyval.get() {
            // SAFETY: our key, freed once; the library keeps it until the last record is deleted.
            unsafe { (real.mpi.comm_free_keyval)(&raw mut keyval) };
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
    crate::boundary::guard("the deletion of a communicator's attribute", || {
        let Some(shim) = crate::shim::shim() else { return };
        DELETIONS.fetch_add(1, Ordering::Release);
        // SAFETY: the value is the box that `attach` leaked; MPI deletes an attribute once, when no call on the
        // communicator is under way.
        let record = unsafe { Box::from_raw(value.cast::<Communicator>()) };
        shim.registry.leave(&record);
        shim.note_rules(value as usize, None);
        record.free_private(&shim.registry, shim.real);
    });
    0
}

impl Communicator {
    /// The record of `comm`, attached at the first call.
    ///
    /// # Errors
    /// Why calls on it are the library's: it is being freed, or the library does not know it.
    ///
    /// # Safety
    /// `comm` must be a valid communicator, and the reference must not be used after the communicator is freed.
    #[inline]
    pub unsafe fn of<'a>(shim: &Shim, comm: MPI_Comm) -> Result<&'a Self, Reason> {
        let recent = RECENT.get();
        if recent.comm == comm.0 as usize && recent.deletions == DELETIONS.load(Ordering::Acquire) {
            // SAFETY: the record was this communicator's when no fewer records had been deleted, so it still is.
            return Ok(unsafe { &*recent.record });
        }
        // SAFETY: as demanded of the caller.
        let record = unsafe { Self::look_up(shim, comm) }?;
        RECENT.set(Recent { comm: comm.0 as usize, deletions: DELETIONS.load(Ordering::Acquire), record });
        Ok(record)
    }

    /// # Safety
    /// As for [`Self::of`].
    unsafe fn look_up<'a>(shim: &Shim, comm: MPI_Comm) -> Result<&'a Self, Reason> {
        // The key is the library's again.
        if !shim.is_open() {
            return Err(Reason::Outside);
        }
        let registry = &shim.registry;
        if CLOSING.with_borrow(|closing| closing.contains(&(comm.0 as usize))) {
            return Err(Reason::BeingFreed);
        }
        let known = registry.known.read().get(&(comm.0 as usize)).copied();
        if let Some(address) = known {
            // SAFETY: an address is known only while the record it belongs to is alive.
            return Ok(unsafe { &*(address as *const Self) });
        }
        let keyval = registry.keyval(shim.real).map_err(|_| Reason::Argument)?;
        if registry.witness.get().is_some_and(|witness| !witness.accepts(shim.real, comm)) {
            return Err(Reason::Argument);
        }
        let _one = registry.attaching.lock();
        let known = registry.known.read().get(&(comm.0 as usize)).copied();
        if let Some(address) = known {
            // SAFETY: as above: another thread has been faster.
            return Ok(unsafe { &*(address as *const Self) });
        }
        // SAFETY: as demanded of the caller.
        unsafe { Self::attach(shim, comm, keyval) }.ok_or(Reason::Argument)
    }

    /// # Safety
    /// As for [`Self::of`].
    unsafe fn attach<'a>(shim: &Shim, comm: MPI_Comm, keyval: c_int) -> Option<&'a Self> {
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
            let record = Box::into_raw(Box::new(Self {
                handle: comm.0 as usize,
                size: size as u32,
                rank: rank as Rank,
                inter: inter != 0,
                place: OnceCell::new(),
                floors: Default::default(),
                private: Mutex::new(None),
                traffic: Mutex::default(),
                failure: Mutex::new(None),
                programs: Mutex::new(VecDeque::new()),
                rules: Mutex::new(None),
            }));
            if (mpi.comm_set_attr)(comm, keyval, record.cast()) != 0 {
                drop(Box::from_raw(record));
                return None;
            }
            shim.registry.known.write().insert(comm.0 as usize, record as usize);
            Some(&*record)
        }
    }

    /// Where the ranks are. Local: the world's facts say it, or nothing does.
    pub fn place(&self, shim: &Shim, comm: MPI_Comm) -> Result<&Place, Reason> {
        self.place.get_or_init(|| self.find_place(shim, comm)).as_ref().map_err(|&reason| reason)
    }

    fn find_place(&self, shim: &Shim, comm: MPI_Comm) -> Result<Place, Reason> {
        // The verdict on the world holds for all communicators within it. Others are not asked: a rank that has other
        // settings, or no Nagare, would not take part.
        let world = shim.world().ok_or(Reason::Outside)?;
        let facts = world.facts.as_ref().map_err(|_| Reason::Topology)?;
        let ranks = facts::translate(shim.real, comm, shim.real.handles.comm_world, self.size as c_int);
        let tags = facts.tags;
        let world_ranks: Arc<[Rank]> = ranks.ok_or(Reason::Outside)?.into();
        let (topology, limits) = (facts.restricted(&world_ranks), facts.eager);
        let cartesian = if self.inter { None } else { cartesian::of(shim.real, comm) };
        let topology = match cartesian {
            Some(cartesian) => Arc::new(Topology::clone(&topology).with_cartesian(cartesian)),
            None => topology,
        };
        let nodes = topology.node_count();
        // The connections a schedule uses are within the node if all ranks are on one.
        let eager = u64::from(if nodes == 1 { limits.local } else { limits.remote });
        let config = &shim.setup().config;
        self.set_floors(&config.rules, nodes);
        let mut planner = Planner::new(topology).with_partners(config.partners).with_rails(config.rails);
        if let Some(steps) = config.steps {
            planner = planner.with_steps(steps);
        }
        if self.rank == 0 && nodes > 1 && log::log_enabled!(log::Level::Debug) {
            let grid = Grid::new(planner.context().grouped(), planner.topology());
            log::debug!("a communicator of {} ranks on {nodes} nodes, dimensions {grid}", self.size);
        }
        Ok(Place { planner, nodes, eager, world_ranks, tags })
    }

    fn set_floors(&self, rules: &Rules, nodes: u32) {
        for collective in Collective::ALL {
            self.floors[collective as usize].store(rules.floor_on(collective, nodes), Ordering::Relaxed);
        }
    }

    /// Bytes below which a call of `collective` on this communicator is always left to the library.
    pub fn floor(&self, collective: Collective) -> u64 {
        self.floors[collective as usize].load(Ordering::Relaxed)
    }

    /// Our duplicate of `comm`; collective at its first call. All ranks get one or none.
    pub fn private(&self, shim: &Shim, comm: MPI_Comm, place: &Place) -> Result<Arc<Private>, Reason> {
        let mut private = self.private.lock();
        let private = private.get_or_insert_with(|| {
            let made = crate::stack::on_large(|| self.make_private(shim, comm, place));
            if made.is_ok() {
                shim.registry.enter(self);
            }
            made.map(Arc::new)
        });
        private.clone()
    }

    /// Libraries have few communicators to give (MPICH about 2000): the program's own come first. Where others may be
    /// in the making on some rank, one of the pool serves (docs/decisions/0013-pool.md).
    fn make_private(&self, shim: &Shim, comm: MPI_Comm, place: &Place) -> Result<Private, Reason> {
        // All ranks of the world have this one, or none.
        let notices = shim.notices().ok_or(Reason::Communicators)?;
        let pool = shim.pool();
        let threads = pool.as_ref().is_some_and(|pool| pool.threads);
        let in_the_way = shim.duplicates.load(Ordering::Acquire);
        let world_ranks = Arc::clone(&place.world_ranks);
        if !threads && facts::all_agree(shim.real, comm, !in_the_way) {
            let has_room = shim.registry.len() < DUPLICATES;
            let epoch = shim.registry.next_epoch(shim.real, comm, has_room).ok_or(Reason::Communicators)?;
            let comm = facts::same_ranks(shim.real, comm).ok_or(Reason::Communicators)?;
            return Ok(Private { comm, name: Name { epoch, place: 0 }, notices, world_ranks, lease: None });
        }
        let lease = pool.and_then(|pool| pool.lease(shim.real, comm, self.rank == 0)).ok_or(Reason::Communicators)?;
        // Asked for while the place is held: whoever had it before had a smaller epoch.
        let epoch = shim.registry.next_epoch(shim.real, comm, true).ok_or(Reason::Communicators)?;
        let name = Name { epoch, place: lease.place() };
        Ok(Private { comm: lease.comm(), name, notices, world_ranks, lease: Some(lease) })
    }

    fn free_private(&self, registry: &Registry, real: &Real) {
        match self.private.lock().take() {
            // What is left in its queues, or on its way, would match the messages of whoever gets its number or its
            // place next.
            Some(Ok(private)) if self.failure.lock().is_some() => {
                self.traffic.lock().resignation.go_on(real, &private, self.rank);
                registry.kept.fetch_add(1, Ordering::Relaxed);
                std::mem::forget(private);
            }
            Some(Ok(private)) if private.lease.is_none() => {
                let mut comm = private.comm;
                // SAFETY: the duplicate is ours and no call of this rank is under way on it. All ranks for which no
                // call has failed free it with the original or at finalisation. Where one has failed it never does; the
                // others return all the same, since the libraries free their own part, as MPI 4.0 section 7.4.3 expects
                // of them (advice to implementors).
                unsafe { (real.mpi.comm_free)(&raw mut comm) };
            }
            _ => {}
        }
    }

    /// What is kept of our connections; locked for the time of a call.
    pub fn traffic(&self) -> MutexGuard<'_, Traffic> {
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

    /// Which program a call of `bytes`, which all ranks know, runs.
    pub fn which(
        &self,
        place: &Place,
        collective: Collective,
        algorithm: Algorithm,
        root: Rank,
        bytes: u64,
    ) -> ProgramKey {
        (collective, algorithm, root, place.planner.chunks(collective, algorithm, bytes))
    }

    /// The program of this rank, if it was made before and is still kept.
    pub fn known(&self, which: &ProgramKey) -> Option<Arc<Program>> {
        self.programs.lock().iter().find(|(of, _)| of == which).map(|(_, program)| Arc::clone(program))
    }

    /// Makes the program of this rank, and keeps it; `None` if the algorithm does not implement the collective.
    pub fn plan(&self, place: &Place, which: ProgramKey) -> Option<Arc<Program>> {
        let (collective, algorithm, root, chunks) = which;
        let plan = place.planner.plan_cut(collective, algorithm, root, self.rank, chunks)?;
        let program = match Program::new(plan, collective.has_output(root, self.rank)) {
            Ok(program) => Arc::new(program),
            Err(error) => {
                log::error!("internal error in the plan of {algorithm} for {collective}: {error}");
                return None;
            }
        };
        let mut programs = self.programs.lock();
        if programs.len() == PROGRAMS {
            programs.pop_front();
        }
        programs.push_back((which, Arc::clone(&program)));
        Some(program)
    }

    /// Plans made so far, for descriptions.
    pub fn plans(&self) -> Vec<Arc<Program>> {
        self.programs.lock().iter().map(|(_, p)| Arc::clone(p)).collect()
    }

    /// Rules set at run time.
    pub fn rules(&self) -> Option<Arc<Rules>> {
        self.rules.lock().clone()
    }

    /// Sets or clears the rules of this communicator; the same on all its ranks.
    pub fn set_rules(&self, shim: &Shim, comm: MPI_Comm, rules: Option<Rules>) {
        if let Ok(place) = self.place(shim, comm) {
            self.set_floors(rules.as_ref().unwrap_or(&shim.setup().config.rules), place.nodes);
        }
        shim.note_rules(ptr::from_ref(self) as usize, rules.as_ref());
        *self.rules.lock() = rules.map(Arc::new);
    }
}
