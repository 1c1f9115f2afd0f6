//! Exchanges, Gather and Scatter in the cost model: by hand, and against schedules played in time.

use crate::support::network::{self, beside_open_mpi};
use crate::support::wire::{SHARE, close, per_byte};
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::{Call, Reason, Rules};
use nagare_plan::collective::Collective::{self, Alltoall, Gather, Scatter};
use nagare_plan::cost::Segments::AtMost;
use nagare_plan::decision::{Decision, Limits};
use nagare_plan::fabric::{Fabric, Placement, timeline};
use nagare_plan::pattern::Steps;
use nagare_plan::topology::Topology;
use std::sync::Arc;

/// Hosts on one switch, with links of 100 Mbit/s and 5 microseconds, and queues of so many packets. A message takes 80
/// microseconds, the next one follows 50 after it.
fn star(hosts: usize, ppn: usize, queue: u32) -> Planner {
    star_with_gap(hosts, ppn, queue, 50)
}

fn star_with_gap(hosts: usize, ppn: usize, queue: u32, gap: u32) -> Planner {
    let text = format!(
        "message_latency = 80\nmessage_gap = {gap}\nqueue = {queue}\n\
         [generator]\nkind = 'star'\nhosts = {hosts}\nbandwidth = 100\nlatency = 5"
    );
    let fabric = Arc::new(Fabric::from_toml(&text, "star.toml").expect("a fabric"));
    network::planner(&fabric, &Placement::by_slot(&fabric, hosts * ppn, ppn).expect("places"))
}

/// Four hosts of two ranks: every host sends 2 x 6 blocks, in as many messages, or aggregated in 2 x 3.
#[test]
fn an_alltoall_by_hand() {
    let planner = star(4, 2, 128);
    let time = |algorithm, bytes| planner.predicted(Alltoall, algorithm, bytes, AtMost(65280)).expect("predicted").time;
    // With a header for every segment; of what is aggregated for every block.
    let sent_in = |bytes: f64, segment: f64| bytes * (1.0 + 80.0 / bytes.min(segment));
    // Two links of 5 microseconds, the message's latency, and a packet that the switch holds up.
    let way = |bytes: f64| 10e3 + 80e3 + f64::min(bytes + 80.0 + 66.0, 1514.0) * per_byte(100.0);
    for bytes in [64.0, 4096.0, 65536.0] {
        let took = |messages: f64, sent: f64, ways: f64| {
            f64::hypot(12.0 * sent * per_byte(100.0), messages * 50e3) + ways * way(bytes)
        };
        let segments = |least: f64, segment: f64| f64::max(least, 12.0 * sent_in(bytes, segment) / (segment + 80.0));
        // In the contention-free order two ranks of each of two nodes may meet, which leaves each of them 46 KB, in the
        // others two ranks.
        for (algorithm, segment) in [
            (Algorithm::TwoLevelRing, 16384.0),
            (Algorithm::ContentionFree, 8192.0),
            (Algorithm::Xor, 16384.0),
            (Algorithm::RingExchange, 16384.0),
        ] {
            let sent = sent_in(bytes, segment);
            close(time(algorithm, bytes as u64), took(segments(12.0, segment), sent, 1.0));
        }
        let sent = sent_in(bytes, 8192.0);
        close(time(Algorithm::Aggregated, bytes as u64), took(segments(6.0, 8192.0), sent, 2.0));
    }
}

/// Two racks of four hosts with one uplink: the ring's steps load it with 1, 2, 3, 4, 3, 2, 1 messages, those of XOR
/// with 0, 0, 0, 4, 4, 4, 4, where a step without it takes one message of a host's link.
#[test]
fn steps_take_as_long_as_their_busiest_link() {
    let fabric = network::load("tree8");
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 8, 1).expect("places"));
    let of = |algorithm| planner.demand(Alltoall, algorithm).expect("known").per_byte / per_byte(100.0);
    for (algorithm, messages) in [
        (Algorithm::TwoLevelRing, 16.0),
        (Algorithm::RingExchange, 16.0),
        (Algorithm::ContentionFree, 16.0),
        (Algorithm::Xor, 19.0),
    ] {
        close(of(algorithm), messages);
    }
}

/// To the root: 14 blocks of other hosts over its link; a tree of eight hosts sends 2, 4 and 8 of them, one after
/// another, in a message per level.
#[test]
fn a_gather_by_hand() {
    let planner = star(8, 2, 128);
    for (collective, algorithm, messages, idle, hidden) in [
        // A token before every block, while another block arrives.
        (Gather, Algorithm::Direct, 14.0, 1.0, 14.0),
        (Scatter, Algorithm::Direct, 14.0, 0.0, 0.0),
        // The farthest node's blocks pass six others.
        (Gather, Algorithm::Relay, 14.0, 0.0, 6.0),
        (Scatter, Algorithm::Relay, 14.0, 0.0, 6.0),
        (Gather, Algorithm::Tree, 3.0, 2.0, 0.0),
        (Scatter, Algorithm::Tree, 3.0, 2.0, 0.0),
    ] {
        let demand = planner.demand(collective, algorithm).expect("known");
        close(demand.per_byte, 14.0 * per_byte(100.0));
        close(demand.vectors, 14.0);
        let way = 10e3 + 80e3 + (100.0 + 66.0) * per_byte(100.0);
        let bytes = f64::hypot(14.0 * 100.0 * per_byte(100.0), messages * 50e3 + hidden * way);
        close(demand.time(planner.message(), 100.0, 1000.0), bytes + (1.0 + idle) * way);
    }
}

/// With queues of four packets a node waits for a token before it sends to each of seven others.
#[test]
fn tokens_are_waited_for() {
    let [deep, shallow] = [128, 4].map(|queue| star(8, 1, queue));
    let time = |planner: &Planner| {
        planner.demand(Alltoall, Algorithm::ContentionFree).expect("known").time(planner.message(), 100.0, 1000.0)
    };
    close(time(&shallow) - time(&deep), 7.0 * (10e3 + 80e3 + (100.0 + 66.0) * per_byte(100.0)));
}

/// What is played has whole messages, shares links fairly, and a rank goes on to its next step before others have ended
/// theirs.
#[test]
fn long_blocks_take_what_is_played() {
    for (name, ranks, ppn, algorithm, range) in [
        ("tree8", 8, 1, Algorithm::TwoLevelRing, 0.99..1.01),
        ("tree8", 8, 1, Algorithm::Xor, 0.99..1.2),
        ("star16", 32, 2, Algorithm::TwoLevelRing, 0.99..1.01),
        ("star16", 32, 2, Algorithm::Xor, 0.99..1.01),
        ("fattree", 16, 1, Algorithm::RingExchange, 0.99..1.01),
        ("torus16", 16, 1, Algorithm::ContentionFree, 0.75..1.01),
        ("mlfm36", 36, 1, Algorithm::ContentionFree, 0.75..1.01),
    ] {
        let fabric = network::load(name);
        let placement = Placement::by_slot(&fabric, ranks, ppn).expect("places");
        let planner = network::planner(&fabric, &placement);
        let bytes = 1 << 20;
        let schedule = planner.schedule(Alltoall, algorithm, 0).expect("a schedule");
        let played = timeline(&schedule, &fabric, placement.hosts(), bytes, None).expect("played").finish / SHARE;
        let predicted = planner.demand(Alltoall, algorithm).expect("known").per_byte * bytes as f64 / 1e9;
        assert!(range.contains(&(predicted / played)), "{name} {algorithm:?}: {predicted} {played}");
    }
}

/// What Alltoalls of so many bytes run on, measured or not, and what is tried then.
fn chosen(planner: &Planner, bytes: u64, is_measured: bool) -> (Result<Algorithm, Reason>, Vec<Algorithm>) {
    chosen_for(planner, Alltoall, bytes, is_measured)
}

fn chosen_for(
    planner: &Planner,
    collective: Collective,
    bytes: u64,
    is_measured: bool,
) -> (Result<Algorithm, Reason>, Vec<Algorithm>) {
    let (ranks, nodes) = (planner.topology().ranks(), planner.topology().node_count());
    let call = Call { collective, bytes, ranks, nodes };
    let limits = Limits { segment: None, window: None, message: 65280 };
    let decision = Decision::new(planner, &Rules::default(), &call, &limits, is_measured);
    (decision.map(|decision| decision.algorithm), Decision::candidates(planner, &call, &limits))
}

/// Eight ranks on each of four hosts: 192 messages of a host are 24 where they are aggregated. Calls of 128 to 255
/// bytes are measured together, and eight blocks of 255 are two packets.
#[test]
fn short_blocks_are_aggregated_where_calls_are_measured() {
    let planner = beside_open_mpi(star(4, 8, 128));
    for bytes in [200, 256] {
        assert_eq!(chosen(&planner, bytes, true).0, Ok(Algorithm::Aggregated), "{bytes}");
        assert_eq!(chosen(&planner, bytes, false).0, Err(Reason::Small), "{bytes}: nobody measures");
    }
    let (begins, tried) = chosen(&planner, 256, true);
    assert_eq!(
        (begins, tried),
        (Ok(Algorithm::Aggregated), vec![Algorithm::Aggregated]),
        "the others take twice as long"
    );
    assert_eq!(chosen(&planner, 960, true), (Err(Reason::Small), vec![]), "it gains little");
    assert_eq!([true, false].map(|is_measured| planner.floor(Alltoall, is_measured)), [64, 2048]);
    // Longer ones, of which a rank stages three times as many, are not, however much that would gain.
    let dear = beside_open_mpi(star_with_gap(4, 8, 128, 500)).without_losses();
    assert_eq!(chosen(&dear, 4095, true).0, Ok(Algorithm::Aggregated));
    assert!(!chosen(&dear, 4096, true).1.contains(&Algorithm::Aggregated));
    let of_queue = |queue| chosen(&beside_open_mpi(star(4, 8, queue)), 200, true);
    assert_eq!(of_queue(48).0, Ok(Algorithm::Aggregated));
    assert_eq!(of_queue(47), (Err(Reason::Small), vec![]), "the queue is too short");
    // With one rank on each host nothing is aggregated; beside a library that nobody knows nothing is compared.
    let single = beside_open_mpi(star(4, 1, 128));
    assert_eq!((chosen(&single, 256, true), single.floor(Alltoall, true)), ((Err(Reason::Small), vec![]), 4096));
    assert_eq!(chosen(&star(4, 8, 128), 256, true), (Err(Reason::Small), vec![]));
}

/// Eleven hosts of two ranks: 20 blocks are for other hosts, of which a queue of 128 packets holds 8688 bytes each.
/// Blocks of 8192 to 16383 bytes are measured together.
#[test]
fn other_orders_are_tried_where_a_queue_may_overflow_at_the_root() {
    use Algorithm::{Direct, Tree};
    let measured = |planner: &Planner, collective, bytes| chosen_for(planner, collective, bytes, true);
    let short = beside_open_mpi(star(11, 2, 128));
    assert_eq!(measured(&short, Scatter, 8191), (Err(Reason::Small), vec![]), "predicted to gain little");
    assert_eq!(measured(&short, Scatter, 8192), (Ok(Direct), vec![Direct, Tree]));
    assert_eq!(measured(&short, Gather, 8191), (Err(Reason::Faster), vec![]));
    assert_eq!(measured(&short, Gather, 8192), (Ok(Tree), vec![Tree, Direct]));
    // The root of a tree stages all blocks.
    assert_eq!(measured(&short, Scatter, (64 << 10) - 1).1, [Direct, Tree]);
    assert_eq!(measured(&short, Scatter, 64 << 10).1, [Direct]);
    assert_eq!(measured(&short, Scatter, (256 << 10) - 1).1, [Direct]);
    assert_eq!(measured(&short, Scatter, 256 << 10).1, [], "time-outs pass while others send");
    // 256 packets where nobody tells the queue.
    let nodes = |count: u32, ppn: u32| Topology::of_nodes((0..count * ppn).map(|rank| rank / ppn).collect());
    let untold = |count, ppn| beside_open_mpi(Planner::new(nodes(count, ppn).expect("a topology")));
    assert_eq!(measured(&untold(11, 2), Scatter, 16383).1, []);
    assert_eq!(measured(&untold(11, 2), Scatter, 16384).1, [Direct, Tree]);
    // Not where nobody measures, nothing is lost, all is in memory, the library is not known, or ranks are too many.
    assert_eq!(chosen_for(&short, Scatter, 8192, false).0, Err(Reason::Small));
    assert_eq!(chosen_for(&short, Gather, 8192, false).0, Err(Reason::Faster));
    let others = [
        beside_open_mpi(star(11, 2, 128).without_losses()),
        beside_open_mpi(star(11, 2, 128)).trying_what_fits().with_steps(Steps::InFlight(2)),
        star(11, 2, 128),
        untold(129, 1),
    ];
    for (planner, floor) in others.iter().zip([4 << 10, 32 << 10, 32 << 10, 32 << 10]) {
        assert_eq!(measured(planner, Scatter, 32 << 10), (Err(Reason::Faster), vec![]));
        assert_eq!(measured(planner, Gather, 32 << 10), (Err(Reason::Faster), vec![]));
        assert_eq!(planner.floor(Scatter, true), floor);
    }
    assert_eq!([true, false].map(|is_measured| short.floor(Scatter, is_measured)), [4 << 10, 32 << 10]);
    // Of blocks that the root alone knows nothing is the default, so that such calls are passed on at once.
    assert_eq!(
        [Collective::Gatherv, Collective::Scatterv].map(|collective| short.floor(collective, true)),
        [u64::MAX; 2]
    );
}

/// What is predicted to gain is tried whatever the library takes, and what fits anyway; what may lose less to a full
/// queue where the library takes clearly longer than ours are predicted to.
#[test]
fn another_order_is_worth_measuring_where_the_library_is_slow() {
    let limits = Limits { segment: None, window: None, message: 65280 };
    let worth_from = |planner: &Planner, collective, bytes| {
        let ranks = planner.topology().ranks();
        let call = Call { collective, bytes, ranks, nodes: planner.topology().node_count() };
        let decision = Decision::new(planner, &Rules::default(), &call, &limits, true).expect("something is tried");
        (decision.time(planner, &call, &limits), decision.worth_from(planner, &call, &limits, false))
    };
    let short = beside_open_mpi(star(11, 2, 128));
    let (time, worth) = worth_from(&short, Scatter, 23828);
    // The link of the root's host sends twenty blocks; a fifth less is a gain.
    close(worth.expect("only where the library is slow"), time.expect("predicted") / 0.8);
    let aggregated = beside_open_mpi(star(4, 8, 128));
    assert_eq!(worth_from(&aggregated, Alltoall, 256).1, None, "it is predicted to gain");
    let fabric = network::load("torus16");
    let torus = beside_open_mpi(network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("places")));
    assert_eq!(worth_from(&torus, Gather, 64 << 10).1, None, "it fits");
    // The library sends to all at once, which fills the root's link: a pipeline of nodes is predicted to take longer.
    assert_eq!(chosen_for(&torus, Scatter, 64 << 10, false).0, Err(Reason::Faster));
    let tried = [Algorithm::Direct, Algorithm::Relay];
    assert_eq!(chosen_for(&torus, Scatter, 64 << 10, true).1, tried, "the queue may overflow");
}

/// Where no queue can overflow all exchanges share the links: trials are worth it only if the library takes longer than
/// ours are predicted to, by the margin that is kept beside it.
#[test]
fn exchanges_are_worth_measuring_where_the_library_takes_longer_than_the_links() {
    let limits = Limits { segment: None, window: None, message: 65280 };
    let worth_from = |planner: &Planner, bytes| {
        let (ranks, nodes) = (planner.topology().ranks(), planner.topology().node_count());
        let call = Call { collective: Alltoall, bytes, ranks, nodes };
        let decision = Decision::new(planner, &Rules::default(), &call, &limits, true).expect("an exchange");
        let segments = AtMost(limits.most(Alltoall));
        let candidates = Decision::candidates(planner, &call, &limits).into_iter();
        let times: Vec<f64> =
            candidates.map(|a| planner.predicted(Alltoall, a, bytes, segments).expect("predicted").time).collect();
        assert_eq!(decision.worth_from(planner, &call, &limits, true), None, "what is long begins with measured calls");
        (times, decision.worth_from(planner, &call, &limits, false))
    };
    let untold = Planner::new(Topology::of_nodes((0..8).collect()).expect("eight nodes"));
    for planner in [star(8, 1, 128), untold].map(beside_open_mpi) {
        let (times, worth) = worth_from(&planner, 4096);
        let least = times.into_iter().fold(f64::INFINITY, f64::min);
        close(worth.expect("only where the library is slower"), least / 0.95);
        // Seven blocks of up to 128 KiB are more packets than any of these queues holds.
        assert_eq!(worth_from(&planner, 64 << 10).1, None);
    }
    // Of up to 32 KiB they are 160: more than a queue of 128, not more than one of 256.
    let [short, long] = [128, 256].map(|queue| worth_from(&beside_open_mpi(star(8, 1, queue)), 16 << 10).1);
    assert!(short.is_none() && long.is_some(), "{short:?} {long:?}");
    assert_eq!(worth_from(&star(8, 1, 128), 4096).1, None, "it is not known what the library takes");
}

/// Three pairs of routers, thin links in the pairs. Of the library's binomial tree of ranks, rank 8 on the third host
/// gathers blocks of the fourth and the fifth, so that blocks of the fifth cross thin links that need not carry them.
#[test]
fn a_tree_of_nodes_is_tried_where_it_is_predicted_to_gain() {
    let link = |[from, to]: [&str; 2], bandwidth, latency| {
        format!("[[link]]\nfrom = '{from}'\nto = '{to}'\nbandwidth = {bandwidth}\nlatency = {latency}\n")
    };
    let hosts = (0..6).map(|host| link([&format!("n[{host}-{host}]"), &format!("r{host}")], 40_000, 1));
    let pairs = [["r0", "r1"], ["r2", "r3"], ["r4", "r5"]].map(|ends| link(ends, 40, 1));
    let between = [["r1", "r2"], ["r0", "r4"], ["r2", "r5"]].map(|ends| link(ends, 100, 100));
    let links: String = hosts.chain(pairs).chain(between).collect();
    let text = format!("queue = 4096\nhosts = ['n[0-5]']\nswitches = ['r[0-5]']\n{links}");
    let fabric = Arc::new(Fabric::from_toml(&text, "pairs.toml").expect("a fabric"));
    let places = |ppn| Placement::by_slot(&fabric, 6 * ppn, ppn).expect("places");
    let planner = |ppn| beside_open_mpi(network::planner(&fabric, &places(ppn)));
    let tried = |ppn| chosen_for(&planner(ppn), Gather, 4 << 10, true);
    assert_eq!(tried(3), (Ok(Algorithm::Tree), vec![Algorithm::Tree, Algorithm::Direct]));
    assert_eq!(tried(1), (Err(Reason::Faster), vec![]), "the library's tree is that of the nodes");
}

/// Of blocks that a torus gathers, `direct` sends a token and waits for it before every one. Of long ones it keeps the
/// root's link busy, while the last one of a pipeline goes on.
#[test]
fn direct_is_tried_beside_relay_where_blocks_are_long() {
    let fabric = network::load("torus16");
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("places"));
    let tried = |bytes| planner.candidates(Gather, bytes, AtMost(65280));
    assert_eq!(tried(4 << 10), [Algorithm::Relay]);
    assert_eq!(tried(32 << 10), [Algorithm::Relay, Algorithm::Direct]);
    assert_eq!(tried(64 << 10), [Algorithm::Direct, Algorithm::Relay]);
    assert_eq!(planner.candidates(Scatter, 64 << 10, AtMost(65280)), [Algorithm::Relay, Algorithm::Direct]);
}

/// On more ranks than are looked at the next exchange in the table is tried, and the time of a call is that of a host's
/// link.
#[test]
fn many_ranks_have_no_prediction() {
    let of = |nodes: u32| Planner::new(Topology::of_nodes((0..nodes).collect()).expect("a topology"));
    let predicted = |nodes, collective: Collective, algorithm| of(nodes).demand(collective, algorithm).is_some();
    for (collective, algorithm) in [
        (Alltoall, Algorithm::TwoLevelRing),
        (Alltoall, Algorithm::ContentionFree),
        (Gather, Algorithm::Direct),
        (Gather, Algorithm::Tree),
    ] {
        assert!(predicted(128, collective, algorithm) && !predicted(129, collective, algorithm), "{algorithm:?}");
    }
    let many = of(129);
    assert_eq!(many.candidates(Alltoall, 64 << 10, AtMost(65280)), [Algorithm::TwoLevelRing, Algorithm::Xor]);
    let call = Call { collective: Alltoall, bytes: 64 << 10, ranks: 129, nodes: 129 };
    let limits = Limits { segment: None, window: None, message: 65280 };
    let decision = Decision::new(&many, &Rules::default(), &call, &limits, true).expect("ours");
    // 128 blocks at 10 Gbit/s.
    close(decision.time(&many, &call, &limits).expect("known"), 128.0 * 65536.0 * 0.8 / SHARE);
}
