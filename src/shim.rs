//! The state of Nagare in one process.

use crate::communicator::Registry;
use crate::facts::{self, Disagreement, SharedFacts};
use crate::real::{self, Real};
use crate::setup::Setup;
use crate::statistics::Statistics;
use nagare_plan::choice::Rules;
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use parking_lot::RwLock;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Everything one process keeps.
pub struct Shim {
    /// The MPI library.
    pub real: &'static Real,
    /// Configuration and place; known once MPI is initialised.
    setup: OnceCell<Setup>,
    /// The facts of `MPI_COMM_WORLD`, if its initialisation was seen.
    world: RwLock<Option<Arc<World>>>,
    /// Communicators with private duplicates.
    pub registry: Registry,
    /// Calls counted so far.
    pub statistics: Statistics,
    /// Below this many bytes no call of the collective can run on our algorithms.
    floors: [AtomicU64; Collective::ALL.len()],
    /// Whether calls are timed.
    pub timed: AtomicBool,
}

/// Facts about the ranks of the world.
pub struct World {
    /// Facts by world rank, or why there are none to use.
    pub facts: Result<SharedFacts, Disagreement>,
    /// Whether some rank wants a report at the end.
    pub report: bool,
}

static SHIM: OnceCell<Option<Shim>> = OnceCell::new();

/// The state, or `None` where there is no MPI library that fits: then calls are only passed on.
pub fn shim() -> Option<&'static Shim> {
    SHIM.get_or_init(Shim::new).as_ref()
}

impl Shim {
    fn new() -> Option<Self> {
        let real = match real::real() {
            Ok(real) => real,
            Err(error) => {
                eprintln!("nagare: {error}; calls cannot be passed on");
                return None;
            }
        };
        if !real.fits {
            if first_process() {
                let built = if cfg!(mpi_family = "openmpi") { "Open MPI" } else { "MPICH" };
                eprintln!(
                    "nagare: this library is built for {built}, the program uses {}; nothing is changed (`nagare run` picks the fitting one)",
                    real.path
                );
            }
            return None;
        }
        Some(Self {
            real,
            setup: OnceCell::new(),
            world: RwLock::new(None),
            registry: Registry::default(),
            statistics: Statistics::default(),
            floors: Default::default(),
            timed: AtomicBool::new(false),
        })
    }

    /// Configuration and place of this process; reads them at the first call.
    pub fn setup(&self) -> &Setup {
        self.setup.get_or_init(|| {
            let setup = Setup::read(self.world_rank().unwrap_or(0) as u64);
            start_log(&setup);
            self.lower_floors(&setup.config.rules);
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

    /// Exchanges facts over the world; called by every rank inside its initialisation wrapper.
    pub fn enter_world(&self) {
        let setup = self.setup();
        let rank = self.world_rank();
        if rank == Some(0) {
            for problem in &setup.problems {
                log::warn!("{problem}");
            }
        }
        let facts::Exchange { facts, report } = facts::exchange(self.real, self.real.handles.comm_world, setup);
        self.timed.store(report, Ordering::Relaxed);
        if let Err(error) = &facts {
            self.report_disagreement(rank, error);
        }
        *self.world.write() = Some(Arc::new(World { facts, report }));
    }

    fn report_disagreement(&self, rank: Option<c_int>, error: &Disagreement) {
        let strict = self.setup().config.strict;
        let own_problem = self.setup().problems.first().filter(|_| !self.setup().usable);
        if rank == Some(0) {
            let outcome = if strict {
                "the job ends (NAGARE_STRICT=1)"
            } else {
                "all calls run on the MPI library's own collectives"
            };
            match (error, own_problem) {
                // Rank 0 has said itself what is wrong.
                (Disagreement::Problem(0), Some(_)) => log::error!("{outcome}"),
                _ => log::error!("{error}; {outcome}"),
            }
        } else if let (Disagreement::Problem(first), Some(problem)) = (error, own_problem)
            && Some(*first as c_int) == rank
        {
            log::warn!("rank {first} on {}: {problem}", crate::setup::host_name());
        }
        if strict {
            // SAFETY: the world is a valid communicator here.
            unsafe { (self.real.mpi.abort)(self.real.handles.comm_world, 1) };
        }
    }

    /// Facts of the world, if they were exchanged.
    pub fn world(&self) -> Option<Arc<World>> {
        self.world.read().clone()
    }

    /// Bytes below which a call of `collective` is always left to the library.
    pub fn floor(&self, collective: Collective) -> u64 {
        self.floors[collective as usize].load(Ordering::Relaxed)
    }

    /// Makes sure that calls which `rules` may accelerate are looked at.
    pub fn lower_floors(&self, rules: &Rules) {
        for collective in Collective::ALL {
            let floor = &self.floors[collective as usize];
            let wanted = rules.floor(collective).max(1);
            // 0 is the state before the first rules.
            let _ = floor.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                Some(if old == 0 { wanted } else { old.min(wanted) })
            });
        }
    }
}

/// Whether this is the first process of its job, as far as a launcher's environment tells before MPI is initialised.
fn first_process() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    ranks.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
}

fn start_log(setup: &Setup) {
    use nagare_config::LogLevel;
    let level = match setup.config.log {
        LogLevel::Error => log::LevelFilter::Error,
        LogLevel::Warn => log::LevelFilter::Warn,
        LogLevel::Info => log::LevelFilter::Info,
        LogLevel::Debug => log::LevelFilter::Debug,
    };
    // A program that is itself in Rust has its own logger, but not our copy of the `log` crate: this cannot clash.
    let _ = env_logger::Builder::new()
        .filter_level(level)
        .format(|out, record| {
            use std::io::Write;
            writeln!(out, "nagare: {}", record.args())
        })
        .try_init();
}
