//! What every rank tells the others about itself, and what all of them then know.

use crate::eager::{self, EagerLimits};
use crate::locality;
use crate::real::Real;
use crate::setup::Setup;
use mpi::ffi::MPI_Comm;
use nagare_plan::schedule::Rank;
use nagare_plan::topology::{Place, Topology, in_order};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;
use thiserror::Error;

/// Levels outside the node that can be told.
pub const MAX_LEVELS: usize = 8;

/// One rank's facts, exchanged as bytes. The layout is the same in all builds of one version.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Hash of the settings that must agree.
    settings: u64,
    /// Hash of the topology file's contents.
    file: u64,
    /// Group at every level outside the node, outermost first.
    groups: [u64; MAX_LEVELS],
    /// Node: as the topology says, else the smallest rank that shares memory.
    node: u64,
    /// Core, in an order that is the same on all ranks of the node.
    core: u64,
    /// Largest eager message within the node and between nodes, bytes.
    eager_local: u32,
    eager_remote: u32,
    /// Number of levels.
    levels: u32,
    /// Whether this rank is without a usable configuration.
    problem: u32,
    /// Whether this rank wants a report.
    report: u32,
    /// NUMA node in the node, 0 if unknown.
    numa: u32,
}

/// What the ranks of one communicator know of each other.
#[derive(Clone, Debug)]
pub struct SharedFacts {
    /// Where they are.
    pub topology: Arc<Topology>,
    /// The largest messages that are eager between all of them.
    pub eager: EagerLimits,
}

impl SharedFacts {
    /// The places of some of the ranks, in a new order: `ranks[new] = old`.
    pub fn restricted(&self, ranks: &[Rank]) -> Arc<Topology> {
        let unchanged = ranks.iter().enumerate().all(|(new, &old)| new as Rank == old);
        if unchanged && ranks.len() as u32 == self.topology.ranks() {
            return Arc::clone(&self.topology);
        }
        Arc::new(self.topology.restricted(ranks))
    }
}

/// Outcome of an exchange, the same on all ranks.
pub struct Exchange {
    /// The facts, or why there are none to use.
    pub facts: Result<SharedFacts, Disagreement>,
    /// Whether some rank wants a report.
    pub report: bool,
    /// Why this rank has no place in the machine; differs between ranks.
    pub own_problem: Option<String>,
}

/// Why ranks cannot plan together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Disagreement {
    /// Some rank has an unusable configuration and says so itself.
    #[error("rank {0} cannot use its configuration")]
    Problem(usize),
    /// The environment differs.
    #[error(
        "rank {0} has other NAGARE_* settings, another Nagare or another pretended machine than rank 0; expected the same on all ranks"
    )]
    Settings(usize),
    /// The file differs.
    #[error("rank {0} reads another topology file than rank 0; expected the same contents on all hosts")]
    File(usize),
    /// The levels contradict each other.
    #[error("{0}")]
    Topology(String),
    /// The exchange itself failed.
    #[error("exchanging facts failed with MPI error {0}")]
    Exchange(c_int),
}

/// Collects the facts of all ranks of `comm`; collective over it. `number`: this process's rank in its world.
pub fn exchange(real: &Real, comm: MPI_Comm, setup: &Setup, number: c_int) -> Exchange {
    let (place, own_problem) = match setup.place(number as u64) {
        Ok(place) => (place, None),
        Err(problem) => (Place { groups: Vec::new(), node: None, core: None }, Some(problem)),
    };
    let usable = setup.usable && own_problem.is_none();
    match collect(real, comm, setup, &place, usable) {
        Ok(ranks) => Exchange {
            facts: agree(&ranks).and_then(|()| share(&ranks, setup, comm == real.handles.comm_world)),
            report: ranks.iter().any(|f| f.report != 0),
            own_problem,
        },
        Err(error) => Exchange { facts: Err(error), report: false, own_problem },
    }
}

fn collect(
    real: &Real,
    comm: MPI_Comm,
    setup: &Setup,
    place: &Place,
    usable: bool,
) -> Result<Vec<Facts>, Disagreement> {
    let mpi = &real.mpi;
    let (mut rank, mut size) = (0, 0);
    // SAFETY: `comm` is a valid intracommunicator and the pointers are valid.
    unsafe {
        (mpi.comm_rank)(comm, &raw mut rank);
        (mpi.comm_size)(comm.into(), &raw mut size);
    }
    let own = own_facts(real, setup, place, usable, shared_memory_leader(real, comm, rank)?);
    let mut ranks = vec![own; size as usize];
    let bytes = size_of::<Facts>() as c_int;
    // SAFETY: the send buffer is one `Facts`, the receive buffer `size` of them, all plain data without padding bytes.
    let code = unsafe {
        (mpi.allgather)(
            (&raw const own).cast(),
            bytes,
            real.handles.byte.into(),
            ranks.as_mut_ptr().cast(),
            bytes,
            real.handles.byte.into(),
            comm.into(),
        )
    };
    if code == 0 { Ok(ranks) } else { Err(Disagreement::Exchange(code)) }
}

/// Whether all ranks can plan together: the first thing that is wrong, the same on all ranks.
fn agree(ranks: &[Facts]) -> Result<(), Disagreement> {
    let Some(first) = ranks.first() else { return Ok(()) };
    for (rank, facts) in ranks.iter().enumerate() {
        if facts.settings != first.settings {
            return Err(Disagreement::Settings(rank));
        }
        if facts.file != first.file {
            return Err(Disagreement::File(rank));
        }
        if facts.problem != 0 {
            return Err(Disagreement::Problem(rank));
        }
        if facts.levels != first.levels {
            return Err(Disagreement::Settings(rank));
        }
    }
    Ok(())
}

/// The places of all ranks, which are those of the world or of some other communicator, and the limits that hold for all of them.
fn share(ranks: &[Facts], setup: &Setup, world: bool) -> Result<SharedFacts, Disagreement> {
    let levels = ranks.first().map_or(0, |f| f.levels as usize);
    let number = |of: &dyn Fn(&Facts) -> u64| -> Vec<u32> {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut number_of = |group| {
            let next = numbers.len() as u32;
            *numbers.entry(group).or_insert(next)
        };
        ranks.iter().map(|f| number_of(of(f))).collect()
    };
    let mut groups: Vec<Vec<u32>> = (0..levels).map(|l| number(&|f| f.groups[l])).collect();
    groups.push(number(&|f| f.node));
    let mut names = setup.level_names.clone();
    names.resize(levels, "level".to_owned());
    names.push("node".to_owned());
    let places: Vec<(u32, u64)> = ranks.iter().map(|f| (f.numa, f.core)).collect();
    let topology =
        Topology::new(names, groups, in_order(&places)).map_err(|e| Disagreement::Topology(e.to_string()))?;
    let node_of: Vec<u64> = ranks.iter().map(|f| f.node).collect();
    let numa = ranks.iter().map(|f| f.numa).collect();
    let mut topology = setup.on_network(topology, &node_of).with_numa(numa);
    if let Some(dims) = &setup.config.torus {
        // Said of the world's nodes; a session's communicator may be over the same ones.
        if world || dims.points() == topology.node_count() {
            let fitted = topology.on_torus(Arc::new(dims.clone()));
            topology = fitted.map_err(|e| Disagreement::Topology(format!("NAGARE_TORUS: {e}")))?;
        }
    }
    let least = |limit: &dyn Fn(&Facts) -> u32| ranks.iter().map(limit).min().unwrap_or(eager::UNKNOWN);
    let eager = EagerLimits { local: least(&|f| f.eager_local), remote: least(&|f| f.eager_remote) };
    Ok(SharedFacts { topology: Arc::new(topology), eager })
}

fn own_facts(real: &Real, setup: &Setup, place: &Place, usable: bool, leader: u64) -> Facts {
    let limits = eager::limits(real);
    let mut groups = [0; MAX_LEVELS];
    for (into, &from) in groups.iter_mut().zip(&place.groups) {
        *into = from;
    }
    let bound = locality::bound().filter(|_| place.core.is_none());
    Facts {
        settings: setup.settings_hash,
        file: setup.file_hash,
        groups,
        node: place.node.unwrap_or(leader),
        core: place.core.or(bound.map(|b| u64::from(b.core))).unwrap_or(0),
        eager_local: limits.local,
        eager_remote: limits.remote,
        levels: place.groups.len().min(MAX_LEVELS) as u32,
        problem: u32::from(!usable),
        report: u32::from(setup.config.report.is_some()),
        numa: bound.map_or(0, |b| b.numa),
    }
}

/// Smallest rank of `comm` on the same shared-memory node, found by the MPI library's own split (MPI 4.0 section 7.4.2).
fn shared_memory_leader(real: &Real, comm: MPI_Comm, rank: c_int) -> Result<u64, Disagreement> {
    let mpi = &real.mpi;
    let mut node = real.handles.comm_null;
    let mut leader = rank;
    // SAFETY: collective over `comm`; `node` is a fresh communicator of this node's ranks in the order of `comm`, freed
    // here; the broadcast's buffer is one integer.
    let code = unsafe {
        let code = (mpi.comm_split_type)(comm, COMM_TYPE_SHARED, rank, real.handles.info_null, &raw mut node);
        if code == 0 {
            let code = (mpi.bcast)(
                (&raw mut leader).cast(),
                size_of::<c_int>() as c_int,
                real.handles.byte.into(),
                0,
                node.into(),
            );
            (mpi.comm_free)(&raw mut node);
            code
        } else {
            code
        }
    };
    if code == 0 { Ok(leader as u64) } else { Err(Disagreement::Exchange(code)) }
}

#[cfg(mpi_family = "openmpi")]
const COMM_TYPE_SHARED: c_int = 0;
#[cfg(mpi_family = "mpich")]
const COMM_TYPE_SHARED: c_int = 1;

/// Ranks of `of` numbered in `within`: `result[rank in of] = rank in within`, `None` if some are not in it.
pub fn translate(real: &Real, of: MPI_Comm, within: MPI_Comm, size: c_int) -> Option<Vec<Rank>> {
    let mpi = &real.mpi;
    let own: Vec<c_int> = (0..size).collect();
    let mut there = vec![-1; own.len()];
    // SAFETY: both communicators are valid; the groups are freed here; the arrays have `size` entries.
    let code = unsafe {
        let (mut group, mut target) = (std::mem::zeroed(), std::mem::zeroed());
        (mpi.comm_group)(of, &raw mut group);
        (mpi.comm_group)(within, &raw mut target);
        let code = (mpi.group_translate_ranks)(group, size, own.as_ptr(), target, there.as_mut_ptr());
        (mpi.group_free)(&raw mut group);
        (mpi.group_free)(&raw mut target);
        code
    };
    let there: Option<Vec<Rank>> = there.into_iter().map(|r| Rank::try_from(r).ok()).collect();
    there.filter(|_| code == 0)
}

/// Whether `yes` holds on all ranks of `comm`; collective over it.
pub fn all_agree(real: &Real, comm: MPI_Comm, yes: bool) -> bool {
    let (own, mut least) = (c_int::from(yes), 0);
    let handles = &real.handles;
    // SAFETY: valid communicator and handles, one integer each; all ranks are in this call.
    let code = unsafe {
        (real.mpi.allreduce)(
            (&raw const own).cast(),
            (&raw mut least).cast(),
            1,
            handles.int.into(),
            handles.min.into(),
            comm.into(),
        )
    };
    code == 0 && least == 1
}
