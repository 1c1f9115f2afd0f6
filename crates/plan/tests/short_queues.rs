//! What ranks of an exchange may send ahead of one another where switches have short queues.

use crate::support::network;
use nagare_plan::algorithm::Algorithm;
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
