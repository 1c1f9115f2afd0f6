//! What the ranks of a communicator know of each other, made from the facts of all.

use super::Facts;
use crate::real::eager::{EagerLimits, FREE, UNKNOWN};
use crate::real::{Real, transport};
use crate::transport::tags::Tags;
use crate::world::disagreement::Disagreement;
use crate::world::machine::Said;
use crate::world::profiles::{Found, Profiles, at_rate};
use crate::world::setup::Setup;
use nagare_plan::schedule::Rank;
use nagare_plan::stock::Library;
use nagare_plan::topology::{Costs, Topology, Transport, in_order};
use std::collections::HashMap;
use std::sync::Arc;

/// What the ranks of one communicator know of each other.
#[derive(Clone, Debug)]
pub struct SharedFacts {
    /// Where they are.
    pub topology: Arc<Topology>,
    /// The largest messages that are eager between all of them, and that are carried well over TCP.
    pub eager: EagerLimits,
    /// How their messages are told apart.
    pub tags: Tags,
    /// What was measured before.
    pub profiles: Arc<Profiles>,
    /// Whether some rank may have buffers in the memory of a device.
    pub devices: bool,
    /// Whether the transport never drops a message.
    pub lossless: bool,
    /// The MPI library, where it is the same on all ranks, what carries its messages, and the longest, bytes, that
    /// it carries well.
    pub stock: Option<(Library, Option<Transport>, u64)>,
    /// What the network is called.
    pub network: String,
    /// What carries messages between nodes, by this rank's library.
    pub transport: String,
    /// The smallest rank on the machine of each, whatever is told of nodes.
    memory: Arc<[u64]>,
}

impl SharedFacts {
    /// What all ranks know once each has told its facts: where they are, and the limits that hold for all of them.
    /// `crowding`: ranks for each processor, where they share them.
    ///
    /// # Errors
    /// Why they cannot be used: places that contradict each other, or with `NAGARE_STRICT=1` a profile.
    pub(super) fn of(
        ranks: &[Facts],
        setup: &Setup,
        found: Found,
        crowding: Option<f64>,
        real: &Real,
    ) -> Result<Self, Disagreement> {
        let memory: Arc<[u64]> = ranks.iter().map(|f| f.memory).collect();
        let is_one = memory.iter().all(|&other| other == memory[0]);
        let mut topology = topology(ranks, setup, is_one)?;
        let (mut transport, mbit) = Said::agreed(ranks.iter().map(|f| f.machine));
        if is_one {
            transport = Some(Transport::SharedMemory);
        }
        let said = Costs { crowding, ..Costs::of_machine(transport, mbit) };
        let told = topology.node_count() > 1 && transport == Some(Transport::SharedMemory);
        let network = topology.network_name() + if told { " in shared memory" } else { "" };
        let profiles = Profiles::fitting(found, &network, mbit, topology.node_count() > 1);
        let measured = profiles.costs(&topology);
        topology = topology.with_costs(measured.map_or(said, |measured| measured.or_else(said)));
        let strict = ranks.iter().any(|f| f.strict != 0);
        if let Some(problem) = profiles.fatal().filter(|_| strict) {
            return Err(Disagreement::Profile(problem.clone()));
        }
        let least = |limit: &dyn Fn(&Facts) -> u32| ranks.iter().map(limit).min().unwrap_or(UNKNOWN);
        let over_tcp = if transport == Some(Transport::Rdma) { FREE } else { least(&|f| f.over_tcp) };
        let eager = EagerLimits { local: least(&|f| f.eager_local), remote: least(&|f| f.eager_remote), over_tcp };
        let tags = Tags::new(ranks.iter().map(|f| f.tag_bits.into()).min().unwrap_or(0));
        let lossless = transport.is_some_and(Transport::is_lossless);
        let library = ranks.first().map_or(Library::UNKNOWN, |first| first.library);
        let library = Library::of_code(library).filter(|_| ranks.iter().all(|f| f.library == library));
        let stock = library.map(|library| (library, transport, u64::from(eager.message())));
        let (topology, profiles) = (Arc::new(topology), Arc::new(profiles));
        let transport = at_rate(&transport::name(real), mbit);
        let devices = ranks.iter().any(|f| f.devices != 0);
        Ok(Self { devices, topology, eager, tags, profiles, lossless, stock, network, transport, memory })
    }

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

/// Where all ranks are. `is_one`: all are on one machine.
///
/// # Errors
/// Places that contradict each other, or a torus that the nodes do not fill.
fn topology(ranks: &[Facts], setup: &Setup, is_one: bool) -> Result<Topology, Disagreement> {
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
    // Where all are on one machine, messages between pretended nodes use no adapter.
    let beside = ranks.iter().filter(|_| !is_one).map(|f| of_machine(f).adapters(f.numa)).collect();
    let topology = setup.on_network(topology, &node_of).with_numa(numa).with_adapters_beside(beside);
    let Some(dims) = &setup.config.torus else { return Ok(topology) };
    let fitted = topology.on_torus(Arc::new(dims.clone()));
    fitted.map_err(|e| Disagreement::Topology(format!("NAGARE_TORUS: {e}")))
}
