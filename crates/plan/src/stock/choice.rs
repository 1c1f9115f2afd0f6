//! What MPI libraries are known to choose for reductions by operations that commute.
//!
//! Open MPI 4.1 and 5.0: `coll/tuned`, its fixed decisions (the same table in both); in 5.0 `coll/han` carries out
//! Reduce and Allreduce where nodes have several ranks. MPICH 4 and 5: its decisions by size, for Reduce and Allreduce
//! among one rank of every node. Sizes below those at which Nagare carries out a collective are left out.

use super::Among;
use super::scheme::Scheme;
use crate::collective::Collective;

/// An MPI library, as far as its choice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Open MPI, without `coll/han` by default: up to 4.1.
    OpenMpi4,
    /// Open MPI with it.
    OpenMpi5,
    /// MPICH, and what is made from it.
    Mpich,
}

impl Library {
    /// By what the library calls itself: `Open MPI v4.1.4`, `MPICH Version: 4.0.2`.
    pub fn from_version(version: &str) -> Option<Self> {
        let version = version.trim();
        if version.starts_with("MPICH") {
            return Some(Self::Mpich);
        }
        let major = version.strip_prefix("Open MPI v")?.split('.').next()?.parse::<u32>().ok()?;
        Some(if major >= 5 { Self::OpenMpi5 } else { Self::OpenMpi4 })
    }
}

/// One algorithm of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub scheme: Scheme,
    pub among: Among,
    /// Bytes of the segments that follow one another through it.
    pub pipelined: Option<u64>,
}

impl From<Scheme> for Part {
    fn from(scheme: Scheme) -> Self {
        Self { scheme, among: Among::Ranks, pipelined: None }
    }
}

/// Bytes of a segment of `coll/han`.
const HAN_SEGMENT: u64 = 64 << 10;

/// Bytes of the vector up to which MPICH uses recursive doubling or a binomial tree.
const MPICH_SHORT: u64 = 2 << 10;
/// Bytes of the vector from which MPICH's Reduce_scatter is pairwise.
const MPICH_LONG: u64 = 512 << 10;

/// The algorithms that `library` runs after one another for a reduction of a vector of `bytes`, on so many ranks and
/// nodes; `None` for what is no reduction.
pub fn parts(library: Library, collective: Collective, of: (u32, u32), bytes: u64) -> Option<Vec<Part>> {
    let (ranks, nodes) = of;
    let whole = matches!(collective, Collective::Reduce | Collective::Allreduce);
    if !whole && !matches!(collective, Collective::ReduceScatter | Collective::ReduceScatterBlock) {
        return None;
    }
    let schemes: Vec<Scheme> = match library {
        Library::OpenMpi5 if whole && nodes < ranks => {
            let tree = Part { scheme: Scheme::Binomial, among: Among::Nodes, pipelined: Some(HAN_SEGMENT) };
            let passes = if collective == Collective::Allreduce { 2 } else { 1 };
            return Some(vec![tree; passes]);
        }
        Library::Mpich if whole => {
            let short = if collective == Collective::Reduce { Scheme::Binomial } else { Scheme::Doubling };
            // The end of Reduce gathers to the root what the end of Allreduce gives to all.
            let scheme = if bytes <= MPICH_SHORT { short } else { Scheme::Rabenseifner };
            return Some(vec![Part { scheme, among: Among::Nodes, pipelined: None }]);
        }
        Library::Mpich => vec![if bytes < MPICH_LONG { Scheme::Halving } else { Scheme::Pairwise }],
        Library::OpenMpi4 | Library::OpenMpi5 => match collective {
            Collective::Reduce => vec![tuned_reduce(ranks, bytes)],
            Collective::Allreduce => tuned_allreduce(ranks, bytes),
            Collective::ReduceScatter => vec![tuned_reduce_scatter(ranks, bytes)],
            _ => tuned_reduce_scatter_block(ranks, bytes),
        },
    };
    Some(schemes.into_iter().map(Part::from).collect())
}

fn tuned_reduce(ranks: u32, bytes: u64) -> Scheme {
    match (ranks, bytes >> 10) {
        (..4, ..256) => Scheme::Linear,
        (..4, _) | (4..8, ..64) => Scheme::Chain,
        (4..8, 256..512 | 1024..) => Scheme::Linear,
        _ => Scheme::Binomial,
    }
}

fn tuned_allreduce(ranks: u32, bytes: u64) -> Vec<Scheme> {
    match (ranks, bytes >> 10) {
        (..4, 16..256) => vec![Scheme::Ring],
        (..4, ..16) | (64..128, ..256) | (128..256, 128..256) | (512.., ..16) => vec![Scheme::Doubling],
        // Reduce, then Bcast.
        (128..256, ..128) => vec![Scheme::Binomial, Scheme::Binomial],
        _ => vec![Scheme::Rabenseifner],
    }
}

fn tuned_reduce_scatter(ranks: u32, bytes: u64) -> Scheme {
    match (ranks, bytes >> 10) {
        (..4, 64..128) | (32..64, 2..512) | (64.., _) => Scheme::Butterfly,
        (4..32, ..256) | (32..64, ..2) => Scheme::Halving,
        _ => Scheme::RingScatter,
    }
}

/// By the bytes of a block, as the library does.
fn tuned_reduce_scatter_block(ranks: u32, bytes: u64) -> Vec<Scheme> {
    let scheme = match (ranks, (bytes / u64::from(ranks.max(1))) >> 10) {
        (..4, ..128) | (8..16, 4096..) | (16..32, 4096..) | (32.., ..64 | 256..) => Scheme::Butterfly,
        (4..8, ..1024) | (8..32, ..512) | (16..32, 2048..) => Scheme::Halving,
        // Reduce, then Scatter.
        _ => return vec![tuned_reduce(ranks, bytes), Scheme::Scatter],
    };
    vec![scheme]
}
