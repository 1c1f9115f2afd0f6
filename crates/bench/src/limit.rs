//! The least time a collective can take on the links of a fabric, whatever the algorithm.
//!
//! With n bytes, N hosts that have ranks, and traffic inside a host for nothing:
//! * Bcast, Reduce: every rank's host gets n bytes from the root's, over every cut between the two: n / the thinnest.
//!   The hosts' own links are such cuts.
//! * Allreduce: the parts of a partition send each other at least 2n(k − 1) bytes in all, k being their number, so that
//!   the time is at least 2n(k − 1) / the sum of what leads out of the parts: the hosts (2n(N − 1)/N / host link where
//!   all are alike), the groups of every level, and the two sides of the thinnest cut.
//! * Allgather: every block of the hosts on one side of a cut crosses it, for those on the other, at least once.
//!   Reduce_scatter: so does, for every block of the other side, what this side has summed up. Links carry as much in
//!   both directions, so that both take the blocks of the side that has more of them / the cut. Cuts are those between
//!   a host and all others ((N − 1)/N of all blocks / host link where all are alike), a group of any level and what is
//!   outside it, and the thinnest between two hosts.
//! * Alltoall, Alltoallv, Alltoallw, Gather, Scatter, Gatherv, Scatterv: the bytes that must cross a link under the
//!   fixed routes / its rate, for the worst link; for Alltoallv by the counts of every rank pair. Where connections are
//!   hashed over several ways, the bytes that are to be expected on it.

use crate::counts::{ELEMENT, count};
use crate::flow::{cut_between, thinnest_cut};
use crate::operation::Operation;
use nagare_plan::fabric::{Adapter, DirectedLink, Fabric, HostId, Level, LevelChoice, Placement, Router};
use std::collections::{BTreeMap, BTreeSet};

/// Share of a link's rate that reaches the program: 1448 bytes of data in a frame of 1514 (Ethernet, IPv4, TCP with
/// timestamps; preamble and gap are not counted, for the emulated links do not).
pub const GOODPUT: f64 = 1448.0 / 1514.0;

/// What the links allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The least time, seconds; 0 if nothing leaves a host.
    pub seconds: f64,
    /// Bytes times links they cross, in all: what the machine that emulates the links has to carry. By the routes
    /// where ranks have blocks for each other; otherwise those of a tree of the root's routes, for Allreduce twice, and
    /// of such a tree from every host for its blocks. Of hashed routes it is what is to be expected.
    pub link_bytes: f64,
}

/// Seconds for so many bytes at so many Mbit/s.
fn seconds(bytes: f64, mbit: f64) -> f64 {
    bytes * 8.0 / (mbit * 1e6 * GOODPUT)
}

/// The limit of an operation. `bytes` are those of its unit ([`Operation::unit`]), in the mean where blocks differ.
pub fn limit(fabric: &Fabric, placement: &Placement, operation: Operation, root: u32, bytes: u64) -> Limit {
    let adapters = placement.adapters(fabric);
    let at_root = adapters.get(root as usize).copied().unwrap_or(HostId(0).into());
    let root = at_root.host;
    let ranks = ranks_of_adapters(&adapters);
    let hosts: Vec<HostId> = placement.hosts().iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let n = bytes as f64;
    match operation {
        Operation::Bcast | Operation::Reduce => {
            let cut = cut_from(fabric, root, &hosts);
            Limit { seconds: seconds(n, cut), link_bytes: n * tree_links(fabric, root, &hosts) }
        }
        Operation::Allreduce => {
            let slowest = partitions(fabric, &hosts).into_iter().map(|(parts, mbit)| {
                let crossing = 2.0 * n * (parts as f64 - 1.0);
                seconds(crossing, mbit)
            });
            let link_bytes = 2.0 * n * tree_links(fabric, root, &hosts);
            Limit { seconds: slowest.fold(0.0, f64::max), link_bytes }
        }
        Operation::Allgather | Operation::Allgatherv | Operation::ReduceScatterBlock | Operation::ReduceScatter => {
            let mut blocks = BTreeMap::new();
            for (rank, &host) in (0..).zip(placement.hosts()) {
                // As many at every rank that has a part of them.
                let elements = count(operation, bytes / ELEMENT, rank, rank);
                *blocks.entry(host).or_insert(0.0) += (elements * ELEMENT) as f64;
            }
            scattered(fabric, &blocks)
        }
        Operation::Gather => {
            let flows = ranks.iter().map(|(&from, &count)| (from, at_root, n * count as f64));
            routed(fabric, flows)
        }
        Operation::Scatter => {
            let flows = ranks.iter().map(|(&to, &count)| (at_root, to, n * count as f64));
            routed(fabric, flows)
        }
        Operation::Gatherv | Operation::Scatterv => {
            let flows = (0..).zip(&adapters).map(|(rank, &adapter)| {
                let blocks = (count(operation, bytes / ELEMENT, rank, rank) * ELEMENT) as f64;
                if operation == Operation::Gatherv { (adapter, at_root, blocks) } else { (at_root, adapter, blocks) }
            });
            routed(fabric, flows)
        }
        Operation::Alltoall | Operation::Alltoallw => {
            let pairs = ranks.iter().flat_map(|a| ranks.iter().map(move |b| (a, b)));
            let flows = pairs.map(|((&from, &a), (&to, &b))| (from, to, n * a as f64 * b as f64));
            routed(fabric, flows)
        }
        Operation::Alltoallv | Operation::AlltoallvSparse | Operation::AlltoallvSkewed | Operation::AlltoallwSkewed => {
            let mut between: BTreeMap<(Adapter, Adapter), f64> = BTreeMap::new();
            for (from, &start) in (0..).zip(&adapters) {
                for (to, &end) in (0..).zip(&adapters) {
                    let elements = count(operation, bytes / ELEMENT, from, to);
                    *between.entry((start, end)).or_insert(0.0) += (elements * ELEMENT) as f64;
                }
            }
            routed(fabric, between.into_iter().map(|((from, to), bytes)| (from, to, bytes)))
        }
    }
}

/// The limit of transfers (from, to, bytes) that happen at the same time, by the routes.
pub fn routed(fabric: &Fabric, flows: impl IntoIterator<Item = (Adapter, Adapter, f64)>) -> Limit {
    let mut load = vec![0.0; fabric.directed_link_count()];
    let mut router = Router::new(fabric);
    for (from, to, bytes) in flows {
        for (link, share) in router.shares(from, to) {
            load[link.index()] += share * bytes;
        }
    }
    let times = (0u32..).zip(&load).map(|(link, &bytes)| seconds(bytes, fabric.mbit(DirectedLink(link))));
    Limit { seconds: times.fold(0.0, f64::max), link_bytes: load.iter().sum() }
}

/// The limit where every host needs something of every block, or has something for it. `blocks`: their bytes by host.
fn scattered(fabric: &Fabric, blocks: &BTreeMap<HostId, f64>) -> Limit {
    let hosts: Vec<HostId> = blocks.keys().copied().collect();
    let all: f64 = blocks.values().sum();
    let slowest = separations(fabric, &hosts).into_iter().map(|(from, to)| {
        let cut = cut_between(fabric, &from, &to);
        let near: f64 = blocks.iter().filter(|(host, _)| cut.near.contains(host)).map(|(_, bytes)| bytes).sum();
        seconds(near.max(all - near), cut.mbit)
    });
    let tree = |(&host, bytes): (&HostId, &f64)| bytes * tree_links(fabric, host, &hosts);
    Limit { seconds: slowest.fold(0.0, f64::max), link_bytes: blocks.iter().map(tree).sum() }
}

/// Hosts to be separated by a cut: every host, and every group of every level, from all others; the first from every
/// other, both ways, since among these is the thinnest cut of all.
fn separations(fabric: &Fabric, hosts: &[HostId]) -> Vec<(Vec<HostId>, Vec<HostId>)> {
    let Some((&first, others)) = hosts.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let mut found: Vec<_> = hosts.iter().map(|&host| hosts.iter().partition(|&&other| other == host)).collect();
    found.extend(others.iter().flat_map(|&other| [(vec![first], vec![other]), (vec![other], vec![first])]));
    for level in levels(fabric) {
        let group = |host: &HostId| level.of_host[host.0 as usize];
        let groups: BTreeSet<u32> = hosts.iter().map(group).collect();
        if groups.len() > 1 {
            found.extend(groups.iter().map(|&inside| hosts.iter().partition(|&host| group(host) == inside)));
        }
    }
    found
}

/// Levels at whose groups links may be thin, whichever of them count in plans.
fn levels(fabric: &Fabric) -> Vec<Level> {
    fabric.levels_by(&LevelChoice::Default)
}

/// Number of ranks on each adapter that has some.
fn ranks_of_adapters(adapters: &[Adapter]) -> BTreeMap<Adapter, usize> {
    let mut ranks = BTreeMap::new();
    for &adapter in adapters {
        *ranks.entry(adapter).or_insert(0) += 1;
    }
    ranks
}

/// Mbit/s of the thinnest cut that separates one of `hosts` from `root`.
fn cut_from(fabric: &Fabric, root: HostId, hosts: &[HostId]) -> f64 {
    let others = hosts.iter().filter(|&&host| host != root);
    others.map(|&host| thinnest_cut(fabric, &[root], &[host])).fold(f64::INFINITY, f64::min)
}

/// Number of different directed links on the routes from `root` to all hosts; where connections are hashed over several
/// ways, the number that is to be expected if each draws its own.
fn tree_links(fabric: &Fabric, root: HostId, hosts: &[HostId]) -> f64 {
    let mut router = Router::new(fabric);
    // How probable it is that no route takes the link.
    let mut free: BTreeMap<DirectedLink, f64> = BTreeMap::new();
    for (link, share) in hosts.iter().flat_map(|&host| router.shares(root, host)) {
        *free.entry(link).or_insert(1.0) *= 1.0 - share;
    }
    free.values().map(|free| 1.0 - free).sum()
}

/// Partitions of the hosts: number of parts, and Mbit/s that lead out of them in all.
fn partitions(fabric: &Fabric, hosts: &[HostId]) -> Vec<(usize, f64)> {
    let Some(&first) = hosts.first().filter(|_| hosts.len() > 1) else { return Vec::new() };
    let each: f64 = hosts.iter().map(|&host| fabric.host_mbit(host)).sum();
    // Two sides of a cut: what leads out of both is the cut, in both directions.
    let mut found = vec![(hosts.len(), each), (2, 2.0 * cut_from(fabric, first, hosts))];
    for level in levels(fabric) {
        let groups: BTreeSet<u32> = hosts.iter().map(|host| level.of_host[host.0 as usize]).collect();
        let out = groups.iter().map(|&group| {
            let (inside, outside): (Vec<HostId>, Vec<HostId>) =
                hosts.iter().partition(|host| level.of_host[host.0 as usize] == group);
            thinnest_cut(fabric, &inside, &outside)
        });
        if groups.len() > 1 {
            found.push((groups.len(), out.sum()));
        }
    }
    found
}

#[cfg(test)]
mod tests;
