//! What MPICH 4 and 5 choose: their decisions by size, as the library carries them, and which of them are made among
//! one rank of every node.

use super::part::{Part, Shape};
use super::scheme::Scheme;
use crate::collective::Collective;

/// Bytes of the vector up to which a reduction is recursive doubling or a binomial tree.
const SHORT_REDUCTION: u64 = 2 << 10;
/// Bytes of the vector up to which Bcast is a binomial tree.
const SHORT_BCAST: u64 = 12 << 10;
/// Bytes of the vector from which Reduce_scatter is pairwise and Allgather a ring, and over which Bcast is one.
const LONG: u64 = 512 << 10;
/// Bytes of all blocks from which Allgather is a ring where the number of ranks is no power of two.
const LONG_ODD: u64 = 80 << 10;
/// Bytes of a block up to which Alltoall goes by Bruck's algorithm, and up to which it is posted at once.
const SHORT_BLOCK: u64 = 256;
const MIDDLE_BLOCK: u64 = 32 << 10;
/// Ranks from which there is more than a binomial tree or an exchange.
const FEW: u32 = 8;

/// The algorithms of a call.
pub fn parts(collective: Collective, shape: Shape, bytes: u64) -> Vec<Part> {
    let ranks = shape.ranks;
    let scheme = match collective {
        Collective::Reduce | Collective::Allreduce => {
            let short = if collective == Collective::Reduce { Scheme::Binomial } else { Scheme::Doubling };
            // The end of Reduce gathers to the root what the end of Allreduce gives to all.
            return vec![Part::of_nodes(if bytes <= SHORT_REDUCTION { short } else { Scheme::RabenseifnerOfAll })];
        }
        Collective::Bcast => return vec![bcast(shape, bytes)],
        Collective::ReduceScatter | Collective::ReduceScatterBlock if bytes < LONG => Scheme::Halving,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Scheme::Pairwise,
        Collective::Gather => Scheme::GatherBinomial,
        Collective::Gatherv => Scheme::GatherLinear,
        Collective::Scatter => Scheme::ScatterBinomial,
        Collective::Scatterv => Scheme::Scatter,
        Collective::Allgather | Collective::Allgatherv => match ranks.is_power_of_two() {
            true if bytes < LONG => Scheme::GatherDoubling,
            false if bytes < LONG_ODD => Scheme::GatherBruck,
            _ => Scheme::RingOnce,
        },
        Collective::Alltoallv | Collective::Alltoallw => Scheme::Batches,
        Collective::Alltoall => match shape.block(bytes) {
            ..=SHORT_BLOCK if ranks >= FEW => Scheme::Bruck,
            ..=MIDDLE_BLOCK => Scheme::Batches,
            _ if ranks.is_power_of_two() => Scheme::PairwiseXor,
            _ => Scheme::Pairwise,
        },
    };
    vec![scheme.into()]
}

/// Shorter ones go to one rank of every node first.
fn bcast(shape: Shape, bytes: u64) -> Part {
    let Shape { ranks, nodes, .. } = shape;
    let flat_from = match ranks {
        ..FEW => u64::MAX,
        _ if ranks.is_power_of_two() => LONG,
        _ => SHORT_BCAST,
    };
    let among_nodes = nodes < ranks && bytes < flat_from;
    let members = if among_nodes { nodes } else { ranks };
    let scheme = match bytes {
        _ if members < FEW => Scheme::BinomialInTurn,
        ..=SHORT_BCAST => Scheme::BinomialInTurn,
        ..=LONG if members.is_power_of_two() => Scheme::ScatterDoubling,
        _ => Scheme::ScatterRing,
    };
    if among_nodes { Part::of_nodes(scheme) } else { scheme.into() }
}
