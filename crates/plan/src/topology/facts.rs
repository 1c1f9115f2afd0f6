//! The facts about the ranks of one communicator, as every rank of it knows them.

use crate::fabric::{Fabric, HostId};
use crate::schedule::Rank;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// Place of every rank of a communicator.
///
/// Shapes: `groups[level][rank]` is a group number; `names[level]` names the level; levels are outermost first and the last
/// one is the node. Two ranks are in the same group of a level only if they also are in all wider levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    names: Vec<String>,
    groups: Vec<Vec<u32>>,
    cores: Vec<u32>,
    #[serde(skip)]
    network: Option<Network>,
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
    /// There is no level at all, or there are more than a stage number can tell apart.
    #[error("{0} topology levels, expected 1 to 64 of which the last is the node")]
    Levels(usize),
}

/// Numbers for the places of ranks inside their nodes, (NUMA node, core), such that lower NUMA nodes come first and inside a
/// NUMA node lower cores: 0, 1, … without gaps, one for all ranks of equal places.
pub fn in_order(places: &[(u32, u64)]) -> Vec<u32> {
    let mut distinct = places.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    places.iter().map(|place| distinct.partition_point(|other| other < place) as u32).collect()
}

impl Topology {
    /// Checks and normalises facts: group numbers become 0, 1, … in the order of the smallest rank of each group.
    ///
    /// `names[l]` and `groups[l][rank]` describe the levels, outermost first, the node last; `cores[rank]` orders the ranks
    /// of a node by the core they are bound to (equal values fall back to rank order), see [`in_order`].
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
        Ok(Self { names, groups: normal, cores, network: None })
    }

    /// A topology that knows only nodes: `nodes[rank]` is the node's number.
    ///
    /// # Errors
    /// None for any input of one entry per rank; the type is that of [`Topology::new`].
    pub fn of_nodes(nodes: Vec<u32>) -> Result<Self, TopologyError> {
        let cores = vec![0; nodes.len()];
        Self::new(vec!["node".into()], vec![nodes], cores)
    }

    /// The same facts with the network: `hosts[rank]` is the host a rank is on, the same for all ranks of a node.
    pub fn on_network(mut self, fabric: Arc<Fabric>, hosts: &[HostId]) -> Self {
        let mut of_node = Vec::new();
        for (&node, &host) in self.nodes().iter().zip(hosts) {
            // Nodes are numbered by their smallest rank.
            if node as usize == of_node.len() {
                of_node.push(host);
            }
        }
        self.network = Some(Network { fabric, hosts: of_node });
        self
    }

    /// The network, where it is known.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
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
        let mut order: Vec<u32> = (0..self.ranks()).collect();
        order.sort_by_key(|&r| (self.nodes()[r as usize], self.cores[r as usize], r));
        let mut slots = vec![0; order.len()];
        let mut previous = None;
        let mut slot = 0;
        for rank in order {
            let node = self.nodes()[rank as usize];
            slot = if previous == Some(node) { slot + 1 } else { 0 };
            previous = Some(node);
            slots[rank as usize] = slot;
        }
        slots
    }

    /// The facts about some of the ranks, in a new order: `ranks[new] = old`, as for a sub-communicator.
    ///
    /// Ranks that do not exist are left out.
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
        let restricted = Self {
            names: self.names.clone(),
            groups: self.groups.iter().map(|g| renumber(take(g))).collect(),
            cores: take(&self.cores),
            network: None,
        };
        let Some(network) = &self.network else { return restricted };
        let hosts: Vec<HostId> =
            take(&self.groups[self.groups.len() - 1]).into_iter().map(|n| network.host(n)).collect();
        restricted.on_network(Arc::clone(&network.fabric), &hosts)
    }
}
