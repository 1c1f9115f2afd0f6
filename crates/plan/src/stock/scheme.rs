//! The algorithms of MPI libraries for reductions, as rounds of transfers between members.
//!
//! ```text
//!   binomial, 8 members      round 0   1→0  3→2  5→4  7→6        the whole vector each
//!                            round 1   2→0       6→4
//!                            round 2   4→0
//!   halving, nearest first   round k   member m ↔ m ^ 2^k        1 / 2^(k+1) of the vector
//! ```
//!
//! Rabenseifner's algorithm, recursive halving, doubling, ring, pairwise: Thakur, Rabenseifner, Gropp 2005; butterfly:
//! Traff 2005 (docs/provenance.md).

/// An algorithm, among members 0, 1, 2 …; member 0 is the root.
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
    /// Halving, the nearest first, then doubling.
    Rabenseifner,
    /// The first half of [`Self::Rabenseifner`], the farthest first.
    Halving,
    /// The same with the nearest first; then every block goes to where it belongs.
    Butterfly,
    /// Every block around all members.
    RingScatter,
    /// The same twice.
    Ring,
    /// Every member receives from every other what it combines.
    Pairwise,
    /// The root sends every member its block.
    Scatter,
}

/// Transfers at the same time, `times` after one another.
pub struct Transfers {
    /// How often.
    pub times: u32,
    /// Of the vector, in each.
    pub share: f64,
    /// Sender and receiver.
    pub pairs: Vec<(u32, u32)>,
}

impl Scheme {
    /// How many there are.
    pub const COUNT: usize = Self::Scatter as usize + 1;
}

/// The rounds of `scheme` among `members`; `None` if there are more than `most` transfers.
pub fn rounds(scheme: Scheme, members: u32, most: usize) -> Option<Vec<Transfers>> {
    let all = members as usize;
    // Of the steps of an exchange in pairs, which are all alike but for the distance, some stand for all.
    let looked_at = ((most / all.max(1)) as u32).min(members.saturating_sub(1));
    let work = match scheme {
        Scheme::Pairwise => all,
        _ => all.saturating_mul(2 * (all.max(2).ilog2() as usize + 2)),
    };
    if work > most {
        return None;
    }
    let block = 1.0 / f64::from(members);
    let once = |share, pairs| Transfers { times: 1, share, pairs };
    Some(match scheme {
        Scheme::Linear => vec![once(1.0, (1..members).map(|m| (m, 0)).collect())],
        Scheme::Scatter => vec![once(block, (1..members).map(|m| (0, m)).collect())],
        Scheme::Chain => (1..members).rev().map(|m| once(1.0, vec![(m, m - 1)])).collect(),
        Scheme::Binomial => (0..levels(members)).map(|k| once(1.0, binomial(members, k))).collect(),
        Scheme::Ring | Scheme::RingScatter => {
            let times = (members - 1) * if scheme == Scheme::Ring { 2 } else { 1 };
            vec![Transfers { times, share: block, pairs: (0..members).map(|m| (m, (m + 1) % members)).collect() }]
        }
        Scheme::Pairwise => {
            let step = |k: u32| (0..members).map(|m| (m, (m + k) % members)).collect();
            let steps = u64::from(members - 1);
            let of = |nth: u32| (u64::from(nth) * steps / u64::from(looked_at)) as u32;
            let transfers = |nth| Transfers { times: of(nth + 1) - of(nth), share: block, pairs: step(1 + of(nth)) };
            (0..looked_at).map(transfers).collect()
        }
        Scheme::Doubling => {
            let folded = Folded::new(members);
            let steps = (0..folded.levels()).map(|k| once(1.0, folded.exchange(k)));
            [once(1.0, folded.fold())].into_iter().chain(steps).chain([once(1.0, folded.unfold())]).collect()
        }
        Scheme::Rabenseifner => {
            let folded = Folded::new(members);
            // Half of the vector each way, and one half back.
            let both = folded.fold().into_iter().chain(folded.unfold()).collect();
            let halving = (0..folded.levels()).map(|k| once(half(k), folded.exchange(k)));
            let doubling = (0..folded.levels()).rev().map(|k| once(half(k), folded.exchange(k)));
            let folding = [once(0.5, both), once(0.5, folded.fold())];
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

/// Of the vector, in step `k` of halving.
fn half(k: u32) -> f64 {
    0.5f64.powi(k as i32 + 1)
}

/// The logarithm of `members`, rounded up.
fn levels(members: u32) -> u32 {
    members.next_power_of_two().ilog2()
}

/// The transfers of level `k`: members whose lowest bit it is send to those without it.
fn binomial(members: u32, k: u32) -> Vec<(u32, u32)> {
    (0..members).filter(|m| m & ((2 << k) - 1) == 1 << k).map(|m| (m, m - (1 << k))).collect()
}

/// A power of two of the members: of the first ones, every second leaves its part to its neighbour.
struct Folded {
    /// Members that are left.
    kept: u32,
    /// Pairs of which one is left.
    pairs: u32,
}

impl Folded {
    fn new(members: u32) -> Self {
        let kept = 1 << members.ilog2();
        Self { kept, pairs: members - kept }
    }

    fn levels(&self) -> u32 {
        self.kept.ilog2()
    }

    /// The member that takes place `place` of those that are left.
    fn member(&self, place: u32) -> u32 {
        if place < self.pairs { 2 * place } else { place + self.pairs }
    }

    fn fold(&self) -> Vec<(u32, u32)> {
        (0..self.pairs).map(|pair| (2 * pair + 1, 2 * pair)).collect()
    }

    fn unfold(&self) -> Vec<(u32, u32)> {
        (0..self.pairs).map(|pair| (2 * pair, 2 * pair + 1)).collect()
    }

    fn exchange(&self, k: u32) -> Vec<(u32, u32)> {
        (0..self.kept).map(|place| (self.member(place), self.member(place ^ (1 << k)))).collect()
    }

    /// From every place to the one with its bits in the other order.
    fn mirror(&self) -> Vec<(u32, u32)> {
        let bits = self.levels();
        let reversed = |place: u32| if bits == 0 { 0 } else { place.reverse_bits() >> (32 - bits) };
        (0..self.kept).map(|place| (self.member(place), self.member(reversed(place)))).collect()
    }
}
