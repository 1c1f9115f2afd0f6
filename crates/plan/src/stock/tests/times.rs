//! Times on small networks, worked out by hand, and times that were measured.

use crate::Planner;
use crate::collective::Collective::{self, Allgather, Alltoall, Bcast, Gather, Scatter};
use crate::context::{Context, Options};
use crate::cost::Message;
use crate::stock::{
    Library::{self, Mpich, OpenMpi4, OpenMpi5},
    Stock,
};
use crate::topology::{Costs, Topology, Transport};
use std::sync::Arc;

/// Nodes of so many ranks each, at a link of 100 Mbit/s whose messages cost nothing.
fn context(nodes: u32, ranks: u32) -> Context {
    let topology = Topology::of_nodes((0..nodes * ranks).map(|rank| rank / ranks).collect()).expect("a topology");
    let costs = Costs { host_goodput: Some(100.0), ..Costs::default() };
    Context::new(Arc::new(topology.with_costs(costs)), Options::default())
}

const OVER_TCP: Option<Transport> = Some(Transport::OpenMpiTcp);
const FREE: Message = Message { latency: 0.0, gap: 0.0 };

#[test]
fn links_of_nodes_carry_what_their_ranks_send() {
    // 100 Mbit/s of data: 80 ns a byte.
    let vector = 80.0 * f64::from(1 << 20);
    let time = |nodes, ranks, collective, most| {
        let stock = Stock::new(OpenMpi4, OVER_TCP, most);
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

/// Nanoseconds of a call in units of those of its bytes on a host's link, messages of any size both ways.
fn units(library: Library, collective: Collective, (nodes, ranks): (u32, u32), bytes: u64) -> f64 {
    let stock = Stock::new(library, Some(Transport::Rdma), u64::MAX);
    stock.time(&context(nodes, ranks), FREE, collective, bytes).expect("known") / (80.0 * bytes as f64)
}

#[test]
fn data_move_as_slowly_as_the_busiest_link_of_each_round() {
    // A switch holds up a packet of every round, of 64 KiB a fortieth.
    let close = |found: f64, expected: f64| assert!((1.0..1.025).contains(&(found / expected)), "{found} {expected}");
    let kib = |n: u64| n << 10;
    // Vectors. To seven others; four hops of whole vectors; of 16 the root sends to 1, 2, 4, 8, then 1 to three …
    close(units(OpenMpi4, Bcast, (8, 1), kib(64)), 7.0);
    close(units(OpenMpi4, Bcast, (5, 1), kib(1024)), 4.0);
    close(units(OpenMpi4, Bcast, (16, 1), kib(64)), 4.0 + 3.0 + 2.0 + 1.0);
    // Two ranks on a node: the first sends to 2, 4 and 8, its neighbour to 3, 5 and 9; node 1 to 6 and 10; then 3 to 7
    // and 11; at last 7 to 15.
    close(units(OpenMpi4, Bcast, (8, 2), kib(64)), 3.0 + 3.0 + 2.0 + 1.0);
    // 32 ranks, radix 4: 0 to 1, 2, 3, 4, 8, 12, 16; 16 to 17, 18, 19, 20, 24, 28; 20 to 21, 22, 23.
    close(units(OpenMpi4, Bcast, (32, 1), kib(64)), 7.0 + 6.0 + 3.0);
    close(units(OpenMpi4, Bcast, (16, 2), kib(64)), 6.0 + 5.0 + 2.0);
    close(units(OpenMpi4, Bcast, (16, 1), kib(1024)), 2.0 * 15.0 / 16.0);
    // Five nodes in segments: the root sends to 1, 2 and 4; of the first segment of 16 also what 1 sends to 3.
    close(units(OpenMpi5, Bcast, (5, 2), kib(1024)), 3.0 + 1.0 / 16.0);
    close(units(OpenMpi5, Bcast, (4, 2), kib(1024)), 3.0);
    close(units(Mpich, Bcast, (7, 1), kib(1024)), 3.0);
    // Half of it once, a quarter and an eighth; then all of it but an eighth around.
    close(units(Mpich, Bcast, (8, 1), kib(1024)), 2.0 * 7.0 / 8.0);

    // Blocks. Of seven ranks into the root's link, whether through others or not.
    close(units(OpenMpi4, Gather, (8, 1), kib(64)), 7.0);
    close(units(OpenMpi4, Gather, (7, 1), kib(64)), 6.0);
    close(units(OpenMpi4, Gather, (4, 2), kib(64)), 6.0);
    close(units(OpenMpi5, Gather, (4, 2), kib(64)), 6.0);
    // The same out of it, one by one or four, two and one.
    close(units(OpenMpi4, Scatter, (8, 1), kib(64)), 7.0);
    close(units(Mpich, Scatter, (8, 1), kib(64)), 7.0);
    close(units(OpenMpi4, Allgather, (8, 1), kib(64)), 7.0);
    close(units(OpenMpi4, Allgather, (6, 1), kib(64)), 1.0 + 2.0 + 2.0);
    // Two ranks on a node: each of both sends two, then four blocks.
    close(units(OpenMpi4, Allgather, (4, 2), kib(64)), 2.0 * (2.0 + 4.0));
    // The ring enters and leaves a node once.
    close(units(Mpich, Allgather, (4, 2), kib(64)), 7.0);
    // Nodes exchange two blocks, then four.
    close(units(OpenMpi5, Allgather, (4, 2), kib(64)), 2.0 + 4.0);
    close(units(OpenMpi4, Alltoall, (8, 1), kib(64)), 7.0);
    close(units(OpenMpi4, Alltoall, (4, 2), kib(64)), 12.0);
    close(units(Mpich, Alltoall, (8, 1), kib(64)), 7.0);
    // Ways 1, 3, 5, 7 and so on, four blocks in each of three rounds, and each as long on the second link.
    close(units(Mpich, Alltoall, (8, 1), 256), 2.0 * 12.0);
}

#[test]
fn two_that_exchange_take_turns_and_many_do_not() {
    let time = |nodes, collective, bytes| {
        let stock = Stock::new(OpenMpi4, OVER_TCP, 65280);
        stock.time(&context(nodes, 1), FREE, collective, bytes).expect("known") / (80.0 * bytes as f64)
    };
    let close = |found: f64, expected: f64| assert!((1.0..1.025).contains(&(found / expected)), "{found} {expected}");
    close(time(2, Alltoall, 65280), 1.0);
    close(time(2, Alltoall, 65281), 2.0);
    close(time(8, Alltoall, 1 << 20), 7.0);
    close(time(8, Allgather, 65280), 1.0 + 2.0 * 2.0 + 2.0 * 4.0);
}

#[test]
fn steps_of_many_ranks_of_mpich_take_half_as_long_again_over_tcp() {
    // A switch holds up a packet of every round.
    let carried_close = |carried, transport, nodes, (collective, bytes), rounds: u32, expected: f64| {
        let stock = Stock::new(Mpich, transport, carried);
        let time = stock.time(&context(nodes, 1), FREE, collective, bytes).expect("known") / 80.0;
        let found = (time - 1514.0 * f64::from(rounds)) / bytes as f64;
        assert!((found - expected).abs() < 1e-3, "{transport:?} {nodes} {collective}: {found} {expected}");
    };
    let close = |transport, nodes, what, rounds, expected| {
        carried_close(64 << 10, transport, nodes, what, rounds, expected);
    };
    // Halves of 64, 32, 16 and 8 KiB, and back.
    let sum = (Collective::Allreduce, 128 << 10);
    let out_of_step = 2.0 * (1.5 * (0.5 + 0.25) + 0.125 + 0.0625);
    close(Some(Transport::Tcp), 16, sum, 8, out_of_step);
    close(None, 16, sum, 8, out_of_step);
    close(Some(Transport::Rdma), 16, sum, 8, 2.0 * 15.0 / 16.0);
    // Fewer are in step.
    close(Some(Transport::Tcp), 8, sum, 6, 2.0 * 7.0 / 8.0);
    close(Some(Transport::Tcp), 15, (Collective::ReduceScatterBlock, 64 << 10), 14, 14.0);
    let beside = |transport| Stock::new(Mpich, Some(transport), 64 << 10);
    let of_two_ranks = |transport| beside(transport).time(&context(8, 2), FREE, sum.0, sum.1);
    assert_eq!(of_two_ranks(Transport::Tcp), of_two_ranks(Transport::Rdma), "an Allreduce is among nodes");
    // Unless UCX asks from 8 KiB on; two have no other peer.
    carried_close(16 << 10, Some(Transport::Tcp), 4, sum, 4, 2.0 * 1.5 * 3.0 / 4.0);
    carried_close(16 << 10, Some(Transport::Tcp), 2, sum, 2, 2.0 * 0.5);
    // Pairwise to and from fifteen others; of what moves data measured calls tell.
    close(Some(Transport::Tcp), 16, (Collective::ReduceScatterBlock, 64 << 10), 15, 1.5 * 15.0);
    close(Some(Transport::Tcp), 16, (Collective::Alltoall, 64 << 10), 15, 15.0);
}

/// A message for each of four partners, a gap each.
#[test]
fn messages_cost_what_they_cost() {
    let stock = Stock::new(OpenMpi4, None, u64::MAX);
    let message = Message { latency: 1e6, gap: 1e3 };
    let time = |collective, bytes| stock.time(&context(5, 1), message, collective, bytes).expect("known");
    let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    close(time(Alltoall, 1), 1e6 + 4e3);
    close(time(Collective::Alltoallv, 1), 1e6 + 4e3);
    // Four hops.
    close(time(Bcast, 1 << 20), 4.0 * (1e6 + 80.0 * f64::from(1 << 20)));
    close(time(Allgather, 1), 3.0 * (1e6 + 1e3));
}

/// Medians of recorded runs, Open MPI 4.1.4 over TCP (docs/benchmarks/halving-wan2x8.json,
/// wan2x8-16x1-slot-openmpi.json, tree8-16x2-node-openmpi.json, star16-32x2-slot-openmpi.json, exchange-star16.json),
/// in milliseconds.
#[test]
fn it_is_close_to_what_was_measured() {
    let planner = |name: &str, node_of: &dyn Fn(u32) -> u32, ranks: u32| {
        let text = crate::fabric::shipped(name).expect("shipped");
        let fabric = Arc::new(crate::fabric::Fabric::from_toml(text, name).expect("a fabric"));
        let hosts: Vec<u64> = (0..ranks).map(|rank| u64::from(node_of(rank))).collect();
        let source = crate::topology::Source::Fabric { levels: fabric.levels(), fabric };
        let topology = Topology::of_nodes((0..ranks).map(node_of).collect()).expect("a topology");
        Planner::new(source.on_network(topology, &hosts)).with_stock(Stock::new(OpenMpi4, OVER_TCP, 65280))
    };
    let wan = planner("wan2x8", &|rank| rank, 16);
    let tree = planner("tree8", &|rank| rank % 8, 16);
    let star = planner("star16", &|rank| rank / 2, 32);
    let off_by = |(planner, collective, bytes, ms): (&Planner, Collective, u64, f64)| {
        planner.stock_time(collective, bytes).expect("known") / (ms * 1e6)
    };
    let off = [
        (&wan, Collective::Reduce, 1 << 20, 353.31),
        (&wan, Collective::Allreduce, 1 << 20, 421.26),
        (&tree, Collective::Reduce, 1 << 16, 33.02),
        (&tree, Collective::Allreduce, 1 << 18, 155.07),
        (&star, Collective::Reduce, 1 << 18, 179.97),
        (&star, Collective::Allreduce, 1 << 20, 674.21),
        (&wan, Bcast, 1 << 18, 227.28),
        (&tree, Bcast, 1 << 18, 125.73),
        (&star, Bcast, 1 << 20, 2202.32),
        (&star, Gather, 1 << 16, 331.48),
    ]
    .map(off_by);
    assert!(off.iter().all(|off| (0.85..1.25).contains(off)), "{off:?}");
    // Where all send to all, packets are lost, which nothing predicts.
    let exchange = off_by((&star, Alltoall, 1 << 16, 1183.95));
    assert!((0.5..1.0).contains(&exchange), "{exchange}");
}
