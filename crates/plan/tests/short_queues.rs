//! What ranks of an exchange may send ahead of one another where switches have short queues.

use crate::support::network;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Fabric, Placement};
use std::sync::Arc;

/// Blocks that nobody confirms: a rank has sent as many as it need not have received before, and one more. If that many
/// ranks, each as far ahead of the one before, send a block each to one receiver, all packets fit the queue before it.
#[test]
fn short_blocks_of_ranks_that_are_apart_fit_the_queue() {
    for queue in [12u64, 16, 32, 48] {
        let text = format!("queue = {queue}\n[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = 5\n");
        let fabric = Arc::new(Fabric::from_toml(&text, "short").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
        for algorithm in [Algorithm::TwoLevelRing, Algorithm::Xor] {
            for block in [512u64, 1024, 2048, 4096] {
                let flow = planner.exchange_pacing(algorithm, block).and_then(|pacing| pacing.flow).expect("bounds");
                assert!(block < flow.confirmed, "of longer ones confirmations tell");
                let ahead = flow.behind / block + 1;
                let packets = ahead * (block + 80).div_ceil(1448);
                assert!(packets <= queue, "{algorithm}, blocks of {block}: {packets} packets, room for {queue}");
            }
        }
    }
}

/// Longer blocks that nobody confirms are no longer than ranks may be apart, and fit likewise; where queues are too short
/// for that, or nobody told them, or links are far, blocks of 6 KiB and more are confirmed.
#[test]
fn longer_blocks_are_confirmed_where_queues_are_short_or_unknown() {
    let mut unconfirmed = 0;
    for (queue, latency) in [(Some(16u64), 5), (Some(32), 5), (Some(64), 5), (Some(128), 5), (Some(64), 500), (None, 5)]
    {
        let queue_line = queue.map_or(String::new(), |queue| format!("queue = {queue}\n"));
        let star = format!("[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = {latency}\n");
        let fabric = Arc::new(Fabric::from_toml(&(queue_line + &star), "star").expect("a fabric"));
        for per_host in [1, 2] {
            let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, per_host).expect("the ranks fit"));
            for block in [6 << 10, 8 << 10, 12 << 10, 16 << 10] {
                let pacing = planner.exchange_pacing(Algorithm::ContentionFree, block).expect("an exchange");
                let flow = pacing.flow.expect("bounds");
                if block >= flow.confirmed {
                    continue;
                }
                unconfirmed += 1;
                let queue = queue.expect("a queue that is known");
                assert!(latency < 500 && block < 16 << 10);
                // Ranks of two hosts may meet at a receiver, each a block further than it may be ahead.
                let packets = 2 * per_host as u64 * block.div_ceil(1448);
                assert!(packets <= queue, "blocks of {block}: {packets} packets, room for {queue}");
            }
        }
    }
    // Of 64 packets on one rank per host, of 128 on one and two.
    assert_eq!(unconfirmed, 2 + 3 + 2);
}

/// Below the usual size an Alltoall is ours where what all ranks of other hosts send to those of one, all at once, is more
/// packets than the queue before it holds, and the library's where it is not, or nobody told the queue.
#[test]
fn short_blocks_are_ours_where_the_library_s_overflow_the_queue() {
    for (queue, per_host, block, is_ours) in [
        (Some(16), 1, 1024, false),  // 15 packets
        (Some(16), 1, 1448, false),  // 15
        (Some(16), 1, 1449, true),   // 30
        (Some(16), 2, 1024, true),   // 2 ranks times 14
        (Some(30), 1, 2896, false),  // 30
        (Some(29), 1, 2048, true),   // 30
        (Some(128), 1, 4095, false), // 45
        (Some(128), 8, 2048, false), // 8 times 8 times 2
        (Some(127), 8, 2048, true),
        (Some(16), 16, 2048, false), // one host
        (None, 1, 2048, false),
        (None, 1, 4096, true),
    ] {
        let queue_line = queue.map_or(String::new(), |queue: u64| format!("queue = {queue}\n"));
        let star = "[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = 5\n";
        let fabric = Arc::new(Fabric::from_toml(&(queue_line + star), "star").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, per_host).expect("the ranks fit"));
        let found = planner.fitting(Collective::Alltoall, block, Segments::AtMost(16 << 10));
        assert_eq!(found.is_some(), is_ours, "queue {queue:?}, {per_host} per host, {block} bytes");
        assert_eq!(block >= planner.floor(Collective::Alltoall), is_ours);
    }
}

/// Where the queue bounds no room, or nobody told it, a rank may be a whole room ahead, here all of its blocks; so it may
/// on far links, where it would else send a few for each latency.
#[test]
fn neither_longer_queues_nor_far_links_keep_ranks_back() {
    for (queue, latency, least) in
        [("", 5, 15 * 4096), ("queue = 128\n", 5, 15 * 4096), ("queue = 16\n", 500, 16 * 1448)]
    {
        let text = format!("{queue}[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = {latency}\n");
        let fabric = Arc::new(Fabric::from_toml(&text, "long").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
        let pacing = planner.exchange_pacing(Algorithm::TwoLevelRing, 4096).expect("an exchange");
        assert!(pacing.flow.expect("bounds").behind >= least);
    }
}
