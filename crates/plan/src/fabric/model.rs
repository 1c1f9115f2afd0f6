//! The network as data: hosts, switches, full-duplex links, and what is fixed about routes.

use std::collections::HashMap;

use super::ids::{DirectedLink, HostId, NodeId};
use super::level_choice::LevelChoice;

/// A full-duplex link: each direction carries the whole bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Bandwidth of one cable and direction, Mbit/s.
    pub mbit: f64,
    /// Latency of one traversal, microseconds.
    pub latency_us: f64,
    /// Number of equal cables between the two ends.
    pub parallel: u32,
}

/// What a message costs beyond the time its bytes take on the links, as `nagare bench` measures it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MessageCost {
    /// From the call that sends a short message to its arrival at the receiving program, microseconds.
    pub latency_us: Option<f64>,
    /// Between two messages of one host when all hosts send as many as they can, microseconds.
    pub gap_us: Option<f64>,
}

/// Hosts on the switches of a torus, in order: `hosts_per_switch` on each, the last coordinate fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torus {
    /// Switches per dimension.
    pub dims: Vec<u32>,
    /// Hosts of every switch.
    pub hosts_per_switch: u32,
}

/// Which of several links on shortest paths a switch takes towards a host. The host's number decides, counted from 0 in
/// the order of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Routing {
    /// The number modulo that of the links, at every switch.
    #[default]
    Destination,
    /// Each tier by digits of the number that the tiers below have not used (D-mod-K): in a fat tree hosts of one leaf
    /// part at the leaf, hosts that differ by a multiple of its uplinks one tier up.
    DModK,
    /// None of them: every connection takes the one that a hash of its addresses and ports picks, at every switch anew,
    /// as in Ethernet fabrics (equal-cost multipath). A host of several links takes that of the sending adapter.
    Ecmp,
}

impl Routing {
    /// All, as a file names them.
    pub const NAMES: [(&'static str, Self); 3] =
        [("destination", Self::Destination), ("dmodk", Self::DModK), ("ecmp", Self::Ecmp)];

    /// As a file names it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, routing)| *routing == self).map_or("", |(name, _)| name)
    }
}

/// A network of hosts and switches. Made by [`FabricBuilder`](super::FabricBuilder),
/// a [`Generator`](super::Generator) or [`Fabric::from_toml`]; always connected and with routes that arrive.
#[derive(Debug, Clone)]
pub struct Fabric {
    pub(super) name: String,
    pub(super) hosts: u32,
    pub(super) names: Vec<String>,
    pub(super) ids: HashMap<String, NodeId>,
    pub(super) links: Vec<Link>,
    /// Outgoing directed links of node `n`, in link order: `out[first_out[n]..first_out[n + 1]]`.
    pub(super) first_out: Vec<u32>,
    pub(super) out: Vec<DirectedLink>,
    pub(super) queue_packets: Option<u32>,
    pub(super) torus: Option<Torus>,
    pub(super) message: MessageCost,
    /// Which of several equal links a switch takes.
    pub(super) routing: Routing,
    /// Which of the levels count.
    pub(super) level_choice: LevelChoice,
    /// By what the number of a host is divided before it picks a link, for each switch.
    pub(super) divisors: Vec<u32>,
    /// For each host the number of the set of switches it is on.
    pub(super) attachments: Vec<u32>,
    /// Fixed next hops: (destination, switch) -> link to take.
    pub(super) fixed: HashMap<HostId, HashMap<NodeId, DirectedLink>>,
}

impl Fabric {
    /// What the fabric is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts as usize
    }

    /// Number of switches.
    pub fn switch_count(&self) -> usize {
        self.names.len() - self.hosts as usize
    }

    /// All hosts in order.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts).map(HostId)
    }

    /// All switches in order.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (self.hosts..self.names.len() as u32).map(NodeId)
    }

    /// Whether a node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    /// The node as a host, if it is one.
    pub fn as_host(&self, node: NodeId) -> Option<HostId> {
        self.is_host(node).then_some(HostId(node.0))
    }

    /// The name of a host or switch ([`HostId`] or [`NodeId`]).
    pub fn node_name(&self, node: impl Into<NodeId>) -> &str {
        &self.names[node.into().0 as usize]
    }

    /// The host or switch of this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// The host of this name.
    pub fn find_host(&self, name: &str) -> Option<HostId> {
        self.find(name).and_then(|node| self.as_host(node))
    }

    /// All links, in the order of the file or generator.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Number of directed links, twice the number of links.
    pub fn directed_link_count(&self) -> usize {
        2 * self.links.len()
    }

    /// Outgoing directed links of a node, in link order.
    pub fn links_of(&self, node: impl Into<NodeId>) -> &[DirectedLink] {
        let node = node.into().0 as usize;
        &self.out[self.first_out[node] as usize..self.first_out[node + 1] as usize]
    }

    /// Where a directed link starts.
    pub fn start(&self, link: DirectedLink) -> NodeId {
        let l = &self.links[link.link()];
        if link.0 & 1 == 0 { l.a } else { l.b }
    }

    /// Where a directed link ends.
    pub fn end(&self, link: DirectedLink) -> NodeId {
        self.start(link.reverse())
    }

    /// The directed link from one node to a neighbour.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<DirectedLink> {
        let mut out = self.links_of(from).iter().copied();
        out.find(|&l| self.end(l) == to)
    }

    /// Bandwidth of a directed link over all its cables, Mbit/s.
    pub fn mbit(&self, link: DirectedLink) -> f64 {
        let l = &self.links[link.link()];
        l.mbit * f64::from(l.parallel)
    }

    /// Latency of a directed link, microseconds.
    pub fn latency_us(&self, link: DirectedLink) -> f64 {
        self.links[link.link()].latency_us
    }

    /// Number of cables of a directed link.
    pub fn parallel(&self, link: DirectedLink) -> u32 {
        self.links[link.link()].parallel
    }

    /// `from -> to` by name.
    pub fn link_name(&self, link: DirectedLink) -> String {
        let (from, to) = (self.start(link), self.end(link));
        format!("{} -> {}", self.node_name(from), self.node_name(to))
    }

    /// Number of adapters of a host.
    pub fn adapters(&self, host: HostId) -> u32 {
        self.links_of(host).len() as u32
    }

    /// Bandwidth of all links of a host together, Mbit/s.
    pub fn host_mbit(&self, host: HostId) -> f64 {
        self.links_of(host).iter().map(|&l| self.mbit(l)).sum()
    }

    /// Length of the queue of every port of a switch in packets; `None`: not given.
    pub fn queue_packets(&self) -> Option<u32> {
        self.queue_packets
    }

    /// Which of several links on shortest paths is taken.
    pub fn routing(&self) -> Routing {
        self.routing
    }

    /// The torus the hosts are on, if they are.
    pub fn torus(&self) -> Option<&Torus> {
        self.torus.as_ref()
    }

    /// What a message costs beyond its bytes.
    pub fn message_cost(&self) -> MessageCost {
        self.message
    }

    /// The number of the set of switches that a host is on, from 0: hosts on the same switches have the same.
    pub(crate) fn attachment(&self, host: HostId) -> u32 {
        self.attachments[host.0 as usize]
    }

    /// The next hops fixed by the file: (switch, destination, link to take), by switch and destination.
    pub fn fixed_routes(&self) -> Vec<(NodeId, HostId, DirectedLink)> {
        let mut routes: Vec<_> = (self.fixed.iter())
            .flat_map(|(&host, by_switch)| by_switch.iter().map(move |(&s, &l)| (s, host, l)))
            .collect();
        routes.sort_unstable();
        routes
    }
}
