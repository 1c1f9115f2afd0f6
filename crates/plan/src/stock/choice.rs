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
    /// Open MPI 4.1, without `coll/han` by default. Older ones have other tables.
    OpenMpi4,
    /// Open MPI 5.0, with it.
    OpenMpi5,
    /// MPICH 4 and 5. What is made from it decides by tables of its own.
    Mpich,
}

impl Library {
    /// The code of none.
    pub const UNKNOWN: u16 = 0;

    /// A number that ranks can tell each other.
    pub fn code(self) -> u16 {
        self as u16 + 1
    }

    /// The library of that number.
    pub fn of_code(code: u16) -> Option<Self> {
        [Self::OpenMpi4, Self::OpenMpi5, Self::Mpich].into_iter().find(|library| library.code() == code)
    }

    /// By what the library calls itself: `Open MPI v4.1.4`, `MPICH Version: 4.0.2`.
    pub fn from_version(version: &str) -> Option<Self> {
        let version = version.trim();
        let of = |name: &str| version.strip_prefix(name).map(|rest| rest.trim_start().split('.'));
        match (of("MPICH Version:"), of("Open MPI v")) {
            (Some(mut mpich), _) => matches!(mpich.next(), Some("4" | "5")).then_some(Self::Mpich),
            (_, Some(mut open)) => match (open.next(), open.next()) {
                (Some("4"), Some("1")) => Some(Self::OpenMpi4),
                (Some("5"), Some("0")) => Some(Self::OpenMpi5),
                _ => None,
            },
            _ => None,
        }
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

/// Where a call runs.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub ranks: u32,
    pub nodes: u32,
    /// Whether all nodes have as many ranks.
    pub is_even: bool,
}

/// The algorithms that `library` runs after one another for a reduction of a vector of `bytes`; `None` for what is no
/// reduction.
pub fn parts(library: Library, collective: Collective, shape: Shape, bytes: u64) -> Option<Vec<Part>> {
    let Shape { ranks, nodes, is_even } = shape;
    let whole = matches!(collective, Collective::Reduce | Collective::Allreduce);
    if !whole && !matches!(collective, Collective::ReduceScatter | Collective::ReduceScatterBlock) {
        return None;
    }
    let schemes: Vec<Scheme> = match library {
        // Where nodes differ, its Reduce is left to `coll/tuned`.
        Library::OpenMpi5 if whole && nodes < ranks && (is_even || collective == Collective::Allreduce) => {
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
            _ => match tuned_reduce_scatter_block(ranks, bytes) {
                Some(scheme) => vec![scheme],
                // Reduce, by whatever component carries it out, then Scatter.
                None => {
                    let reduce = parts(library, Collective::Reduce, shape, bytes)?;
                    return Some(reduce.into_iter().chain([Part::from(Scheme::Scatter)]).collect());
                }
            },
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

/// By the bytes of a block, as the library does; `None`: it is done by other collectives.
fn tuned_reduce_scatter_block(ranks: u32, bytes: u64) -> Option<Scheme> {
    match (ranks, (bytes / u64::from(ranks.max(1))) >> 10) {
        (..4, ..128) | (8..16, 4096..) | (16..32, 4096..) | (32.., ..64 | 256..) => Some(Scheme::Butterfly),
        (4..8, ..1024) | (8..32, ..512) | (16..32, 2048..) => Some(Scheme::Halving),
        _ => None,
    }
}
