use super::*;
use crate::fabric::{Fabric, HostId};
use crate::stock::{Library, Stock};
use crate::topology::{Topology, Transport};
use std::sync::Arc;

const OVER_TCP: Option<Transport> = Some(Transport::OpenMpiTcp);
const FREE: Limits = Limits { segment: None, window: None, message: 4096 };

/// 16 ranks on four nodes.
fn planner() -> Planner {
    Planner::new(Topology::of_nodes((0..16).map(|rank| rank / 4).collect()).expect("a topology"))
}

fn decide(rules: &str, collective: Collective, bytes: u64, limits: &Limits) -> Result<Decision, Reason> {
    let rules = Rules::parse(rules).expect("rules");
    Decision::new(&planner(), &rules, &Call { collective, bytes, ranks: 16, nodes: 4 }, limits, false)
}

#[test]
fn a_prediction_is_that_of_what_runs() {
    let free = decide("bcast=chain", Collective::Bcast, 1 << 20, &FREE).expect("forced");
    let expected = planner().predicted(Collective::Bcast, Algorithm::Chain, 1 << 20, Segments::AtMost(4096));
    assert!(expected.is_some());
    assert_eq!(free, Decision { algorithm: Algorithm::Chain, prediction: expected });
    let chosen = decide("", Collective::Bcast, 1 << 20, &FREE).expect("fitting");
    let of = |algorithm| planner().predicted(Collective::Bcast, algorithm, 1 << 20, Segments::AtMost(4096));
    assert_eq!(chosen.prediction, of(chosen.algorithm));
}

#[test]
fn an_exchange_takes_as_long_as_a_host_s_link_is_busy() {
    let call = Call { collective: Collective::Alltoall, bytes: 1 << 20, ranks: 16, nodes: 4 };
    let decision = decide("", call.collective, call.bytes, &FREE).expect("fitting");
    assert_eq!(decision.prediction, None, "it was not what decided");
    // 48 blocks at 10 Gbit/s, in segments of 4 KiB, each 7 us after the other, with a header of 80 bytes.
    let sent = 48.0 * f64::from(1 << 20) * (1.0 + 80.0 / 4096.0);
    let expected = f64::hypot(sent * 0.8 * 1514.0 / 1448.0, sent / (4096.0 + 80.0) * 7e3);
    let time = decision.time(&planner(), &call, &FREE).expect("known");
    // The last message's way.
    assert!((expected..expected + 30e3).contains(&time), "{time} {expected}");
    let bcast = Call { collective: Collective::Bcast, ..call };
    let decision = decide("", bcast.collective, bcast.bytes, &FREE).expect("fitting");
    assert_eq!(decision.time(&planner(), &bcast, &FREE), decision.prediction.map(|prediction| prediction.time));
    // More transfers than are looked at, of which a host's link says nothing.
    let many = Planner::new(Topology::of_nodes((0..16384).collect()).expect("a topology"));
    let call = Call { collective: Collective::Allreduce, bytes: 1 << 20, ranks: 16384, nodes: 16384 };
    assert_eq!(Decision::of(&many, Algorithm::HalvingDoubling, &call, &FREE).time(&many, &call, &FREE), None);
}

/// 16 nodes of which nothing else is known, beside Open MPI: what is predicted to be clearly faster than its own is
/// preferred.
#[test]
fn what_is_not_clearly_faster_than_the_library_is_the_library_s() {
    let decide = |bytes, transport, is_measured| {
        let topology = Topology::of_nodes((0..16).collect()).expect("a topology");
        let planner = Planner::new(topology).with_stock(Stock::new(Library::OpenMpi4, transport, 65280));
        let call = Call { collective: Collective::Allreduce, bytes, ranks: 16, nodes: 16 };
        let limits = Limits { message: 65280, ..FREE };
        Decision::new(&planner, &Rules::default(), &call, &limits, is_measured).map(|decision| decision.algorithm)
    };
    assert_eq!(decide(256 << 10, OVER_TCP, false), Ok(Algorithm::HalvingDoubling));
    assert_eq!(decide(4 << 20, OVER_TCP, false), Ok(Algorithm::Ring));
    // Where exchanges do not take turns, Rabenseifner's algorithm is as fast on one switch.
    assert_eq!(decide(256 << 10, None, false), Err(Reason::Faster));
    assert!(decide(256 << 10, None, true).is_ok(), "measured calls tell");
}

/// On sixteen hosts of a switch MPICH's halving and doubling is as fast as the ring in step, which it is over RDMA, and
/// not always over TCP. Sums are never measured.
#[test]
fn sums_beside_mpich_are_ours_over_tcp() {
    let decide = |transport, collective, bytes| {
        let planner = star(16, false).with_stock(Stock::new(Library::Mpich, transport, 65280));
        let call = Call { collective, bytes, ranks: 16, nodes: 16 };
        let limits = Limits { message: 65280, ..FREE };
        Decision::new(&planner, &Rules::default(), &call, &limits, false).map(|decision| decision.algorithm)
    };
    for transport in [Some(Transport::Tcp), None] {
        assert_eq!(decide(transport, Collective::Allreduce, 1 << 20), Ok(Algorithm::Ring));
        assert_eq!(decide(transport, Collective::ReduceScatterBlock, 64 << 10), Ok(Algorithm::Ring));
    }
    for transport in [Transport::Rdma, Transport::SharedMemory] {
        assert_eq!(decide(Some(transport), Collective::Allreduce, 1 << 20), Err(Reason::Faster));
        assert_eq!(decide(Some(transport), Collective::ReduceScatterBlock, 64 << 10), Err(Reason::Faster));
    }
}

/// So many hosts of 100 Mbit/s on one switch, and Open MPI where the library is known.
fn star(hosts: u32, is_known: bool) -> Planner {
    star_of(hosts, is_known.then_some(Library::OpenMpi4))
}

/// The same beside this library.
fn star_of(hosts: u32, library: Option<Library>) -> Planner {
    let links = format!("[[link]]\nfrom = \"n[0-{}]\"\nto = \"s\"\nbandwidth = 100\nlatency = 5\n", hosts - 1);
    let text = format!("queue = 128\nhosts = [\"n[0-{}]\"]\nswitches = [\"s\"]\n{links}", hosts - 1);
    let fabric = Arc::new(Fabric::from_toml(&text, "star").expect("a fabric"));
    let topology = Topology::of_nodes((0..hosts).collect()).expect("a topology");
    let placed: Vec<HostId> = (0..hosts).map(HostId).collect();
    let planner = Planner::new(topology.on_network(fabric, &placed));
    match library {
        Some(library) => planner.with_stock(Stock::new(library, OVER_TCP, 65280)),
        None => planner,
    }
}

/// What another library chooses nobody knows. From the usual sizes on it is taken to be as fast as the faster of two
/// libraries. Below, sums are its own, and nothing is tried.
#[test]
fn another_library_is_compared_with_from_the_usual_sizes_on() {
    let of = |library| star_of(7, Some(library));
    let [open, mpich, other] = [Library::OpenMpi4, Library::Mpich, Library::Other].map(of);
    for bytes in [64 << 10, 1 << 20] {
        for collective in [Collective::Bcast, Collective::Reduce, Collective::Allreduce, Collective::Allgather] {
            let [open, mpich, other] = [&open, &mpich, &other].map(|p| p.stock_time(collective, bytes).expect("known"));
            assert!(other <= open.min(mpich), "{collective} {bytes}: {other}, {open}, {mpich}");
        }
        let [open, mpich, other] = [&open, &mpich, &other].map(|p| p.stock_time(Collective::Bcast, bytes));
        assert!(other == open || other == mpich, "no two of a Bcast send to each other: {other:?}");
    }
    let limits = Limits { message: 65280, ..FREE };
    let decide = |planner: &Planner, bytes| {
        let call = Call { collective: Collective::Allreduce, bytes, ranks: 7, nodes: 7 };
        Decision::new(planner, &Rules::default(), &call, &limits, false).map(|decision| decision.algorithm)
    };
    assert_eq!(decide(&of(Library::OpenMpi4), 32 << 10), Ok(Algorithm::HalvingDoubling));
    assert_eq!(decide(&of(Library::Mpich), 32 << 10), Ok(Algorithm::HalvingDoubling));
    assert_eq!(decide(&other, 32 << 10), Err(Reason::Small));
    assert!(decide(&other, 1 << 20).is_ok());
    // What ours are not clearly faster than runs; beside no library ours would.
    let nodes = |library: Option<Library>| {
        let planner = Planner::new(Topology::of_nodes((0..16).collect()).expect("a topology"));
        let planner = match library {
            Some(library) => planner.with_stock(Stock::new(library, None, 65280)),
            None => planner,
        };
        let call = Call { collective: Collective::Allreduce, bytes: 256 << 10, ranks: 16, nodes: 16 };
        Decision::new(&planner, &Rules::default(), &call, &limits, false).map(|decision| decision.algorithm)
    };
    assert_eq!(nodes(Some(Library::Other)), Err(Reason::Faster));
    assert!(nodes(None).is_ok());
    // Floors are those beside no library.
    let alone = star_of(7, None);
    for collective in Collective::ALL {
        for is_measured in [false, true] {
            assert_eq!(other.floor(collective, is_measured), alone.floor(collective, is_measured), "{collective}");
        }
    }
    let call = Call { collective: Collective::Bcast, bytes: 64 << 10, ranks: 7, nodes: 7 };
    let begins = |planner: &Planner| {
        Decision::new(planner, &Rules::default(), &call, &limits, true).expect("ours").believed_between(planner, &call)
    };
    assert!(begins(&open).is_some() && begins(&other).is_none(), "calls begin with the library");
}

/// On seven, nine or thirteen hosts of 100 Mbit/s the library's own steps, made for powers of two, are predicted to
/// take about twice as long as shifts, whatever messages cost; on eight they are as fast.
#[test]
fn below_the_usual_sizes_what_is_far_faster_runs() {
    let decide = |hosts: u32, collective, bytes, is_known| {
        let planner = star(hosts, is_known);
        let call = Call { collective, bytes, ranks: hosts, nodes: hosts };
        let limits = Limits { message: 65280, ..FREE };
        Decision::new(&planner, &Rules::default(), &call, &limits, false).map(|decision| decision.algorithm)
    };
    for bytes in [16 << 10, 32 << 10] {
        for hosts in [7, 9, 13] {
            let what = (hosts, bytes);
            assert_eq!(decide(hosts, Collective::Allreduce, bytes, true), Ok(Algorithm::HalvingDoubling), "{what:?}");
            let unknown = decide(hosts, Collective::Allreduce, bytes, false);
            assert_eq!(unknown, Err(Reason::Small), "{what:?}: nobody knows what the library does");
        }
        assert_eq!(decide(8, Collective::Allreduce, bytes, true), Err(Reason::Small), "{bytes}");
    }
    assert_eq!(decide(9, Collective::Allreduce, 8 << 10, true), Err(Reason::Small), "messages may cost more");
    assert_eq!(decide(9, Collective::Allreduce, (8 << 10) - 1, true), Err(Reason::Small));
    assert_eq!(decide(9, Collective::Allgather, 4 << 10, true), Err(Reason::Small), "measured, not predicted");
}

/// As predicted, a Bcast of 64 KiB takes Open MPI 4.1 more than twice as long as ours, an Allreduce of 128 KiB,
/// whose steps are the same among eight, as long. Calls begin with ours if the library's take about what is predicted.
#[test]
fn calls_begin_with_what_is_far_faster() {
    let begins = |collective, bytes, is_known| {
        let (planner, limits) = (star(8, is_known), Limits { message: 65280, ..FREE });
        let call = Call { collective, bytes, ranks: 8, nodes: 8 };
        let decision = Decision::new(&planner, &Rules::default(), &call, &limits, true).expect("ours");
        decision.believed_between(&planner, &call)
    };
    let planner = star(8, true);
    let [ours, stock] = [
        planner.cheapest(Collective::Bcast, 64 << 10, Segments::AtMost(65280)).expect("ours").1.time,
        planner.stock_time(Collective::Bcast, 64 << 10).expect("known"),
    ];
    let [least, most] = begins(Collective::Bcast, 64 << 10, true).expect("far faster");
    assert!(ours < least && least <= stock && (1.9 * stock..4.0 * stock).contains(&most), "{ours} {stock}");
    assert_eq!(begins(Collective::Bcast, 64 << 10, false), None, "nobody knows what the library does");
    assert_eq!(begins(Collective::Allreduce, 128 << 10, true), None);
    assert_eq!(begins(Collective::Alltoall, 64 << 10, true), None, "nothing predicts what queues do");
}

/// What is predicted of the library decides about sums alone, but for what calls begin with: of all else measured
/// calls tell, and where nobody measures, what runs is what ran before anything was predicted.
#[test]
fn what_the_library_takes_to_move_data_decides_only_what_is_tried() {
    let moving = Collective::ALL.into_iter().filter(|collective| !collective.reduces());
    let mut faster = 0;
    let mut more = [false; Collective::ALL.len()];
    for (collective, nodes) in moving.flat_map(|collective| [2, 8, 16].map(|nodes| (collective, nodes))) {
        let ranks = nodes * 2;
        let planner = || Planner::new(Topology::of_nodes((0..ranks).map(|rank| rank / 2).collect()).expect("nodes"));
        for library in [Library::OpenMpi4, Library::OpenMpi5, Library::Mpich, Library::Other] {
            let is_open = matches!(library, Library::OpenMpi4 | Library::OpenMpi5);
            let transport = if is_open { Transport::OpenMpiTcp } else { Transport::Tcp };
            let beside = planner().with_stock(Stock::new(library, Some(transport), 65280));
            for bytes in (10..24).map(|power| 1 << power) {
                let call = Call { collective, bytes, ranks, nodes };
                let limits = Limits { message: 65280, ..FREE };
                let decide = |planner: &Planner, is_measured| {
                    Decision::new(planner, &Rules::default(), &call, &limits, is_measured)
                };
                let alone = decide(&planner(), false);
                assert_eq!(decide(&beside, false), alone, "{library:?} {call:?}");
                // Where nothing fits, something is tried if measured calls tell whether it gains.
                let measured = decide(&beside, true);
                let is_tried = measured.is_ok_and(|decision| match collective {
                    Collective::Alltoall => decision.algorithm == Algorithm::Aggregated,
                    Collective::Gather | Collective::Scatter => {
                        [Algorithm::Direct, Algorithm::Tree].contains(&decision.algorithm)
                    }
                    // Before they are measured, calls do not run on it.
                    _ => {
                        decision.algorithm.spec().candidacy == Candidacy::Default
                            && decision.believed_between(&beside, &call).is_none()
                    }
                });
                let is_at_root = matches!(collective, Collective::Gather | Collective::Scatter);
                let may_be = is_at_root || alone == Err(Reason::Small);
                let is_more = is_tried && may_be && alone.is_err();
                assert!(measured == alone || is_more, "{library:?} {call:?} {measured:?}");
                more[collective as usize] |= is_more;
                let stock = beside.stock_time(collective, bytes).expect("predicted");
                let ours = alone.ok().and_then(|decision| decision.prediction);
                faster += u32::from(ours.is_some_and(|ours| ours.time > stock));
            }
        }
    }
    let tried = [Collective::Bcast, Collective::Alltoall, Collective::Gather, Collective::Scatter];
    assert!(tried.into_iter().all(|collective| more[collective as usize]), "{more:?}");
    assert!(faster > 0, "the predictions of the library matter somewhere");
}

#[test]
fn reasons_are_those_of_the_rules() {
    assert_eq!(decide("bcast=stock", Collective::Bcast, 1 << 20, &FREE), Err(Reason::Asked));
    assert_eq!(decide("", Collective::Bcast, 1, &FREE), Err(Reason::Small));
}

#[test]
fn elements_are_never_split_and_the_user_s_word_holds() {
    let told = Limits { segment: Some(1000), window: Some(3), message: 4096 };
    let decision = decide("reduce=chain", Collective::Reduce, 1 << 20, &told).expect("forced");
    let pacing = |limits, unit| decision.pacing(&planner(), limits, [1 << 20; 2], unit);
    assert_eq!(pacing(&told, 24), Pacing { segment: 41, window: 3, flow: None });
    assert_eq!(pacing(&told, 3000), Pacing { segment: 1, window: 3, flow: None }, "an element is larger");
    let exchange = decide("alltoall=xor", Collective::Alltoall, 1 << 16, &told).expect("forced");
    let pacing = exchange.pacing(&planner(), &told, [1 << 16; 2], 1);
    assert_eq!((pacing.segment, pacing.window), (1000, 3));
    assert!(pacing.flow.is_none_or(|flow| flow.confirmed <= 1000), "{pacing:?}");
    assert!(exchange.pacing(&planner(), &FREE, [1 << 16; 2], 1).segment <= FREE.most(Collective::Alltoall));
}

/// Where nothing is dropped and the transport carries it, a block of an exchange is one message, and the next one is
/// under way with it, also where a rank's own blocks differ; what is combined has shorter segments, since it has
/// scratch memory for some.
#[test]
fn long_blocks_in_memory_are_one_message() {
    let limits = Limits { message: 64 << 20, ..FREE };
    let planner = planner().without_losses();
    let of = |collective, blocks: [u64; 2], limits: &Limits, word: &str| {
        let rules = Rules::parse(word).expect("a rule");
        let call = Call { collective, bytes: blocks[0], ranks: 16, nodes: 4 };
        let decision = Decision::new(&planner, &rules, &call, limits, false).expect("forced");
        decision.pacing(&planner, limits, blocks, 1)
    };
    const MIB: u64 = 1 << 20;
    for (mean, longest, under_way) in [(1, 1, 4), (2, 2, 4), (3, 3, 6), (8, 8, 16), (32, 32, 64), (1, 16, 32)] {
        for word in ["alltoall=xor", "alltoall=two_level_ring", "alltoall=contention_free"] {
            let pacing = of(Collective::Alltoall, [mean * MIB, longest * MIB], &limits, word);
            assert!(pacing.segment >= longest * MIB, "{word} {pacing:?}");
            assert_eq!(pacing.flow.map(|flow| flow.unconfirmed), Some(under_way * MIB), "{word} {longest}");
            // Where a message has 1 MiB, as over adapters, blocks are cut, and no more is under way.
            let cut = of(Collective::Alltoall, [mean * MIB, longest * MIB], &Limits { message: MIB, ..FREE }, word);
            assert_eq!((cut.segment, cut.flow.map(|flow| flow.unconfirmed)), (MIB, Some(4 * MIB)), "{word} {longest}");
        }
    }
    assert!(of(Collective::Allgather, [32 * MIB; 2], &limits, "allgather=ring").segment > MIB);
    assert!(of(Collective::Allreduce, [64 * MIB; 2], &limits, "allreduce=ring").segment <= MIB);
}
