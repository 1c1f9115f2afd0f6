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
    assert_ms(of(Operation::Scatter, 64 * K), 77.0);
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
    assert_ms(of(Operation::Scatter, 64 * K), 82.0);
}

#[test]
fn one_switch_and_a_mesh() {
    let (fabric, slots) = place("star16", 32, 2);
    assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 175.0);
    assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 329.0);
    assert_ms(limit(&fabric, &slots, Operation::Alltoall, 0, 64 * K), 658.0);
    assert_ms(limit(&fabric, &slots, Operation::Gather, 0, 64 * K), 329.0);
    assert_ms(limit(&fabric, &slots, Operation::Scatter, 0, 64 * K), 329.0);
    let (fabric, slots) = place("mlfm36", 32, 1);
    assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 439.0);
    assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 850.0);
    assert_ms(limit(&fabric, &slots, Operation::Gather, 0, 64 * K), 850.0);
    assert_ms(limit(&fabric, &slots, Operation::Scatter, 0, 64 * K), 850.0);
    let (fabric, slots) = place("torus16", 16, 1);
    assert_ms(limit(&fabric, &slots, Operation::Bcast, 0, M), 88.0);
    assert_ms(limit(&fabric, &slots, Operation::Allreduce, 0, M), 165.0);
}

/// Of 2^20 bytes in all. Reduce_scatter_block is Allgather in the opposite direction.
fn assert_halves_ms(name: &str, ranks: usize, ppn: usize, expected: f64) {
    let (fabric, placement) = place(name, ranks, ppn);
    for operation in [Operation::Allgather, Operation::ReduceScatterBlock] {
        assert_ms(limit(&fabric, &placement, operation, 0, M / ranks as u64), expected);
    }
}

#[test]
fn all_blocks_but_its_own_pass_the_link_of_every_host() {
    // 2^20 bytes are 8.389 Mbit, and 95.64 % of a rate is data.
    // Seven eighths at 100 Mbit/s; across the uplink of a leaf passes a half.
    assert_halves_ms("tree8", 16, 2, 76.7);
    // Fifteen sixteenths at 50 Mbit/s, with two ranks per host too.
    assert_halves_ms("star16", 32, 2, 164.5);
    assert_halves_ms("star16", 16, 1, 164.5);
    // Fifteen sixteenths at 100 Mbit/s; over the wide area, and through the middle of the torus (400 Mbit/s), a
    // half.
    assert_halves_ms("wan2x8", 16, 1, 82.2);
    assert_halves_ms("torus16", 16, 1, 82.2);
    // Thirty-one of 32 at 20 Mbit/s; into the group of five hosts 27 of them over its five links.
    assert_halves_ms("mlfm36", 32, 1, 424.9);
}

#[test]
fn blocks_pass_what_joins_groups_and_of_uneven_sides_those_of_the_larger() {
    // Six hosts on one switch and two on the other; between them a quarter of a host's link.
    let text = "name = \"thin\"\nhosts = [\"h[0-7]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                [[link]]\nfrom = \"h[0-5]\"\nto = \"a\"\n[[link]]\nfrom = \"h[6-7]\"\nto = \"b\"\n\
                [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = 25\n";
    let fabric = Fabric::from_toml(text, "thin").expect("a valid file");
    let ms = |bytes: f64, mbit: f64| bytes * 8.0 / (mbit * 1e6) * 1514.0 / 1448.0 * 1e3;
    for operation in [Operation::Allgather, Operation::ReduceScatterBlock] {
        let of = |placement: &Placement, bytes| limit(&fabric, placement, operation, 0, bytes);
        // The six blocks of the larger side go to the smaller one; for Reduce_scatter the six sums of the smaller
        // to the larger.
        let one = Placement::by_slot(&fabric, 8, 1).expect("the ranks fit");
        assert_ms(of(&one, 100_000), ms(600_000.0, 25.0));
        // Ranks 0 to 15 two by two; with the last host empty the smaller side has two blocks.
        let two = Placement::by_slot(&fabric, 14, 2).expect("the ranks fit");
        assert_ms(of(&two, 100_000), ms(1_200_000.0, 25.0));
        // All on one side: what is outside has no part in it. Three hosts, two blocks of the others for each.
        let inside = Placement::by_slot(&fabric, 3, 1).expect("the ranks fit");
        assert_ms(of(&inside, 100_000), ms(200_000.0, 100.0));
    }
    // Of uneven blocks those of the sides, and of the hosts.
    let one = Placement::by_slot(&fabric, 8, 1).expect("the ranks fit");
    let bytes: Vec<u64> = (0..8).map(|rank| 4 * count(Operation::ReduceScatter, 25_000, 0, rank)).collect();
    let (large, small) = (bytes[..6].iter().sum::<u64>(), bytes[6..].iter().sum::<u64>());
    assert!(bytes.iter().any(|&b| b != 100_000) && large > small);
    let found = limit(&fabric, &one, Operation::ReduceScatter, 0, 100_000).seconds * 1e3;
    assert!((found / ms(large as f64, 25.0) - 1.0).abs() < 1e-9, "{found}");
    let (star, placement) = place("star16", 16, 1);
    let bytes: Vec<u64> = (0..16).map(|rank| 4 * count(Operation::ReduceScatter, 1000, 3, rank)).collect();
    let most = bytes.iter().sum::<u64>() - bytes.iter().min().copied().unwrap_or(0);
    let found = limit(&star, &placement, Operation::ReduceScatter, 0, 4000).seconds * 1e3;
    assert!((found / ms(most as f64, 50.0) - 1.0).abs() < 1e-9, "{found}");
}

/// On one switch a root's link carries the blocks of all others. In an Allgatherv the host with the shortest block
/// receives most. Blocks of other types are as many bytes.
#[test]
fn unequal_blocks_and_blocks_of_other_types() {
    let (star, placement) = place("star16", 16, 1);
    let ms = |bytes: u64| bytes as f64 * 8.0 / 50e6 * 1514.0 / 1448.0 * 1e3;
    for (operation, root) in [(Operation::Gatherv, 0), (Operation::Scatterv, 5), (Operation::Allgatherv, 0)] {
        let blocks: Vec<u64> = (0..16).map(|rank| 4 * count(operation, 1000, rank, rank)).collect();
        assert!(blocks.iter().any(|&block| block != blocks[0]), "{operation}: {blocks:?}");
        let own = match operation {
            Operation::Allgatherv => blocks.iter().min().copied().unwrap_or(0),
            _ => blocks[root as usize],
        };
        assert_ms(limit(&star, &placement, operation, root, 4000), ms(blocks.iter().sum::<u64>() - own));
    }
    // 8 × 8 ranks across each leaf's uplink of 100 Mbit/s.
    let (tree, slots) = place("tree8", 16, 2);
    assert_ms(limit(&tree, &slots, Operation::Alltoallw, 0, 64 * K), ms(64 * 64 * K) / 2.0);
}

#[test]
fn every_block_is_carried_to_every_host() {
    // From each of 16 hosts over its own link and those of the 15 others.
    let (fabric, placement) = place("star16", 16, 1);
    assert_eq!(limit(&fabric, &placement, Operation::Allgather, 0, 1000).link_bytes, 16.0 * 16.0 * 1000.0);
}

#[test]
fn alltoallv_by_its_counts() {
    // Two leaves of two hosts and one uplink of a quarter of the hosts' rate; two ranks per host.
    let text = "name = \"thin\"\nhosts = [\"h[0-3]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                [[link]]\nfrom = \"h[0-1]\"\nto = \"a\"\n[[link]]\nfrom = \"h[2-3]\"\nto = \"b\"\n\
                [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = 25\n";
    let thin = Fabric::from_toml(text, "thin").expect("a valid file");
    let (star, _) = place("star16", 16, 1);
    let skewed = [Operation::AlltoallvSkewed, Operation::AlltoallwSkewed];
    for operation in [[Operation::Alltoallv, Operation::AlltoallvSparse], skewed].concat() {
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

/// What links allow is not what a user has plans made of.
#[test]
fn the_levels_that_count_change_no_limit() {
    let text = "[generator]\nkind = 'tree'\nchildren = [4, 4]\nbandwidth = [100, 50]\n";
    let of = |levels: &str| {
        let fabric = Fabric::from_toml(&format!("levels = '{levels}'\n{text}"), "thin").expect("a valid file");
        let placement = Placement::by_slot(&fabric, 16, 1).expect("the ranks fit");
        // Four leaves send each other 2n · 3 bytes over what leads out of them.
        assert_ms(
            limit(&fabric, &placement, Operation::Allreduce, 0, M),
            M as f64 * 6.0 * 8.0 / 200e3 * 1514.0 / 1448.0,
        );
        Operation::ALL.map(|operation| limit(&fabric, &placement, operation, 0, M))
    };
    assert_eq!(of("none"), of("default"));
}

#[test]
fn blocks_take_the_plane_of_their_sender_and_vectors_may_take_both() {
    let text = "hosts = [\"n[0-3]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                [[link]]\nfrom = \"n[0-3]\"\nto = [\"a\", \"b\"]\n";
    let fabric = Fabric::from_toml(text, "planes").expect("a valid file");
    let placement = Placement::by_slot(&fabric, 8, 2).expect("the ranks fit");
    let of = |operation, bytes| limit(&fabric, &placement, operation, 0, bytes);
    assert_ms(of(Operation::Bcast, M), 43.9);
    // 2n · 3/4 over two links of each host.
    assert_ms(of(Operation::Allreduce, M), 65.8);
    // Six blocks of every rank over its own link.
    assert_ms(of(Operation::Alltoall, 64 * K), 32.9);
    // Three by each plane to the root; all six by the plane of the root from it.
    assert_ms(of(Operation::Gather, 64 * K), 16.4);
    assert_ms(of(Operation::Scatter, 64 * K), 32.9);
}

/// By hand: what leaves a pod of four hosts for twelve, evenly over its four links to the core; by D-mod-K the same on
/// every one.
#[test]
fn hashed_ways_count_by_what_is_to_be_expected() {
    let text = shipped("fattree").unwrap_or_default();
    let hashed = Fabric::from_toml(&format!("routing = 'ecmp'\n{text}"), "hashed").expect("valid");
    let (fabric, placement) = place("fattree", 16, 1);
    for operation in [Operation::Alltoall, Operation::Gather, Operation::Bcast, Operation::Allgather] {
        let [by_hash, by_rule] = [&hashed, &fabric].map(|f| limit(f, &placement, operation, 0, 64 * K));
        assert!((by_hash.seconds / by_rule.seconds - 1.0).abs() < 1e-9, "{operation:?}: {by_hash:?} {by_rule:?}");
    }
    // Two hosts of a leaf to hosts with even numbers elsewhere: by the rule on one way out of the leaf.
    let flows = || [(0, 4), (1, 8)].map(|(from, to)| (HostId(from).into(), HostId(to).into(), M as f64));
    assert_ms(routed(&fabric, flows()), 350.8);
    assert_ms(routed(&hashed, flows()), 175.4);
    // A tree from n0 takes its link, that to n1, 14 hosts over two ways out of the leaf, two of the pod over two, 12
    // over four to the core, four of each pod over four from it, two of each leaf over two, and the hosts' own links.
    let drawn = |links: i32, hosts: i32, share: f64| f64::from(links) * (1.0 - (1.0 - share).powi(hosts));
    let within = drawn(2, 14, 0.5) + drawn(2, 2, 0.5) + drawn(12, 2, 0.5);
    let links = 16.0 + within + drawn(4, 12, 0.25) + drawn(12, 4, 0.25);
    let tree = limit(&hashed, &placement, Operation::Bcast, 0, M).link_bytes / M as f64;
    assert!((tree - links).abs() < 1e-9, "{tree} links, expected {links}");
}
