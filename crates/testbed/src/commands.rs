//! The commands that make a layout, as batches for `ip -batch` and `tc -batch`.
//!
//! Namespaces exist before, as files in one directory named like their nodes.

use crate::layout::{LAUNCHER, Layout, MANAGEMENT_DEVICE, Node, Port};
use nagare_plan::fabric::Adapter;
use std::fmt::Write;
use std::path::Path;

/// Everything to be run, in this order: `links`, then per node `ip` and `tc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// `ip` commands in the launcher's namespace: the management network, and all links between their namespaces but
    /// the delayed ones, whose devices must be there before the commands of their nodes are run.
    pub links: String,
    /// Commands inside the namespaces, by node.
    pub nodes: Vec<NodeCommands>,
}

/// What is run inside one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCommands {
    /// The namespace.
    pub name: String,
    /// Whether packets for others are passed on: switches.
    pub forward: bool,
    /// How connections are hashed over several ports, if they are.
    pub hash: Option<Hash>,
    /// `ip` commands: addresses, neighbours, routes.
    pub ip: String,
    /// `tc` commands: rates and queues.
    pub tc: String,
}

impl Commands {
    /// The commands for `layout` with the namespaces in `directory`.
    pub fn new(layout: &Layout, directory: &Path) -> Self {
        Commands { links: links(layout, directory), nodes: layout.nodes.iter().map(|n| node(layout, n)).collect() }
    }
}

/// What the kernel of a node hashes to pick a port. Two switches one after the other must not do so alike: the second
/// would only ever see connections that it sends the same way.
///
/// Policy 1, "layer 4", would take the hash that the sending host's kernel has made, which packets keep on their way
/// through veth pairs: the same at every switch, whatever its seed. Policy 3 hashes what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash {
    /// `net.ipv4.fib_multipath_hash_fields`.
    pub fields: u32,
    /// `net.ipv4.fib_multipath_hash_seed`, which Linux has since 6.11.
    pub seed: u32,
}

impl Hash {
    /// Addresses, protocol and ports.
    const CONNECTION: u32 = 0x37;
    /// The protocol, which all connections of ranks have in common, so that it changes the hash and nothing else.
    const PROTOCOL: u32 = 0x04;

    /// Where there are no seeds, switches with hosts and those above at least differ in one field.
    fn of(layout: &Layout, node: &Node) -> Self {
        let is_leaf = node.ports.iter().any(|port| layout.nodes[port.neighbour.0 as usize].management.is_some());
        let fields = if is_leaf { Self::CONNECTION } else { Self::CONNECTION & !Self::PROTOCOL };
        Hash { fields, seed: node.address.into() }
    }
}

/// Bytes of a full packet, as queues count them.
const FRAME: u64 = 1514;

/// Packets that may wait for a delay line to read them. The usual 500 are 60 ms of a link of 100 Mbit/s.
const WAITING: u32 = 10_000;

// Writing to a String cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { { let _ = writeln!($text, $($format)*); } };
}

fn links(layout: &Layout, directory: &Path) -> String {
    let namespace = |node: &Node| directory.join(&node.name).display().to_string();
    let mut text = String::new();
    line!(text, "link set lo up");
    line!(text, "link add name {MANAGEMENT_DEVICE} type bridge");
    line!(text, "address add {LAUNCHER}/16 dev {MANAGEMENT_DEVICE}");
    line!(text, "link set {MANAGEMENT_DEVICE} up");
    for (number, host) in layout.hosts().enumerate() {
        line!(text, "link add name m{number} type veth peer name {MANAGEMENT_DEVICE} netns {}", namespace(host));
        line!(text, "link set m{number} master {MANAGEMENT_DEVICE} up");
    }
    for [one, other] in layout.links().filter(|[(_, port), _]| port.delay.is_none()) {
        let end = |(node, port): (&Node, &Port)| {
            format!("name {} address {} netns {}", port.device, port.hardware_address(), namespace(node))
        };
        line!(text, "link add {} type veth peer {}", end(one), end(other));
    }
    text
}

fn node(layout: &Layout, node: &Node) -> NodeCommands {
    let mut ip = String::from("link set lo up\n");
    let mut tc = String::new();
    match node.management {
        Some(management) => {
            line!(ip, "link set {MANAGEMENT_DEVICE} up");
            line!(ip, "address add {management}/16 dev {MANAGEMENT_DEVICE}");
        }
        None => line!(ip, "address add {}/32 dev lo", node.address),
    }
    for (number, port) in (0..).zip(&node.ports) {
        let device = &port.device;
        let neighbour = layout.far_address(port);
        if port.delay.is_some() {
            // One that the holder has made.
            line!(ip, "link set {device} address {} txqueuelen {WAITING}", port.hardware_address());
        }
        // Two segments in one: half the work for the machine that carries all hosts, and links still take turns finely.
        line!(ip, "link set {device} gso_max_segs 2 up");
        if node.management.is_some() {
            // The prefix tells MPI libraries that all hosts share a network; routes come from the fabric alone.
            line!(ip, "address add {}/16 dev {device} noprefixroute", port.address);
            if node.ports.len() > 1 {
                line!(ip, "rule add from {} table {}", port.address, table(number));
            }
        }
        line!(ip, "neighbour add {neighbour} lladdr {} dev {device} nud permanent", port.neighbour_hardware_address());
        shape(&mut tc, port);
    }
    for route in &node.routes {
        let Adapter { host, number } = route.destination;
        let destination = layout.nodes[host.0 as usize].ports[number as usize].address;
        let hop = |&port: &usize| {
            let port = &node.ports[port];
            let device = &port.device;
            match layout.far_address(port) {
                neighbour if neighbour == destination => format!(" dev {device}"),
                neighbour => format!(" via {neighbour} dev {device} onlink"),
            }
        };
        let source = |_| format!(" src {}", node.ports[route.own as usize].address);
        let source = node.management.map_or(String::new(), source);
        let table = route.source.map_or(String::new(), |source| format!(" table {}", table(source)));
        match &route.ports[..] {
            [port] => line!(ip, "route add {destination}/32{}{source}{table}", hop(port)),
            ports => {
                let hops: String = ports.iter().map(|port| format!(" nexthop{}", hop(port))).collect();
                line!(ip, "route add {destination}/32{source}{table}{hops}");
            }
        }
    }
    let hash = node.hashes().then(|| Hash::of(layout, node));
    NodeCommands { name: node.name.clone(), forward: node.management.is_none(), hash, ip, tc }
}

/// The table of the routes of an adapter; the kernel's own have the numbers from 253 to 255.
fn table(adapter: u32) -> u32 {
    100 + adapter
}

/// The rate with a short queue behind it, dropping what arrives when it is full.
fn shape(tc: &mut String, port: &Port) {
    let (device, rate) = (&port.device, port.bits_per_second);
    // Two packets, or 0.1 ms where timers are too coarse for that.
    let burst = (rate / 8 / 10_000).max(3200);
    line!(tc, "qdisc add dev {device} root handle 1: htb default 1");
    line!(
        tc,
        "class add dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} \
         quantum 1514"
    );
    // In bytes, since one packet may be two segments.
    line!(tc, "qdisc add dev {device} parent 1:1 handle 10: bfifo limit {}", u64::from(port.queue) * FRAME);
}
