//! The algorithms of MPI libraries, as rounds of transfers between members.
//!
//! ```text
//!   binomial, 8 members      round 0   1→0  3→2  5→4  7→6        the whole vector each
//!                            round 1   2→0       6→4
//!                            round 2   4→0
//!   halving, nearest first   round k   member m ↔ m ^ 2^k        1 / 2^(k+1) of the vector
//!   all at once, 3 members   round 0   0→1 0→2 1→0 1→2 2→0 2→1   a block each, 1 / 3 of a member's vector
//! ```
//!
//! Rabenseifner's algorithm, recursive halving, doubling, ring, pairwise, Bruck's algorithms, a Bcast that scatters and
//! gathers: Thakur, Rabenseifner, Gropp 2005; butterfly: Traff 2005; neighbors: Chen, Zhang, Zhang, Yuan 2005
//! (docs/provenance.md).

use super::folded::Folded;
use super::{gathering, trees};
use crate::cost::{Round, Transfer};

/// An algorithm, among members 0, 1, 2 …; member 0 is the root. The vector is that of a member, and where there are
/// blocks all of those together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// All send the vector to the root.
    Linear,
    /// The vector goes from member to member, the last one first.
    Chain,
    /// A tree: a member sends once it has received from all of its own.
    Binomial,
    /// Pairs exchange and combine whole vectors.
    Doubling,
    /// Halving, the nearest first, then doubling. Of members beyond a power of two each gives half to a neighbour.
    Rabenseifner,
    /// The same, but these give all of theirs.
    RabenseifnerOfAll,
    /// The first half of [`Self::Rabenseifner`], the farthest first.
    Halving,
    /// The same with the nearest first; then every block goes to where it belongs.
    Butterfly,
    /// Every block around all members.
    RingOnce,
    /// The same twice.
    Ring,
    /// Every member receives a block from every other, one after another, the nearest first.
    Pairwise,
    /// The root sends every member its block.
    Scatter,
    /// The root sends all the vector.
    LinearBcast,
    /// The vector goes from member to member, the first one first.
    ChainBcast,
    /// A binary tree: a member sends to both of its own at once.
    Binary,
    /// The same with half of the vector in either half of the tree; then pairs exchange them.
    SplitBinary,
    /// A binomial tree whose first members are next to the root; a member sends to all of its own at once.
    BinomialAtOnce,
    /// The tree of [`Self::Binomial`] from its root; a member sends to its own one after another, the farthest first.
    BinomialInTurn,
    /// A tree like [`Self::Binomial`] of radix 4; a member sends to all of its own at once.
    Knomial,
    /// [`Self::ScatterBinomial`], then [`Self::GatherDoubling`].
    ScatterDoubling,
    /// The same, then [`Self::RingOnce`].
    ScatterRing,
    /// Blocks go down the tree of [`Self::BinomialInTurn`].
    ScatterBinomial,
    /// All send their block to the root.
    GatherLinear,
    /// All blocks of a part of the tree of [`Self::Binomial`] go on together.
    GatherBinomial,
    /// Pairs exchange all blocks that they have, the nearest first.
    GatherDoubling,
    /// Every member sends the blocks that it has to one before it: the next, that before the next, the fourth …
    GatherBruck,
    /// Pairs exchange the two blocks that they received last, with one neighbor and the other in turn.
    Neighbor,
    /// Every member sends a block to every other at once.
    AtOnce,
    /// The same to so many at once as MPICH does.
    Batches,
    /// [`Self::Pairwise`] with a power of two of members, in pairs.
    PairwiseXor,
    /// Blocks go as far as the binary digits of their way say, those of a digit together.
    Bruck,
}

impl Scheme {
    /// How many there are.
    pub const COUNT: usize = Self::Bruck as usize + 1;

    /// About how many transfers there are at most.
    fn transfers(self, members: usize) -> usize {
        match self {
            Self::Pairwise | Self::PairwiseXor => members,
            Self::AtOnce | Self::Batches => members.saturating_mul(members.saturating_sub(1)),
            _ => members.saturating_mul(2 * (members.max(2).ilog2() as usize + 2)),
        }
    }
}

/// Members to which a member sends at once where MPICH posts an Alltoall.
const BATCH: u32 = 32;

/// The rounds of `scheme` among `members`; `None` if there are more than `most` transfers.
pub fn rounds(scheme: Scheme, members: u32, most: usize) -> Option<Vec<Round>> {
    if scheme.transfers(members as usize) > most {
        return None;
    }
    let block = 1.0 / f64::from(members);
    let once = |share, pairs| Round::of(1, share, pairs);
    Some(match scheme {
        Scheme::Linear => vec![once(1.0, (1..members).map(|m| (m, 0)).collect())],
        Scheme::GatherLinear => vec![once(block, (1..members).map(|m| (m, 0)).collect())],
        Scheme::Scatter => vec![once(block, (1..members).map(|m| (0, m)).collect())],
        Scheme::LinearBcast => vec![once(1.0, (1..members).map(|m| (0, m)).collect())],
        Scheme::Chain => (1..members).rev().map(|m| once(1.0, vec![(m, m - 1)])).collect(),
        Scheme::ChainBcast => (1..members).map(|m| once(1.0, vec![(m - 1, m)])).collect(),
        Scheme::Binomial => (0..trees::levels(members)).map(|k| once(1.0, trees::binomial(members, k))).collect(),
        Scheme::BinomialInTurn => trees::in_turn(members, |_| 1.0),
        Scheme::BinomialAtOnce => trees::at_once(members, 1.0, trees::after_the_root),
        Scheme::Binary => trees::at_once(members, 1.0, trees::binary),
        Scheme::Knomial => trees::at_once(members, 1.0, trees::radix_4),
        Scheme::SplitBinary => {
            let tree = trees::at_once(members, 0.5, trees::binary);
            tree.into_iter().chain([once(0.5, trees::other_halves(members))]).collect()
        }
        Scheme::GatherBinomial => {
            let mut rounds = trees::in_turn(members, |below| f64::from(below) * block);
            rounds.reverse();
            rounds.iter_mut().flat_map(|round| &mut round.transfers).for_each(Transfer::turn);
            rounds
        }
        Scheme::ScatterBinomial => trees::in_turn(members, |below| f64::from(below) * block),
        Scheme::ScatterDoubling | Scheme::ScatterRing => {
            let scatter = rounds(Scheme::ScatterBinomial, members, most)?;
            let gather = if scheme == Scheme::ScatterRing { Scheme::RingOnce } else { Scheme::GatherDoubling };
            scatter.into_iter().chain(rounds(gather, members, most)?).collect()
        }
        Scheme::GatherDoubling => gathering::doubling(members),
        Scheme::GatherBruck => gathering::bruck(members),
        Scheme::Neighbor => gathering::neighbors(members),
        Scheme::Ring | Scheme::RingOnce => {
            let times = members.saturating_sub(1) * if scheme == Scheme::Ring { 2 } else { 1 };
            vec![Round::of(times, block, (0..members).map(|m| (m, (m + 1) % members)).collect())]
        }
        Scheme::AtOnce => batches(members, members),
        Scheme::Batches => batches(members, BATCH),
        Scheme::Pairwise => sampled(members, most, |m, k| (m + k) % members),
        Scheme::PairwiseXor => sampled(members, most, |m, k| m ^ k),
        Scheme::Bruck => (0..trees::levels(members))
            .map(|k| {
                let moved = (1..members).filter(|way| way >> k & 1 == 1).count() as f64;
                once(moved * block, (0..members).map(|m| (m, (m + (1 << k)) % members)).collect())
            })
            .collect(),
        Scheme::Doubling => {
            let folded = Folded::new(members);
            let steps = (0..folded.levels()).map(|k| once(1.0, folded.exchange(k)));
            [once(1.0, folded.fold())].into_iter().chain(steps).chain([once(1.0, folded.unfold())]).collect()
        }
        Scheme::Rabenseifner | Scheme::RabenseifnerOfAll => {
            let folded = Folded::new(members);
            // Half of the vector each way, and one half back.
            let both = folded.fold().into_iter().chain(folded.unfold()).collect();
            let folding = match scheme {
                Scheme::Rabenseifner => vec![once(0.5, both), once(0.5, folded.fold())],
                _ => vec![once(1.0, folded.fold())],
            };
            let halving = (0..folded.levels()).map(|k| once(half(k), folded.exchange(k)));
            let doubling = (0..folded.levels()).rev().map(|k| once(half(k), folded.exchange(k)));
            folding.into_iter().chain(halving).chain(doubling).chain([once(1.0, folded.unfold())]).collect()
        }
        Scheme::Halving | Scheme::Butterfly => {
            let folded = Folded::new(members);
            let levels = folded.levels();
            let nearest_first = scheme == Scheme::Butterfly;
            let at = |k| if nearest_first { k } else { levels - 1 - k };
            let halving = (0..levels).map(|k| once(half(k), folded.exchange(at(k))));
            let home = if nearest_first { once(block, folded.mirror()) } else { once(block, Vec::new()) };
            let folding = [once(1.0, folded.fold())];
            folding.into_iter().chain(halving).chain([home, once(block, folded.unfold())]).collect()
        }
    })
}

/// Blocks to the members after the own one, so many at once.
fn batches(members: u32, at_once: u32) -> Vec<Round> {
    let block = 1.0 / f64::from(members);
    // Way 0, to itself, is one of the first batch.
    let of = |first: u32| {
        let ways = first.max(1)..(first + at_once).min(members);
        let to = |way: u32| (0..members).map(move |m| (m, (m + way) % members));
        Round::of(1, block, ways.flat_map(to).collect())
    };
    (0..members).step_by(at_once.max(1) as usize).map(of).collect()
}

/// Blocks to one member after another. Of the steps, which are all alike but for the distance, some stand for all.
fn sampled(members: u32, most: usize, partner: impl Fn(u32, u32) -> u32) -> Vec<Round> {
    let steps = u64::from(members.saturating_sub(1));
    let looked_at = ((most / (members as usize).max(1)) as u64).min(steps);
    let of = |nth: u64| (nth * steps / looked_at) as u32;
    let pairs = |k: u32| (0..members).map(|m| (m, partner(m, k))).collect();
    let round = |nth| Round::of(of(nth + 1) - of(nth), 1.0 / f64::from(members), pairs(1 + of(nth)));
    (0..looked_at).map(round).collect()
}

/// Of the vector, in step `k` of halving.
fn half(k: u32) -> f64 {
    0.5f64.powi(k as i32 + 1)
}
