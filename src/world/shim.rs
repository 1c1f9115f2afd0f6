//! The state of Nagare in one process.

use super::announcing::announce;
use super::disagreement::Disagreement;
use super::facts::{self, Exchange, SharedFacts};
use super::floors::Floors;
use super::planners::Planners;
use super::self_test::{Outcome, SelfTest};
use super::setup::{Setup, host_name};
use super::{family, logging, watching};
use crate::boundary::panics;
use crate::real::{self, LibraryError, Real};
use crate::report::destination::Destination;
use crate::report::learned::Kept;
use crate::report::statistics::Statistics;
use crate::transport::notice::Notices;
use crate::transport::pool::Pool;
use crate::transport::wait::Waiting;
use crate::watch::Watch;
use nagare_config::Learn;
use nagare_plan::choice::Rules;
use nagare_plan::collective::Collective;
use nagare_plan::quoted;
use once_cell::sync::OnceCell;
use parking_lot::RwLock;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything one process keeps.
pub struct Shim {
    /// The MPI library.
    pub real: &'static Real,
    /// Configuration and place; known once MPI is initialised.
    setup: OnceCell<Setup>,
    /// The facts of `MPI_COMM_WORLD`, if its initialisation was seen.
    world: RwLock<Option<Arc<World>>>,
    /// Calls counted so far.
    pub statistics: Statistics,
    /// Below which sizes no call can run on our algorithms.
    floors: Floors,
    /// How ranks wait inside our algorithms.
    waiting: OnceCell<Waiting>,
    /// What was learnt on communicators that are freed.
    pub learned: Kept,
    /// Whether calls are timed.
    pub timed: AtomicBool,
    /// Whether calls are watched.
    pub watched: AtomicBool,
    /// Whether threads may be in several calls at once.
    pub threads: AtomicBool,
    /// Whether the program has asked for a communicator that may still be in the making.
    pub duplicates: AtomicBool,
    /// Whether the world's self-test has found something.
    tested: AtomicBool,
    /// Whether there is a world: from the end of its initialisation to the start of its finalisation.
    open: AtomicBool,
}

/// Facts about the ranks of the world.
pub struct World {
    /// Facts by world rank, or why there are none to use.
    pub facts: Result<SharedFacts, Disagreement>,
    /// Whether some rank wants a report at the end.
    pub report: bool,
    /// Where this rank would write it, if it wants one.
    pub destination: Option<Destination>,
    /// What this rank knows to be wrong with the configuration, a line each.
    pub problems: Vec<String>,
    /// Over calls that do not end.
    pub watch: Option<Arc<Watch>>,
    /// What communicators with the same ranks plan with.
    pub planners: Planners,
    /// The test of the network.
    pub self_test: SelfTest,
    /// Private communicators over the world.
    pool: Option<Arc<Pool>>,
    /// Where ranks tell each other of calls they give up.
    notices: Option<Arc<Notices>>,
}

impl World {
    /// Frees what was made in it: collective over it, when nothing is under way any more.
    pub fn free(&self, real: &Real) {
        if let Some(notices) = &self.notices {
            notices.free(real);
        }
        if let Some(pool) = &self.pool {
            pool.free(real);
        }
    }
}

static SHIM: OnceCell<Option<Shim>> = OnceCell::new();

/// The state, or `None` where there is no MPI library, or none that fits: then calls are only passed on.
#[inline]
pub fn shim() -> Option<&'static Shim> {
    match SHIM.get() {
        Some(shim) => shim.as_ref(),
        None => first_shim(),
    }
}

#[cold]
fn first_shim() -> Option<&'static Shim> {
    panics::end_at_panics();
    // A process may load its MPI library later: "none yet" is not remembered.
    SHIM.get_or_try_init(Shim::new).ok()?.as_ref()
}

impl Shim {
    fn new() -> Result<Option<Self>, LibraryError> {
        let real = real::real()?;
        if !real.fits || real.lacks_large_counts() {
            family::say_that_nothing_changes(real);
            return Ok(None);
        }
        Ok(Some(Self {
            real,
            setup: OnceCell::new(),
            world: RwLock::new(None),
            statistics: Statistics::default(),
            floors: Floors::default(),
            waiting: OnceCell::new(),
            learned: Kept::default(),
            timed: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            threads: AtomicBool::new(false),
            duplicates: AtomicBool::new(false),
            tested: AtomicBool::new(false),
            open: AtomicBool::new(false),
        }))
    }

    /// How ranks wait. Found out in MPI_Init, where no other thread changes the library's variables.
    pub fn waiting(&self) -> Waiting {
        self.waiting.get().copied().unwrap_or(Waiting::Keeping)
    }

    /// Configuration and place of this process; reads them at the first call.
    pub fn setup(&self) -> &Setup {
        self.setup.get_or_init(|| {
            let setup = Setup::read();
            logging::start(setup.config.log);
            self.timed.store(setup.config.report.is_some(), Ordering::Relaxed);
            setup
        })
    }

    /// This process's rank in `MPI_COMM_WORLD`, if there is one now.
    pub fn world_rank(&self) -> Option<c_int> {
        let mpi = &self.real.mpi;
        let (mut initialized, mut finalized, mut rank) = (0, 0, 0);
        // SAFETY: the two inquiries may be called at any time; the world is asked only between initialisation and
        // finalisation, when it is a valid communicator.
        unsafe {
            (mpi.initialized)(&raw mut initialized);
            (mpi.finalized)(&raw mut finalized);
            let alive = initialized != 0 && finalized == 0;
            (alive && (mpi.comm_rank)(self.real.handles.comm_world, &raw mut rank) == 0).then_some(rank)
        }
    }

    /// Exchanges facts over the world; called by every rank inside its initialisation wrapper. Calls are the library's
    /// until [`Self::open`]. Whether there is one.
    pub fn enter_world(&self) -> bool {
        let Some(rank) = self.world_rank() else { return false };
        logging::in_world(rank);
        self.statistics.start();
        let comm = self.real.handles.comm_world;
        let exchange = facts::exchange(self.real, comm, self.setup(), rank);
        announce(self.real, self.setup(), rank, &exchange);
        self.timed.store(exchange.report, Ordering::Relaxed);
        // All ranks have the same verdict, and where it is good the same settings.
        let config = &self.setup().config;
        if config.enable {
            // Not in the message's arguments, which nobody looks at below that level.
            let find = || Waiting::find(self.real, config.wait, exchange.is_crowded);
            let waiting = self.waiting.get_or_init(find).name();
            log::debug!("it {waiting} while it waits");
        }
        let facts = exchange.facts.as_ref().ok().filter(|_| config.enable);
        let pool = facts.map(|facts| {
            let nodes = facts.topology.node_count();
            let rules = config.rules.before(&facts.profiles.all_rules());
            let wanted = Collective::ALL.iter().any(|&c| rules.floor_on(c, nodes, 0) < u64::MAX);
            Pool::of_world(self.real, exchange.threads, wanted)
        });
        self.threads.store(pool.as_ref().is_some_and(|pool| pool.threads), Ordering::Relaxed);
        let notices = facts.and_then(|_| Notices::of_world(self.real));
        let target = config.report.as_ref();
        let destination = target.map(|target| Destination::new(target, &host_name(), self.is_spawned()));
        if exchange.watch && facts.is_none() && rank == 0 {
            log::warn!("NAGARE_WATCH: no call is watched: ranks do not know each other's places");
        }
        let wanted = facts.filter(|_| exchange.watch);
        let watch = wanted.and_then(|facts| watching::start(self.real, rank, config.watch, &facts.topology));
        self.watched.store(watch.is_some(), Ordering::Relaxed);
        let Exchange { facts, report, own_problem, .. } = exchange;
        let mut problems = self.setup().problems.clone();
        problems.extend(own_problem);
        match &facts {
            Ok(facts) => problems.extend(facts.profiles.problems.iter().cloned()),
            Err(Disagreement::Off { .. }) => {}
            Err(disagreement) => problems.push(disagreement.to_string()),
        }
        let (planners, self_test) = (Planners::default(), SelfTest::to_come());
        let world = World { facts, report, destination, problems, watch, planners, self_test, pool, notices };
        self.tested.store(false, Ordering::Relaxed);
        *self.world.write() = Some(Arc::new(world));
        self.set_floors();
        true
    }

    /// From now on calls are looked at.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// Whether the world was made by `MPI_Comm_spawn`; known until the program disconnects it.
    fn is_spawned(&self) -> bool {
        let none = self.real.handles.comm_null;
        let mut parent = none;
        // SAFETY: MPI is initialised and not finalised: this is called by the initialisation wrapper.
        let code = unsafe { (self.real.mpi.comm_get_parent)(&raw mut parent) };
        code == 0 && parent != none
    }

    /// Private communicators over the world; none where Nagare is off.
    pub fn pool(&self) -> Option<Arc<Pool>> {
        self.world()?.pool.clone()
    }

    /// Where ranks tell each other of calls they give up; none where Nagare is off, or a rank has no communicator to
    /// give.
    pub fn notices(&self) -> Option<Arc<Notices>> {
        self.world()?.notices.clone()
    }

    /// From now on calls are the library's, and the world is forgotten; `None` if there was none.
    pub fn leave_world(&self) -> Option<Arc<World>> {
        if self.open.swap(false, Ordering::AcqRel) { self.world.write().take() } else { None }
    }

    /// Whether there is a world. Without one every call is the library's: none is made of ours before MPI is
    /// initialised or after it is finalised, and in a session nobody knows which ranks have Nagare, or with which
    /// settings.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Facts of the world, if they were exchanged.
    pub fn world(&self) -> Option<Arc<World>> {
        self.world.read().clone()
    }

    /// Whether a self-test of the network has found something.
    #[inline]
    pub fn is_tested(&self) -> bool {
        self.tested.load(Ordering::Acquire)
    }

    /// Notes what became of the self-test of this world.
    pub fn end_self_test(&self, world: &World, outcome: Outcome) {
        world.self_test.end(outcome);
        self.tested.store(outcome.found.is_some(), Ordering::Release);
    }

    /// Whether calls of the program are measured: not where threads make them at the same time.
    pub fn measures(&self) -> bool {
        self.setup().config.learn != Learn::Off && !self.threads.load(Ordering::Relaxed)
    }

    /// Bytes below which a call of `collective` is always left to the library.
    pub fn floor(&self, collective: Collective) -> u64 {
        self.floors.of(collective)
    }

    /// Notes the rules that hold for a communicator at run time, none if those of the environment hold again;
    /// `record` tells communicators apart.
    pub fn note_rules(&self, record: usize, rules: Option<&Rules>) {
        if self.floors.note(record, rules) {
            self.set_floors();
        }
    }

    /// Nagare looks at calls that any rule may accelerate, and forwards all others at once.
    fn set_floors(&self) {
        let world = self.world();
        let measured = world.and_then(|world| Some(world.facts.as_ref().ok()?.profiles.all_rules()));
        self.floors.set(&self.setup().config.rules.before(&measured.unwrap_or_default()));
    }
}

/// Says on rank 0 that `tool`, loaded after Nagare, has initialised MPI without it: it calls the MPI library itself.
pub fn passed_by(tool: &str) {
    let Some(shim) = shim() else { return };
    let config = &shim.setup().config;
    if !config.enable || shim.world_rank() != Some(0) {
        return;
    }
    let outcome = if config.strict { "the job ends (NAGARE_STRICT=1)" } else { "no call runs on Nagare" };
    log::error!("{} calls the MPI library past Nagare: {outcome}; preload it before Nagare", quoted(tool));
    if config.strict {
        panics::abort(shim.real, 1);
    }
}
