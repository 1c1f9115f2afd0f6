//! From names to a checked [`Fabric`](super::Fabric): hosts, switches, links and routes, each checked as it comes. The
//! whole is checked in `build/whole.rs`.

mod whole;

use std::collections::HashMap;

use super::error::BuildError;
use super::ids::DirectedLink;
use super::model::{MessageCost, Routing, Torus};

/// Most hosts and switches a fabric may have.
pub const MAX_NODES: usize = 1 << 20;
/// Most links a fabric may have.
pub const MAX_LINKS: usize = 1 << 22;
/// Most fixed routes a fabric may have.
pub const MAX_ROUTES: usize = 1 << 20;

/// Bandwidth, latency and number of cables of a link to be added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRate {
    /// Bandwidth of one cable and direction, Mbit/s, 0.001 to 10⁹.
    pub mbit: f64,
    /// Latency of one traversal, microseconds, 0 to 10⁶.
    pub latency_us: f64,
    /// Number of equal cables, 1 to 65536.
    pub parallel: u32,
}

/// Collects hosts, switches, links and routes by name, each checked as it comes.
#[derive(Debug, Clone, Default)]
pub struct FabricBuilder {
    name: String,
    hosts: Vec<String>,
    switches: Vec<String>,
    ends: HashMap<String, End>,
    links: Vec<(End, End, LinkRate)>,
    joined: HashMap<(End, End), u32>,
    queue_packets: Option<u32>,
    torus: Option<Torus>,
    message: MessageCost,
    routing: Routing,
    fixed: HashMap<u32, HashMap<u32, DirectedLink>>,
    routes: usize,
}

/// A node before hosts and switches are numbered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    Host(u32),
    Switch(u32),
}

impl FabricBuilder {
    /// An empty fabric of this name.
    pub fn new(name: &str) -> Self {
        FabricBuilder { name: name.to_owned(), ..FabricBuilder::default() }
    }

    /// Sets the queue length of every port, in packets.
    pub fn set_queue(&mut self, packets: u32) {
        self.queue_packets = Some(packets);
    }

    /// Says which of several equal links a switch takes.
    pub fn set_routing(&mut self, routing: Routing) {
        self.routing = routing;
    }

    /// Says what a message costs beyond its bytes.
    pub fn set_message_cost(&mut self, cost: MessageCost) -> Result<(), BuildError> {
        for (key, value) in [("message_latency", cost.latency_us), ("message_gap", cost.gap_us)] {
            if let Some(us) = value.filter(|us| !(0.0..=1e6).contains(us)) {
                return Err(BuildError::BadMessageCost(key, us));
            }
        }
        self.message = cost;
        Ok(())
    }

    /// Says that the hosts are on a torus; all hosts must have been added.
    pub fn set_torus(&mut self, dims: &[u32]) -> Result<(), BuildError> {
        let switches = dims.iter().fold(1usize, |product, &size| product.saturating_mul(size as usize));
        let hosts = self.hosts.len();
        if dims.is_empty() || dims.len() > 16 || switches == 0 || hosts == 0 || hosts % switches != 0 {
            return Err(BuildError::BadTorus(dims.to_vec(), hosts));
        }
        self.torus = Some(Torus { dims: dims.to_vec(), hosts_per_switch: (hosts / switches) as u32 });
        Ok(())
    }

    /// Adds a host; hosts are numbered in this order.
    pub fn host(&mut self, name: &str) -> Result<(), BuildError> {
        self.declare(name, End::Host(self.hosts.len() as u32))?;
        self.hosts.push(name.to_owned());
        Ok(())
    }

    /// Adds a switch; switches are numbered in this order.
    pub fn switch(&mut self, name: &str) -> Result<(), BuildError> {
        self.declare(name, End::Switch(self.switches.len() as u32))?;
        self.switches.push(name.to_owned());
        Ok(())
    }

    fn declare(&mut self, name: &str, end: End) -> Result<(), BuildError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts || name.len() > 64 || !name.chars().all(fits) {
            return Err(BuildError::BadName(name.to_owned()));
        }
        if self.ends.len() >= MAX_NODES {
            return Err(too_large("hosts and switches", MAX_NODES));
        }
        if self.ends.insert(name.to_owned(), end).is_some() {
            return Err(BuildError::DuplicateName(name.to_owned()));
        }
        Ok(())
    }

    fn end(&self, name: &str) -> Result<End, BuildError> {
        let end = self.ends.get(name).copied();
        end.ok_or_else(|| BuildError::UnknownName(name.to_owned()))
    }

    fn end_name(&self, end: End) -> &str {
        match end {
            End::Host(h) => &self.hosts[h as usize],
            End::Switch(s) => &self.switches[s as usize],
        }
    }

    /// Joins two declared nodes, of which one at least is a switch. Every link of a host is an adapter of it, also a
    /// further one to the same switch.
    pub fn link(&mut self, a: &str, b: &str, rate: LinkRate) -> Result<(), BuildError> {
        let (from, to) = (self.end(a)?, self.end(b)?);
        let pair = || (a.to_owned(), b.to_owned());
        if from == to {
            return Err(BuildError::SelfLink(a.to_owned()));
        }
        if let (End::Host(_), End::Host(_)) = (from, to) {
            return Err(BuildError::HostToHost(pair().0, pair().1));
        }
        if !(1e-3..=1e9).contains(&rate.mbit) {
            return Err(BuildError::BadBandwidth(pair().0, pair().1, rate.mbit));
        }
        if !(0.0..=1e6).contains(&rate.latency_us) {
            return Err(BuildError::BadLatency(pair().0, pair().1, rate.latency_us));
        }
        if !(1..=1 << 16).contains(&rate.parallel) {
            return Err(BuildError::BadCables(pair().0, pair().1, rate.parallel));
        }
        if self.links.len() >= MAX_LINKS {
            return Err(too_large("links", MAX_LINKS));
        }
        let are_switches = matches!((from, to), (End::Switch(_), End::Switch(_)));
        if are_switches && self.joined.contains_key(&(from, to)) {
            return Err(BuildError::DuplicateLink(pair().0, pair().1));
        }
        let link = self.links.len() as u32;
        self.joined.extend([((from, to), 2 * link), ((to, from), 2 * link + 1)]);
        self.links.push((from, to, rate));
        Ok(())
    }

    /// Fixes the neighbour by which a switch sends to a host. Links must have been added before.
    pub fn route(&mut self, switch: &str, host: &str, next: &str) -> Result<(), BuildError> {
        let End::Switch(s) = self.end(switch)? else {
            return Err(BuildError::RoutesOfHost(switch.to_owned()));
        };
        let End::Host(h) = self.end(host)? else {
            return Err(BuildError::RouteToSwitch(switch.into(), host.into()));
        };
        let via = self.end(next)?;
        let Some(&link) = self.joined.get(&(End::Switch(s), via)) else {
            return Err(BuildError::RouteToNonNeighbour {
                switch: switch.to_owned(),
                destination: host.to_owned(),
                next: next.to_owned(),
                neighbours: self.neighbours(End::Switch(s)),
            });
        };
        if matches!(via, End::Host(other) if other != h) {
            let [s, h, n] = [switch, host, next].map(str::to_owned);
            return Err(BuildError::RouteThroughHost(s, h, n));
        }
        self.routes += 1;
        if self.routes > MAX_ROUTES {
            return Err(too_large("fixed routes", MAX_ROUTES));
        }
        let table = self.fixed.entry(h).or_default();
        if table.insert(s, DirectedLink(link)).is_some() {
            return Err(BuildError::DuplicateRoute(switch.into(), host.into()));
        }
        Ok(())
    }

    /// Neighbouring switches by name for an error line, the first few of many.
    fn neighbours(&self, of: End) -> String {
        const SHOWN: usize = 8;
        let ends = self.links.iter().filter(|l| l.0 == of || l.1 == of).map(|l| if l.0 == of { l.1 } else { l.0 });
        let switches: Vec<End> = ends.filter(|e| matches!(e, End::Switch(_))).collect();
        let mut names: Vec<&str> = switches.iter().take(SHOWN).map(|&e| self.end_name(e)).collect();
        match switches.len() {
            0 => names.push("its own hosts only"),
            1..=SHOWN => (),
            _ => names.push("..."),
        }
        names.join(", ")
    }
}

fn too_large(what: &'static str, limit: usize) -> BuildError {
    BuildError::TooLarge { what, limit }
}
