//! The facts about the ranks of one communicator, as every rank of it knows them.

use super::{Cartesian, Costs, Dims, Transport};
use crate::collective::Rank;
use crate::fabric::{Fabric, HostId, Level, MessageCost, adapter_of};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// How many times slower links may be than is assumed where nobody has said it: 100 Mbit/s in place of 10 Gbit/s.
const SLOWER: f64 = 100.0;

/// Place of every rank of a communicator.
///
/// Shapes: `groups[level][rank]` is a group number; `names[level]` names the level; levels are outermost first and the
/// last one is the node. Two ranks are in the same group of a level only if they also are in all wider levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    names: Vec<String>,
    groups: Vec<Vec<u32>>,
    cores: Vec<u32>,
    #[serde(skip)]
    network: Option<Network>,
    /// Dimensions that the user gave, and the point of every node.
    #[serde(skip)]
    torus: Option<(Arc<Dims>, Vec<u32>)>,
    #[serde(skip)]
    cartesian: Option<Cartesian>,
    /// NUMA node of every rank in its node; empty where it is not known.
    #[serde(skip)]
    numa: Vec<u32>,
    /// Of every rank which adapter of its host it uses; empty where hosts have one.
    #[serde(skip)]
    adapters: Vec<u32>,
    /// Adapters beside the NUMA node of every rank; empty where that is not known.
    #[serde(skip)]
    beside: Vec<u32>,
    /// What was measured of the network.
    #[serde(skip)]
    costs: Option<Costs>,
}

/// The network the nodes are in, where it is known link by link.
#[derive(Clone, Debug)]
pub struct Network {
    fabric: Arc<Fabric>,
    /// Host of every node of the topology.
    hosts: Vec<HostId>,
}

impl Network {
    /// Its links and routes.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The host that a node of the topology is.
    pub fn host(&self, node: u32) -> HostId {
        self.hosts[node as usize]
    }
}

impl PartialEq for Network {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.fabric, &other.fabric) && self.hosts == other.hosts
    }
}

impl Eq for Network {}

/// Facts that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A level or the cores do not have one entry per rank.
    #[error("level `{level}` places {got} ranks, expected {expected}")]
    Length {
        /// Name of the level.
        level: String,
        /// Entries given.
        got: usize,
        /// Ranks of the communicator.
        expected: usize,
    },
    /// A group of an inner level reaches over two groups of a wider one.
    #[error("ranks {a} and {b} share a {inner} but not a {outer}: levels must be nested")]
    NotNested {
        /// A rank of the inner group.
        a: Rank,
        /// Another rank of it.
        b: Rank,
        /// The narrower level.
        inner: String,
        /// The wider level.
        outer: String,
    },
    /// Dimensions that another number of nodes would fill.
    #[error("{dims} has {points} nodes, the job has {nodes}; expected sizes whose product is the number of nodes")]
    Torus {
        /// The sizes.
        dims: String,
        /// Their product.
        points: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// There is no level at all, or there are more than a stage number can tell apart.
    #[error("{0} topology levels, expected 1 to 64 of which the last is the node")]
    Levels(usize),
}

/// Numbers for the places of ranks inside their nodes, (NUMA node, core), such that lower NUMA nodes come first and
/// inside a NUMA node lower cores: 0, 1, … without gaps, one for all ranks of equal places.
pub fn in_order(places: &[(u32, u64)]) -> Vec<u32> {
    let mut distinct = places.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    places.iter().map(|place| distinct.partition_point(|other| other < place) as u32).collect()
}

impl Topology {
    /// Checks and normalises facts: group numbers become 0, 1, … in the order of the smallest rank of each group.
    ///
    /// `names[l]` and `groups[l][rank]` describe the levels, outermost first, the node last; `cores[rank]` orders the
    /// ranks of a node by the core they are bound to (equal values fall back to rank order), see [`in_order`].
    ///
    /// # Errors
    /// [`TopologyError`] if the shapes differ or the levels are not nested.
    pub fn new(names: Vec<String>, groups: Vec<Vec<u32>>, cores: Vec<u32>) -> Result<Self, TopologyError> {
        if names.is_empty() || names.len() > 64 || names.len() != groups.len() {
            return Err(TopologyError::Levels(groups.len()));
        }
        let ranks = cores.len();
        let mut normal: Vec<Vec<u32>> = Vec::with_capacity(groups.len());
        for (level, (name, of_rank)) in names.iter().zip(&groups).enumerate() {
            if of_rank.len() != ranks {
                return Err(TopologyError::Length { level: name.clone(), got: of_rank.len(), expected: ranks });
            }
            let mut numbers: HashMap<u32, (u32, usize)> = HashMap::new();
            let mut renumbered = Vec::with_capacity(ranks);
            for (rank, &group) in of_rank.iter().enumerate() {
                let next = numbers.len() as u32;
                let &mut (number, first) = numbers.entry(group).or_insert((next, rank));
                if let Some(outer) = normal.last().filter(|outer: &&Vec<u32>| outer[rank] != outer[first]) {
                    debug_assert_eq!(outer.len(), ranks);
                    return Err(TopologyError::NotNested {
                        a: first as Rank,
                        b: rank as Rank,
                        inner: name.clone(),
                        outer: names[level - 1].clone(),
                    });
                }
                renumbered.push(number);
            }
            normal.push(renumbered);
        }
        Ok(Self {
            names,
            groups: normal,
            cores,
            network: None,
            torus: None,
            cartesian: None,
            numa: Vec::new(),
            adapters: Vec::new(),
            beside: Vec::new(),
            costs: None,
        })
    }

    /// A topology that knows only nodes: `nodes[rank]` is the node's number.
    ///
    /// # Errors
    /// None for any input of one entry per rank; the type is that of [`Topology::new`].
    pub fn of_nodes(nodes: Vec<u32>) -> Result<Self, TopologyError> {
        let cores = vec![0; nodes.len()];
        Self::new(vec!["node".into()], vec![nodes], cores)
    }

    /// The same facts with the network: `hosts[rank]` is the host a rank is on, the same for all ranks of a node. Where
    /// hosts have several adapters, these ranks are all there are on them.
    pub fn on_network(mut self, fabric: Arc<Fabric>, hosts: &[HostId]) -> Self {
        let of_node = by_node(self.nodes(), hosts.iter().copied());
        if of_node.iter().any(|&host| fabric.adapters(host) > 1) {
            let mut width = vec![0u32; of_node.len()];
            self.nodes().iter().for_each(|&node| width[node as usize] += 1);
            let places = self.nodes().iter().map(|&node| node as usize).zip(self.slots());
            let adapter = |(node, slot)| adapter_of(slot, width[node], fabric.adapters(of_node[node]));
            self.adapters = places.map(adapter).collect();
        }
        self.network = Some(Network { fabric, hosts: of_node });
        self
    }

    /// The same facts in other groups of the hosts of its network, outermost first; `None` without a network.
    pub fn with_levels(&self, levels: &[Level]) -> Option<Self> {
        let network = self.network.as_ref()?;
        let host = |node: &u32| network.host(*node).0 as usize;
        let of_ranks = |level: &Level| self.nodes().iter().map(|node| level.of_host[host(node)]).collect();
        let names = levels.iter().map(|level| level.name.clone()).chain(self.names.last().cloned()).collect();
        let groups = levels.iter().map(of_ranks).chain([self.nodes().to_vec()]).collect();
        let Self { names, groups, .. } = Self::new(names, groups, self.cores.clone()).ok()?;
        Some(Self { names, groups, ..self.clone() })
    }

    /// The same facts with the nodes on a torus that the user describes: in the order of their numbers, row after row,
    /// the last dimension fastest.
    ///
    /// # Errors
    /// [`TopologyError::Torus`] if it has another number of points than there are nodes.
    pub fn on_torus(mut self, dims: Arc<Dims>) -> Result<Self, TopologyError> {
        let nodes = self.node_count();
        if dims.points() != nodes {
            return Err(TopologyError::Torus { dims: dims.to_string(), points: dims.points(), nodes });
        }
        self.torus = Some((dims, (0..nodes).collect()));
        Ok(self)
    }

    /// The torus that the user describes, and the point of every node.
    pub fn given_torus(&self) -> Option<(&Dims, &[u32])> {
        self.torus.as_ref().map(|(dims, points)| (dims.as_ref(), points.as_slice()))
    }

    /// The same facts for a communicator that is Cartesian.
    pub fn with_cartesian(self, cartesian: Cartesian) -> Self {
        Self { cartesian: Some(cartesian), ..self }
    }

    /// The grid of the ranks, if the communicator is Cartesian.
    pub fn cartesian(&self) -> Option<&Cartesian> {
        self.cartesian.as_ref()
    }

    /// The same facts with the NUMA nodes that ranks are bound to: `numa[rank]` is a number inside the node.
    pub fn with_numa(self, numa: Vec<u32>) -> Self {
        Self { numa, ..self }
    }

    /// The same facts with the adapters of its host that are beside the NUMA node of every rank; none anywhere says
    /// nothing.
    pub fn with_adapters_beside(self, beside: Vec<u32>) -> Self {
        let is_known = beside.iter().any(|&adapters| adapters > 0);
        Self { beside: if is_known { beside } else { Vec::new() }, ..self }
    }

    /// Ranks of every node that have a part of the machine of their own to talk to other nodes from, on the node with
    /// the fewest: the adapters that its ranks use, where the network says that hosts have several; else the adapters
    /// beside the NUMA nodes that its ranks are bound to, on each at most as many as it has ranks, where every node has
    /// two or more; else these NUMA nodes. 1 where that is not known.
    pub fn aggregators(&self) -> u32 {
        if !self.adapters.is_empty() {
            return self.parts(&self.adapters, &[]);
        }
        let beside = if self.beside.is_empty() { 0 } else { self.parts(&self.numa, &self.beside) };
        if beside > 1 { beside } else { self.parts(&self.numa, &[]).max(1) }
    }

    /// Of the node with the fewest, how many parts of it, named by `parts` of every rank, have ranks, each counted as
    /// often as `beside` says, at most once for each of its ranks; 1 where nothing is known.
    fn parts(&self, parts: &[u32], beside: &[u32]) -> u32 {
        let mut places: Vec<(u32, u32, usize)> = Vec::with_capacity(parts.len());
        places.extend(self.nodes().iter().zip(parts).enumerate().map(|(rank, (&node, &part))| (node, part, rank)));
        places.sort_unstable();
        let of_part = |of_part: &[(u32, u32, usize)]| {
            let most = beside.get(of_part[0].2).copied().unwrap_or(1);
            most.min(of_part.len() as u32)
        };
        let of_node = |of_node: &[(u32, u32, usize)]| of_node.chunk_by(|a, b| a.1 == b.1).map(of_part).sum::<u32>();
        places.chunk_by(|a, b| a.0 == b.0).map(of_node).min().unwrap_or(1)
    }

    /// Which adapter of its host a rank uses.
    pub fn adapter(&self, rank: Rank) -> u32 {
        self.adapters.get(rank as usize).copied().unwrap_or(0)
    }

    /// The same facts with what was measured of the network.
    pub fn with_costs(self, costs: Costs) -> Self {
        Self { costs: Some(costs), ..self }
    }

    /// What a message costs: by the fabric's file, else as it was measured, else as much as it does at least by such a
    /// transport.
    pub fn message_cost(&self) -> MessageCost {
        Costs::or(self.known_cost(), Transport::message(self.costs().transport))
    }

    /// From how many times to how many times as much it may cost, beside the bytes of links: both 1 where rates are
    /// known and the gap between two messages, which decides segments, was measured. Links that are slower than is
    /// assumed are messages that cost less, in other units.
    pub fn message_range(&self) -> [f64; 2] {
        let is_measured = self.known_cost().gap_us.is_some();
        let dearer = if is_measured { 1.0 } else { Transport::spread(self.costs().transport) };
        [if self.knows_rates() { 1.0 } else { 1.0 / SLOWER }, dearer]
    }

    fn known_cost(&self) -> MessageCost {
        let file = self.network().map(|network| network.fabric().message_cost()).unwrap_or_default();
        Costs::or(file, self.costs().message)
    }

    /// Rate of a host's link, Mbit/s, by the data that a host was measured to send.
    pub fn measured_mbit(&self) -> Option<f64> {
        self.costs.and_then(|costs| costs.host_mbit())
    }

    /// What the network is called: its fabric, else the levels that are known.
    pub fn network_name(&self) -> String {
        let levels = || format!("levels {}", self.names.join(" > "));
        self.network().map_or_else(levels, |network| network.fabric().name().to_owned())
    }

    /// The network, where it is known.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// What messages and links cost, where no fabric says it.
    pub fn costs(&self) -> Costs {
        self.costs.unwrap_or_default()
    }

    /// Whether it is known how fast links are: by a fabric, a measurement, or what machines say of theirs.
    pub fn knows_rates(&self) -> bool {
        self.network.is_some() || self.measured_mbit().is_some()
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.cores.len() as u32
    }

    /// Level names, outermost first; the last is the node.
    pub fn level_names(&self) -> &[String] {
        &self.names
    }

    /// Group number of every rank at one level.
    pub fn groups(&self, level: usize) -> &[u32] {
        &self.groups[level]
    }

    /// The groups of all levels that divide something: not those of one group, or of the same groups as the next.
    pub fn level_groups(&self) -> Vec<&[u32]> {
        let mut telling: Vec<&[u32]> = Vec::new();
        for groups in self.groups.iter().filter(|groups| groups.iter().any(|&group| group != 0)) {
            if telling.last().is_none_or(|last| last != groups) {
                telling.push(groups);
            }
        }
        telling
    }

    /// Node number of every rank; nodes are numbered by their smallest rank.
    pub fn nodes(&self) -> &[u32] {
        &self.groups[self.groups.len() - 1]
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        self.nodes().iter().max().map_or(0, |&last| last + 1)
    }

    /// Position of every rank among the ranks of its node, in the order of NUMA nodes, of cores and then of ranks.
    pub fn slots(&self) -> Vec<u32> {
        let mut slots = vec![0; self.cores.len()];
        let mut previous = None;
        let mut slot = 0;
        for rank in self.node_by_node() {
            let node = self.nodes()[rank];
            slot = if previous == Some(node) { slot + 1 } else { 0 };
            previous = Some(node);
            slots[rank] = slot;
        }
        slots
    }

    /// The same by NUMA node: which of those that ranks of its node are bound to, and the position among its ranks. All
    /// ranks of a node count as on one NUMA node where that is not known.
    pub fn numa_slots(&self) -> Vec<(u32, u32)> {
        let mut places = vec![(0, 0); self.cores.len()];
        let mut previous: Option<usize> = None;
        for rank in self.node_by_node() {
            if let Some(previous) = previous.filter(|&previous| self.nodes()[previous] == self.nodes()[rank]) {
                let (numa, slot) = places[previous];
                let is_same = self.numa.get(previous) == self.numa.get(rank);
                places[rank] = if is_same { (numa, slot + 1) } else { (numa + 1, 0) };
            }
            previous = Some(rank);
        }
        places
    }

    /// All ranks, node by node, in the order of slots.
    fn node_by_node(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cores.len()).collect();
        order.sort_by_key(|&rank| (self.nodes()[rank], self.cores[rank], rank));
        order
    }

    /// The facts about some of the ranks, in a new order: `ranks[new] = old`, as for a sub-communicator.
    ///
    /// Ranks that do not exist are left out. Whether the new communicator is Cartesian is not said.
    pub fn restricted(&self, ranks: &[Rank]) -> Self {
        let take = |of_rank: &Vec<u32>| -> Vec<u32> {
            ranks.iter().filter_map(|&old| of_rank.get(old as usize).copied()).collect()
        };
        let renumber = |groups: Vec<u32>| -> Vec<u32> {
            let mut numbers: HashMap<u32, u32> = HashMap::new();
            groups
                .into_iter()
                .map(|g| {
                    let next = numbers.len() as u32;
                    *numbers.entry(g).or_insert(next)
                })
                .collect()
        };
        let mut restricted = Self {
            names: self.names.clone(),
            groups: self.groups.iter().map(|g| renumber(take(g))).collect(),
            cores: take(&self.cores),
            network: None,
            torus: None,
            cartesian: None,
            numa: take(&self.numa),
            adapters: Vec::new(),
            beside: take(&self.beside),
            costs: self.costs,
        };
        let old_nodes = take(&self.groups[self.groups.len() - 1]);
        if let Some((dims, points)) = &self.torus {
            let points = by_node(restricted.nodes(), old_nodes.iter().map(|&node| points[node as usize]));
            restricted.torus = Some((Arc::clone(dims), points));
        }
        let Some(network) = &self.network else { return restricted };
        let hosts: Vec<HostId> = old_nodes.into_iter().map(|n| network.host(n)).collect();
        let restricted = restricted.on_network(Arc::clone(&network.fabric), &hosts);
        // A process keeps the adapter that it has.
        let several = hosts.iter().any(|&host| network.fabric.adapters(host) > 1);
        Self { adapters: if several { take(&self.adapters) } else { Vec::new() }, ..restricted }
    }
}

/// What is said of every rank, and is the same for all ranks of a node, by node.
fn by_node<T>(nodes: &[u32], of_rank: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut of_node = Vec::new();
    for (&node, value) in nodes.iter().zip(of_rank) {
        // Nodes are numbered by their smallest rank.
        if node as usize == of_node.len() {
            of_node.push(value);
        }
    }
    of_node
}
