//! The whole network: numbers everything, and checks what no single host, link or route shows.

use super::{End, FabricBuilder, too_large};
use crate::fabric::error::BuildError;
use crate::fabric::ids::{DirectedLink, HostId, NodeId};
use crate::fabric::level_choice::LevelChoice;
use crate::fabric::model::{Fabric, Link, Routing};
use std::collections::{HashMap, HashSet};

/// Most that checking the fixed routes may take: adapters of destinations times switches and links.
const MAX_ROUTE_WORK: usize = 1 << 30;
/// Most different sets of unconnected networks that hosts are in.
const MAX_ISLAND_SETS: usize = 1 << 10;

impl FabricBuilder {
    /// Numbers everything and checks what concerns the whole: no loose node, all hosts connected, routes arrive.
    pub fn build(self) -> Result<Fabric, BuildError> {
        if self.hosts.is_empty() {
            return Err(BuildError::NoHosts);
        }
        // A route is looked at for every adapter of its destination.
        let is_fixed = |end: &End| matches!(end, End::Host(host) if self.fixed.contains_key(host));
        let adapters = self.links.iter().flat_map(|(a, b, _)| [a, b]).filter(|&end| is_fixed(end)).count();
        let walks = adapters.max(self.fixed.len());
        if walks.saturating_mul(self.ends.len() + self.links.len()) > MAX_ROUTE_WORK {
            return Err(too_large("fixed routes times switches and links", MAX_ROUTE_WORK));
        }
        if self.routing == Routing::Ecmp && !self.fixed.is_empty() {
            return Err(BuildError::TablesBesideEcmp);
        }
        let hosts = self.hosts.len() as u32;
        let node = |end: End| match end {
            End::Host(h) => NodeId(h),
            End::Switch(s) => NodeId(hosts + s),
        };
        let links: Vec<Link> = (self.links.iter())
            .map(|&(a, b, rate)| Link {
                a: node(a),
                b: node(b),
                mbit: rate.mbit,
                latency_us: rate.latency_us,
                parallel: rate.parallel,
            })
            .collect();
        let mut names = self.hosts;
        names.extend(self.switches);
        let (first_out, out) = adjacency(names.len(), &links);
        let fixed = (self.fixed.into_iter())
            .map(|(host, table)| {
                let table = table.into_iter().map(|(s, l)| (NodeId(hosts + s), l));
                (HostId(host), table.collect())
            })
            .collect();
        let mut fabric = Fabric {
            name: self.name,
            hosts,
            ids: (self.ends.into_iter()).map(|(n, e)| (n, node(e))).collect(),
            names,
            links,
            first_out,
            out,
            queue_packets: self.queue_packets,
            torus: self.torus,
            message: self.message,
            routing: self.routing,
            level_choice: LevelChoice::default(),
            divisors: Vec::new(),
            attachments: Vec::new(),
            fixed,
        };
        fabric.divisors = fabric.divisors();
        fabric.attachments = fabric.attachments();
        check_connected(&fabric)?;
        fabric.check_fixed_routes()?;
        Ok(fabric)
    }
}

/// Outgoing directed links per node, in link order, as one vector with offsets.
fn adjacency(nodes: usize, links: &[Link]) -> (Vec<u32>, Vec<DirectedLink>) {
    let mut first = vec![0u32; nodes + 1];
    for l in links {
        first[l.a.0 as usize + 1] += 1;
        first[l.b.0 as usize + 1] += 1;
    }
    for n in 0..nodes {
        first[n + 1] += first[n];
    }
    let mut at = first.clone();
    let mut out = vec![DirectedLink(0); 2 * links.len()];
    for (i, l) in links.iter().enumerate() {
        for (node, direction) in [(l.a, 0), (l.b, 1)] {
            let slot = &mut at[node.0 as usize];
            out[*slot as usize] = DirectedLink(2 * i as u32 + direction);
            *slot += 1;
        }
    }
    (first, out)
}

/// Every two hosts must meet on one connected set of switches: hosts do not forward.
fn check_connected(fabric: &Fabric) -> Result<(), BuildError> {
    let all = fabric.hosts().map(NodeId::from).chain(fabric.switches());
    if let Some(loose) = all.into_iter().find(|&n| fabric.links_of(n).is_empty()) {
        return Err(BuildError::NoLink(fabric.node_name(loose).to_owned()));
    }
    let mut island = vec![u32::MAX; fabric.names.len()];
    for (number, seed) in fabric.switches().enumerate() {
        let mut stack = vec![seed];
        while let Some(n) = stack.pop() {
            if fabric.is_host(n) || island[n.0 as usize] != u32::MAX {
                continue;
            }
            island[n.0 as usize] = number as u32;
            stack.extend(fabric.links_of(n).iter().map(|&l| fabric.end(l)));
        }
    }
    let mut seen: HashMap<Vec<u32>, HostId> = HashMap::new();
    for host in fabric.hosts() {
        let ends = fabric.links_of(host).iter().map(|&l| fabric.end(l));
        let mut islands: Vec<u32> = ends.map(|n| island[n.0 as usize]).collect();
        islands.sort_unstable();
        islands.dedup();
        seen.entry(islands).or_insert(host);
    }
    // Almost always one entry: all hosts on the same island or islands. All pairs are compared.
    if seen.len() > MAX_ISLAND_SETS {
        return Err(too_large("combinations of separate networks", MAX_ISLAND_SETS));
    }
    let mut sets: Vec<(HashSet<u32>, HostId)> =
        (seen.into_iter()).map(|(islands, host)| (islands.into_iter().collect(), host)).collect();
    sets.sort_unstable_by_key(|&(_, host)| host);
    for (i, (a, first)) in sets.iter().enumerate() {
        if let Some((_, host)) = sets[i + 1..].iter().find(|(b, _)| a.is_disjoint(b)) {
            let name = |h: &HostId| fabric.node_name(*h).to_owned();
            return Err(BuildError::Unreachable(name(first), name(host)));
        }
    }
    Ok(())
}
