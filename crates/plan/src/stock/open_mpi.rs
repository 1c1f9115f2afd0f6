//! What Open MPI 4.1 and 5.0 choose: `coll/tuned`, its fixed decisions (the same table in both), whose algorithms cut
//! no vector into segments, and `coll/han` of 5.0, which carries out some collectives where nodes have several ranks.
//! What differs only below 1 KiB is left out, but for blocks of an Alltoall, and for those of 256 bytes and more that
//! Allgather and Reduce_scatter have.

use super::part::{Among, Part, Pipeline, Shape};
use super::scheme::Scheme;
use crate::collective::Collective;

/// Bytes of a segment of `coll/han`.
const HAN_SEGMENT: u64 = 64 << 10;
/// Nodes up to which the root sends to all of them.
const FEW_NODES: u32 = 4;

/// The algorithms of a call; `is_han`: of 5.0.
pub fn parts(collective: Collective, shape: Shape, bytes: u64, is_han: bool) -> Vec<Part> {
    if let Some(parts) = is_han.then(|| han(collective, shape, bytes)).flatten() {
        return parts;
    }
    let (ranks, block) = (shape.ranks, shape.block(bytes));
    let scheme = match collective {
        Collective::Reduce => reduce(ranks, bytes),
        Collective::Bcast => bcast(ranks, bytes),
        Collective::Allreduce => return allreduce(ranks, bytes).into_iter().map(Part::from).collect(),
        Collective::Alltoall => alltoall(ranks, block),
        Collective::Alltoallv => alltoallv(ranks),
        Collective::Alltoallw => Scheme::AtOnce,
        Collective::Gather => gather(ranks, block),
        Collective::Gatherv => Scheme::GatherLinear,
        Collective::Scatter => scatter(ranks, block),
        Collective::Scatterv => Scheme::Scatter,
        Collective::Allgather => allgather(ranks, block),
        Collective::Allgatherv => match allgatherv(ranks, block) {
            Some(scheme) => scheme,
            // Gatherv, then Bcast, by whatever component carries it out.
            None => {
                let bcast = parts(Collective::Bcast, shape, bytes, is_han);
                return [Part::from(Scheme::GatherLinear)].into_iter().chain(bcast).collect();
            }
        },
        Collective::ReduceScatter => reduce_scatter(ranks, bytes),
        Collective::ReduceScatterBlock => match reduce_scatter_block(ranks, block) {
            Some(scheme) => scheme,
            // Reduce, by whatever component carries it out, then Scatter.
            None => {
                let reduce = parts(Collective::Reduce, shape, bytes, is_han);
                return reduce.into_iter().chain([Part::from(Scheme::Scatter)]).collect();
            }
        },
    };
    vec![scheme.into()]
}

/// The algorithms of `coll/han`, `None` for what it leaves to `coll/tuned`.
fn han(collective: Collective, shape: Shape, bytes: u64) -> Option<Vec<Part>> {
    let Shape { ranks, nodes, is_even } = shape;
    // Where nodes differ it leaves all but Allreduce.
    if nodes == ranks || (!is_even && collective != Collective::Allreduce) {
        return None;
    }
    let segments = |scheme, overlaps| {
        let pipeline = Some(Pipeline { segment: HAN_SEGMENT, overlaps });
        Part { scheme, among: Among::Nodes, pipeline }
    };
    let to_all = if nodes <= FEW_NODES { Scheme::LinearBcast } else { Scheme::BinomialAtOnce };
    Some(match collective {
        Collective::Reduce => vec![segments(Scheme::Binomial, false)],
        Collective::Allreduce => vec![segments(Scheme::Binomial, false); 2],
        Collective::Bcast => vec![segments(to_all, true)],
        // As `coll/tuned`, among nodes with the blocks of their ranks.
        Collective::Gather => vec![Part::of_nodes(gather(nodes, bytes / u64::from(nodes)))],
        Collective::Scatter => vec![Part::of_nodes(scatter(nodes, bytes / u64::from(nodes)))],
        Collective::Allgather => vec![Part::of_nodes(allgather(nodes, bytes / u64::from(nodes)))],
        _ => return None,
    })
}

fn reduce(ranks: u32, bytes: u64) -> Scheme {
    match (ranks, bytes >> 10) {
        (..4, ..256) => Scheme::Linear,
        (..4, _) | (4..8, ..64) => Scheme::Chain,
        (4..8, 256..512 | 1024..) => Scheme::Linear,
        _ => Scheme::Binomial,
    }
}

fn allreduce(ranks: u32, bytes: u64) -> Vec<Scheme> {
    match (ranks, bytes >> 10) {
        (..4, 16..256) => vec![Scheme::Ring],
        (..4, ..16) | (64..128, ..256) | (128..256, 128..256) | (512.., ..16) => vec![Scheme::Doubling],
        // Reduce, then Bcast.
        (128..256, ..128) => vec![Scheme::Binomial, Scheme::Binomial],
        _ => vec![Scheme::Rabenseifner],
    }
}

fn bcast(ranks: u32, bytes: u64) -> Scheme {
    match (ranks, bytes >> 10) {
        (..4, ..32 | 256..512) | (4..8, 8..1024) | (8..16, 32..) | (128..256, 16..32) => Scheme::LinearBcast,
        (..4, 128..256) | (4..8, 1024..) => Scheme::ChainBcast,
        (..4, 512..1024) | (4..8, 2..8) | (8..16, 16..32) | (16..32, 4..1024) | (32..64, ..2) => Scheme::BinomialAtOnce,
        (..4, _) | (4..8, ..2) | (8..16, 4..16) | (128..256, ..16 | 32..64) | (4096.., 8..16) => Scheme::Binary,
        (16..32, 1024..) | (1024..2048, 512..) | (2048.., 256..) => Scheme::ScatterDoubling,
        (256..1024, 16..32) => Scheme::SplitBinary,
        _ => Scheme::Knomial,
    }
}

/// By the bytes of a block, as all below.
fn alltoall(ranks: u32, block: u64) -> Scheme {
    match (ranks, block) {
        (16..32, 4..512) | (32..64 | 512..2048, ..512) => Scheme::Bruck,
        (64..512 | 2048..4096, ..1024) | (4096.., ..2048) => Scheme::Bruck,
        (3..8, 0x8_0000..0x10_0000) => Scheme::Pairwise,
        (64..256 | 512..1024, 0x4_0000..) | (256..512, 0x8000..) => Scheme::Pairwise,
        // Whether it waits for the receiver or not.
        _ => Scheme::AtOnce,
    }
}

/// Whatever its sizes.
fn alltoallv(ranks: u32) -> Scheme {
    match ranks {
        ..4 | 64..128 | 256..1024 => Scheme::Pairwise,
        _ => Scheme::AtOnce,
    }
}

fn gather(ranks: u32, block: u64) -> Scheme {
    match (ranks, block >> 10) {
        (..4, 32..64 | 128..) | (4..8, 1..8 | 32..) | (256..512, 2..8) => Scheme::GatherLinear,
        _ => Scheme::GatherBinomial,
    }
}

fn scatter(ranks: u32, block: u64) -> Scheme {
    match (ranks, block >> 10) {
        (4..8, ..2 | 4..8) | (8..32, ..16) | (32..64, 8..16) => Scheme::ScatterBinomial,
        (32.., 0) if block < 512 => Scheme::ScatterBinomial,
        _ => Scheme::Scatter,
    }
}

fn allgather(ranks: u32, block: u64) -> Scheme {
    let ring = match (ranks, block >> 10) {
        (32..128, 64..) | (128..512, 128..512 | 1024..) => true,
        (64..256, _) if block >= 512 => false,
        (32..64, 1..) | (256..512, 1..) | (512..1024, 2..) | (1024.., 4..) => false,
        _ if ranks.is_power_of_two() => return Scheme::GatherDoubling,
        _ => return Scheme::GatherBruck,
    };
    // Neighbors are pairs.
    if ring || ranks % 2 == 1 { Scheme::RingOnce } else { Scheme::Neighbor }
}

/// By the mean block. `None`: it is done by other collectives.
fn allgatherv(ranks: u32, block: u64) -> Option<Scheme> {
    let neighbor = match (ranks, block >> 10) {
        (8..16, 0) => return None,
        (3..8, ..4 | 8..16 | 256..) | (128..256, 1..64) | (512..1024, 4..1024) | (1024.., 4..) => true,
        (3..8, 16..256) | (8..16, _) | (16..32, ..256) | (32..64, ..8) | (64..128, ..4) => {
            return Some(Scheme::GatherBruck);
        }
        (128..512, ..1) | (512.., ..4) => return Some(Scheme::GatherBruck),
        _ => false,
    };
    // Neighbors are pairs.
    Some(if neighbor && ranks % 2 == 0 { Scheme::Neighbor } else { Scheme::RingOnce })
}

fn reduce_scatter(ranks: u32, bytes: u64) -> Scheme {
    match (ranks, bytes >> 10) {
        (..4, 64..128) | (32..64, 2..512) | (64.., _) => Scheme::Butterfly,
        (4..32, ..256) | (32..64, ..2) => Scheme::Halving,
        _ => Scheme::RingOnce,
    }
}

/// `None`: it is done by other collectives.
fn reduce_scatter_block(ranks: u32, block: u64) -> Option<Scheme> {
    match (ranks, block >> 10) {
        (..4, ..128) | (8..16, 4096..) | (16..32, 4096..) | (32.., ..64 | 256..) => Some(Scheme::Butterfly),
        (4..8, ..1024) | (8..32, ..512) | (16..32, 2048..) => Some(Scheme::Halving),
        _ => None,
    }
}
