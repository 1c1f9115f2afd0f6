//! Which algorithms libraries choose.

use crate::collective::Collective::{
    self, Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Bcast, Gather, Reduce, ReduceScatter,
    ReduceScatterBlock, Scatter,
};
use crate::stock::choice::{
    Library::{self, Mpich, OpenMpi4, OpenMpi5},
    parts,
};
use crate::stock::part::{Among, Shape};
use crate::stock::scheme::Scheme;

#[test]
fn libraries_are_known_by_their_names() {
    let of = Library::from_version;
    assert_eq!(of("Open MPI v4.1.4"), Some(Library::OpenMpi4));
    assert_eq!(of("Open MPI v5.0.11"), Some(Library::OpenMpi5));
    assert_eq!(of("MPICH Version:      4.0.2"), Some(Library::Mpich));
    for other in [
        "Intel(R) MPI Library 2021.10",
        "Open MPI vfoo",
        "Open MPI v4.0.3",
        "Open MPI v5.1.0",
        "Open MPI v6.0.0",
        "MPICH Version:      3.4.3",
        "MVAPICH Version: 4.0",
    ] {
        assert_eq!(of(other), Some(Library::Other), "{other}");
    }
    assert_eq!(of(" \n"), None);
    for library in [Library::OpenMpi4, Library::OpenMpi5, Library::Mpich, Library::Other] {
        assert_eq!(Library::of_code(library.code()), Some(library));
    }
    assert_eq!(Library::of_code(Library::UNKNOWN), None);
}

/// On so many ranks and nodes, all alike; how many algorithms, and the first.
fn first(library: Library, collective: Collective, (ranks, nodes): (u32, u32), bytes: u64) -> (Scheme, usize, Among) {
    let parts = parts(library, collective, Shape { ranks, nodes, is_even: true }, bytes);
    (parts[0].scheme, parts.len(), parts[0].among)
}

const FLAT: Among = Among::Ranks;

#[test]
fn choices_for_reductions_are_those_of_the_libraries() {
    assert_eq!(first(OpenMpi4, Reduce, (16, 8), 1 << 20), (Scheme::Binomial, 1, FLAT));
    assert_eq!(first(OpenMpi4, Reduce, (6, 6), 300 << 10), (Scheme::Linear, 1, FLAT));
    assert_eq!(first(OpenMpi4, Reduce, (3, 3), 1 << 20), (Scheme::Chain, 1, FLAT));
    assert_eq!(first(OpenMpi4, Allreduce, (16, 8), 64 << 10), (Scheme::Rabenseifner, 1, FLAT));
    assert_eq!(first(OpenMpi4, Allreduce, (64, 8), 64 << 10), (Scheme::Doubling, 1, FLAT));
    assert_eq!(first(OpenMpi4, Allreduce, (3, 3), 64 << 10), (Scheme::Ring, 1, FLAT));
    assert_eq!(first(OpenMpi4, Allreduce, (200, 8), 64 << 10), (Scheme::Binomial, 2, FLAT));
    assert_eq!(first(OpenMpi4, ReduceScatter, (16, 8), 512 << 10), (Scheme::RingOnce, 1, FLAT));
    // By the block, 512 KiB: Reduce, then Scatter.
    assert_eq!(first(OpenMpi4, ReduceScatterBlock, (16, 8), 8 << 20), (Scheme::Binomial, 2, FLAT));
    assert_eq!(first(OpenMpi4, ReduceScatterBlock, (16, 8), 1 << 20), (Scheme::Halving, 1, FLAT));
    assert_eq!(first(OpenMpi5, Allreduce, (16, 8), 1 << 20), (Scheme::Binomial, 2, Among::Nodes));
    assert_eq!(first(OpenMpi5, Allreduce, (16, 16), 1 << 20), (Scheme::Rabenseifner, 1, FLAT));
    assert_eq!(first(Mpich, Reduce, (16, 8), 1 << 20), (Scheme::RabenseifnerOfAll, 1, Among::Nodes));
    assert_eq!(first(Mpich, ReduceScatterBlock, (16, 8), 1 << 20), (Scheme::Pairwise, 1, FLAT));
    // In Open MPI 5 the Reduce of a Reduce_scatter_block is coll/han's, and where nodes differ coll/tuned's.
    assert_eq!(first(OpenMpi5, ReduceScatterBlock, (16, 8), 8 << 20), (Scheme::Binomial, 2, Among::Nodes));
    let uneven = Shape { ranks: 10, nodes: 3, is_even: false };
    let of = |collective| parts(OpenMpi5, collective, uneven, 1 << 20)[0].among;
    assert_eq!((of(Reduce), of(Allreduce), of(Bcast), of(Gather)), (FLAT, Among::Nodes, FLAT, FLAT));
}

/// Short blocks of an Allgatherv among eight to fifteen: all to the first rank, and the whole vector from there.
#[test]
fn open_mpi_gathers_short_blocks_of_few_ranks_at_one() {
    let of =
        |ranks, block| parts(OpenMpi4, Allgatherv, Shape { ranks, nodes: 2, is_even: false }, block * u64::from(ranks));
    for (ranks, block, bcast) in [(8, 256, Scheme::Knomial), (15, 1023, Scheme::Binary)] {
        let schemes: Vec<Scheme> = of(ranks, block).iter().map(|part| part.scheme).collect();
        assert_eq!(schemes, [Scheme::GatherLinear, bcast]);
        assert_eq!(of(ranks, 1024).len(), 1);
    }
}

#[test]
fn choices_of_open_mpi_for_what_moves_data() {
    let of = |collective, ranks, bytes| {
        // One rank on each node: coll/han has nothing to do.
        let (scheme, parts, among) = first(OpenMpi5, collective, (ranks, ranks), bytes);
        assert_eq!((first(OpenMpi4, collective, (ranks, 2), bytes), parts, among), ((scheme, 1, FLAT), 1, FLAT));
        scheme
    };
    for (ranks, kib, scheme) in [
        (3, 16, Scheme::LinearBcast),
        (3, 200, Scheme::ChainBcast),
        (2, 2048, Scheme::Binary),
        (7, 512, Scheme::LinearBcast),
        (7, 1024, Scheme::ChainBcast),
        (8, 8, Scheme::Binary),
        (15, 16, Scheme::BinomialAtOnce),
        (15, 32, Scheme::LinearBcast),
        (16, 512, Scheme::BinomialAtOnce),
        (31, 1024, Scheme::ScatterDoubling),
        (32, 4096, Scheme::Knomial),
        (200, 16, Scheme::LinearBcast),
        (300, 16, Scheme::SplitBinary),
        (300, 64, Scheme::Knomial),
        (1024, 256, Scheme::Knomial),
        (2048, 256, Scheme::ScatterDoubling),
    ] {
        assert_eq!(of(Bcast, ranks, kib << 10), scheme, "Bcast, {ranks} ranks, {kib} KiB");
    }
    for (collective, ranks, block, scheme) in [
        (Alltoall, 2, 1 << 20, Scheme::AtOnce),
        (Alltoall, 7, 512 << 10, Scheme::Pairwise),
        (Alltoall, 16, 256, Scheme::Bruck),
        (Alltoall, 16, 512, Scheme::AtOnce),
        (Alltoall, 63, 4 << 20, Scheme::AtOnce),
        (Alltoall, 64, 1000, Scheme::Bruck),
        (Alltoall, 64, 256 << 10, Scheme::Pairwise),
        (Alltoall, 300, 16 << 10, Scheme::AtOnce),
        (Alltoall, 300, 32 << 10, Scheme::Pairwise),
        (Alltoall, 1024, 1 << 20, Scheme::AtOnce),
        (Alltoallv, 3, 1 << 10, Scheme::Pairwise),
        (Alltoallv, 63, 1 << 20, Scheme::AtOnce),
        (Alltoallv, 64, 1, Scheme::Pairwise),
        (Alltoallv, 128, 1 << 20, Scheme::AtOnce),
        (Alltoallw, 64, 1, Scheme::AtOnce),
        (Gather, 3, 64 << 10, Scheme::GatherBinomial),
        (Gather, 3, 128 << 10, Scheme::GatherLinear),
        (Gather, 7, 16 << 10, Scheme::GatherBinomial),
        (Gather, 7, 32 << 10, Scheme::GatherLinear),
        (Gather, 8, 1 << 20, Scheme::GatherBinomial),
        (Gather, 300, 4 << 10, Scheme::GatherLinear),
        (Scatter, 3, 1 << 10, Scheme::Scatter),
        (Scatter, 7, 1 << 10, Scheme::ScatterBinomial),
        (Scatter, 7, 2 << 10, Scheme::Scatter),
        (Scatter, 7, 7 << 10, Scheme::ScatterBinomial),
        (Scatter, 7, 1 << 20, Scheme::Scatter),
        (Scatter, 16, 15 << 10, Scheme::ScatterBinomial),
        (Scatter, 16, 16 << 10, Scheme::Scatter),
        (Scatter, 63, 4 << 10, Scheme::Scatter),
        (Scatter, 63, 8 << 10, Scheme::ScatterBinomial),
        (Scatter, 64, 8 << 10, Scheme::Scatter),
        (Allgather, 2, 1 << 20, Scheme::GatherDoubling),
        (Allgather, 16, 1 << 20, Scheme::GatherDoubling),
        (Allgather, 31, 1 << 10, Scheme::GatherBruck),
        (Allgather, 64, 256, Scheme::GatherDoubling),
        (Allgather, 100, 511, Scheme::GatherBruck),
        (Allgather, 64, 512, Scheme::Neighbor),
        (Allgather, 32, 1 << 10, Scheme::Neighbor),
        (Allgather, 33, 1 << 10, Scheme::RingOnce),
        (Allgather, 32, 64 << 10, Scheme::RingOnce),
        (Allgather, 128, 512 << 10, Scheme::Neighbor),
        (Allgather, 128, 1 << 20, Scheme::RingOnce),
        (Allgather, 1024, 1 << 10, Scheme::GatherDoubling),
        (Allgather, 1024, 1 << 20, Scheme::Neighbor),
        (Allgatherv, 2, 1 << 20, Scheme::RingOnce),
        (Allgatherv, 8, 1 << 10, Scheme::GatherBruck),
        (Allgatherv, 16, 256, Scheme::GatherBruck),
        (Allgatherv, 6, 8 << 10, Scheme::Neighbor),
        (Allgatherv, 7, 1 << 20, Scheme::RingOnce),
        (Allgatherv, 8, 1 << 20, Scheme::GatherBruck),
        (Allgatherv, 16, 255 << 10, Scheme::GatherBruck),
        (Allgatherv, 16, 256 << 10, Scheme::RingOnce),
        (Allgatherv, 128, 4 << 10, Scheme::Neighbor),
        (Allgatherv, 1024, 1 << 20, Scheme::Neighbor),
    ] {
        assert_eq!(of(collective, ranks, block * u64::from(ranks)), scheme, "{collective}, {ranks} ranks, {block}");
    }
    // Nodes of several ranks, all alike, in 5.0.
    let nodes = Among::Nodes;
    assert_eq!(first(OpenMpi5, Bcast, (16, 8), 1 << 20), (Scheme::BinomialAtOnce, 1, nodes));
    assert_eq!(first(OpenMpi5, Bcast, (16, 4), 1 << 20), (Scheme::LinearBcast, 1, nodes));
    // As among as many ranks, with the blocks of a node.
    assert_eq!(first(OpenMpi5, Gather, (16, 8), 1 << 20), (Scheme::GatherBinomial, 1, nodes));
    assert_eq!(first(OpenMpi5, Gather, (16, 4), 128 << 10), (Scheme::GatherLinear, 1, nodes));
    assert_eq!(first(OpenMpi5, Scatter, (16, 8), 64 << 10), (Scheme::ScatterBinomial, 1, nodes));
    assert_eq!(first(OpenMpi5, Scatter, (16, 8), 1 << 20), (Scheme::Scatter, 1, nodes));
    assert_eq!(first(OpenMpi5, Allgather, (16, 8), 1 << 20), (Scheme::GatherDoubling, 1, nodes));
    assert_eq!(first(OpenMpi5, Allgather, (64, 32), 32 << 10), (Scheme::Neighbor, 1, nodes));
    assert_eq!(first(OpenMpi5, Alltoall, (16, 8), 1 << 20), (Scheme::AtOnce, 1, FLAT));
}

/// The lists that MPICH 4.0.2 carries.
#[test]
fn choices_of_mpich_for_what_moves_data() {
    let nodes = Among::Nodes;
    for (collective, shape, bytes, scheme, among) in [
        (Bcast, (16, 16), 12 << 10, Scheme::BinomialInTurn, FLAT),
        (Bcast, (16, 16), 512 << 10, Scheme::ScatterDoubling, FLAT),
        (Bcast, (16, 16), 1 << 20, Scheme::ScatterRing, FLAT),
        (Bcast, (12, 12), 16 << 10, Scheme::ScatterRing, FLAT),
        (Bcast, (7, 7), 1 << 20, Scheme::BinomialInTurn, FLAT),
        // One rank of every node first.
        (Bcast, (6, 2), 1 << 20, Scheme::BinomialInTurn, nodes),
        (Bcast, (16, 8), 64 << 10, Scheme::ScatterDoubling, nodes),
        (Bcast, (16, 4), 64 << 10, Scheme::BinomialInTurn, nodes),
        (Bcast, (16, 8), 512 << 10, Scheme::ScatterDoubling, FLAT),
        (Bcast, (16, 8), 1 << 20, Scheme::ScatterRing, FLAT),
        (Bcast, (12, 4), 12 << 10, Scheme::BinomialInTurn, FLAT),
        (Bcast, (12, 4), 8 << 10, Scheme::BinomialInTurn, nodes),
        (Alltoall, (16, 8), 16 * 256, Scheme::Bruck, FLAT),
        (Alltoall, (7, 7), 7 * 256, Scheme::Batches, FLAT),
        (Alltoall, (16, 8), 16 << 15, Scheme::Batches, FLAT),
        (Alltoall, (16, 8), 16 << 16, Scheme::PairwiseXor, FLAT),
        (Alltoall, (12, 6), 12 << 16, Scheme::Pairwise, FLAT),
        (Alltoallv, (16, 8), 16 << 20, Scheme::Batches, FLAT),
        (Alltoallw, (16, 8), 16 << 20, Scheme::Batches, FLAT),
        (Gather, (16, 8), 16 << 20, Scheme::GatherBinomial, FLAT),
        (Scatter, (16, 8), 16 << 20, Scheme::ScatterBinomial, FLAT),
        (Allgather, (16, 8), 511 << 10, Scheme::GatherDoubling, FLAT),
        (Allgather, (16, 8), 512 << 10, Scheme::RingOnce, FLAT),
        (Allgather, (12, 6), 79 << 10, Scheme::GatherBruck, FLAT),
        (Allgather, (12, 6), 80 << 10, Scheme::RingOnce, FLAT),
    ] {
        assert_eq!(first(Mpich, collective, shape, bytes), (scheme, 1, among), "{collective} {shape:?} {bytes}");
    }
}
