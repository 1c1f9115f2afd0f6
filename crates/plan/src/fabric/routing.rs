//! Routes: shortest paths fixed by the destination, unless the file says otherwise.
//!
//! At every switch the next hop towards an adapter of a host depends on that adapter alone. Among the links on a
//! shortest path to the host, in link order, the one numbered `(index of the host / divisor + number of the adapter) %
//! number of such links` is taken; `[routes]` overrides it. A switch that the adapter is on takes its link, one that
//! only other adapters of the host are on the first of these. A host takes, among its links on a shortest path, the one
//! numbered `number of the sending adapter % number of such links`. The divisor is 1, or with [`Routing::DModK`] the product of the uplinks of a switch of each tier
//! below:
//!
//! ```text
//!   tier 3       c0 c1   c2 c3        hosts  0 1 2 3 …   leaf: host % 2   aggregation switch: host / 2 % 2
//!   tier 2         a0     a1
//!   tier 1           l0   l1          Zahavi 2010 (docs/provenance.md): every shift of all hosts is free of conflicts
//! ```

use std::collections::{HashMap, VecDeque};

use super::error::BuildError;
use super::model::{Adapter, DirectedLink, Fabric, HostId, NodeId, Routing};

const FAR: u32 = u32::MAX;

/// The forwarding tables of all switches for one destination: O(switches) memory.
#[derive(Debug, Clone)]
pub struct RoutesTo {
    destination: Adapter,
    /// As of [`Shortest::hops`].
    hops: Vec<u32>,
    /// Per switch: the link it takes.
    next: Vec<Option<DirectedLink>>,
}

impl RoutesTo {
    /// The adapter these routes lead to.
    pub fn destination(&self) -> Adapter {
        self.destination
    }

    /// The link a switch takes towards the destination; `None` where it cannot be reached.
    pub fn next_of_switch(&self, fabric: &Fabric, switch: NodeId) -> Option<DirectedLink> {
        let slot = (switch.0 as usize).checked_sub(fabric.host_count())?;
        self.next.get(slot).copied().flatten()
    }

    /// The directed links from an adapter to the destination, in order; empty on the destination's own host.
    pub fn from(&self, fabric: &Fabric, source: impl Into<Adapter>) -> Vec<DirectedLink> {
        let first = fabric.first_link(&self.hops, source.into(), self.destination.host);
        fabric.path(first, |switch| self.next_of_switch(fabric, switch))
    }
}

/// Shortest paths to hosts on the same switches.
#[derive(Debug)]
struct Shortest {
    /// Per switch: hops to such a host; `FAR` where there is no way.
    hops: Vec<u32>,
    /// Per switch: where its links to nearer switches begin in `nearer`, and how many there are; none until they are
    /// asked for, since few switches are on the ways of a communicator.
    of_switch: Vec<(u32, u32)>,
    nearer: Vec<DirectedLink>,
}

/// Picks among equal next hops by a number.
fn pick(equal: impl Iterator<Item = DirectedLink> + Clone, number: u32) -> Option<DirectedLink> {
    let count = equal.clone().count();
    (count > 0).then(|| number as usize % count).and_then(|k| equal.clone().nth(k))
}

impl Shortest {
    /// The link that `switch` takes towards `destination`: O(links of the destination), once O(links of the switch).
    fn next_hop(&mut self, fabric: &Fabric, switch: NodeId, destination: Adapter) -> Option<DirectedLink> {
        let Adapter { host, number } = destination;
        let slot = |n: NodeId| n.0 as usize - fabric.host_count();
        let here = self.hops[slot(switch)];
        // A host has few links, its switch may have thousands.
        let out = fabric.links_of(host);
        let is_here = |link: &&DirectedLink| fabric.end(**link) == switch;
        let own = || out.get(number as usize).filter(is_here).or_else(|| out.iter().find(is_here));
        let forced = fabric.fixed.get(&host).and_then(|table| table.get(&switch)).copied();
        // Where a file sends to the host itself, it does not say by which of its adapters.
        if let Some(forced) = forced.filter(|&link| !fabric.is_host(fabric.end(link))) {
            return Some(forced);
        }
        if here == 1 {
            return own().map(|link| link.reverse());
        }
        let (first, count) = &mut self.of_switch[slot(switch)];
        if *count == 0 {
            *first = self.nearer.len() as u32;
            let is_nearer = |link: &DirectedLink| {
                let end = fabric.end(*link);
                !fabric.is_host(end) && self.hops[slot(end)] < here
            };
            self.nearer.extend(fabric.links_of(switch).iter().copied().filter(is_nearer));
            *count = self.nearer.len() as u32 - *first;
        }
        let equal = &self.nearer[*first as usize..(*first + *count) as usize];
        pick(equal.iter().copied(), (host.0 / fabric.divisors[slot(switch)]).wrapping_add(number))
    }
}

impl Fabric {
    /// The forwarding tables towards one adapter: O(switches + links) time.
    pub fn routes_to(&self, destination: impl Into<Adapter>) -> RoutesTo {
        let destination = destination.into();
        let mut shortest = self.shortest(destination.host);
        let next = self.switches().map(|switch| shortest.next_hop(self, switch, destination)).collect();
        RoutesTo { destination, hops: shortest.hops, next }
    }

    /// The shortest paths to `destination`, the same for all hosts on the same switches: O(switches + links) time.
    fn shortest(&self, destination: HostId) -> Shortest {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let mut hops = vec![FAR; self.switch_count()];
        let mut queue: VecDeque<NodeId> = VecDeque::new();
        for switch in self.links_of(destination).iter().map(|&link| self.end(link)) {
            // Several adapters may be on one.
            if hops[slot(switch)] == FAR {
                hops[slot(switch)] = 1;
                queue.push_back(switch);
            }
        }
        // The last switches that are found have most of the links, and need not be searched.
        let mut unseen = self.switch_count() - queue.len();
        while let Some(switch) = queue.pop_front().filter(|_| unseen > 0) {
            let further = hops[slot(switch)] + 1;
            for &l in self.links_of(switch) {
                let n = self.end(l);
                if !self.is_host(n) && hops[slot(n)] == FAR {
                    hops[slot(n)] = further;
                    unseen -= 1;
                    queue.push_back(n);
                }
            }
        }
        Shortest { hops, of_switch: vec![(0, 0); self.switch_count()], nearer: Vec::new() }
    }

    /// The link by which an adapter's process sends to another host; none to its own.
    fn first_link(&self, hops: &[u32], source: Adapter, destination: HostId) -> Option<DirectedLink> {
        let far = |link: DirectedLink| hops[self.end(link).0 as usize - self.host_count()];
        let out = self.links_of(source.host).iter().copied();
        let nearest = out.clone().map(far).min().filter(|_| source.host != destination)?;
        pick(out.filter(|&link| far(link) == nearest), source.number)
    }

    /// The directed links from `first` to a host, in order, where a switch takes the link `next`.
    fn path(
        &self,
        first: Option<DirectedLink>,
        mut next: impl FnMut(NodeId) -> Option<DirectedLink>,
    ) -> Vec<DirectedLink> {
        let after = |&link: &DirectedLink| Some(self.end(link)).filter(|&end| !self.is_host(end)).and_then(&mut next);
        std::iter::successors(first, after).collect()
    }

    /// For each host the number of the set of switches it is on, below [`Self::host_count`]: O(links of hosts).
    pub(super) fn attachments(&self) -> Vec<u32> {
        let mut numbers: HashMap<Vec<NodeId>, u32> = HashMap::new();
        let number = |host| {
            let mut switches: Vec<NodeId> = self.links_of(host).iter().map(|&link| self.end(link)).collect();
            switches.sort_unstable();
            let next = numbers.len() as u32;
            *numbers.entry(switches).or_insert(next)
        };
        self.hosts().map(number).collect()
    }

    /// The directed links from one adapter to another, in order; empty inside a host. For many routes use a [`Router`].
    pub fn route(&self, source: impl Into<Adapter>, destination: impl Into<Adapter>) -> Vec<DirectedLink> {
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
        let adapters = |host| (0..self.adapters(host)).map(move |number| Adapter { host, number });
        for destination in destinations.into_iter().flat_map(adapters) {
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
        BuildError::RouteLoop {
            destination: self.node_name(to.destination.host).to_owned(),
            circle: names.join(" -> "),
        }
    }
}

/// Routes, with the shortest paths to the switches of the destinations asked for so far: O(switches) memory for all
/// hosts on the same switches, and for each switch on a way there its links on shortest paths.
#[derive(Debug)]
pub struct Router<'f> {
    fabric: &'f Fabric,
    /// By [`Fabric::attachment`].
    shortest: Vec<Option<Box<Shortest>>>,
}

impl<'f> Router<'f> {
    /// Nothing yet.
    pub fn new(fabric: &'f Fabric) -> Self {
        let sets = fabric.attachments.iter().max().map_or(0, |&last| last as usize + 1);
        Router { fabric, shortest: (0..sets).map(|_| None).collect() }
    }

    /// The directed links from one adapter to another, in order; empty inside a host. O(links of the route and of the
    /// two hosts), and for all destinations on the same switches together at most O(switches + links) more.
    pub fn route(&mut self, source: impl Into<Adapter>, destination: impl Into<Adapter>) -> Vec<DirectedLink> {
        let (fabric, destination) = (self.fabric, destination.into());
        let shortest = &mut self.shortest[fabric.attachment(destination.host) as usize];
        let shortest = shortest.get_or_insert_with(|| Box::new(fabric.shortest(destination.host)));
        let first = fabric.first_link(&shortest.hops, source.into(), destination.host);
        fabric.path(first, |switch| shortest.next_hop(fabric, switch, destination))
    }
}
