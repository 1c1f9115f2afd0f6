//! What every rank tells the others about itself (`facts/own.rs`), and what all of them then know (`facts/shared.rs`).

mod own;
mod shared;

pub use shared::SharedFacts;

use super::disagreement::Disagreement;
use super::machine::Said;
use super::meeting::meet;
use super::node::{self, Around};
use super::profiles::{self, Found};
use super::setup::{MAX_LEVELS, Setup};
use crate::real::Real;
use crate::transport::gathered::{Plain, gathered};
use mpi::ffi::MPI_Comm;
use nagare_plan::quoted;
use nagare_plan::topology::Location;
use std::ffi::c_int;

/// One rank's facts, exchanged as bytes. The layout is the same in all builds of one version.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Hash of the settings that must agree.
    settings: u64,
    /// Hash of the topology file's contents.
    file: u64,
    /// Bytes of the profiles that rank 0 has found.
    profile_bytes: u64,
    /// The smallest rank on the machine of this one, whatever is told of nodes.
    memory: u64,
    /// Group at every level outside the node, outermost first.
    groups: [u64; MAX_LEVELS],
    /// Node: as the topology says, else the smallest rank on the machine.
    node: u64,
    /// Core, in an order that is the same on all ranks of the node.
    core: u64,
    /// Largest eager message within the node and between nodes, bytes
    /// ([`EagerLimits`](crate::real::eager::EagerLimits)).
    eager_local: u32,
    eager_remote: u32,
    /// Longest message over TCP, likewise.
    over_tcp: u32,
    /// Nothing: no byte of this may be padding.
    reserved: u32,
    /// Number of levels.
    levels: u32,
    /// Whether this rank is without a usable configuration.
    problem: u16,
    /// Whether this rank wants the job to end if ranks disagree.
    strict: u16,
    /// Whether this rank wants a report, whether it wants calls watched, and whether its threads may make calls at the
    /// same time: bits.
    flags: u16,
    /// Bits of the library's tags.
    tag_bits: u16,
    /// NUMA node in the node, 0 if unknown.
    numa: u32,
    /// Which of the libraries whose choices are known this is.
    library: u16,
    /// Whether this process may have buffers in the memory of a device.
    devices: u16,
    /// Of messages between nodes.
    machine: Said,
}

/// The fields and nothing else: padding would be sent as bytes that nobody wrote.
const _: () = assert!(size_of::<Facts>() == (6 + MAX_LEVELS) * 8 + (6 + 3) * 4 + 6 * 2);

// SAFETY: integers without padding, as asserted above.
unsafe impl Plain for Facts {}

const REPORT: u16 = 1;
const WATCH: u16 = 2;
const THREADS: u16 = 4;

/// Outcome of an exchange, the same on all ranks.
pub struct Exchange {
    /// The facts, or why there are none to use.
    pub facts: Result<SharedFacts, Disagreement>,
    /// Whether some rank wants a report.
    pub report: bool,
    /// Whether some rank wants calls to be watched.
    pub watch: bool,
    /// Whether threads of some rank may make calls at the same time.
    pub threads: bool,
    /// Whether some rank wants the job to end if ranks disagree.
    pub strict: bool,
    /// Why this rank has no place in the machine; differs between ranks.
    pub own_problem: Option<String>,
    /// Whether more ranks than processors are where this rank is ([`node::Around`]); differs between ranks.
    pub is_crowded: bool,
}

/// Collects the facts of all ranks of `comm`; collective over it. `rank`: this process's in the world.
pub fn exchange(real: &Real, comm: MPI_Comm, setup: &Setup, rank: c_int) -> Exchange {
    let (place, own_problem) = match setup.place(rank as u64) {
        Ok(place) => (place, None),
        Err(problem) => (Location { groups: Vec::new(), node: None, numa: None, core: None }, Some(problem)),
    };
    let usable = setup.usable && own_problem.is_none();
    match collect(real, comm, setup, &place, usable) {
        Ok((ranks, profiles, around)) => {
            let mut facts = agree(&ranks);
            if let Err(Disagreement::Settings(other, what)) = &mut facts {
                *what = differences(real, comm, setup, *other);
            }
            Exchange {
                facts: facts.and_then(|()| {
                    let bytes = ranks.first().map_or(0, |first| first.profile_bytes);
                    let found =
                        if bytes > 0 { profiles::share(real, comm, profiles, bytes) } else { Ok(Found::default()) };
                    let shared =
                        SharedFacts::of(&ranks, setup, found.map_err(Disagreement::Exchange)?, around.crowding, real)?;
                    if rank == 0 {
                        let transport = quoted(&shared.transport);
                        log::debug!("messages between nodes: {transport}; {}", shared.topology.costs());
                    }
                    Ok(shared)
                }),
                report: ranks.iter().any(|f| f.flags & REPORT != 0),
                watch: ranks.iter().any(|f| f.flags & WATCH != 0),
                threads: ranks.iter().any(|f| f.flags & THREADS != 0),
                strict: ranks.iter().any(|f| f.strict != 0),
                own_problem,
                is_crowded: around.is_crowded,
            }
        }
        Err(error) => {
            let (report, strict) = match error {
                Disagreement::Off { report } => (report, false),
                // Only what failed on this rank may differ from the others.
                _ => (false, setup.config.strict),
            };
            let facts = Err(error);
            Exchange { facts, report, watch: false, threads: false, strict, own_problem, is_crowded: false }
        }
    }
}

/// The facts of all ranks, what this one has found of profiles, and what is around it.
fn collect(
    real: &Real,
    comm: MPI_Comm,
    setup: &Setup,
    place: &Location,
    usable: bool,
) -> Result<(Vec<Facts>, Vec<u8>, Around), Disagreement> {
    let mpi = &real.mpi;
    let (mut rank, mut size) = (0, 0);
    // SAFETY: `comm` is a valid intracommunicator and the pointers are valid.
    unsafe {
        (mpi.comm_rank)(comm, &raw mut rank);
        (mpi.comm_size)(comm.into(), &raw mut size);
    }
    meet(real, comm, rank, size, &setup.config)?;
    // After the meeting: nobody takes a slow file system for a rank without Nagare.
    let reads = rank == 0 && setup.config.enable;
    let profiles = if reads { Found::here(real, &setup.config.profile).encoded() } else { Vec::new() };
    let around = node::around(real, comm, rank).map_err(Disagreement::Exchange)?;
    let own = own::facts(real, setup, (place, profiles.len() as u64), usable, (rank as u64, around.leader as u64));
    let ranks = gathered(real, comm, own).map_err(Disagreement::Exchange)?;
    Ok((ranks, profiles, around))
}

/// Whether all ranks can plan together: the first thing that is wrong, the same on all ranks.
fn agree(ranks: &[Facts]) -> Result<(), Disagreement> {
    let Some(first) = ranks.first() else { return Ok(()) };
    // That rank reports what it could not read; the others report only that it differs.
    if let Some(rank) = ranks.iter().position(|f| f.problem != 0) {
        return Err(Disagreement::Problem(rank));
    }
    for (rank, facts) in ranks.iter().enumerate() {
        if facts.settings != first.settings || facts.levels != first.levels {
            return Err(Disagreement::Settings(rank, String::new()));
        }
        if facts.file != first.file {
            return Err(Disagreement::File(rank));
        }
    }
    Ok(())
}

/// In what the settings of `rank` differ from those of rank 0, the same on all ranks; collective over `comm`.
fn differences(real: &Real, comm: MPI_Comm, setup: &Setup, rank: usize) -> String {
    let of = |root: c_int| {
        let mut hashes: Vec<u64> = setup.variables.iter().map(|(_, hash)| *hash).collect();
        let bytes = size_of_val(hashes.as_slice()) as c_int;
        // SAFETY: all ranks are in this call, with as many hashes: their builds understand each other.
        unsafe { (real.mpi.bcast)(hashes.as_mut_ptr().cast(), bytes, real.handles.byte.into(), root, comm.into()) };
        hashes
    };
    let (first, other) = (of(0), of(rank as c_int));
    let names = setup.variables.iter().map(|(name, _)| *name);
    let differing: Vec<&str> =
        names.zip(first.iter().zip(&other)).filter(|(_, (a, b))| a != b).map(|(name, _)| name).collect();
    if differing.is_empty() { "another version or pretended machine".to_owned() } else { differing.join(", ") }
}
