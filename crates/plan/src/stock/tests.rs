//! Against schedules that are worked out here by hand, and against what was measured.

use super::choice::{Shape, parts};
use super::scheme::{Scheme, rounds};
use super::*;
use crate::Planner;
use crate::context::Options;
use crate::topology::{Costs, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

const ALL: [Scheme; Scheme::COUNT] = [
    Scheme::Linear,
    Scheme::Chain,
    Scheme::Binomial,
    Scheme::Doubling,
    Scheme::Rabenseifner,
    Scheme::Halving,
    Scheme::Butterfly,
    Scheme::RingScatter,
    Scheme::Ring,
    Scheme::Pairwise,
    Scheme::Scatter,
];

/// Which members' numbers every member's have been combined with at the end, where a transfer hands on all that the
/// sender had before its round.
fn combined(scheme: Scheme, members: u32) -> Vec<BTreeSet<u32>> {
    let mut known: Vec<BTreeSet<u32>> = (0..members).map(|member| BTreeSet::from([member])).collect();
    for round in rounds(scheme, members, usize::MAX).expect("rounds") {
        for _ in 0..round.times {
            let before = known.clone();
            for &(from, to) in &round.pairs {
                known[to as usize].extend(&before[from as usize]);
            }
        }
    }
    known
}

#[test]
fn what_all_have_reaches_who_is_to_have_it() {
    for members in 2..40 {
        let all: BTreeSet<u32> = (0..members).collect();
        for scheme in ALL {
            let known = combined(scheme, members);
            match scheme {
                Scheme::Linear | Scheme::Chain | Scheme::Binomial => assert_eq!(known[0], all, "{scheme:?} {members}"),
                Scheme::Scatter => assert!(known.iter().all(|known| known.contains(&0))),
                _ => assert!(known.iter().all(|known| *known == all), "{scheme:?} {members}"),
            }
        }
    }
}

/// Vectors that the member that sends the most sends, over all rounds.
fn sent(scheme: Scheme, members: u32) -> f64 {
    let mut sent = vec![0.0; members as usize];
    for round in rounds(scheme, members, usize::MAX).expect("rounds") {
        round.pairs.iter().for_each(|&(from, _)| sent[from as usize] += f64::from(round.times) * round.share);
    }
    sent.into_iter().fold(0.0, f64::max)
}

#[test]
fn volumes_are_those_of_the_papers() {
    let close = |scheme, members, expected: f64| {
        let found = sent(scheme, members);
        assert!((found - expected).abs() < 1e-9, "{scheme:?} of {members}: {found}, expected {expected}");
    };
    // Thakur, Rabenseifner, Gropp 2005, section 4: 2 n (p - 1) / p, and half of it; lg p n.
    close(Scheme::Rabenseifner, 16, 2.0 * 15.0 / 16.0);
    close(Scheme::Ring, 12, 2.0 * 11.0 / 12.0);
    close(Scheme::Halving, 8, 7.0 / 8.0);
    close(Scheme::RingScatter, 7, 6.0 / 7.0);
    close(Scheme::Pairwise, 9, 8.0 / 9.0);
    close(Scheme::Doubling, 16, 4.0);
    // The butterfly's last round sends a block to where it belongs.
    close(Scheme::Butterfly, 8, 1.0);
    close(Scheme::Binomial, 11, 1.0);
}

#[test]
fn a_large_communicator_is_not_looked_at() {
    for scheme in ALL {
        assert!(rounds(scheme, 1 << 20, 1 << 17).is_none(), "{scheme:?}");
    }
    // Of an exchange in pairs some steps stand for all.
    let steps = rounds(Scheme::Pairwise, 1000, 1 << 17).expect("rounds");
    let times: u32 = steps.iter().map(|step| step.times).sum();
    assert_eq!((steps.len(), times), (131, 999));
    assert!(rounds(Scheme::Pairwise, 1, 1 << 17).expect("rounds").is_empty());
}

#[test]
fn libraries_are_known_by_their_names() {
    let of = Library::from_version;
    assert_eq!(of("Open MPI v4.1.4"), Some(Library::OpenMpi4));
    assert_eq!(of("Open MPI v5.0.11"), Some(Library::OpenMpi5));
    assert_eq!(of("MPICH Version:      4.0.2"), Some(Library::Mpich));
    assert_eq!(of("Intel(R) MPI Library 2021.10"), None);
    assert_eq!(of("Open MPI vfoo"), None);
    for other in
        ["Open MPI v4.0.3", "Open MPI v5.1.0", "Open MPI v6.0.0", "MPICH Version:      3.4.3", "MVAPICH Version: 4.0"]
    {
        assert_eq!(of(other), None, "{other}");
    }
    for library in [Library::OpenMpi4, Library::OpenMpi5, Library::Mpich] {
        assert_eq!(Library::of_code(library.code()), Some(library));
    }
    assert_eq!(Library::of_code(Library::UNKNOWN), None);
}

#[test]
fn choices_are_those_of_the_libraries() {
    let even = |(ranks, nodes)| Shape { ranks, nodes, is_even: true };
    let scheme = |library, collective, of, bytes| {
        let parts = parts(library, collective, even(of), bytes).expect("known");
        (parts[0].scheme, parts.len(), parts[0].among)
    };
    use Collective::{Allreduce, Reduce, ReduceScatter, ReduceScatterBlock};
    use Library::{Mpich, OpenMpi4, OpenMpi5};
    let flat = Among::Ranks;
    assert_eq!(scheme(OpenMpi4, Reduce, (16, 8), 1 << 20), (Scheme::Binomial, 1, flat));
    assert_eq!(scheme(OpenMpi4, Reduce, (6, 6), 300 << 10), (Scheme::Linear, 1, flat));
    assert_eq!(scheme(OpenMpi4, Reduce, (3, 3), 1 << 20), (Scheme::Chain, 1, flat));
    assert_eq!(scheme(OpenMpi4, Allreduce, (16, 8), 64 << 10), (Scheme::Rabenseifner, 1, flat));
    assert_eq!(scheme(OpenMpi4, Allreduce, (64, 8), 64 << 10), (Scheme::Doubling, 1, flat));
    assert_eq!(scheme(OpenMpi4, Allreduce, (3, 3), 64 << 10), (Scheme::Ring, 1, flat));
    assert_eq!(scheme(OpenMpi4, Allreduce, (200, 8), 64 << 10), (Scheme::Binomial, 2, flat));
    assert_eq!(scheme(OpenMpi4, ReduceScatter, (16, 8), 512 << 10), (Scheme::RingScatter, 1, flat));
    // By the block, 512 KiB: Reduce, then Scatter.
    assert_eq!(scheme(OpenMpi4, ReduceScatterBlock, (16, 8), 8 << 20), (Scheme::Binomial, 2, flat));
    assert_eq!(scheme(OpenMpi4, ReduceScatterBlock, (16, 8), 1 << 20), (Scheme::Halving, 1, flat));
    assert_eq!(scheme(OpenMpi5, Allreduce, (16, 8), 1 << 20), (Scheme::Binomial, 2, Among::Nodes));
    assert_eq!(scheme(OpenMpi5, Allreduce, (16, 16), 1 << 20), (Scheme::Rabenseifner, 1, flat));
    assert_eq!(scheme(Mpich, Reduce, (16, 8), 1 << 20), (Scheme::Rabenseifner, 1, Among::Nodes));
    assert_eq!(scheme(Mpich, ReduceScatterBlock, (16, 8), 1 << 20), (Scheme::Pairwise, 1, flat));
    assert_eq!(parts(OpenMpi4, Collective::Bcast, even((16, 8)), 1 << 20), None);
    // In Open MPI 5 the Reduce of a Reduce_scatter_block is coll/han's, and where nodes differ coll/tuned's.
    assert_eq!(scheme(OpenMpi5, ReduceScatterBlock, (16, 8), 8 << 20), (Scheme::Binomial, 2, Among::Nodes));
    let uneven = Shape { is_even: false, ..even((10, 3)) };
    let of = |collective| parts(OpenMpi5, collective, uneven, 1 << 20).expect("known")[0].among;
    assert_eq!((of(Reduce), of(Allreduce)), (Among::Ranks, Among::Nodes));
}

/// Nodes of so many ranks each, at a link of 100 Mbit/s whose messages cost nothing.
fn context(nodes: u32, ranks: u32) -> Context {
    let topology = Topology::of_nodes((0..nodes * ranks).map(|rank| rank / ranks).collect()).expect("a topology");
    let costs = Costs { host_goodput: Some(100.0), ..Costs::default() };
    Context::new(Arc::new(topology.with_costs(costs)), Options::default())
}

const FREE: Message = Message { latency: 0.0, gap: 0.0 };

#[test]
fn links_of_nodes_carry_what_their_ranks_send() {
    // 100 Mbit/s of data: 80 ns a byte.
    let vector = 80.0 * f64::from(1 << 20);
    let time = |nodes, ranks, collective, most| {
        let stock = Stock::new(Library::OpenMpi4, most);
        stock.time(&context(nodes, ranks), FREE, collective, 1 << 20).expect("known") / vector
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found} {expected}");
    // Binomial: the root receives three whole vectors; of two ranks on a node one from its neighbour.
    close(time(8, 1, Collective::Reduce, u64::MAX), 3.0);
    close(time(4, 2, Collective::Reduce, u64::MAX), 2.0);
    // Rabenseifner: 2 (1 - 1/8); with two ranks on a node the first halves stay there, and both send the rest.
    close(time(8, 1, Collective::Allreduce, u64::MAX), 2.0 * 7.0 / 8.0);
    close(time(4, 2, Collective::Allreduce, u64::MAX), 2.0 * 2.0 * (1.0 / 4.0 + 1.0 / 8.0));
    // Exchanges of more than 256 KiB take turns: the first and the last.
    close(time(8, 1, Collective::Allreduce, 256 << 10), 2.0 * (2.0 / 2.0 + 1.0 / 4.0 + 1.0 / 8.0));
}

/// Medians of recorded runs, Open MPI 4.1.4 over TCP (docs/benchmarks/halving-wan2x8.json,
/// tree8-16x2-node-openmpi.json, star16-32x2-slot-openmpi.json), in milliseconds.
#[test]
fn it_is_close_to_what_was_measured() {
    let planner = |name: &str, node_of: &dyn Fn(u32) -> u32, ranks: u32| {
        let text = crate::fabric::shipped(name).expect("shipped");
        let fabric = Arc::new(crate::fabric::Fabric::from_toml(text, name).expect("a fabric"));
        let hosts: Vec<u64> = (0..ranks).map(|rank| u64::from(node_of(rank))).collect();
        let source = crate::topology::Source::Fabric { levels: fabric.levels(), fabric };
        let topology = Topology::of_nodes((0..ranks).map(node_of).collect()).expect("a topology");
        Planner::new(source.on_network(topology, &hosts)).with_stock(Stock::new(Library::OpenMpi4, 65280))
    };
    let wan = planner("wan2x8", &|rank| rank, 16);
    let tree = planner("tree8", &|rank| rank % 8, 16);
    let star = planner("star16", &|rank| rank / 2, 32);
    let off = [
        (&wan, Collective::Reduce, 1 << 20, 353.31),
        (&wan, Collective::Allreduce, 1 << 20, 421.26),
        (&tree, Collective::Reduce, 1 << 16, 32.90),
        (&tree, Collective::Allreduce, 1 << 18, 148.31),
        (&star, Collective::Reduce, 1 << 18, 178.62),
        (&star, Collective::Allreduce, 1 << 20, 616.66),
    ]
    .map(|(planner, collective, bytes, ms)| planner.stock_time(collective, bytes).expect("known") / (ms * 1e6));
    assert!(off.iter().all(|off| (0.85..1.25).contains(off)), "{off:?}");
}
