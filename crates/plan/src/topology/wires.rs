//! The links between the nodes of a communicator: those of its fabric, or what groups alone suggest.

use super::costs::GOODPUT;
use super::{Hierarchy, Network, Topology};
use crate::fabric::{Adapter, DirectedLink, Fabric, HostId, Router};
use std::collections::HashSet;

/// Rate of a host where nothing is known and nothing was measured, Mbit/s.
const DEFAULT_MBIT: f64 = 10_000.0;

/// What a switch receives before it passes it on, at most, and what is around the data in it, bytes.
const PACKET: f64 = 1514.0;
const HEADERS: f64 = 66.0;

/// Sets of switches that nodes are on, times all switches and links, up to which routes are looked up: some 30 ms, and
/// at most 50 MiB while a demand is made.
const MOST_ROUTED: usize = 1 << 24;

/// The way from one node to another; the mean of several where connections are hashed over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// Its links, those of the sending node first, each with the share of the bytes that is to be expected on it.
    pub links: Vec<(u32, f64)>,
    /// Nanoseconds per byte on its thinnest link.
    pub per_byte: f64,
    /// Nanoseconds per byte on all its other links together, which switches store and forward packet by packet.
    pub forward: f64,
    /// Latency of the links, nanoseconds.
    pub latency: f64,
}

impl Way {
    /// Nanoseconds a message of `bytes` is on its way beyond the time on the thinnest link.
    pub fn transit(&self, bytes: f64) -> f64 {
        self.latency + self.forward * (bytes + HEADERS).min(PACKET)
    }
}

/// Links with a rate, and ways over them. Nodes are numbered as by [`Hierarchy::node_of`].
pub enum Wires<'t> {
    /// Routes of a fabric; the host of every node, and which of its adapters its smallest rank uses.
    Routed {
        /// Looks routes up.
        router: Router<'t>,
        /// The links.
        fabric: &'t Fabric,
        /// Of every node.
        nodes: Vec<Adapter>,
        /// What a host sends at most, Mbit/s, whatever its links.
        most_sent: f64,
    },
    /// A tree of groups whose links are all as fast as a host's, taken for the worst: what is known without a fabric,
    /// and for fabrics too large to look every route up. Links: two for every node, then two for every group of every
    /// level.
    Groups {
        /// The groups.
        hierarchy: &'t Hierarchy,
        /// First link of every level.
        first: Vec<u32>,
        /// A rank of every node.
        member: Vec<u32>,
        /// Rate of a host, Mbit/s.
        mbit: f64,
    },
}

impl<'t> Wires<'t> {
    /// The links of the network that `topology` is on.
    pub fn new(topology: &'t Topology, hierarchy: &'t Hierarchy) -> Self {
        let nodes = hierarchy.node_count();
        let member: Vec<u32> = (0..nodes).map(|node| hierarchy.leader(node, 0)).collect();
        let network = topology.network();
        let adapters = |network: &Network| -> Vec<Adapter> {
            let host = |rank: u32| network.host(topology.nodes()[rank as usize]);
            member.iter().map(|&rank| Adapter { host: host(rank), number: topology.adapter(rank) }).collect()
        };
        // For every set of switches every link is looked at twice at most, and every switch has an entry.
        let work = |fabric: &Fabric, nodes: &[Adapter]| {
            let sets: HashSet<u32> = nodes.iter().map(|node| fabric.attachment(node.host)).collect();
            (fabric.switch_count() + fabric.directed_link_count()).saturating_mul(sets.len())
        };
        let unlisted = topology.host_mbit().unwrap_or(DEFAULT_MBIT);
        let mbit = network.map_or(unlisted, |network| network.fabric().host_mbit(HostId(0)));
        let routed = network.map(|network| (network.fabric(), adapters(network)));
        match routed.filter(|(fabric, nodes)| work(fabric, nodes) <= MOST_ROUTED) {
            Some((fabric, nodes)) => {
                Self::Routed { router: Router::new(fabric), fabric, nodes, most_sent: f64::INFINITY }
            }
            None => {
                let outer = hierarchy.depth_between_nodes().saturating_sub(1);
                let first = (0..outer).scan(2 * nodes, |next, level| {
                    let start = *next;
                    *next += 2 * hierarchy.group_count(level) as u32;
                    Some(start)
                });
                Self::Groups { hierarchy, first: first.collect(), member, mbit }
            }
        }
    }

    /// The same where a host sends at most so many Mbit/s: links of hosts are no faster, nor is what is taken to be as
    /// fast as these.
    pub fn with_hosts_sending(mut self, most: f64) -> Self {
        match &mut self {
            Self::Routed { most_sent, .. } => *most_sent = most,
            Self::Groups { mbit, .. } => *mbit = mbit.min(most),
        }
        self
    }

    /// Whether ways are routes of a fabric, whose links have rates of their own.
    pub fn are_routed(&self) -> bool {
        matches!(self, Self::Routed { .. })
    }

    /// Number of links, each in one direction.
    pub fn count(&self) -> usize {
        match self {
            Self::Routed { fabric, .. } => fabric.directed_link_count(),
            Self::Groups { hierarchy, first, member, .. } => {
                let groups: usize = (0..first.len()).map(|level| hierarchy.group_count(level)).sum();
                2 * (member.len() + groups)
            }
        }
    }

    /// Nanoseconds per byte of a program on a link.
    pub fn per_byte(&self, link: u32) -> f64 {
        let mbit = match self {
            Self::Routed { fabric, most_sent, .. } => {
                let link = DirectedLink(link);
                let of_host = fabric.is_host(fabric.start(link)) || fabric.is_host(fabric.end(link));
                fabric.mbit(link).min(if of_host { *most_sent } else { f64::INFINITY })
            }
            Self::Groups { mbit, .. } => *mbit,
        };
        8e3 / (mbit * GOODPUT)
    }

    /// Nanoseconds per byte of a program on all links of a node's host together.
    pub fn of_host(&self, node: u32) -> f64 {
        match self {
            Self::Routed { fabric, nodes, .. } => 8e3 / (fabric.host_mbit(nodes[node as usize].host) * GOODPUT),
            Self::Groups { .. } => self.per_byte(2 * node),
        }
    }

    /// The way from one node to another, which must differ: between their smallest ranks.
    pub fn way(&mut self, from: u32, to: u32) -> Way {
        let number = |node: u32| match &*self {
            Self::Routed { nodes, .. } => nodes[node as usize].number,
            Self::Groups { .. } => 0,
        };
        let ends = [from, to].map(|node| (node, number(node)));
        self.between(ends[0], ends[1])
    }

    /// The way from an adapter of one node to one of another, by their numbers.
    pub fn between(&mut self, (from, own): (u32, u32), (to, other): (u32, u32)) -> Way {
        let mut way = Way::default();
        match self {
            Self::Routed { router, fabric, nodes, .. } => {
                let at = |node: u32, number| Adapter { number, ..nodes[node as usize] };
                let shares = router.shares(at(from, own), at(to, other));
                way.latency = shares.iter().map(|&(link, share)| share * fabric.latency_us(link) * 1e3).sum();
                way.links = shares.into_iter().map(|(link, share)| (link.0, share)).collect();
            }
            Self::Groups { hierarchy, first, member, .. } => {
                way.links.extend([(2 * from, 1.0), (2 * to + 1, 1.0)]);
                for (level, first) in first.iter().enumerate() {
                    let group = |node: u32| hierarchy.group_of(level, member[node as usize]);
                    let (a, b) = (group(from), group(to));
                    if a != b {
                        way.links.extend([(first + 2 * a, 1.0), (first + 2 * b + 1, 1.0)]);
                    }
                }
            }
        }
        let mut all = 0.0;
        for &(link, share) in &way.links {
            let per_byte = self.per_byte(link);
            way.per_byte = way.per_byte.max(per_byte);
            all += share * per_byte;
        }
        // Of several ways only some may pass the thinnest link.
        way.forward = (all - way.per_byte).max(0.0);
        way
    }
}
