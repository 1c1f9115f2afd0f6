//! What every rank tells the others about itself, and what all of them then know.

use super::disagreement::Disagreement;
use super::locality;
use super::machine::Said;
use super::meeting::meet;
use super::node;
use super::profiles::{self, Found, Profiles, at_rate};
use super::setup::{MAX_LEVELS, Setup};
use crate::buffers::device;
use crate::real::eager::{self, EagerLimits, UNKNOWN};
use crate::real::handles::TAG_UB;
use crate::real::{Real, transport};
use crate::transport::tags::Tags;
use mpi::ffi::MPI_Comm;
use nagare_config::DeviceMemory;
use nagare_plan::quoted;
use nagare_plan::schedule::Rank;
use nagare_plan::stock::Library;
use nagare_plan::topology::{Costs, Location, Topology, Transport, in_order};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

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
    /// Largest eager message within the node and between nodes, bytes ([`EagerLimits`]).
    eager_local: u32,
    eager_remote: u32,
    /// Number of levels.
    levels: u32,
    /// Whether this rank is without a usable configuration.
    problem: u16,
    /// Whether this rank wants the job to end if ranks disagree.
    strict: u16,
    /// Whether this rank wants a report, and calls watched: bits.
    wants: u16,
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

const REPORT: u16 = 1;
const WATCH: u16 = 2;

/// What the ranks of one communicator know of each other.
#[derive(Clone, Debug)]
pub struct SharedFacts {
    /// Where they are.
    pub topology: Arc<Topology>,
    /// The largest messages that are eager between all of them.
    pub eager: EagerLimits,
    /// How their messages are told apart.
    pub tags: Tags,
    /// What was measured before.
    pub profiles: Arc<Profiles>,
    /// Whether some rank may have buffers in the memory of a device.
    pub devices: bool,
    /// Whether the transport never drops a message.
    pub lossless: bool,
    /// The MPI library, where it is known what it chooses, and the largest message, bytes, that two of its ranks send
    /// each other at the same time.
    pub stock: Option<(Library, u64)>,
    /// What the network is called.
    pub network: String,
    /// What carries messages between nodes, by this rank's library.
    pub transport: String,
    /// The smallest rank on the machine of each, whatever is told of nodes.
    memory: Arc<[u64]>,
}

impl SharedFacts {
    /// Whether all of these ranks are on one machine (`node.rs`), also where they are told to be on several nodes.
    pub fn share_memory(&self, ranks: &[Rank]) -> bool {
        let mut memory = ranks.iter().map(|&rank| self.memory[rank as usize]);
        let first = memory.next();
        memory.all(|other| Some(other) == first)
    }

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
    /// Whether some rank wants calls to be watched.
    pub watch: bool,
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
        Ok((ranks, profiles, is_crowded)) => {
            let mut facts = agree(&ranks);
            if let Err(Disagreement::Settings(other, what)) = &mut facts {
                *what = differences(real, comm, setup, *other);
            }
            Exchange {
                facts: facts.and_then(|()| {
                    let bytes = ranks.first().map_or(0, |first| first.profile_bytes);
                    let found =
                        if bytes > 0 { profiles::share(real, comm, profiles, bytes) } else { Ok(Found::default()) };
                    let shared = share(&ranks, setup, found.map_err(Disagreement::Exchange)?, real)?;
                    if rank == 0 {
                        let transport = quoted(&shared.transport);
                        log::debug!("messages between nodes: {transport}; {}", shared.topology.costs());
                    }
                    Ok(shared)
                }),
                report: ranks.iter().any(|f| f.wants & REPORT != 0),
                watch: ranks.iter().any(|f| f.wants & WATCH != 0),
                strict: ranks.iter().any(|f| f.strict != 0),
                own_problem,
                is_crowded,
            }
        }
        Err(error @ Disagreement::Off { report }) => {
            Exchange { facts: Err(error), report, watch: false, strict: false, own_problem, is_crowded: false }
        }
        // Only what failed on this rank may differ from the others.
        Err(error) => {
            let strict = setup.config.strict;
            Exchange { facts: Err(error), report: false, watch: false, strict, own_problem, is_crowded: false }
        }
    }
}

/// The facts of all ranks, what this one has found of profiles, and whether it is crowded.
fn collect(
    real: &Real,
    comm: MPI_Comm,
    setup: &Setup,
    place: &Location,
    usable: bool,
) -> Result<(Vec<Facts>, Vec<u8>, bool), Disagreement> {
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
    let around = node::around(real, comm, (rank, size)).map_err(Disagreement::Exchange)?;
    let own = own_facts(real, setup, (place, profiles.len() as u64), usable, (rank as u64, around.leader as u64));
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
    if code == 0 { Ok((ranks, profiles, around.is_crowded)) } else { Err(Disagreement::Exchange(code)) }
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

/// The places of all ranks and the limits that hold for all of them.
fn share(ranks: &[Facts], setup: &Setup, found: Found, real: &Real) -> Result<SharedFacts, Disagreement> {
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
    let of_machine = |f: &Facts| ranks.get(f.memory as usize).map_or(Said::NOTHING, |leader| leader.machine);
    // Where all are on one machine, messages between pretended nodes use none.
    let is_one = ranks.iter().all(|f| f.memory == ranks[0].memory);
    let beside = ranks.iter().filter(|_| !is_one).map(|f| of_machine(f).adapters(f.numa)).collect();
    let mut topology = setup.on_network(topology, &node_of).with_numa(numa).with_adapters_beside(beside);
    if let Some(dims) = &setup.config.torus {
        let fitted = topology.on_torus(Arc::new(dims.clone()));
        topology = fitted.map_err(|e| Disagreement::Topology(format!("NAGARE_TORUS: {e}")))?;
    }
    let memory: Arc<[u64]> = ranks.iter().map(|f| f.memory).collect();
    let (mut transport, mbit) = Said::agreed(ranks.iter().map(|f| f.machine));
    if memory.iter().all(|&other| other == memory[0]) {
        transport = Some(Transport::SharedMemory);
    }
    let said = Costs::of_machine(transport, mbit);
    let told = topology.node_count() > 1 && transport == Some(Transport::SharedMemory);
    let network = topology.network_name() + if told { " in shared memory" } else { "" };
    let profiles = Profiles::fitting(found, &network, mbit);
    let measured = profiles.costs(&topology);
    topology = topology.with_costs(measured.map_or(said, |measured| measured.or_else(said)));
    let strict = ranks.iter().any(|f| f.strict != 0);
    if let Some(problem) = profiles.fatal().filter(|_| strict) {
        return Err(Disagreement::Profile(problem.clone()));
    }
    let least = |limit: &dyn Fn(&Facts) -> u32| ranks.iter().map(limit).min().unwrap_or(UNKNOWN);
    let eager = EagerLimits { local: least(&|f| f.eager_local), remote: least(&|f| f.eager_remote) };
    let tags = Tags::new(ranks.iter().map(|f| f.tag_bits.into()).min().unwrap_or(0));
    let lossless = transport.is_some_and(Transport::is_lossless);
    // See `nagare_plan::stock`.
    let most_both_ways = if transport == Some(Transport::OpenMpiTcp) { u64::from(eager.remote) } else { u64::MAX };
    let library = ranks.first().map_or(Library::UNKNOWN, |first| first.library);
    let library = Library::of_code(library).filter(|_| ranks.iter().all(|f| f.library == library));
    let stock = library.map(|library| (library, most_both_ways));
    let (topology, profiles) = (Arc::new(topology), Arc::new(profiles));
    let transport = at_rate(&transport::name(real), mbit);
    let devices = ranks.iter().any(|f| f.devices != 0);
    Ok(SharedFacts { devices, topology, eager, tags, profiles, lossless, stock, network, transport, memory })
}

fn own_facts(real: &Real, setup: &Setup, own: (&Location, u64), usable: bool, ranks: (u64, u64)) -> Facts {
    let ((place, profile_bytes), (rank, leader)) = (own, ranks);
    // Where only some ranks are on, the others tell what is compared.
    let on = setup.config.enable;
    let limits = if on { eager::limits(real) } else { EagerLimits::UNKNOWN };
    let mut groups = [0; MAX_LEVELS];
    for (into, &from) in groups.iter_mut().zip(&place.groups) {
        *into = from;
    }
    // A pretended machine that says one of them has no real processors, nor adapters beside them.
    let is_told = place.core.is_some() || place.numa.is_some();
    let bound = if on && !is_told { locality::bound() } else { None };
    Facts {
        settings: setup.settings_hash,
        file: setup.file_hash,
        profile_bytes,
        memory: leader,
        groups,
        node: place.node.unwrap_or(leader),
        core: place.core.or(bound.map(|b| u64::from(b.core))).unwrap_or(0),
        eager_local: limits.local,
        eager_remote: limits.remote,
        levels: place.groups.len().min(MAX_LEVELS) as u32,
        problem: u16::from(!usable),
        strict: u16::from(setup.config.strict),
        wants: if setup.config.report.is_some() { REPORT } else { 0 }
            | if setup.config.watch.is_some() { WATCH } else { 0 },
        tag_bits: tag_bits(real),
        numa: place.numa.map_or_else(|| bound.map_or(0, |b| b.numa), |numa| numa as u32),
        library: Library::from_version(&real.version()).map_or(Library::UNKNOWN, Library::code),
        devices: u16::from(on && setup.config.device_memory != DeviceMemory::Never && device::may_be_here()),
        machine: if on && leader == rank { Said::here(real, !setup.has_network() && !is_told) } else { Said::NOTHING },
    }
}

/// Bits that a tag may have, of the largest that the library allows or the standard demands (MPI 4.0 section 9.1.2).
fn tag_bits(real: &Real) -> u16 {
    let (mut value, mut found): (*const c_int, c_int) = (std::ptr::null(), 0);
    let world = real.handles.comm_world;
    // SAFETY: the world is a valid communicator; the attribute is a pointer to an integer that lives as long as the
    // library.
    let largest = unsafe {
        let code = (real.mpi.comm_get_attr)(world, TAG_UB, (&raw mut value).cast(), &raw mut found);
        if code == 0 && found != 0 && !value.is_null() { *value } else { 0 }
    };
    let tags = u32::try_from(largest).unwrap_or(0).max(32767).saturating_add(1);
    tags.ilog2() as u16
}
