//! Pipelined streams that meet before a host or between switches: what they have under way fits the queue there.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::Call;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast, Reduce};
use nagare_plan::decision::{Decision, Limits};
use nagare_plan::fabric::{Fabric, Placement};
use nagare_plan::schedule::Action;
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

/// Counted by hand: a rank of a chain hears from one other, in an Allreduce from both neighbours; in a two-tree from
/// two children, or from a parent in either tree; on 16 places of a circulant graph from one for each of four parts.
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
        // All but one of them wait in the queue.
        let share = demand.incast.share_of(12 << 30, planner.message());
        assert_eq!(share, (streams > 1).then(|| (12 << 30) / (streams - 1)), "{algorithm} {collective}");
    }
}

/// On one switch as many streams of a circulant graph meet before every host as it has parts; on a fat tree two of them
/// meet on some link between switches, which are the fewest.
#[test]
fn where_routes_share_links_fewer_streams_meet() {
    for (name, fewest) in [("star16", 4), ("fattree", 2)] {
        let fabric = network::load(name);
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
        let incast = &planner.demand(Bcast, Algorithm::Circulant).expect("a demand").incast;
        let share = incast.share_of_fewest(12 << 30, planner.message());
        assert_eq!(share, Some((12 << 30) / (fewest - 1)), "{name}");
    }
}

/// A hash that has two ways brings half of what goes to the other leaf to each, on average: two leaves of eight hosts,
/// two spines. Counted from the plans of all ranks: what goes from leaf to leaf, and what every host receives.
#[test]
fn a_hash_brings_its_share_of_the_streams() {
    let text = "queue = 16\nrouting = \"ecmp\"\nhosts = ['n[0-15]']\nswitches = ['l[0-1]', 's[0-1]']\n\
                bandwidth = 50\nlatency = 5\n[[link]]\nfrom = 'n[0-7]'\nto = 'l0'\n\
                [[link]]\nfrom = 'n[8-15]'\nto = 'l1'\n[[link]]\nfrom = 'l[0-1]'\nto = ['s0', 's1']\n";
    let fabric = Arc::new(Fabric::from_toml(text, "spines").expect("a fabric"));
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
    let schedule = planner.schedule(Bcast, Algorithm::Circulant, 0).expect("a schedule");
    let (mut across, mut before_host) = ([0u32; 2], [0u32; 16]);
    for plan in &schedule.plans {
        for hop in plan.hops.iter().filter(|hop| hop.action == Action::Send) {
            before_host[hop.peer as usize] += 1;
            across[plan.rank as usize / 8] += u32::from(plan.rank / 8 != hop.peer / 8);
        }
    }
    let most = across.into_iter().max().map_or(0, |streams| streams.div_ceil(2));
    assert!(before_host.iter().all(|&streams| streams < most), "{across:?}: the spines decide");
    let demand = planner.demand(Bcast, Algorithm::Circulant).expect("a demand");
    let share = demand.incast.share_of(12 << 30, planner.message());
    assert_eq!(share, Some((12 << 30) / u64::from(most - 1)), "{across:?}");
}

/// Of two streams the link takes one while both come, so that the queue has to hold the other; of four it holds three.
/// No window is shorter than that demands.
#[test]
fn what_waits_fits_the_queue() {
    for queue in [16u64, 64, 128] {
        let planner = star(&format!("queue = {queue}"), 16, 5);
        for bytes in [32 << 10, 256 << 10, 1 << 20, 4 << 20] {
            for (algorithm, waiting) in [(Algorithm::GroupedTwoTree, 1), (Algorithm::Circulant, 3)] {
                let (held, window) = under_way(&planner, Bcast, algorithm, bytes);
                let segment = held / window;
                let fits = |window: u64| window * segment * waiting <= queue * 1448;
                assert!(fits(window), "{queue}, {algorithm}, {bytes}: {window} of {segment}");
                let is_close = (window + 1) * segment * waiting > 64 << 10;
                assert!(!fits(window + 1) || is_close && window >= 4, "{queue}, {algorithm}: {window}");
                let (held, window) = under_way(&planner, Reduce, algorithm, bytes);
                assert!(window <= 8 && held * waiting <= queue * 1448, "{queue}, {algorithm}, {bytes}: {window}");
            }
        }
    }
}

/// A leaf of a Reduce has all of its vector at once, and what it sends ahead delays what others wait for: each stream
/// has eight segments under way, or what the link carries while messages go there and back, in a queue that holds more.
/// One that is alone goes on, and so do those of an Allreduce.
#[test]
fn leaves_of_a_reduce_do_not_go_ahead() {
    let planner = star("queue = 512", 16, 5);
    for bytes in [256 << 10, 1 << 20, 4 << 20] {
        for algorithm in [Algorithm::GroupedTwoTree, Algorithm::Circulant] {
            assert_eq!(under_way(&planner, Reduce, algorithm, bytes).1, 8, "{algorithm}, {bytes}");
        }
        assert!(under_way(&planner, Allreduce, Algorithm::GroupedTwoTree, bytes).1 > 8, "{bytes}");
        assert!(under_way(&planner, Reduce, Algorithm::Chain, bytes).1 > 8, "{bytes}");
    }
    // There and back, twice, takes 4 (80 + 2 latency) us, in which 50 Mbit/s are 6.25 bytes each.
    let latency = 400;
    let (held, window) = under_way(&star("queue = 128", 16, latency), Reduce, Algorithm::GroupedTwoTree, 64 << 10);
    let carried = u64::from(4 * (80 + 2 * latency)) * 625 / 100;
    let segment = held / window;
    assert!(window > 8 && held <= carried && held + segment > carried, "{window} of {segment}, {carried}");
}

/// Streams of a Bcast that meet before a host, two of trees and four of a circulant graph on 16 hosts, have 64 KiB
/// waiting there together at most, or four segments each, however much the queue holds. One that is alone has more, and
/// so have those before links that are faster than messages come: of 1 Gbit/s, with 100 us from one to the next.
#[test]
fn streams_of_a_bcast_stay_together() {
    let planner = star("queue = 512", 16, 5);
    for bytes in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        for (algorithm, waiting) in [(Algorithm::GroupedTwoTree, 1), (Algorithm::Circulant, 3)] {
            let (held, window) = under_way(&planner, Bcast, algorithm, bytes);
            let segment = held / window;
            let together = |window: u64| window * segment * waiting;
            assert!(together(window) <= 64 << 10 || window == 4, "{algorithm}, {bytes}: {window} of {segment}");
            assert!(together(window + 1) > 64 << 10, "{algorithm}, {bytes}: {window} of {segment}");
        }
        assert!(under_way(&planner, Bcast, Algorithm::Chain, bytes).0 > 64 << 10, "{bytes}");
    }
    let text = "queue = 512\nmessage_latency = 80\nmessage_gap = 100\n[generator]\nkind = 'star'\nhosts = 16\n\
                bandwidth = 1000\nlatency = 5\n";
    let fabric = Arc::new(Fabric::from_toml(text, "fast").expect("a fabric"));
    let fast = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
    let (held, window) = under_way(&fast, Bcast, Algorithm::GroupedTwoTree, 1 << 20);
    assert!(held > 64 << 10 && window > 4, "{window} of {}", held / window);
    // There and back, twice, takes 4 (80 + 2 · 400) us, in which 200 Mbit/s are 25 bytes each.
    let text = text.replace("1000", "200").replace("latency = 5\n", "latency = 400\n");
    let fabric = Arc::new(Fabric::from_toml(&text, "long").expect("a fabric"));
    let long = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
    let (held, window) = under_way(&long, Bcast, Algorithm::GroupedTwoTree, 1 << 20);
    let carried = 4 * (80 + 2 * 400) * 25;
    assert!(held <= carried && held + held / window > carried, "{window} of {}, {carried}", held / window);
}

/// The slowest link behind a queue decides: streams that also meet on faster ones, between leaves, do not go ahead.
#[test]
fn fast_uplinks_let_no_leaf_go_ahead() {
    let text = "hosts = ['n[0-15]']\nswitches = ['l[0-3]', 's']\nqueue = 512\nmessage_latency = 80\nmessage_gap = 100\n\
        latency = 5\nbandwidth = 50\n[[link]]\nfrom = 'n[0-3]'\nto = 'l0'\n[[link]]\nfrom = 'n[4-7]'\nto = 'l1'\n\
        [[link]]\nfrom = 'n[8-11]'\nto = 'l2'\n[[link]]\nfrom = 'n[12-15]'\nto = 'l3'\n\
        [[link]]\nfrom = 'l[0-3]'\nto = 's'\nbandwidth = 10000\n";
    let fabric = Arc::new(Fabric::from_toml(text, "leaves").expect("a fabric"));
    let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 16, 1).expect("the ranks fit"));
    for algorithm in [Algorithm::GroupedTwoTree, Algorithm::GatewayTwoTree] {
        assert_eq!(under_way(&planner, Reduce, algorithm, 64 << 10).1, 8, "{algorithm}");
    }
}

/// Elements that are longer than the segment are eight as well, not as many as make so many bytes.
#[test]
fn long_elements_of_a_reduce_are_counted_as_segments() {
    let planner = star("queue = 512", 16, 5);
    let call = Call { collective: Reduce, bytes: 64 << 10, ranks: 16, nodes: 16 };
    let decision = Decision::of(&planner, Algorithm::GroupedTwoTree, &call, &LIMITS);
    assert_eq!(decision.pacing(&planner, &LIMITS, [64 << 10; 2], 8 << 10).window, 8);
}

/// A stream that is alone, on far links, where nothing is dropped, or where nobody told the queues, has as much under
/// way as it had in mind: 512 KiB, at most 128 segments.
#[test]
fn others_are_not_kept_back() {
    let plain = |planner: &Planner, algorithm| {
        [Reduce, Bcast].map(|collective| {
            let (held, window) = under_way(planner, collective, algorithm, 1 << 20);
            held == 512 << 10 || window == 128
        })
    };
    let short = star("queue = 16", 16, 5);
    assert_eq!(plain(&short, Algorithm::Chain), [true; 2]);
    assert_eq!(plain(&short, Algorithm::GroupedTwoTree), [false; 2]);
    assert_eq!(plain(&star("queue = 16", 16, 500), Algorithm::GroupedTwoTree), [true; 2]);
    assert_eq!(plain(&star("", 16, 5), Algorithm::GroupedTwoTree), [true; 2]);
    assert_eq!(plain(&star("queue = 16", 16, 5).without_losses(), Algorithm::GroupedTwoTree), [true; 2]);
}

/// What a link carries while a message goes there and back may be under way, however short the queue is: over four
/// links of 10 Gbit/s, two of them of 50 us, with messages of 30 us, that is 325 KB, and the bound is twice that.
/// Before slower hosts the same network's spine does not count.
#[test]
fn fast_links_are_kept_busy() {
    for (bandwidth, least, most) in [(10_000, 325_000, u64::MAX), (100, 0, 64 * 1448)] {
        let text = format!(
            "queue = 64\nmessage_latency = 30\nmessage_gap = 1\nhosts = ['n[0-7]']\nswitches = ['l[0-1]', 's']\n\
             latency = 50\nbandwidth = {bandwidth}\n[[link]]\nfrom = 'n[0-3]'\nto = 'l0'\n[[link]]\nfrom = 'n[4-7]'\n\
             to = 'l1'\n[[link]]\nfrom = 'l[0-1]'\nto = 's'\nbandwidth = 10000\nlatency = 1\n"
        );
        let fabric = Arc::new(Fabric::from_toml(&text, "spine").expect("a fabric"));
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, 8, 1).expect("the ranks fit"));
        let (held, _) = under_way(&planner, Reduce, Algorithm::GroupedTwoTree, 4 << 20);
        assert!((least..=most).contains(&held), "{bandwidth}: {held}");
    }
}
