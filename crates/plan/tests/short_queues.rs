//! What ranks of an exchange may send ahead of one another where switches have short queues.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Reason, Rules};
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::decision::{Decision, Limits};
use nagare_plan::fabric::{Adapter, DirectedLink, Fabric, HostId, Placement, Router};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
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
            for block in [512u64, 1024, 2048, 4096, 5120, 6000] {
                let flow = planner.exchange_pacing(algorithm, block).and_then(|pacing| pacing.flow).expect("bounds");
                assert!(block < flow.confirmed, "of longer ones confirmations tell");
                let ahead = flow.behind / block + 1;
                let packets = ahead * (block + 80).div_ceil(1448);
                assert!(packets <= queue, "{algorithm}, blocks of {block}: {packets} packets, room for {queue}");
            }
        }
    }
}

/// Longer blocks that nobody confirms are no longer than ranks may be apart, and fit likewise. Where queues are too
/// short for that, or nobody told them, or links are far, blocks of 6 KiB and more are confirmed, and so are such ends
/// of long ones.
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
            for block in [6 << 10, 8 << 10, 12 << 10, 16 << 10, 24 << 10] {
                let pacing = planner.exchange_pacing(Algorithm::ContentionFree, block).expect("an exchange");
                let flow = pacing.flow.expect("bounds");
                let end = if block % pacing.segment == 0 { pacing.segment } else { block % pacing.segment };
                // Ends of less than 6 KiB never are.
                if end >= flow.confirmed || end < 6 << 10 {
                    continue;
                }
                unconfirmed += 1;
                let queue = queue.expect("a queue that is known");
                assert!(latency < 500 && block < 16 << 10);
                // As above, the ranks of a host together.
                let ahead = per_host as u64 * (flow.behind / block + 1);
                let packets = ahead * (block + 80).div_ceil(1448);
                assert!(packets <= queue, "blocks of {block}: {packets} packets, room for {queue}");
            }
        }
    }
    // Of 64 packets on one rank per host, of 128 on one and two.
    assert_eq!(unconfirmed, 2 + 3 + 2);
}

/// In a ring the ranks that send over a link in one step, and as many that are in the next, fill no queue; nor do those
/// that can meet there at all, if they are fewer. Counted by the routes of the fabric: on a fat tree
/// one host sends over each link in a step, though three may send to what is behind it.
#[test]
fn what_two_steps_of_a_ring_have_under_way_fits_the_queue() {
    for (name, per_host) in ["fattree", "star16", "tree8"].into_iter().flat_map(|name| [(name, 1), (name, 2)]) {
        let fabric = network::load(name);
        let hosts = fabric.host_count() as u32;
        let mut router = Router::new(&fabric);
        // Of every link after a host's own, by steps: who sends over it to whom.
        let mut sent: BTreeMap<(DirectedLink, u32), BTreeSet<(u32, u32)>> = BTreeMap::new();
        for (step, from) in (1..hosts).flat_map(|step| (0..hosts).map(move |from| (step, from))) {
            let to = (from + step) % hosts;
            let way = router.shares(Adapter::from(HostId(from)), Adapter::from(HostId(to)));
            for &(link, _) in way.iter().skip(1) {
                sent.entry((link, step)).or_default().insert((from, to));
            }
        }
        let in_a_step = sent.values().map(BTreeSet::len).max().expect("links");
        let links: BTreeSet<DirectedLink> = sent.keys().map(|&(link, _)| link).collect();
        let at_all = |link: DirectedLink| {
            let pairs = || sent.iter().filter(|&(&(of, _), _)| of == link).flat_map(|(_, pairs)| pairs);
            let [from, to] = [pairs().map(|pair| pair.0).collect(), pairs().map(|pair| pair.1).collect()];
            let [from, to]: [BTreeSet<u32>; 2] = [from, to];
            from.len().min(to.len())
        };
        let most = links.into_iter().map(at_all).max().expect("links");
        let meet = per_host * most.min(2 * in_a_step);
        let placement = Placement::by_slot(&fabric, hosts as usize * per_host, per_host).expect("the ranks fit");
        let planner = network::planner(&fabric, &placement);
        let pacing = planner.exchange_pacing(Algorithm::TwoLevelRing, 64 << 10).expect("an exchange");
        let under_way = pacing.flow.expect("bounds").unconfirmed;
        let packets = fabric.queue_packets().expect("a queue that is known");
        assert_eq!(under_way, (u64::from(packets) * 1448 / meet as u64).min(96 << 10), "{name}, {per_host} ranks");
    }
}

/// In a ring a rank may be three blocks ahead, or one where hosts are not alike: on leaves of different sizes or rates
/// behind a thin link, near or far, if it is known, and packets may be lost. Where a ring suits the network less, and
/// on more nodes than are looked at, it may be three ahead.
#[test]
fn ranks_are_closer_where_hosts_are_not_alike() {
    let ahead = |planner: &Planner, algorithm| {
        // Longer than any room.
        let block = 8 << 20;
        let pacing = planner.exchange_pacing(algorithm, block).expect("an exchange");
        pacing.flow.expect("bounds").behind / block
    };
    let tree = |[first, second]: [u32; 2], rates: [u32; 2], between: u32, latency: u32| {
        let hosts = first + second;
        let text = format!(
            "queue = 128\nhosts = ['n[0-{}]']\nswitches = ['s[0-1]']\nlatency = 1\n\
             [[link]]\nfrom = 'n[0-{}]'\nto = 's0'\nbandwidth = {}\n\
             [[link]]\nfrom = 'n[{first}-{}]'\nto = 's1'\nbandwidth = {}\n\
             [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = {between}\nlatency = {latency}\n",
            hosts - 1,
            first - 1,
            rates[0],
            hosts - 1,
            rates[1]
        );
        let fabric = Arc::new(Fabric::from_toml(&text, "tree").expect("a fabric"));
        let placement = Placement::by_slot(&fabric, 2 * hosts as usize, 2).expect("the ranks fit");
        network::planner(&fabric, &placement)
    };
    let equal = [100, 100];
    for (hosts, rates, between, latency, expected) in [
        ([4, 2], equal, 100, 20, 1),
        ([4, 2], equal, 100, 2000, 1),
        ([4, 2], equal, 1000, 20, 3),
        ([4, 4], equal, 100, 20, 3),
        ([4, 4], equal, 100, 2000, 3),
        ([4, 4], [100, 40], 50, 20, 1),
        ([80, 40], equal, 100, 20, 1),
        ([80, 60], equal, 100, 20, 3),
    ] {
        let planner = tree(hosts, rates, between, latency);
        let found = ahead(&planner, Algorithm::TwoLevelRing);
        assert_eq!(found, expected, "{hosts:?}, {rates:?} and {between} Mbit/s, {latency} us");
        // Queues of 128 packets are too short for so many ranks without tokens, which keep them closer.
        let of_order = if hosts[0] > 4 { 1 } else { 3 };
        assert_eq!(ahead(&planner, Algorithm::ContentionFree), of_order);
        assert_eq!(ahead(&planner.without_losses(), Algorithm::TwoLevelRing), 3);
    }
    for (name, per_host) in [("star16", 1), ("fattree", 2), ("wan2x8", 1), ("tree8", 2), ("torus16", 1), ("mlfm36", 1)]
    {
        let fabric = network::load(name);
        let ranks = fabric.host_count() * per_host;
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, ranks, per_host).expect("the ranks fit"));
        assert_eq!(ahead(&planner, Algorithm::TwoLevelRing), 3, "{name}");
    }
    let untold =
        Topology::new(vec!["leaf".into(), "node".into()], vec![vec![0, 0, 0, 0, 1, 1], (0..6).collect()], vec![0; 6]);
    assert_eq!(ahead(&Planner::new(untold.expect("a topology")), Algorithm::TwoLevelRing), 3);
}

/// Where a segment passes every link in less than three times the gap between messages, it is longer: half of what a
/// rank may have under way. Nothing is known of links that nobody tells.
#[test]
fn on_fast_links_segments_are_longer() {
    let of = |planner: &Planner| {
        let pacing = planner.exchange_pacing(Algorithm::ContentionFree, 1 << 20).expect("an exchange");
        (pacing.segment >> 10, pacing.flow.expect("bounds").unconfirmed >> 10)
    };
    let of_file = |text: &str| {
        let fabric = Arc::new(Fabric::from_toml(text, "network.toml").expect("a fabric"));
        of(&network::planner(&fabric, &Placement::by_slot(&fabric, 4, 1).expect("the ranks fit")))
    };
    let star = |mbit: u32, more: &str| {
        of_file(&format!("{more}[generator]\nkind = 'star'\nhosts = 4\nbandwidth = {mbit}\nlatency = 1\n"))
    };
    assert_eq!([100, 1_000, 10_000, 40_000].map(|mbit| star(mbit, "")), [(16, 96), (16, 96), (48, 96), (48, 96)]);
    assert_eq!(star(10_000, "message_gap = 1\n"), (16, 96), "cheap messages");
    assert_eq!(star(10_000, "queue = 64\n"), (8, 45), "as measured where queues bound what is under way");
    let untold = Topology::of_nodes((0..4).collect()).expect("nodes");
    assert_eq!(of(&Planner::new(untold)), (16, 96));
    let far = "hosts = ['n[0-3]']\nswitches = ['s0']\nbandwidth = 40000\nlatency = 500\n\
               [[link]]\nfrom = 'n[0-3]'\nto = 's0'\n";
    assert_eq!(of_file(far), (16, 96), "the room is what bounds a far link");
    // One thin link among fast ones.
    let thin = "hosts = ['n[0-3]']\nswitches = ['s[0-1]']\nbandwidth = 40000\nlatency = 1\n\
                [[link]]\nfrom = 'n[0-1]'\nto = 's0'\n[[link]]\nfrom = 'n[2-3]'\nto = 's1'\n\
                [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = 100\n";
    assert_eq!(of_file(thin), (16, 96));
}

/// With tokens the ranks of one node at a time send to a host. What all of them have under way fits the queue before
/// it, with up to eight on a host.
#[test]
fn what_a_node_has_under_way_with_tokens_fits_the_queue() {
    for (name, least) in [("tree8-shallow", 1), ("star16-shallow", 2)] {
        let fabric = network::load(name);
        for per_host in [1, 2, 4, 8].into_iter().filter(|&per_host| per_host >= least) {
            let placement = Placement::by_slot(&fabric, 8 * per_host, per_host).expect("the ranks fit");
            let planner = network::planner(&fabric, &placement);
            let pacing = planner.exchange_pacing(Algorithm::ContentionFree, 64 << 10).expect("an exchange");
            let unconfirmed = pacing.flow.expect("bounds").unconfirmed;
            let segments = (unconfirmed / pacing.segment).max(1);
            let packets = per_host as u64 * segments * (pacing.segment + 80).div_ceil(1448);
            assert!(packets <= 16, "{name}, {per_host} ranks: {packets} packets");
        }
    }
}

/// Hosts of two ranks on one switch: two ranks send to each of two receivers if they are a step apart, so that 16
/// packets hold no segment of each, and 32 do.
#[test]
fn ranks_that_are_a_step_apart_need_tokens() {
    for (queue, per_host, expected) in [
        (16, 1, Algorithm::TwoLevelRing),
        (16, 2, Algorithm::ContentionFree),
        (32, 2, Algorithm::TwoLevelRing),
        (32, 4, Algorithm::ContentionFree),
    ] {
        let text = format!("queue = {queue}\n[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = 5\n");
        let fabric = Arc::new(Fabric::from_toml(&text, "short").expect("a fabric"));
        let placement = Placement::by_slot(&fabric, 16 * per_host, per_host).expect("the ranks fit");
        let planner = network::planner(&fabric, &placement);
        let found = planner.fitting(Collective::Alltoall, 64 << 10, Segments::AtMost(16 << 10));
        assert_eq!(found, Some(expected), "{queue} packets, {per_host} ranks on a host");
    }
}

/// Where a link carries more than a queue holds while a message goes there and back, segments are as long as without
/// queues: far clusters of eight ranks on a host; but not because one host of a slow network has a fast link.
#[test]
fn tokens_leave_fast_and_far_links_busy() {
    let far = "[[link]]\nfrom = 's0'\nto = 's1'\nlatency = 5000\n[[link]]\nfrom = 'n[0-3]'\nto = 's0'\n\
               [[link]]\nfrom = 'n[4-7]'\nto = 's1'\n";
    let one_fast = "[[link]]\nfrom = 'n[0-6]'\nto = 's0'\n[[link]]\nfrom = 'n7'\nto = 's1'\nbandwidth = 10000\n\
                    [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = 10000\n";
    for (links, segment) in [(far, 16 << 10), (one_fast, 2 << 10)] {
        let text = format!(
            "queue = 16\nmessage_latency = 80\nmessage_gap = 50\nhosts = ['n[0-7]']\nswitches = ['s[0-1]']\n\
             bandwidth = 100\nlatency = 5\n{links}"
        );
        let fabric = Arc::new(Fabric::from_toml(&text, "tokens").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 64, 8).expect("the ranks fit"));
        let pacing = planner.exchange_pacing(Algorithm::ContentionFree, 64 << 10).expect("an exchange");
        assert_eq!(pacing.segment, segment, "{links}");
    }
}

/// Short blocks go around the ring where the queues hold one of every rank that can meet at a link, and a packet more
/// each, although the segments of long ones need tokens: 16 packets of 1448 bytes, four ranks to the other leaf, or
/// eight.
#[test]
fn short_blocks_that_fit_need_no_tokens() {
    let fabric = network::load("tree8-shallow");
    for (per_host, block, found) in [
        (1, 3 << 10, Algorithm::TwoLevelRing),
        (1, 16 * 1448 / 4 - 1448, Algorithm::TwoLevelRing),
        (1, 16 * 1448 / 4 - 1447, Algorithm::ContentionFree),
        (2, 16 * 1448 / 8, Algorithm::ContentionFree),
        (2, 64 << 10, Algorithm::ContentionFree),
    ] {
        let placement = Placement::by_slot(&fabric, 8 * per_host, per_host).expect("the ranks fit");
        let planner = network::planner(&fabric, &placement);
        let segments = Segments::AtMost(16 << 10);
        assert_eq!(planner.fitting(Collective::Alltoall, block, segments), Some(found), "{per_host} {block}");
        // Ranks know their own blocks only.
        let of_its_own = planner.fitting(Collective::Alltoallv, block, segments);
        assert_eq!(of_its_own, Some(Algorithm::ContentionFree));
    }
}

/// Below the usual size an Alltoall of 2 KiB or more is ours where what all ranks of other hosts send to those of one,
/// all at once, is more packets than the queue before it holds, and the library's where it is not, or nobody told it.
#[test]
fn short_blocks_are_ours_where_the_library_s_overflow_the_queue() {
    for (queue, per_host, block, is_ours) in [
        (Some(16), 1, 2047, false),
        (Some(16), 1, 2048, true), // 30 packets
        (Some(16), 2, 2047, false),
        (Some(15), 2, 2048, true), // 2 ranks times 14 times 2
        (Some(56), 2, 2048, false),
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
        let nodes = 16 / per_host as u32;
        let call = Call { collective: Collective::Alltoall, bytes: block, ranks: 16, nodes };
        let limits = Limits { segment: None, window: None, message: 64 << 10 };
        let found = Decision::new(&planner, &Rules::default(), &call, &limits, true);
        let reason = if nodes > 1 { Reason::Small } else { Reason::OneNode };
        let found = found.map(|decision| decision.algorithm == Algorithm::TwoLevelRing);
        assert_eq!(found, if is_ours { Ok(true) } else { Err(reason) }, "queue {queue:?}, {per_host}, {block} bytes");
        let floor = Rules::default().floor_on(call.collective, nodes, planner.floor(call.collective, true));
        // The library is not known here, so that nothing is aggregated.
        assert_eq!(block >= floor, is_ours);
    }
}

/// Ranks are kept close whether a queue bounds the room, is longer, or nobody told it: a sixth of 96 KiB, or of what
/// fits 16 packets, and at least three blocks. On far links, where a rank would else send a few blocks for each
/// latency, it may be a whole room ahead, here all of its blocks.
#[test]
fn only_far_links_let_ranks_be_far_apart() {
    for (queue, latency, block, expected) in [
        ("", 5, 4096, (96 << 10) / 6),
        ("queue = 512\n", 5, 4096, (96 << 10) / 6),
        ("queue = 16\n", 5, 1024, 16 * 1448 / 6),
        ("", 5, 32 << 10, 3 * (32 << 10)),
        ("", 500, 4096, 96 << 10),
        ("queue = 16\n", 500, 4096, 16 * 1448),
    ] {
        let text = format!("{queue}[generator]\nkind = 'star'\nhosts = 16\nbandwidth = 50\nlatency = {latency}\n");
        let fabric = Arc::new(Fabric::from_toml(&text, "long").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
        let pacing = planner.exchange_pacing(Algorithm::TwoLevelRing, block).expect("an exchange");
        assert_eq!(pacing.flow.expect("bounds").behind, expected, "{queue:?}, {latency} us, blocks of {block}");
    }
}

/// Of tokens' segments of 2 to 4 KiB whole ones are confirmed, also where a block has one: it is not bounded else.
#[test]
fn a_block_of_one_token_s_segment_is_confirmed() {
    let text = "queue = 16\n[generator]\nkind = 'star'\nhosts = 4\nbandwidth = 100\nlatency = 5\n";
    let fabric = Arc::new(Fabric::from_toml(text, "shallow").expect("a fabric"));
    for (per_host, segment) in [(4, 4 << 10), (8, 2 << 10)] {
        let ranks = 4 * per_host;
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, ranks, per_host).expect("the ranks fit"));
        let limits = Limits { segment: None, window: None, message: 65280 };
        let call = Call { collective: Collective::Alltoall, bytes: segment, ranks: ranks as u32, nodes: 4 };
        let rules = Rules::parse("alltoall=contention_free").expect("a rule");
        let decision = Decision::new(&planner, &rules, &call, &limits, false).expect("forced");
        let pacing = decision.pacing(&planner, &limits, [segment; 2], 1);
        assert_eq!((pacing.segment, pacing.flow.expect("bounds").confirmed), (segment, segment), "{per_host}");
    }
}

/// Four ranks may meet in a queue of 128 packets: of 46 KB each segments of 8 KiB leave the least unused. A block of
/// one segment counts as a short one; of longer blocks every whole segment is confirmed.
#[test]
fn segments_are_a_quarter_of_the_room_and_blocks_of_one_are_short_ones() {
    let fabric = network::load("star16");
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 32, 2).expect("the ranks fit"));
    let limits = Limits { segment: None, window: None, message: 65280 };
    for (block, segments) in [(4 << 10, 0), (8 << 10, 0), ((8 << 10) + 1, 1), (16 << 10, 2), (30 << 10, 4)] {
        let call = Call { collective: Collective::Alltoall, bytes: block, ranks: 32, nodes: 16 };
        let rules = Rules::parse("alltoall=contention_free").expect("a rule");
        let decision = Decision::new(&planner, &rules, &call, &limits, false).expect("forced");
        let pacing = decision.pacing(&planner, &limits, [block; 2], 1);
        let flow = pacing.flow.expect("bounds");
        assert_eq!((pacing.segment, flow.unconfirmed), (8 << 10, 128 * 1448 / 4), "{block}");
        let lengths = (0..block.div_ceil(8 << 10)).map(|at| (block - at * (8 << 10)).min(8 << 10));
        assert_eq!(lengths.filter(|&length| length >= flow.confirmed).count(), segments, "{block}");
    }
}
