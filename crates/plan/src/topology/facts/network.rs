//! Where the nodes of a communicator are: hosts of a network, or points of a torus that the user describes.

use super::{Topology, TopologyError};
use crate::collective::Rank;
use crate::fabric::{Fabric, HostId, Level, adapter_of};
use crate::topology::Dims;
use std::sync::Arc;

/// The network the nodes are in, where it is known link by link.
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) fabric: Arc<Fabric>,
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

impl Topology {
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

    /// Which adapter of its host a rank uses.
    pub fn adapter(&self, rank: Rank) -> u32 {
        self.adapters.get(rank as usize).copied().unwrap_or(0)
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
}

/// What is said of every rank, and is the same for all ranks of a node, by node.
pub(super) fn by_node<T>(nodes: &[u32], of_rank: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut of_node = Vec::new();
    for (&node, value) in nodes.iter().zip(of_rank) {
        // Nodes are numbered by their smallest rank.
        if node as usize == of_node.len() {
            of_node.push(value);
        }
    }
    of_node
}
