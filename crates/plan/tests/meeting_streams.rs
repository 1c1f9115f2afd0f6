//! Pipelined streams that meet before a host or between switches: what they have under way fits the queue there.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::Call;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast, Reduce};
use nagare_plan::decision::{Decision, Limits};
use nagare_plan::fabric::{Fabric, Placement};
use std::sync::Arc;

const LIMITS: Limits = Limits { segment: None, window: None, message: 64 << 10 };

/// A star of so many hosts of 50 Mbit/s with a message latency of 80 us.
fn star(queue: &str, hosts: usize, latency: u32) -> Planner {
    let head = format!("{queue}\nmessage_latency = 80\nmessage_gap = 100\n");
    let star = format!("[generator]\nkind = 'star'\nhosts = {hosts}\nbandwidth = 50\nlatency = {latency}\n");
    let fabric = Arc::new(Fabric::from_toml(&(head + &star), "star").expect("a fabric"));
    network::planner(&fabric, &Placement::by_slot(&fabric, hosts, 1).expect("the ranks fit"))
}

/// Bytes of data that a stream may have under way, and segments, in a call of so many bytes.
fn under_way(planner: &Planner, collective: Collective, algorithm: Algorithm, bytes: u64) -> (u64, u64) {
    let ranks = planner.topology().ranks();
    let call = Call { collective, bytes, ranks, nodes: ranks };
    let pacing = Decision::of(planner, algorithm, &call, &LIMITS).pacing(planner, &LIMITS, [bytes; 2], 1);
    (pacing.window * pacing.segment, pacing.window)
}

/// Counted by hand: a rank of a chain hears from one other, in an Allreduce from both its neighbours; in a two-tree from
/// two children, or a parent in either tree; on 16 places of a circulant graph from one for each of four parts.
#[test]
fn streams_that_meet() {
    let planner = star("queue = 16", 16, 5);
    for (algorithm, collective, streams) in [
        (Algorithm::Chain, Bcast, 1),
        (Algorithm::Chain, Reduce, 1),
        (Algorithm::Chain, Allreduce, 2),
        (Algorithm::GroupedTwoTree, Bcast, 2),
        (Algorithm::GroupedTwoTree, Reduce, 2),
        (Algorithm::GroupedTwoTree, Allreduce, 4),
        (Algorithm::Circulant, Bcast, 4),
        (Algorithm::Ring, Allreduce, 1),
        (Algorithm::HalvingDoubling, Allreduce, 1),
    ] {
        let demand = planner.demand(collective, algorithm).expect("a demand");
        assert_eq!(demand.streams, streams, "{algorithm} {collective}");
    }
}

/// Of two streams the link takes one while both come, so that the queue has to hold the other; of four it holds three.
#[test]
fn what_waits_fits_the_queue() {
    for queue in [16u64, 64, 128] {
        let planner = star(&format!("queue = {queue}"), 16, 5);
        for bytes in [32 << 10, 256 << 10, 1 << 20, 4 << 20] {
            for (algorithm, streams) in [(Algorithm::GroupedTwoTree, 2), (Algorithm::Circulant, 4)] {
                let (held, window) = under_way(&planner, Reduce, algorithm, bytes);
                assert!(held * (streams - 1) <= queue * 1448 || window == 2, "{queue}, {algorithm}, {bytes}: {held}");
            }
        }
    }
}

/// A stream that is alone, on far links, where nothing is dropped, or where nobody told the queues, has as much under
/// way as it had in mind: 512 KiB, at most 128 segments.
#[test]
fn others_are_not_kept_back() {
    let plain = |planner: &Planner, algorithm| {
        let (held, window) = under_way(planner, Reduce, algorithm, 1 << 20);
        held == 512 << 10 || window == 128
    };
    let short = star("queue = 16", 16, 5);
    assert!(plain(&short, Algorithm::Chain) && !plain(&short, Algorithm::GroupedTwoTree));
    assert!(plain(&star("queue = 16", 16, 500), Algorithm::GroupedTwoTree));
    assert!(plain(&star("", 16, 5), Algorithm::GroupedTwoTree));
    assert!(plain(&star("queue = 16", 16, 5).without_losses(), Algorithm::GroupedTwoTree));
}

/// What a link carries while two messages go there and back may be under way, however short the queue is: 80 us of
/// 40 Gbit/s are 400 KB.
#[test]
fn fast_links_are_kept_busy() {
    let text = "queue = 4\nmessage_latency = 80\nmessage_gap = 1\n\
                [generator]\nkind = 'star'\nhosts = 8\nbandwidth = 40000\nlatency = 1\n";
    let fabric = Arc::new(Fabric::from_toml(text, "fast").expect("a fabric"));
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 8, 1).expect("the ranks fit"));
    let (held, _) = under_way(&planner, Reduce, Algorithm::GroupedTwoTree, 4 << 20);
    assert!(held >= 400_000, "{held}");
}
