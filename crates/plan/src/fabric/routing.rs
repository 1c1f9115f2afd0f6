//! Routes: shortest paths fixed by the destination, unless the file says otherwise.
//!
//! At every node the next hop towards a host depends on that host alone. Among the links on a shortest path, in link
//! order, the one numbered `index of the destination host / divisor % number of such links` is taken; `[routes]`
//! overrides it. The divisor is 1, or with [`Routing::DModK`] the product of the uplinks of a switch of each tier
//! below:
//!
//! ```text
//!   tier 3       c0 c1   c2 c3        hosts  0 1 2 3 …   leaf: host % 2   aggregation switch: host / 2 % 2
//!   tier 2         a0     a1
//!   tier 1           l0   l1          Zahavi 2010 (docs/provenance.md): every shift of all hosts is free of conflicts
//! ```

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::error::BuildError;
use super::model::{DirectedLink, Fabric, HostId, NodeId, Routing};

const FAR: u32 = u32::MAX;

/// The forwarding tables of all switches for one destination: O(switches) memory.
#[derive(Debug, Clone)]
pub struct RoutesTo {
    destination: HostId,
    /// Hops to it, as of [`Fabric::distances`].
    distances: Rc<[u32]>,
    /// Per switch: the link it takes.
    next: Vec<Option<DirectedLink>>,
}

impl RoutesTo {
    /// The host these routes lead to.
    pub fn destination(&self) -> HostId {
        self.destination
    }

    /// The link a switch takes towards the destination; `None` where it cannot be reached.
    pub fn next_of_switch(&self, fabric: &Fabric, switch: NodeId) -> Option<DirectedLink> {
        let slot = (switch.0 as usize).checked_sub(fabric.host_count())?;
        self.next.get(slot).copied().flatten()
    }

    /// The directed links from a host to the destination, in order; empty for the destination itself.
    pub fn from(&self, fabric: &Fabric, source: HostId) -> Vec<DirectedLink> {
        let next = |switch| self.next_of_switch(fabric, switch);
        fabric.path(&self.distances, source, self.destination, next)
    }
}

/// The destination's index, divided, picks among equal next hops.
fn pick(equal: impl Iterator<Item = DirectedLink> + Clone, destination: HostId, divisor: u32) -> Option<DirectedLink> {
    let count = equal.clone().count();
    (count > 0).then(|| (destination.0 / divisor) as usize % count).and_then(|k| equal.clone().nth(k))
}

impl Fabric {
    /// The forwarding tables towards one host: O(switches + links) time.
    pub fn routes_to(&self, destination: HostId) -> RoutesTo {
        let distances = self.distances(destination);
        let next = self.switches().map(|switch| self.next_hop(&distances, switch, destination)).collect();
        RoutesTo { destination, distances, next }
    }

    /// Per switch: hops to `destination` over a shortest path; `FAR` where there is none. The same for all hosts on the
    /// same switches. O(switches + links) time.
    fn distances(&self, destination: HostId) -> Rc<[u32]> {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let mut distances = vec![FAR; self.switch_count()];
        let mut queue = VecDeque::new();
        for &l in self.links_of(destination) {
            distances[slot(self.end(l))] = 1;
            queue.push_back(self.end(l));
        }
        while let Some(switch) = queue.pop_front() {
            let further = distances[slot(switch)] + 1;
            for &l in self.links_of(switch) {
                let n = self.end(l);
                if !self.is_host(n) && distances[slot(n)] == FAR {
                    distances[slot(n)] = further;
                    queue.push_back(n);
                }
            }
        }
        distances.into()
    }

    /// The link that `switch` takes towards `destination`: O(links of the switch).
    fn next_hop(&self, distances: &[u32], switch: NodeId, destination: HostId) -> Option<DirectedLink> {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let forced = self.fixed.get(&destination).and_then(|table| table.get(&switch));
        if forced.is_some() {
            return forced.copied();
        }
        let here = distances[slot(switch)];
        let nearer = |&l: &DirectedLink| match self.as_host(self.end(l)) {
            Some(host) => host == destination,
            None => here != FAR && distances[slot(self.end(l))] + 1 == here,
        };
        pick(self.links_of(switch).iter().copied().filter(nearer), destination, self.divisors[slot(switch)])
    }

    /// The directed links from a host to another, in order, where a switch takes the link `next`.
    fn path(
        &self,
        distances: &[u32],
        source: HostId,
        destination: HostId,
        next: impl Fn(NodeId) -> Option<DirectedLink>,
    ) -> Vec<DirectedLink> {
        let mut path = Vec::new();
        if source == destination {
            return path;
        }
        let far = |l: DirectedLink| distances[self.end(l).0 as usize - self.host_count()];
        let out = self.links_of(source);
        let nearest = out.iter().map(|&l| far(l)).min().unwrap_or(FAR);
        let mut link = pick(out.iter().copied().filter(|&l| far(l) == nearest), destination, 1);
        while let Some(taken) = link {
            path.push(taken);
            let end = self.end(taken);
            link = if self.is_host(end) { None } else { next(end) };
        }
        path
    }

    /// The directed links from one host to another, in order; empty from a host to itself.
    /// For many routes use a [`Router`].
    pub fn route(&self, source: HostId, destination: HostId) -> Vec<DirectedLink> {
        self.routes_to(destination).from(self, source)
    }

    /// By what each switch divides the number of a host before it picks a link: O(links).
    pub(super) fn divisors(&self) -> Vec<u32> {
        if self.routing == Routing::Destination {
            return vec![1; self.switch_count()];
        }
        let tiers = self.tiers();
        // The most uplinks of a switch of each tier.
        let mut uplinks: Vec<u32> = vec![1; tiers.values().copied().max().map_or(0, |top| top as usize + 1)];
        for (&switch, &tier) in &tiers {
            let is_up = |link: &&DirectedLink| tiers.get(&self.end(**link)) == Some(&(tier + 1));
            let most = &mut uplinks[tier as usize];
            *most = (*most).max(self.links_of(switch).iter().filter(is_up).count() as u32);
        }
        // Of the tiers below each.
        let products = uplinks.iter().scan(1u32, |product, &links| {
            let below = *product;
            *product = product.saturating_mul(links);
            Some(below)
        });
        let products: Vec<u32> = products.collect();
        self.switches().map(|switch| tiers.get(&switch).map_or(1, |&tier| products[tier as usize])).collect()
    }

    /// Every switch that has a way to a destination with fixed routes must get there.
    pub(super) fn check_fixed_routes(&self) -> Result<(), BuildError> {
        let mut destinations: Vec<HostId> = self.fixed.keys().copied().collect();
        destinations.sort_unstable();
        for destination in destinations {
            let to = self.routes_to(destination);
            // Number of the walk that came by; the walk that meets itself has found a circle.
            let mut walk_of = vec![0u32; self.names.len()];
            for (walk, start) in (1..).zip(self.switches()) {
                let mut at = start;
                while !self.is_host(at) && walk_of[at.0 as usize] == 0 {
                    walk_of[at.0 as usize] = walk;
                    match to.next_of_switch(self, at) {
                        Some(link) => at = self.end(link),
                        None => break,
                    }
                }
                let met = !self.is_host(at) && walk_of[at.0 as usize] == walk;
                if met && to.next_of_switch(self, at).is_some() {
                    return Err(self.circle(&to, at));
                }
            }
        }
        Ok(())
    }

    fn circle(&self, to: &RoutesTo, start: NodeId) -> BuildError {
        let mut names = vec![self.node_name(start).to_owned()];
        let mut at = start;
        while let Some(link) = to.next_of_switch(self, at) {
            at = self.end(link);
            names.push(self.node_name(at).to_owned());
            if at == start {
                break;
            }
        }
        BuildError::RouteLoop { destination: self.node_name(to.destination).to_owned(), circle: names.join(" -> ") }
    }
}

/// Routes, with the hops from all switches to the switches of the destinations asked for so far: O(switches) memory for
/// all hosts on the same switches.
#[derive(Debug)]
pub struct Router<'f> {
    fabric: &'f Fabric,
    /// By the switches of a destination.
    distances: HashMap<Vec<NodeId>, Rc<[u32]>>,
}

impl<'f> Router<'f> {
    /// Nothing yet.
    pub fn new(fabric: &'f Fabric) -> Self {
        Router { fabric, distances: HashMap::new() }
    }

    /// The directed links from one host to another, in order; empty from a host to itself. O(links of the switches on
    /// the way), and at the first destination on a switch O(switches + links).
    pub fn route(&mut self, source: HostId, destination: HostId) -> Vec<DirectedLink> {
        let fabric = self.fabric;
        let switches: Vec<NodeId> = fabric.links_of(destination).iter().map(|&link| fabric.end(link)).collect();
        let distances = self.distances.entry(switches).or_insert_with(|| fabric.distances(destination));
        let next = |switch| fabric.next_hop(distances, switch, destination);
        fabric.path(distances, source, destination, next)
    }
}
