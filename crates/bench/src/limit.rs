//! The least time a collective can take on the links of a fabric, whatever the algorithm.
//!
//! With n bytes, N hosts that have ranks, and traffic inside a host for nothing:
//! * Bcast, Reduce: every rank's host gets n bytes from the root's, over every cut between the two: n / the thinnest. The
//!   hosts' own links are such cuts.
//! * Allreduce: the parts of a partition send each other at least 2n(k − 1) bytes in all, k being their number, so that the
//!   time is at least 2n(k − 1) / the sum of what leads out of the parts: the hosts (2n(N − 1)/N / host link where all are
//!   alike), the groups of every level, and the two sides of the thinnest cut.
//! * Alltoall, Alltoallv, Gather: the bytes that must cross a link under the fixed routes / its rate, for the worst link; for
//!   Alltoallv by the counts of every rank pair.

use crate::counts::{ELEMENT, count};
use crate::flow::thinnest_cut;
use crate::operation::Operation;
use nagare_plan::fabric::{DirectedLink, Fabric, HostId, Placement, Router};
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
    /// where ranks have blocks for each other; otherwise those of a tree of the root's routes, for Allreduce twice.
    pub link_bytes: f64,
}

/// Seconds for so many bytes at so many Mbit/s.
fn seconds(bytes: f64, mbit: f64) -> f64 {
    bytes * 8.0 / (mbit * 1e6 * GOODPUT)
}

/// The limit of an operation. `bytes` are those of the vector; where ranks have blocks for each other those per rank pair, of
/// Alltoallv in the mean.
pub fn limit(fabric: &Fabric, placement: &Placement, operation: Operation, root: u32, bytes: u64) -> Limit {
    let root = placement.host(root).unwrap_or(HostId(0));
    let ranks = ranks_of_hosts(placement);
    let hosts: Vec<HostId> = ranks.keys().copied().collect();
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
        Operation::Gather => {
            let flows = ranks.iter().map(|(&from, &count)| (from, root, n * count as f64));
            routed(fabric, flows)
        }
        Operation::Alltoall => {
            let pairs = ranks.iter().flat_map(|a| ranks.iter().map(move |b| (a, b)));
            let flows = pairs.map(|((&from, &a), (&to, &b))| (from, to, n * a as f64 * b as f64));
            routed(fabric, flows)
        }
        Operation::Alltoallv | Operation::AlltoallvSparse => {
            let mut between: BTreeMap<(HostId, HostId), f64> = BTreeMap::new();
            for (from, &start) in (0..).zip(placement.hosts()) {
                for (to, &end) in (0..).zip(placement.hosts()) {
                    let elements = count(operation, bytes / ELEMENT, from, to);
                    *between.entry((start, end)).or_insert(0.0) += (elements * ELEMENT) as f64;
                }
            }
            routed(fabric, between.into_iter().map(|((from, to), bytes)| (from, to, bytes)))
        }
    }
}

/// The limit of transfers (from, to, bytes) that happen at the same time under the fixed routes.
pub fn routed(fabric: &Fabric, flows: impl IntoIterator<Item = (HostId, HostId, f64)>) -> Limit {
    let mut load = vec![0.0; fabric.directed_link_count()];
    let mut router = Router::new(fabric);
    for (from, to, bytes) in flows {
        for link in router.route(from, to) {
            load[link.index()] += bytes;
        }
    }
    let times = (0u32..).zip(&load).map(|(link, &bytes)| seconds(bytes, fabric.mbit(DirectedLink(link))));
    Limit { seconds: times.fold(0.0, f64::max), link_bytes: load.iter().sum() }
}

/// Number of ranks on each host that has some.
fn ranks_of_hosts(placement: &Placement) -> BTreeMap<HostId, usize> {
    let mut ranks = BTreeMap::new();
    for &host in placement.hosts() {
        *ranks.entry(host).or_insert(0) += 1;
    }
    ranks
}

/// Mbit/s of the thinnest cut that separates one of `hosts` from `root`.
fn cut_from(fabric: &Fabric, root: HostId, hosts: &[HostId]) -> f64 {
    let others = hosts.iter().filter(|&&host| host != root);
    others.map(|&host| thinnest_cut(fabric, &[root], &[host])).fold(f64::INFINITY, f64::min)
}

/// Number of different directed links on the routes from `root` to all hosts.
fn tree_links(fabric: &Fabric, root: HostId, hosts: &[HostId]) -> f64 {
    let mut router = Router::new(fabric);
    let links: BTreeSet<DirectedLink> = hosts.iter().flat_map(|&host| router.route(root, host)).collect();
    links.len() as f64
}

/// Partitions of the hosts: number of parts, and Mbit/s that lead out of them in all.
fn partitions(fabric: &Fabric, hosts: &[HostId]) -> Vec<(usize, f64)> {
    let Some(&first) = hosts.first().filter(|_| hosts.len() > 1) else { return Vec::new() };
    let each: f64 = hosts.iter().map(|&host| fabric.host_mbit(host)).sum();
    // Two sides of a cut: what leads out of both is the cut, in both directions.
    let mut found = vec![(hosts.len(), each), (2, 2.0 * cut_from(fabric, first, hosts))];
    for level in fabric.levels() {
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
mod tests {
    use super::*;
    use nagare_plan::fabric::shipped;

    fn place(name: &str, ranks: usize, ppn: usize) -> (Fabric, Placement) {
        let fabric = Fabric::from_toml(shipped(name).unwrap_or_default(), name).expect("shipped fabrics are valid");
        let placement = Placement::by_slot(&fabric, ranks, ppn).expect("the ranks fit");
        (fabric, placement)
    }

    /// Milliseconds, within 1 %.
    fn assert_ms(limit: Limit, expected: f64) {
        let ms = limit.seconds * 1e3;
        assert!((ms / expected - 1.0).abs() < 0.01, "{ms} ms, expected {expected}");
    }

    const K: u64 = 1 << 10;
    const M: u64 = 1 << 20;

    #[test]
    fn two_leaves_of_four_hosts_with_two_ranks() {
        let (fabric, slots) = place("tree8", 16, 2);
        let of = |operation, bytes| limit(&fabric, &slots, operation, 0, bytes);
        // 2^20 bytes at 100 Mbit/s and 95.6 %.
        assert_ms(of(Operation::Bcast, M), 88.0);
        assert_ms(of(Operation::Reduce, M), 88.0);
        assert_ms(of(Operation::Allreduce, M), 153.0);
        // 8 × 8 ranks across each leaf's uplink.
        assert_ms(of(Operation::Alltoall, 64 * K), 352.0);
        assert_ms(of(Operation::Gather, 64 * K), 77.0);
        // Ranks dealt out over the hosts have the same links.
        let nodes = Placement::by_node(&fabric, 16, 2).expect("the ranks fit");
        assert_ms(limit(&fabric, &nodes, Operation::Alltoall, 0, 64 * K), 352.0);
    }

    #[test]
    fn two_clusters_over_one_link() {
        let (fabric, slots) = place("wan2x8", 16, 1);
        let of = |operation, bytes| limit(&fabric, &slots, operation, 0, bytes);
        assert_ms(of(Operation::Bcast, M), 88.0);
        assert_ms(of(Operation::Allreduce, M), 165.0);
        assert_ms(of(Operation::Alltoall, 16 * K), 88.0);
        assert_ms(of(Operation::Alltoall, 64 * K), 351.0);
        assert_ms(of(Operation::Gather, 64 * K), 82.0);
    }

    #[test]
    fn one_switch_and_a_mesh() {
        let (fabric, slots) = place("star16", 32, 2);
        assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 175.0);
        assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 329.0);
        assert_ms(limit(&fabric, &slots, Operation::Alltoall, 0, 64 * K), 658.0);
        assert_ms(limit(&fabric, &slots, Operation::Gather, 0, 64 * K), 329.0);
        let (fabric, slots) = place("mlfm36", 32, 1);
        assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 439.0);
        assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 850.0);
        assert_ms(limit(&fabric, &slots, Operation::Gather, 0, 64 * K), 850.0);
        let (fabric, slots) = place("torus16", 16, 1);
        assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 88.0);
        assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 165.0);
    }

    #[test]
    fn alltoallv_by_its_counts() {
        // Two leaves of two hosts and one uplink of a quarter of the hosts' rate; two ranks per host.
        let text = "name = \"thin\"\nhosts = [\"h[0-3]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                    [[link]]\nfrom = \"h[0-1]\"\nto = \"a\"\n[[link]]\nfrom = \"h[2-3]\"\nto = \"b\"\n\
                    [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = 25\n";
        let thin = Fabric::from_toml(text, "thin").expect("a valid file");
        let (star, _) = place("star16", 16, 1);
        for operation in [Operation::Alltoallv, Operation::AlltoallvSparse] {
            for mean in [1, 100, 16 << 10] {
                let bytes = |from, to| 4 * count(operation, mean, from, to);
                let placement = Placement::by_slot(&thin, 8, 2).expect("the ranks fit");
                // Ranks 0 to 3 are on one leaf. Both ways through the uplink, and in and out of every host.
                let across = |a: [u32; 4], b: [u32; 4]| a.iter().flat_map(|&i| b.map(|j| bytes(i, j))).sum::<u64>();
                let up = across([0, 1, 2, 3], [4, 5, 6, 7]).max(across([4, 5, 6, 7], [0, 1, 2, 3]));
                let others = |host: u32| (0..8).filter(move |rank| rank / 2 != host);
                let out = |host: u32| others(host).map(|to| bytes(2 * host, to) + bytes(2 * host + 1, to)).sum::<u64>();
                let into =
                    |host: u32| others(host).map(|from| bytes(from, 2 * host) + bytes(from, 2 * host + 1)).sum::<u64>();
                let host = (0..4).map(|host| out(host).max(into(host))).max().unwrap_or(0);
                let expected = (up as f64 / 25.0).max(host as f64 / 100.0) * 8e-6 * 1514.0 / 1448.0;
                let found = limit(&thin, &placement, operation, 0, 4 * mean).seconds;
                assert!((found / expected - 1.0).abs() < 1e-9, "{operation} {mean}: {found}, expected {expected}");
                // One rank per host and links of the hosts alone: the fullest of 32 directions.
                let placement = Placement::by_slot(&star, 16, 1).expect("the ranks fit");
                let row = |from: u32| (0..16).filter(|&to| to != from).map(|to| bytes(from, to)).sum::<u64>();
                let column = |to: u32| (0..16).filter(|&from| from != to).map(|from| bytes(from, to)).sum::<u64>();
                let fullest = (0..16).map(|rank| row(rank).max(column(rank))).max().unwrap_or(0);
                let expected = fullest as f64 * 8.0 / 50e6 * 1514.0 / 1448.0;
                let found = limit(&star, &placement, operation, 0, 4 * mean).seconds;
                assert!((found / expected - 1.0).abs() < 1e-9, "{operation} {mean}: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn a_thin_link_between_groups_limits_allreduce_and_one_host_has_no_limit() {
        let text = "name = \"thin\"\nhosts = [\"h[0-3]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                    [[link]]\nfrom = \"h[0-1]\"\nto = \"a\"\n[[link]]\nfrom = \"h[2-3]\"\nto = \"b\"\n\
                    [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = 10\n";
        let fabric = Fabric::from_toml(text, "thin").expect("a valid file");
        let placement = Placement::by_slot(&fabric, 4, 1).expect("the ranks fit");
        // Each side's sum crosses the thin link once.
        let expected = 1e6 * 8.0 / 10e6 * 1514.0 / 1448.0 * 1e3;
        assert_ms(limit(&fabric, &placement, Operation::Allreduce, 0, 1_000_000), expected);
        assert_ms(limit(&fabric, &placement, Operation::Bcast, 0, 1_000_000), expected);
        let one = Placement::by_slot(&fabric, 2, 2).expect("the ranks fit");
        for operation in Operation::ALL {
            assert_eq!(limit(&fabric, &one, operation, 0, M).seconds, 0.0, "{operation}");
        }
    }
}
