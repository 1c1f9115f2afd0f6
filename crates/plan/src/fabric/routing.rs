//! Routes: shortest paths fixed by the destination, unless the file says otherwise.
//!
//! At every switch the next hop towards an adapter of a host depends on that adapter alone. Among the links on a
//! shortest path to the host, in link order, the one numbered `(index of the host / divisor + number of the adapter) %
//! number of such links` is taken; `[routes]` overrides it. A switch that the adapter is on takes its link, one that
//! only other adapters of the host are on the first of these. A host takes, among its links on a shortest path, the one
//! numbered `number of the sending adapter % number of such links`. The divisor is 1, or with [`Routing::DModK`] the
//! product of the uplinks of a switch of each tier below:
//!
//! ```text
//!   tier 3       c0 c1   c2 c3        hosts  0 1 2 3 …   leaf: host % 2   aggregation switch: host / 2 % 2
//!   tier 2         a0     a1
//!   tier 1           l0   l1          Zahavi 2010 (docs/provenance.md): every shift of all hosts is free of conflicts
//! ```
//!
//! With [`Routing::Ecmp`] a switch hashes each connection over all of these links, or where some of them lead to the
//! switch of the adapter as fast as others to switches of the host's other adapters, over those: `router.rs` has what
//! is known then. The route is in that case the one of D-mod-K, one of those there are.

use std::collections::{HashMap, VecDeque};

use super::error::BuildError;
use super::ids::{Adapter, DirectedLink, HostId, NodeId};
use super::model::{Fabric, Routing};

const FAR: u32 = u32::MAX;
/// What a hop counts in [`Shortest::far`].
const HOP: u32 = 2;

/// The forwarding tables of all switches for one destination: O(switches) memory.
#[derive(Debug, Clone)]
pub struct RoutesTo {
    destination: Adapter,
    /// As of [`Shortest::far`].
    far: Vec<u32>,
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
        let first = fabric.first_link(&self.far, source.into(), self.destination.host);
        fabric.path(first, |switch| self.next_of_switch(fabric, switch))
    }
}

/// Shortest paths to adapters of one goal ([`Fabric::goal`]) of hosts on the same switches.
#[derive(Debug)]
pub(super) struct Shortest {
    /// Per switch: [`HOP`] for each hop to such a host, and 1 more where all that are as short miss the goal; `FAR`
    /// where there is no way.
    pub far: Vec<u32>,
    /// Per switch: where its links to nearer switches begin in `nearer`, and how many there are; none until they are
    /// asked for, since few switches are on the ways of a communicator.
    of_switch: Vec<(u32, u32)>,
    nearer: Vec<DirectedLink>,
    /// The link to a host that was asked for last, from a switch of its own.
    last: Option<DirectedLink>,
}

/// Picks among equal next hops by a number.
pub(super) fn pick(equal: &[DirectedLink], number: u64) -> Option<DirectedLink> {
    let place = number.checked_rem(equal.len() as u64)?;
    equal.get(place as usize).copied()
}

impl Shortest {
    /// The link that `switch` takes towards `destination`: O(links of the destination), once O(links of the switch).
    pub(super) fn next_hop(&mut self, fabric: &Fabric, switch: NodeId, destination: Adapter) -> Option<DirectedLink> {
        let Adapter { host, number } = destination;
        let forced = fabric.fixed.get(&host).and_then(|table| table.get(&switch)).copied();
        // Where a file sends to the host itself, it does not say by which of its adapters.
        if let Some(forced) = forced.filter(|&link| !fabric.is_host(fabric.end(link))) {
            return Some(forced);
        }
        let divisor = fabric.divisors[switch.0 as usize - fabric.host_count()];
        let place = (host.0 / divisor).wrapping_add(number);
        pick(self.equal(fabric, switch, destination), u64::from(place))
    }

    /// The links of `switch` that messages to `destination` may take, in link order: O(links of the destination), once
    /// O(links of the switch).
    pub(super) fn equal(&mut self, fabric: &Fabric, switch: NodeId, destination: Adapter) -> &[DirectedLink] {
        let slot = |n: NodeId| n.0 as usize - fabric.host_count();
        if self.is_last(fabric, switch) {
            self.last = fabric.last_link(switch, destination);
            return self.last.as_slice();
        }
        let here = self.far[slot(switch)];
        let (first, count) = &mut self.of_switch[slot(switch)];
        if *count == 0 {
            *first = self.nearer.len() as u32;
            let is_nearer = |link: &DirectedLink| {
                let end = fabric.end(*link);
                !fabric.is_host(end) && self.far[slot(end)] <= here - HOP
            };
            self.nearer.extend(fabric.links_of(switch).iter().copied().filter(is_nearer));
            *count = self.nearer.len() as u32 - *first;
        }
        &self.nearer[*first as usize..(*first + *count) as usize]
    }

    /// Whether such hosts are on a switch.
    pub(super) fn is_last(&self, fabric: &Fabric, switch: NodeId) -> bool {
        self.far[switch.0 as usize - fabric.host_count()] / HOP == 1
    }
}

impl Fabric {
    /// The forwarding tables towards one adapter: O(switches + links) time.
    pub fn routes_to(&self, destination: impl Into<Adapter>) -> RoutesTo {
        let destination = destination.into();
        let mut shortest = self.shortest(destination);
        let next = self.switches().map(|switch| shortest.next_hop(self, switch, destination)).collect();
        RoutesTo { destination, far: shortest.far, next }
    }

    /// The links that every switch may take towards one adapter: several only with [`Routing::Ecmp`], none where there
    /// is no way. O(switches + links) time.
    pub fn next_hops(&self, destination: impl Into<Adapter>) -> Vec<Vec<DirectedLink>> {
        let destination = destination.into();
        let mut shortest = self.shortest(destination);
        let of_switch = |switch| match self.routing {
            Routing::Ecmp => shortest.equal(self, switch, destination).to_vec(),
            _ => shortest.next_hop(self, switch, destination).into_iter().collect(),
        };
        self.switches().map(of_switch).collect()
    }

    /// The shortest paths to `destination`, the same for all adapters of its goal of hosts on the same switches:
    /// O(switches + links) time.
    pub(super) fn shortest(&self, destination: Adapter) -> Shortest {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let mut far = vec![FAR; self.switch_count()];
        let goal = self.goal(destination);
        let mut queue: VecDeque<NodeId> = goal.into_iter().collect();
        goal.iter().for_each(|&switch| far[slot(switch)] = HOP);
        for switch in self.links_of(destination.host).iter().map(|&link| self.end(link)) {
            // Several adapters may be on one.
            if far[slot(switch)] == FAR {
                far[slot(switch)] = HOP + u32::from(goal.is_some());
                queue.push_back(switch);
            }
        }
        // The last switches that are found have most of the links, and need not be searched.
        let mut unseen = self.switch_count() - queue.len();
        while let Some(switch) = queue.pop_front().filter(|_| unseen > 0) {
            let further = far[slot(switch)] + HOP;
            for &l in self.links_of(switch) {
                let n = self.end(l);
                if !self.is_host(n) && far[slot(n)] == FAR {
                    far[slot(n)] = further;
                    unseen -= 1;
                    queue.push_back(n);
                }
            }
        }
        Shortest { far, of_switch: vec![(0, 0); self.switch_count()], nearer: Vec::new(), last: None }
    }

    /// The link by which an adapter's process sends to another host; none to its own.
    pub(super) fn first_link(&self, far: &[u32], source: Adapter, destination: HostId) -> Option<DirectedLink> {
        let hops = |link: DirectedLink| far[self.end(link).0 as usize - self.host_count()] / HOP;
        let out = self.links_of(source.host).iter().copied();
        let nearest = out.clone().map(hops).min().filter(|_| source.host != destination)?;
        let equal: Vec<DirectedLink> = out.filter(|&link| hops(link) == nearest).collect();
        pick(&equal, u64::from(source.number))
    }

    /// The link by which a switch that a host is on sends to one of its adapters: that of the adapter, if it is there.
    pub(super) fn last_link(&self, switch: NodeId, destination: Adapter) -> Option<DirectedLink> {
        // A host has few links, its switch may have thousands.
        let out = self.links_of(destination.host);
        let is_here = |link: &&DirectedLink| self.end(**link) == switch;
        let own = out.get(destination.number as usize).filter(is_here);
        own.or_else(|| out.iter().find(is_here)).map(|link| link.reverse())
    }

    /// The switch of an adapter where messages to it arrive if that makes no way longer, with [`Routing::Ecmp`].
    pub(super) fn goal(&self, destination: Adapter) -> Option<NodeId> {
        let own = self.links_of(destination.host).get(destination.number as usize);
        own.filter(|_| self.routing == Routing::Ecmp).map(|&link| self.end(link))
    }

    /// The directed links from `first` to a host, in order, where a switch takes the link `next`.
    pub(super) fn path(
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

    /// The directed links from one adapter to another, in order; empty inside a host.
    /// For many routes use a [`Router`](super::Router).
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
