//! The cost model against times computed by hand from rates, latencies and routes, and the choice that follows from it.

mod software;
mod table;

use crate::support::network;
use crate::support::wire::per_byte;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Alltoall, Alltoallv, Bcast, Reduce};
use nagare_plan::cost::{Demand, Message, Segments::AtMost};
use nagare_plan::fabric::{Fabric, Placement};
use nagare_plan::topology::Topology;
use std::sync::Arc;

/// The most of a message that a switch has to have before it passes it on: a full frame, or all of it with 66 bytes
/// around.
fn packet(segment: f64) -> f64 {
    f64::min(1514.0, segment + 66.0)
}

/// What two streams on one link cost beyond their bytes.
const SHARED: f64 = 1.07;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found} expected {expected}");
}

fn parse(text: &str) -> Arc<Fabric> {
    Arc::new(Fabric::from_toml(text, "test.toml").unwrap())
}

fn star(hosts: u32) -> Arc<Fabric> {
    parse(&format!(
        "message_latency = 60\nmessage_gap = 20\n[generator]\nkind = 'star'\nhosts = {hosts}\nbandwidth = 100\nlatency \
         = 5"
    ))
}

fn by_slot(fabric: &Arc<Fabric>, ppn: usize) -> Planner {
    network::planner(fabric, &Placement::by_slot(fabric, fabric.host_count() * ppn, ppn).unwrap())
}

fn demand(planner: &Planner, collective: Collective, algorithm: Algorithm) -> &Demand {
    planner.demand(collective, algorithm).expect("a candidate")
}

fn loads(planner: &Planner, collective: Collective, algorithm: Algorithm) -> f64 {
    demand(planner, collective, algorithm).per_byte
}

#[test]
fn a_chain_of_eight_hosts() {
    let planner = by_slot(&star(8), 1);
    let message = planner.message();
    assert_eq!(message, Message { latency: 60e3, gap: 20e3 });
    let b = per_byte(100.0);
    for (bytes, segment) in [(1u32 << 20, 1024u32), (1 << 22, 16384), (1 << 16, 1024), (1024, 8192)] {
        let (n, s) = (f64::from(bytes), f64::from(segment.min(bytes)));
        // Seven hops, each: the segment, two links of 5 µs, the first packet at the switch, the message.
        let hop = s * b + 10e3 + packet(s) * b + 60e3;
        // The first message has no other before it.
        let expected = 7.0 * hop + f64::hypot((n - s) * b, (n / s - 1.0) * 20e3);
        for collective in [Bcast, Reduce] {
            let found = demand(&planner, collective, Algorithm::Chain);
            close(found.time(message, n, f64::from(segment)), expected);
        }
        // Allreduce: there and back, each direction of a link once; the busiest host sends in both.
        let expected = 14.0 * hop + f64::hypot(2.0 * (n - s) * b, (2.0 * n / s - 1.0) * 20e3);
        let found = demand(&planner, Allreduce, Algorithm::Chain).time(message, n, f64::from(segment));
        close(found, expected);
    }
}

/// By hand: a chain of eight hosts whose file says nothing of messages, which cost 20 and 7 µs or up to ten times as
/// much.
#[test]
fn where_nobody_measured_messages_a_segment_is_good_at_both_ends() {
    let planner = by_slot(&parse("[generator]\nkind = 'star'\nhosts = 8\nbandwidth = 100\nlatency = 5"), 1);
    let b = per_byte(100.0);
    let time = |n: f64, s: f64, times: f64| {
        // With the header of every segment.
        let (n, s) = (n * (1.0 + 80.0 / s), s + 80.0);
        let hop = s * b + 10e3 + packet(s) * b + times * 20e3;
        7.0 * hop + f64::hypot((n - s) * b, (n / s - 1.0) * times * 7e3)
    };
    let mut moved = 0;
    for bytes in [32u64 << 10, 128 << 10, 1 << 20, 4 << 20] {
        let n = bytes as f64;
        let segments: Vec<f64> = (9..17).map(|power| f64::from(1 << power)).chain([61440.0]).collect();
        let best = |times| segments.iter().copied().min_by(|&s, &t| time(n, s, times).total_cmp(&time(n, t, times)));
        let [cheap, dear] = [1.0, 10.0].map(|times| best(times).expect("a segment"));
        let worse = |s: f64| (time(n, s, 1.0) / time(n, cheap, 1.0)).max(time(n, s, 10.0) / time(n, dear, 10.0));
        let least = segments.iter().map(|&s| worse(s)).fold(f64::INFINITY, f64::min);
        let found = planner.predicted(Bcast, Algorithm::Chain, bytes, AtMost(65536)).expect("a candidate");
        let chosen = found.segment as f64;
        // Of what is as good as equal the one with fewer messages.
        assert!(worse(chosen) <= least * 1.01, "{bytes}: {chosen} is {} at worst, {least} can be had", worse(chosen));
        // The way of the first segment is taken as a straight line over segments.
        let about = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        about(found.time, time(n, chosen, 1.0));
        about(found.ends[1], time(n, chosen, 10.0));
        moved += u32::from(chosen != cheap);
    }
    assert!(moved >= 2, "ends that hardly differ show nothing");
    // What was measured is taken as it is.
    assert_eq!(by_slot(&star(8), 1).topology().message_range(), [1.0, 1.0]);
    // Links of which nobody has said anything may be a hundred times slower than is assumed.
    assert_eq!(groups([4, 8, 3]).topology().message_range(), [0.01, 10.0]);
}

#[test]
fn a_ring_of_eight_hosts() {
    let planner = by_slot(&star(8), 1);
    let (b, message) = (per_byte(100.0), planner.message());
    let ring = demand(&planner, Allreduce, Algorithm::Ring);
    // Fourteen parts one after another, all but the last with the way of a segment before the next can start, and the
    // way of the last segment.
    let (n, s) = (4e6, 4096.0);
    let part = f64::hypot(n / 8.0 * b, n / 8.0 / s * 20e3);
    let arriving = 10e3 + packet(s) * b + 60e3;
    close(ring.time(message, n, s), 13.0 * f64::hypot(part, s * b + arriving + 20e3) + part + arriving);
    // Short ones: mostly the way.
    let (n, s) = (8192.0, 1024.0);
    let arriving = 10e3 + packet(s) * b + 60e3;
    let part = f64::hypot(n / 8.0 * b, 20e3);
    assert!(arriving > part);
    close(ring.time(message, n, s), 13.0 * f64::hypot(part, s * b + arriving + 20e3) + part + arriving);
    close(ring.per_byte, 14.0 / 8.0 * b);
    close(ring.vectors, 14.0 / 8.0);
}

/// Two groups of two hosts, joined by a link of a tenth of their rate and 1 ms.
const THIN: &str = "hosts = ['n[0-3]']\nswitches = ['s[0-1]']\nbandwidth = 100\nlatency = 5\n\
    [[link]]\nfrom = 'n[0-1]'\nto = 's0'\n[[link]]\nfrom = 'n[2-3]'\nto = 's1'\n\
    [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = 10\nlatency = 1000\n";

#[test]
fn a_thin_link_decides_whoever_crosses_it_once() {
    let planner = by_slot(&parse(THIN), 1);
    let thin = per_byte(10.0);
    for algorithm in [Algorithm::Chain, Algorithm::GatewayTwoTree, Algorithm::GroupedTwoTree] {
        for collective in [Bcast, Reduce, Allreduce] {
            // Allreduce uses the two directions of the thin link once each.
            let shared = if algorithm == Algorithm::Chain { 1.0 } else { SHARED };
            close(loads(&planner, collective, algorithm), shared * thin);
        }
    }
    close(loads(&planner, Allreduce, Algorithm::Ring), 6.0 / 4.0 * thin);
    // Nothing is said about messages: 20 and 7 µs are assumed.
    let message = planner.message();
    assert_eq!(message, Message { latency: 20e3, gap: 7e3 });
    // Two hops inside, and one over three links of which two pass the first frame on before the thin one is through.
    let (b, n, s) = (per_byte(100.0), 1e6, 1024.0);
    let inside = s * b + 10e3 + packet(s) * b + 20e3;
    let across = s * thin + 1010e3 + 2.0 * packet(s) * b + 20e3;
    let expected = 2.0 * inside + across + f64::hypot((n - s) * thin, (n / s - 1.0) * 7e3);
    close(demand(&planner, Bcast, Algorithm::Chain).time(message, n, s), expected);
}

#[test]
fn busiest_links_of_the_shipped_fabrics() {
    let on = |name: &str, how, ranks, ppn| {
        let fabric = network::load(name);
        let placement = network::place(&fabric, how, ranks, ppn);
        network::planner(&fabric, &placement)
    };
    // Two lanes: half of the vector over each link of 50 Mbit/s, all of it over a host's of 100.
    let torus = on("torus16", "by slot", 16, 1);
    for (collective, vectors) in [(Bcast, 1.0), (Reduce, 1.0), (Allreduce, 2.0)] {
        close(loads(&torus, collective, Algorithm::Chain), vectors * per_byte(100.0));
    }
    close(loads(&torus, Allreduce, Algorithm::Ring), 2.0 * 15.0 / 16.0 * per_byte(100.0));
    for how in ["by slot", "balanced"] {
        let mesh = on("mlfm36", how, 32, 1);
        close(loads(&mesh, Bcast, Algorithm::GatewayTwoTree), SHARED * 1.5 * per_byte(20.0));
        close(loads(&mesh, Bcast, Algorithm::GroupedTwoTree), SHARED * 2.0 * per_byte(20.0));
        close(loads(&mesh, Bcast, Algorithm::Chain), per_byte(20.0));
        close(loads(&mesh, Allreduce, Algorithm::Ring), 2.0 * 31.0 / 32.0 * per_byte(20.0));
    }
    // Ranks of a node share its link and use it once.
    for how in ["by slot", "by node"] {
        let tree = on("tree8", how, 16, 2);
        close(loads(&tree, Reduce, Algorithm::GatewayTwoTree), SHARED * per_byte(100.0));
        close(loads(&tree, Reduce, Algorithm::GroupedTwoTree), SHARED * 2.0 * per_byte(100.0));
        close(loads(&tree, Allreduce, Algorithm::Ring), 2.0 * 7.0 / 8.0 * per_byte(100.0));
    }
}

/// By hand: ranks 0 to 3 on two nodes. Of the two-tree over ranks, 0 → 2 and 0 → 3 go to the other node, and 2 → 1 and
/// 3 → 1 come back; 2 → 3 and 3 → 2 stay inside.
#[test]
fn a_two_tree_over_ranks_shares_the_links_of_nodes() {
    let planner = by_slot(&star(2), 2);
    let b = per_byte(100.0);
    let bcast = demand(&planner, Bcast, Algorithm::TwoTree);
    close(bcast.per_byte, SHARED * b);
    close(bcast.vectors, 1.0);
    close(loads(&planner, Allreduce, Algorithm::TwoTree), SHARED * 2.0 * b);
    // Down and back, a segment of one half behind that of the other.
    let (n, s) = (1e6, 1024.0);
    let hop = s * b + 10e3 + packet(s) * b + 60e3;
    let expected = s * b + 2.0 * hop + f64::hypot(SHARED * (n - 2.0 * s) * b, (n / s - 1.0) * 20e3);
    close(bcast.time(planner.message(), n, s), expected);
}

/// `counts`: groups, nodes per group, ranks per node; no fabric.
fn groups(counts: [u32; 3]) -> Planner {
    let [groups, nodes, ppn] = counts;
    let node: Vec<u32> = (0..groups * nodes * ppn).map(|r| r / ppn).collect();
    let group = node.iter().map(|n| n / nodes).collect();
    let cores = vec![0; node.len()];
    Planner::new(Topology::new(vec!["group".into(), "node".into()], vec![group, node], cores).unwrap())
}

#[test]
fn without_a_fabric_every_group_is_taken_to_have_the_link_of_one_host() {
    let planner = groups([4, 8, 3]);
    let host = per_byte(10_000.0);
    assert_eq!(planner.message(), Message { latency: 20e3, gap: 7e3 });
    for (algorithm, vectors) in
        [(Algorithm::Chain, 1.0), (Algorithm::GatewayTwoTree, SHARED), (Algorithm::GroupedTwoTree, 2.0 * SHARED)]
    {
        close(loads(&planner, Bcast, algorithm), vectors * host);
    }
    close(loads(&planner, Allreduce, Algorithm::GroupedTwoTree), SHARED * 3.0 * host);
    close(loads(&planner, Allreduce, Algorithm::Ring), 2.0 * 31.0 / 32.0 * host);
}

#[test]
fn one_node_and_one_rank_cost_nothing_and_break_nothing() {
    let alone = Planner::new(Topology::of_nodes(vec![0]).unwrap());
    for planner in [groups([1, 1, 6]), alone] {
        for collective in [Bcast, Reduce, Allreduce] {
            for (algorithm, demand) in planner.demands(collective) {
                assert_eq!((demand.per_byte, demand.vectors), (0.0, 0.0), "{collective} {algorithm}");
            }
            assert!(planner.cheapest(collective, 1 << 20, AtMost(8192)).unwrap().1.time.is_finite());
        }
    }
}

#[test]
fn every_rank_predicts_the_same() {
    let fabric = network::load("mlfm36");
    let placement = network::place(&fabric, "by slot", 32, 1);
    // As ranks do it: each its own planner, some after plans with other roots and in another order of questions.
    let first = network::planner(&fabric, &placement);
    for rank in 0..32 {
        let own = network::planner(&fabric, &placement);
        own.plan(Bcast, Algorithm::Chain, rank, rank).unwrap();
        own.plan(Allreduce, Algorithm::Ring, 0, rank).unwrap();
        let order = if rank % 2 == 0 { [Bcast, Reduce, Allreduce] } else { [Allreduce, Reduce, Bcast] };
        for collective in order {
            assert_eq!(own.demands(collective), first.demands(collective));
            for bytes in (0..30).map(|k| (1 << k) + u64::from(rank)) {
                assert_eq!(
                    own.cheapest(collective, bytes, AtMost(65536)),
                    first.cheapest(collective, bytes, AtMost(65536))
                );
            }
        }
    }
}

#[test]
fn what_is_chosen_is_the_least_of_the_predictions() {
    let planner = by_slot(&network::load("mlfm36"), 1);
    for collective in [Bcast, Reduce, Allreduce] {
        for bytes in [1, 4096, 65536, 1 << 20, 1 << 26] {
            let (algorithm, chosen) = planner.cheapest(collective, bytes, AtMost(65536)).unwrap();
            assert_eq!(planner.predicted(collective, algorithm, bytes, AtMost(65536)), Some(chosen));
            for (other, _) in planner.demands(collective) {
                // Of two that are alike the first; of a sum the chain, if it is nearly as fast as what branches.
                let time = planner.predicted(collective, other, bytes, AtMost(65536)).unwrap().time;
                let in_doubt = match (algorithm, other) {
                    (Algorithm::Chain, other) if collective != Bcast && other.branches() => 1.05,
                    _ if other > algorithm => 1.02,
                    _ => 1.0,
                };
                assert!(time >= chosen.time / in_doubt, "{collective}, {bytes}: {other}");
                if other == Algorithm::Chain && collective != Bcast && algorithm.branches() {
                    assert!(time > chosen.time * 1.05 / 1.02, "{collective}, {bytes}: {algorithm}");
                }
            }
        }
    }
    assert_eq!(planner.cheapest(Alltoall, 1 << 20, AtMost(65536)), None, "not chosen by cost");
    let alike = by_slot(&star(8), 1);
    assert_eq!(alike.predicted(Bcast, Algorithm::TwoTree, 1 << 20, AtMost(65536)), None, "as grouped_two_tree");
}

/// Where the chain is predicted to take 2 to 5 % longer than a tree, a sum goes by the chain and a Bcast by the tree,
/// and where it takes longer, both by the tree.
#[test]
fn sums_go_by_a_chain_that_is_nearly_as_fast_as_a_tree() {
    let (mut alike, mut slower) = (0, 0);
    for planner in [8, 12, 16, 24, 32].map(|hosts| by_slot(&star(hosts), 1)) {
        for bytes in (12..22).flat_map(|k| [4, 5, 6, 7].map(|quarters| quarters << (k - 2))) {
            let time = |algorithm| planner.predicted(Reduce, algorithm, bytes, AtMost(65536)).unwrap().time;
            let least =
                planner.demands(Reduce).iter().map(|&(algorithm, _)| time(algorithm)).fold(f64::INFINITY, f64::min);
            let chosen = |collective| planner.cheapest(collective, bytes, AtMost(65536)).unwrap().0;
            let ratio = time(Algorithm::Chain) / least;
            if (1.021..1.049).contains(&ratio) {
                alike += 1;
                assert_eq!(chosen(Reduce), Algorithm::Chain, "{bytes}: {ratio}");
                assert!(chosen(Bcast).branches(), "{bytes}: {ratio}");
            } else if ratio > 1.051 {
                slower += 1;
                assert!(chosen(Reduce).branches(), "{bytes}: {ratio}");
            }
        }
    }
    assert!(alike > 0 && slower > 0, "{alike}, {slower}");
}

#[test]
fn trees_for_short_vectors_on_many_nodes_lines_for_long_ones() {
    for planner in [by_slot(&star(64), 1), groups([16, 16, 1])] {
        for collective in [Bcast, Reduce] {
            let choice = |bytes| planner.cheapest(collective, bytes, AtMost(65536)).unwrap().0;
            assert!(choice(1024).branches(), "{collective}");
            assert_eq!(choice(1 << 30), Algorithm::Chain, "{collective}");
            // Once a line pays it pays for all longer vectors.
            let lines: Vec<bool> = (10..=30).map(|k| !choice(1 << k).branches()).collect();
            assert!(lines.is_sorted(), "{collective}: {lines:?}");
        }
    }
    // Every group has one link: halving leaves it idle while it is inside groups, the ring never does.
    let allreduce = |bytes| groups([16, 16, 1]).cheapest(Allreduce, bytes, AtMost(65536)).unwrap().0;
    assert_eq!((allreduce(8192), allreduce(1 << 30)), (Algorithm::HalvingDoubling, Algorithm::Ring));
    // Thirty-six nodes of the mesh: a tree from the threshold of the defaults on, a line for the large.
    let mesh = by_slot(&network::load("mlfm36"), 1);
    for collective in [Bcast, Reduce] {
        assert!(mesh.cheapest(collective, 8 << 10, AtMost(65536)).unwrap().0.branches());
        assert_eq!(mesh.cheapest(collective, 64 << 20, AtMost(65536)).unwrap().0, Algorithm::Chain);
    }
}

#[test]
fn segments_grow_with_the_vector_and_stay_below_the_limit() {
    for planner in [by_slot(&network::load("tree8"), 1), by_slot(&network::load("torus16"), 1), groups([4, 8, 2])] {
        for collective in [Bcast, Reduce, Allreduce] {
            for (algorithm, _) in planner.demands(collective) {
                for most in [512, 1000, 4096, 65536, u64::MAX] {
                    let segment =
                        |bytes| planner.predicted(collective, algorithm, bytes, AtMost(most)).unwrap().segment;
                    let segments: Vec<u64> = (12..=30).map(|k| segment(1 << k)).collect();
                    assert!(
                        segments.iter().all(|&s| (512..=most.min(64 << 20)).contains(&s)),
                        "{algorithm} {segments:?}"
                    );
                    // A vector that is shorter than its segment is one.
                    let cut: Vec<u64> = segments.iter().zip(12..).map(|(&segment, k)| segment.min(1 << k)).collect();
                    assert!(cut.last() >= cut.first(), "{algorithm} {segments:?}");
                }
                assert_eq!(planner.predicted(collective, algorithm, 1 << 20, AtMost(100)).unwrap().segment, 512);
            }
        }
    }
}

/// The segment of least time is where the fill of the pipeline and the gaps between messages balance.
#[test]
fn the_segment_of_a_chain_is_the_best_by_hand() {
    let planner = by_slot(&star(8), 1);
    let b = per_byte(100.0);
    for bytes in (16..=24).map(|k| 1u64 << k) {
        let n = bytes as f64;
        let time = |s: f64| {
            // With the header of every segment.
            let (n, s) = (n * (1.0 + 80.0 / s), s + 80.0);
            7.0 * (s * b + 10e3 + packet(s) * b + 60e3) + f64::hypot((n - s) * b, n / s * 20e3)
        };
        let best = (9..=16).map(|k| time(f64::from(1u32 << k))).fold(f64::INFINITY, f64::min);
        let found = planner.predicted(Bcast, Algorithm::Chain, bytes, AtMost(65536)).unwrap();
        let of_found = time(found.segment as f64);
        // The fill is a straight line in the segment, and of equal ones the larger segment is taken.
        assert!(of_found <= 1.05 * best, "{bytes}: {found:?} takes {of_found}, the best {best}");
    }
    // Four times the vector needs no smaller segment, and sixteen times a larger one.
    let segment = |k: u32| planner.predicted(Bcast, Algorithm::Chain, 1 << k, AtMost(65536)).unwrap().segment;
    assert!((16..=22).all(|k| segment(k) <= segment(k + 2)), "{:?}", (16..=24).map(segment).collect::<Vec<_>>());
    assert!((16..=20).all(|k| segment(k) < segment(k + 4)));
}

/// By hand: the uplink of tree8 carries 1, 2, 3, 4, 3, 2, 1 messages in the steps of a ring and 16 in all; on one
/// switch every link carries one per step, and so it does on a fat tree, where a step is a shift. A torus needs up to
/// several turns per step for what its host links could carry in one.
#[test]
fn an_exchange_takes_the_ring_where_it_loses_nothing() {
    let chosen = |name: &str, hosts: usize, ppn: usize| {
        let fabric = network::load(name);
        let planner = network::planner(&fabric, &Placement::by_slot(&fabric, hosts * ppn, ppn).unwrap());
        let chosen = [Alltoall, Alltoallv].map(|collective| planner.fitting(collective, 64 << 10, AtMost(65536)));
        assert_eq!(chosen[0], chosen[1], "{name}");
        let measured = planner.candidates(Alltoallv, 64 << 10, AtMost(65536));
        // Beside the ring the other order; the ring where it is predicted to take twice as long, as no other is.
        let expected: &[_] = match chosen[0] {
            Some(Algorithm::TwoLevelRing) => &[Algorithm::TwoLevelRing, Algorithm::ContentionFree],
            _ => &[Algorithm::ContentionFree],
        };
        assert_eq!(measured, expected, "{name}");
        measured[0]
    };
    for (name, hosts) in [("tree8", 8), ("star16", 16), ("wan2x8", 16)] {
        assert_eq!(chosen(name, hosts, 2), Algorithm::TwoLevelRing, "{name}");
    }
    assert_eq!(chosen("fattree", 16, 1), Algorithm::TwoLevelRing);
    for (name, hosts) in [("torus16", 16), ("mlfm36", 32)] {
        assert_eq!(chosen(name, hosts, 1), Algorithm::ContentionFree, "{name}");
    }
    // On more nodes than an order is made for in a moment, one that needs none.
    let many = Planner::new(Topology::of_nodes((0..200).collect()).expect("a topology"));
    let measured = many.candidates(Alltoallv, 64 << 10, AtMost(65536));
    assert_eq!(measured, [Algorithm::TwoLevelRing, Algorithm::Xor]);
}
