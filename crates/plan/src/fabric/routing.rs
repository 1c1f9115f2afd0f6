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
//!
//! With [`Routing::Ecmp`] a switch hashes each connection over all of these links: `router.rs` has what is known then.
//! The route is in that case the one of D-mod-K, one of those there are.

use std::collections::{HashMap, VecDeque};

use super::error::BuildError;
use super::model::{DirectedLink, Fabric, HostId, NodeId, Routing};

const FAR: u32 = u32::MAX;

/// The forwarding tables of all switches for one destination: O(switches) memory.
#[derive(Debug, Clone)]
pub struct RoutesTo {
    destination: HostId,
    /// As of [`Shortest::hops`].
    hops: Vec<u32>,
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
        let first = fabric.first_link(&self.hops, source, self.destination);
        fabric.path(first, |switch| self.next_of_switch(fabric, switch))
    }
}

/// Shortest paths to hosts on the same switches.
#[derive(Debug)]
pub(super) struct Shortest {
    /// Per switch: hops to such a host; `FAR` where there is no way.
    pub hops: Vec<u32>,
    /// Per switch: where its links to nearer switches begin in `nearer`, and how many there are; none until they are
    /// asked for, since few switches are on the ways of a communicator.
    of_switch: Vec<(u32, u32)>,
    nearer: Vec<DirectedLink>,
    /// The link to a host that was asked for last, from a switch of its own.
    last: Option<DirectedLink>,
}

/// A number picks among equal next hops.
pub(super) fn pick(equal: &[DirectedLink], number: u64) -> Option<DirectedLink> {
    let place = number.checked_rem(equal.len() as u64)?;
    equal.get(place as usize).copied()
}

impl Shortest {
    /// The link that `switch` takes towards `destination`: O(links of the destination), once O(links of the switch).
    pub(super) fn next_hop(&mut self, fabric: &Fabric, switch: NodeId, destination: HostId) -> Option<DirectedLink> {
        let forced = fabric.fixed.get(&destination).and_then(|table| table.get(&switch));
        if forced.is_some() {
            return forced.copied();
        }
        let divisor = fabric.divisors[switch.0 as usize - fabric.host_count()];
        pick(self.equal(fabric, switch, destination), u64::from(destination.0 / divisor))
    }

    /// The links of `switch` on shortest paths to `destination`, in link order: O(links of the destination), once
    /// O(links of the switch).
    pub(super) fn equal(&mut self, fabric: &Fabric, switch: NodeId, destination: HostId) -> &[DirectedLink] {
        let slot = |n: NodeId| n.0 as usize - fabric.host_count();
        let here = self.hops[slot(switch)];
        if here == 1 {
            // A host has few links, its switch may have thousands.
            let mut out = fabric.links_of(destination).iter();
            self.last = out.find(|&&link| fabric.end(link) == switch).map(|link| link.reverse());
            return self.last.as_slice();
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
        &self.nearer[*first as usize..(*first + *count) as usize]
    }
}

impl Fabric {
    /// The forwarding tables towards one host: O(switches + links) time.
    pub fn routes_to(&self, destination: HostId) -> RoutesTo {
        let mut shortest = self.shortest(destination);
        let next = self.switches().map(|switch| shortest.next_hop(self, switch, destination)).collect();
        RoutesTo { destination, hops: shortest.hops, next }
    }

    /// The links that every node may take towards one host, hosts first: several only with [`Routing::Ecmp`], none at
    /// the host itself and where there is no way. O(nodes + links) time.
    pub fn next_hops(&self, destination: HostId) -> Vec<Vec<DirectedLink>> {
        let mut shortest = self.shortest(destination);
        let all = self.routing == Routing::Ecmp;
        let of_hosts = self.hosts().map(|host| match all {
            true => self.first_links(&shortest.hops, host, destination),
            false => self.first_link(&shortest.hops, host, destination).into_iter().collect(),
        });
        let mut found: Vec<_> = of_hosts.collect();
        found.extend(self.switches().map(|switch| match all {
            true => shortest.equal(self, switch, destination).to_vec(),
            false => shortest.next_hop(self, switch, destination).into_iter().collect(),
        }));
        found
    }

    /// The shortest paths to `destination`, the same for all hosts on the same switches: O(switches + links) time.
    pub(super) fn shortest(&self, destination: HostId) -> Shortest {
        let hosts = self.host_count();
        let slot = |n: NodeId| n.0 as usize - hosts;
        let mut hops = vec![FAR; self.switch_count()];
        let mut queue: VecDeque<NodeId> = self.links_of(destination).iter().map(|&link| self.end(link)).collect();
        queue.iter().for_each(|&switch| hops[slot(switch)] = 1);
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
        Shortest { hops, of_switch: vec![(0, 0); self.switch_count()], nearer: Vec::new(), last: None }
    }

    /// The link by which a host sends to another; none to itself.
    pub(super) fn first_link(&self, hops: &[u32], source: HostId, destination: HostId) -> Option<DirectedLink> {
        pick(&self.first_links(hops, source, destination), u64::from(destination.0))
    }

    /// The links of a host on shortest paths to another; none to itself.
    pub(super) fn first_links(&self, hops: &[u32], source: HostId, destination: HostId) -> Vec<DirectedLink> {
        let far = |link: DirectedLink| hops[self.end(link).0 as usize - self.host_count()];
        let out = self.links_of(source).iter().copied();
        let nearest = out.clone().map(far).min().filter(|_| source != destination);
        out.filter(|&link| Some(far(link)) == nearest).collect()
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

    /// The directed links from one host to another, in order; empty from a host to itself.
    /// For many routes use a [`Router`](super::Router).
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
