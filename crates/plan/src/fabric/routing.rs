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

use super::error::BuildError;
use super::model::{DirectedLink, Fabric, HostId, NodeId, Routing};

const FAR: u32 = u32::MAX;

/// The forwarding tables of all switches for one destination: O(switches) memory.
#[derive(Debug, Clone)]
pub struct RoutesTo {
    destination: HostId,
    /// Per switch: hops to the destination over a shortest path; `FAR` where there is none.
    distance: Vec<u32>,
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
        let mut path = Vec::new();
        if source == self.destination {
            return path;
        }
        let hosts = fabric.host_count();
        let far = |l: DirectedLink| self.distance[fabric.end(l).0 as usize - hosts];
        let out = fabric.links_of(source);
        let nearest = out.iter().map(|&l| far(l)).min().unwrap_or(FAR);
        let mut next = pick(out.iter().copied().filter(|&l| far(l) == nearest), self, 1);
        while let Some(link) = next {
            path.push(link);
            next = self.next_of_switch(fabric, fabric.end(link));
        }
        path
    }
}

/// The destination's index, divided, picks among equal next hops.
fn pick(equal: impl Iterator<Item = DirectedLink> + Clone, to: &RoutesTo, divisor: u32) -> Option<DirectedLink> {
    let count = equal.clone().count();
    (count > 0).then(|| (to.destination.0 / divisor) as usize % count).and_then(|k| equal.clone().nth(k))
}

impl Fabric {
    /// The forwarding tables towards one host: O(switches + links) time.
    pub fn routes_to(&self, destination: HostId) -> RoutesTo {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let mut to =
            RoutesTo { destination, distance: vec![FAR; self.switch_count()], next: vec![None; self.switch_count()] };
        let mut queue = VecDeque::new();
        for &l in self.links_of(destination) {
            to.distance[slot(self.end(l))] = 1;
            queue.push_back(self.end(l));
        }
        while let Some(switch) = queue.pop_front() {
            let further = to.distance[slot(switch)] + 1;
            for &l in self.links_of(switch) {
                let n = self.end(l);
                if !self.is_host(n) && to.distance[slot(n)] == FAR {
                    to.distance[slot(n)] = further;
                    queue.push_back(n);
                }
            }
        }
        let fixed = self.fixed.get(&destination);
        for switch in self.switches() {
            let here = to.distance[slot(switch)];
            let nearer = |&l: &DirectedLink| match self.as_host(self.end(l)) {
                Some(host) => host == destination,
                None => here != FAR && to.distance[slot(self.end(l))] + 1 == here,
            };
            let forced = fixed.and_then(|table| table.get(&switch).copied());
            let equal = self.links_of(switch).iter().copied().filter(nearer);
            to.next[slot(switch)] = forced.or_else(|| pick(equal, &to, self.divisors[slot(switch)]));
        }
        to
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

/// Routes with the tables of the destinations asked for so far: O(switches) memory for each.
#[derive(Debug)]
pub struct Router<'f> {
    fabric: &'f Fabric,
    tables: HashMap<HostId, RoutesTo>,
}

impl<'f> Router<'f> {
    /// No tables yet.
    pub fn new(fabric: &'f Fabric) -> Self {
        Router { fabric, tables: HashMap::new() }
    }

    /// The directed links from one host to another, in order; empty from a host to itself.
    pub fn route(&mut self, source: HostId, destination: HostId) -> Vec<DirectedLink> {
        let fabric = self.fabric;
        let table = self.tables.entry(destination);
        let table = table.or_insert_with(|| fabric.routes_to(destination));
        table.from(fabric, source)
    }
}
