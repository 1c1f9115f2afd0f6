use super::*;
use crate::collective::Rank;
use crate::fabric::{Fabric, HostId};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A network of a pretended clock, nanoseconds and nanoseconds per byte.
#[derive(Clone, Copy)]
struct Pretended {
    connecting: f64,
    latency: f64,
    gap: f64,
    byte: f64,
    agreeing: f64,
}

const SLOW: Pretended = Pretended { connecting: 300e3, latency: 90e3, gap: 28e3, byte: 200.0, agreeing: 400e3 };
const FAST: Pretended = Pretended { connecting: 200e3, latency: 15e3, gap: 2e3, byte: 0.8, agreeing: 60e3 };
const FAR: Pretended = Pretended { connecting: 20e6, latency: 10e6, gap: 28e3, byte: 200.0, agreeing: 30e6 };

fn nodes(count: u32) -> Topology {
    Topology::of_nodes((0..count).collect()).expect("nodes")
}

/// Runs a test: what it did, what it found, and how long it took.
fn run(topology: &Topology, network: Pretended, budget: u64) -> (Vec<Stage>, Option<Costs>, f64) {
    let mut test = SelfTest::new(topology, budget);
    let (mut stages, mut took, mut elapsed) = (Vec::new(), 0.0, 0.0);
    let mut connected = [false; 2];
    while let Some(stage) = test.next(took as u64, elapsed as u64) {
        stages.push(stage);
        let (pair, work) = match stage {
            Stage::RoundTrips(trips) => (0, 2.0 * f64::from(trips) * network.latency),
            Stage::Stream(messages) => (1, network.latency + f64::from(messages) * network.gap),
            Stage::Shift(bytes) => (1, network.latency + bytes as f64 * network.byte),
        };
        let connecting = if std::mem::replace(&mut connected[pair], true) { 0.0 } else { network.connecting };
        took = work + connecting;
        elapsed += took + network.agreeing;
        assert!(stages.len() < 20, "{stages:?}");
    }
    (stages, test.found(), elapsed)
}

#[test]
fn it_finds_what_messages_and_bytes_cost() {
    for (network, goodput) in [(SLOW, 40.0), (FAST, 10_000.0)] {
        let (stages, found, _) = run(&nodes(8), network, 20 * MS);
        let costs = found.unwrap_or_else(|| panic!("{stages:?}"));
        let close = |found: Option<f64>, real: f64| {
            let found = found.expect("found");
            assert!((0.8..1.25).contains(&(found / real)), "{found}, really {real}: {stages:?}");
        };
        close(costs.host_goodput, goodput);
        close(costs.message.latency_us, network.latency * 1e-3);
        close(costs.message.gap_us, network.gap * 1e-3);
    }
}

/// What is begun is estimated to fit; of the first messages nobody knows how long they take.
#[test]
fn it_keeps_to_its_budget() {
    for network in [SLOW, FAST] {
        for budget in [4 * MS, 8 * MS, 20 * MS] {
            let (stages, _, elapsed) = run(&nodes(8), network, budget);
            assert!(elapsed < 1.05 * budget as f64, "{elapsed} ns of {budget}: {stages:?}");
        }
    }
    // Between far sites one round trip is all, which nobody knew before.
    let (stages, found, _) = run(&nodes(2), FAR, 20 * MS);
    assert_eq!((stages, found.is_none()), (vec![Stage::RoundTrips(1)], true));
}

/// Half a test says nothing: of the latency alone a job would cut vectors for links that it does not have.
#[test]
fn without_the_rate_it_has_found_nothing() {
    let crowded = Pretended { gap: 2e6, ..SLOW };
    let (stages, found, _) = run(&nodes(8), crowded, 20 * MS);
    assert!(stages.contains(&Stage::Stream(FEW)), "{stages:?}");
    assert!(found.is_none(), "{found:?} by {stages:?}");
}

fn star(message_gap: &str) -> Topology {
    let text = format!("{message_gap}\n[generator]\nkind = 'star'\nhosts = 4\nbandwidth = 100\nlatency = 5\n");
    let fabric = Arc::new(Fabric::from_toml(&text, "star").expect("a fabric"));
    let hosts: Vec<HostId> = (0..4).map(|host: Rank| HostId(host)).collect();
    nodes(4).on_network(fabric, &hosts)
}

#[test]
fn where_links_are_told_only_the_gap_is_measured() {
    let (stages, found, _) = run(&star(""), SLOW, 20 * MS);
    assert_eq!(stages, [CONNECTING, FEW, MANY, MANY].map(Stage::Stream));
    let costs = found.expect("found");
    assert_eq!((costs.message.latency_us, costs.host_goodput), (None, None));
    // Not the latency of the links, which predictions add.
    assert!(costs.message.gap_us.is_some_and(|gap| (gap - SLOW.gap * 1e-3).abs() < 0.1), "{costs:?}");
}

/// One stage in which a rank lost its processor for long hardly spoils what is found: of the streams the better counts,
/// and a shift is at most twice as bad as the one before.
#[test]
fn a_bad_sample_does_little_harm() {
    for (bad, goodput) in [(Stage::Stream(MANY), 100.0), (Stage::Shift(32 << 10), 50.0)] {
        let mut test = SelfTest::new(&nodes(8), 20 * MS);
        let (mut took, mut elapsed, mut is_late) = (0, 0, true);
        while let Some(stage) = test.next(took, elapsed) {
            let usual = match stage {
                Stage::RoundTrips(trips) => u64::from(trips) * 60_000,
                Stage::Stream(messages) => 30_000 + u64::from(messages) * 2_000,
                Stage::Shift(bytes) => 30_000 + bytes * 80,
            };
            took = usual + if stage == bad && std::mem::take(&mut is_late) { 6 * MS } else { 0 };
            elapsed += took + 50_000;
        }
        let costs = test.found().expect("found");
        let close = |found: Option<f64>, real: f64| found.is_some_and(|found| (found / real - 1.0).abs() < 0.1);
        assert!(close(costs.message.gap_us, 2.0) && close(costs.host_goodput, goodput), "{bad:?}: {costs:?}");
        assert!(!is_late);
    }
}

/// The first packets pass a slow link at once: what a longer shift takes counts.
#[test]
fn packets_that_pass_at_once_do_not_count() {
    let mut test = SelfTest::new(&nodes(8), 20 * MS);
    let (mut took, mut elapsed) = (0, 0);
    while let Some(stage) = test.next(took, elapsed) {
        took = match stage {
            Stage::RoundTrips(trips) => u64::from(trips) * 60_000,
            Stage::Stream(messages) => 30_000 + u64::from(messages) * 2_000,
            Stage::Shift(bytes) => 30_000 + bytes.saturating_sub(5000) * 200,
        };
        elapsed += took + 50_000;
    }
    let goodput = test.found().and_then(|costs| costs.host_goodput).expect("found");
    assert!((38.0..60.0).contains(&goodput), "{goodput}, really 40");
}

#[test]
fn what_is_known_is_not_measured() {
    let gap = MessageCost { latency_us: None, gap_us: Some(20.0) };
    let known = Costs { message: gap, host_goodput: Some(90.0), ..Costs::default() };
    let half = Costs { message: gap, ..Costs::default() };
    let one = Topology::of_nodes(vec![0; 4]).expect("a node");
    let networks =
        [nodes(4), nodes(4).with_costs(half), star(""), nodes(4).with_costs(known), star("message_gap = 20"), one];
    assert_eq!(networks.each_ref().map(SelfTest::is_due), [true, true, true, false, false, false]);
}
