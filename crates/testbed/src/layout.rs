//! A fabric as namespaces see it: addresses, devices and routes.
//!
//! ```text
//!   launcher ── mgmt (bridge, 10.254.0.1) ── mgmt of every host (10.254.0.0/16): unlimited, launchers only
//!
//!   host 10.1.0.1, data0 ════ p0, switch 10.2.0.1, p1 ════ p0, switch 10.2.0.2 ...
//! ```
//!
//! A switch has one address, a host one for each of its adapters. Where it has several, what comes from the address of
//! one takes the routes of that adapter, and what has no address yet, since its socket was not bound, those of the
//! adapter with the number of the one it goes to. Neighbours know each other's hardware address beforehand, so that the
//! emulated network carries nothing but the traffic of the ranks. Several cables of one link are one device of their
//! joint rate. A link of some latency has a delay line in its middle ([`crate::delay`]).

use crate::delay::LEAST_LATENCY;
use crate::error::Error;
use nagare_plan::fabric::{Adapter, DirectedLink, Fabric, NodeId};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Most routes of all nodes together.
const MAX_ROUTES: u64 = 1 << 21;

/// Most hosts and switches that are emulated; bridges have 1024 ports.
pub const MAX_NODES: usize = 1000;
/// Most adapters of a host that have addresses.
pub const MAX_ADAPTERS: u32 = 64;
/// Queue of a port in packets, where the fabric gives none.
pub const DEFAULT_QUEUE: u32 = 128;
/// Packets that a host holds for a link of its own, as Linux does unless told otherwise. A host does not drop what its
/// own processes send, however short the queues of switches are.
pub const OWN_QUEUE: u32 = 1000;
/// The network of the ranks' traffic.
pub const DATA_NETWORK: &str = "10.1.0.0/16";
/// The network of the launcher's traffic.
pub const MANAGEMENT_NETWORK: &str = "10.254.0.0/16";
/// The launcher's address.
pub const LAUNCHER: Ipv4Addr = Ipv4Addr::new(10, 254, 0, 1);
/// The launcher's host name; no host of a fabric may have it, for Open MPI starts ranks on its own host without an
/// agent.
pub const LAUNCHER_NAME: &str = "nagare-launcher";
/// A host's device to the launcher's network, and the launcher's bridge.
pub const MANAGEMENT_DEVICE: &str = "mgmt";
/// How a host's devices to the emulated network are called, before their numbers.
pub const DATA_DEVICE: &str = "data";

/// All hosts and switches, numbered as in the fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// By [`NodeId`]: hosts first.
    pub nodes: Vec<Node>,
}

/// A host or switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, which is also the name of its namespace.
    pub name: String,
    /// Its address, a host's first one: 10.1.0.0/16 for hosts, 10.2.0.0/16 for switches.
    pub address: Ipv4Addr,
    /// A host's address for the launcher; `None` for a switch.
    pub management: Option<Ipv4Addr>,
    /// Its devices, in the order of the fabric's links.
    pub ports: Vec<Port>,
    /// To every adapter of all hosts but itself, by destination; a host has those of each of its adapters.
    pub routes: Vec<Route>,
}

/// One end of a link, and the direction that starts there.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    /// Device name inside the namespace: `data0`, `data1`, … of a host, `p0`, `p1`, … of a switch.
    pub device: String,
    /// Its address: that of the node for a switch.
    pub address: Ipv4Addr,
    /// Link and direction.
    pub link: DirectedLink,
    /// The node at the other end.
    pub neighbour: NodeId,
    /// Rate of this direction over all its cables.
    pub bits_per_second: u64,
    /// Queue length in packets: that of the fabric's file for a switch, at least [`OWN_QUEUE`] for a host.
    pub queue: u32,
    /// How much later than they leave packets arrive, if a delay line is to see to that.
    pub delay: Option<Duration>,
}

/// Where packets to an adapter go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// On a host with several adapters that from whose address they come, by its number; `None` for all others.
    pub source: Option<u32>,
    /// The adapter whose address they get there if they have none.
    pub own: u32,
    /// The adapter they go to.
    pub destination: Adapter,
    /// Indices in [`Node::ports`]; of several the kernel takes the one that it hashes a connection to.
    pub ports: Vec<usize>,
}

impl Port {
    /// The device's hardware address: locally administered, different for every directed link.
    pub fn hardware_address(&self) -> String {
        hardware_address(self.link)
    }

    /// The hardware address of the other end.
    pub fn neighbour_hardware_address(&self) -> String {
        hardware_address(self.link.reverse())
    }
}

fn hardware_address(link: DirectedLink) -> String {
    let [_, a, b, c] = link.0.to_be_bytes();
    format!("02:6e:67:{a:02x}:{b:02x}:{c:02x}")
}

impl Layout {
    /// Lays a fabric out.
    ///
    /// # Errors
    /// [`Error::TooManyNodes`], [`Error::TooManyAdapters`], [`Error::TooManyRoutes`], [`Error::ReservedName`],
    /// [`Error::Rate`].
    pub fn new(fabric: &Fabric) -> Result<Self, Error> {
        let count = fabric.host_count() + fabric.switch_count();
        if count > MAX_NODES {
            return Err(Error::TooManyNodes { fabric: fabric.name().to_owned(), count, room: MAX_NODES });
        }
        if fabric.find(LAUNCHER_NAME).is_some() {
            return Err(Error::ReservedName(LAUNCHER_NAME));
        }
        let ids = fabric.hosts().map(NodeId::from).chain(fabric.switches());
        let mut nodes = ids.map(|id| Node::new(fabric, id)).collect::<Result<Vec<Node>, Error>>()?;
        let adapters = || fabric.hosts().map(|host| u64::from(fabric.adapters(host)));
        let tables: u64 = adapters().map(|own| if own > 1 { own + 1 } else { 1 }).sum();
        let routes = adapters().sum::<u64>() * (tables + fabric.switch_count() as u64);
        if routes > MAX_ROUTES {
            let fabric = fabric.name().to_owned();
            return Err(Error::TooManyRoutes { fabric, count: routes, most: MAX_ROUTES });
        }
        let adapters = |host| (0..fabric.adapters(host)).map(move |number| Adapter { host, number });
        for destination in fabric.hosts().flat_map(adapters) {
            let to = fabric.routes_to(destination);
            let (hosts, switches) = nodes.split_at_mut(fabric.host_count());
            for (host, node) in fabric.hosts().zip(hosts) {
                let count = fabric.adapters(host);
                let sources = (0..count).map(Some).filter(|_| count > 1);
                for source in [None].into_iter().chain(sources) {
                    let own = source.unwrap_or(destination.number % count);
                    let links = to.from(fabric, Adapter { host, number: own });
                    node.push(source, own, destination, links.get(..1).unwrap_or_default());
                }
            }
            for (links, node) in fabric.next_hops(destination).iter().zip(switches) {
                // One that cannot reach the host has no route; none that a host uses is such.
                node.push(None, 0, destination, links);
            }
        }
        Ok(Layout { nodes })
    }

    /// The same without delay lines.
    #[must_use]
    pub fn undelayed(mut self) -> Self {
        for port in self.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.delay = None;
        }
        self
    }

    /// Whether any link is to be delayed.
    pub fn has_delays(&self) -> bool {
        self.nodes.iter().flat_map(|node| &node.ports).any(|port| port.delay.is_some())
    }

    /// Whether a kernel is to hash connections over several ports.
    pub fn has_several_ways(&self) -> bool {
        self.nodes.iter().any(Node::hashes)
    }

    /// Both ends of every link, from the end where its forward direction starts.
    pub fn links(&self) -> impl Iterator<Item = [(&Node, &Port); 2]> {
        let ports = self.nodes.iter().flat_map(|node| node.ports.iter().map(move |port| (node, port)));
        ports.filter(|(_, port)| port.link.index() % 2 == 0).filter_map(|(node, port)| {
            let neighbour = &self.nodes[port.neighbour.0 as usize];
            let peer = neighbour.ports.iter().find(|peer| peer.link == port.link.reverse())?;
            Some([(node, port), (neighbour, peer)])
        })
    }

    /// The address at the other end of a port.
    pub fn far_address(&self, port: &Port) -> Ipv4Addr {
        let neighbour = &self.nodes[port.neighbour.0 as usize];
        // Of a host; all ports of a switch have one.
        let own = neighbour.management.and_then(|_| neighbour.ports.iter().find(|p| p.link == port.link.reverse()));
        own.map_or(neighbour.address, |own| own.address)
    }

    /// The hosts in order.
    pub fn hosts(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.management.is_some())
    }
}

impl Node {
    /// Whether its kernel is to hash connections over several ports.
    pub fn hashes(&self) -> bool {
        self.routes.iter().any(|route| route.ports.len() > 1)
    }

    /// Adds a route over links of the node, if there are any.
    fn push(&mut self, source: Option<u32>, own: u32, destination: Adapter, links: &[DirectedLink]) {
        let port = |link: &DirectedLink| self.ports.iter().position(|port| port.link == *link);
        let ports: Vec<usize> = links.iter().filter_map(port).collect();
        self.routes.extend((!ports.is_empty()).then_some(Route { source, own, destination, ports }));
    }

    fn new(fabric: &Fabric, id: NodeId) -> Result<Self, Error> {
        let host = fabric.as_host(id);
        let kind = if host.is_some() { DATA_DEVICE } else { "p" };
        let switch = |id: NodeId| id.0 - fabric.host_count() as u32;
        // Adapters of one number are side by side.
        let address_of = |number: u32| match host {
            Some(host) => address(1, number * ADDRESSES + host.0 + 1),
            None => address(2, switch(id) + 1),
        };
        if let Some(host) = host.filter(|&host| fabric.adapters(host) > MAX_ADAPTERS) {
            let (name, count) = (fabric.node_name(host).to_owned(), fabric.adapters(host));
            return Err(Error::TooManyAdapters { host: name, count, most: MAX_ADAPTERS });
        }
        let ports = (0..).zip(fabric.links_of(id)).map(|(number, &link)| {
            let bits = fabric.mbit(link) * 1e6;
            // What tc takes, and what is not absurd: 1 kbit/s to 1 Tbit/s.
            if !(1e3..=1e12).contains(&bits) {
                return Err(Error::Rate { link: fabric.link_name(link), mbit: fabric.mbit(link) });
            }
            Ok(Port {
                device: format!("{kind}{number}"),
                address: address_of(number),
                link,
                neighbour: fabric.end(link),
                bits_per_second: bits.round() as u64,
                queue: host.map_or(0, |_| OWN_QUEUE).max(fabric.queue_packets().unwrap_or(DEFAULT_QUEUE)),
                delay: Some(Duration::from_secs_f64(fabric.latency_us(link) * 1e-6))
                    .filter(|delay| *delay >= LEAST_LATENCY),
            })
        });
        Ok(Node {
            name: fabric.node_name(id).to_owned(),
            address: address_of(0),
            management: host.map(|host| address(254, host.0 + 2)),
            ports: ports.collect::<Result<_, _>>()?,
            routes: Vec::new(),
        })
    }
}

/// Addresses of the adapters of one number, of which [`MAX_NODES`] and a few more are used.
const ADDRESSES: u32 = 1024;

/// Number `index` of the network 10.`network`.0.0/16, which is below [`ADDRESSES`] times [`MAX_ADAPTERS`].
fn address(network: u8, index: u32) -> Ipv4Addr {
    let [_, _, high, low] = index.to_be_bytes();
    Ipv4Addr::new(10, network, high, low)
}
