//! A power of two of the members, for halving and doubling.

/// A power of two of the members: of the first ones, every second leaves its part to its neighbour.
pub struct Folded {
    /// Members that are left.
    kept: u32,
    /// Pairs of which one is left.
    pairs: u32,
}

impl Folded {
    pub fn new(members: u32) -> Self {
        let kept = 1 << members.ilog2();
        Self { kept, pairs: members - kept }
    }

    pub fn levels(&self) -> u32 {
        self.kept.ilog2()
    }

    /// The member that takes place `place` of those that are left.
    fn member(&self, place: u32) -> u32 {
        if place < self.pairs { 2 * place } else { place + self.pairs }
    }

    pub fn fold(&self) -> Vec<(u32, u32)> {
        (0..self.pairs).map(|pair| (2 * pair + 1, 2 * pair)).collect()
    }

    pub fn unfold(&self) -> Vec<(u32, u32)> {
        (0..self.pairs).map(|pair| (2 * pair, 2 * pair + 1)).collect()
    }

    pub fn exchange(&self, k: u32) -> Vec<(u32, u32)> {
        (0..self.kept).map(|place| (self.member(place), self.member(place ^ (1 << k)))).collect()
    }

    /// From every place to the one with its bits in the other order.
    pub fn mirror(&self) -> Vec<(u32, u32)> {
        let bits = self.levels();
        let reversed = |place: u32| if bits == 0 { 0 } else { place.reverse_bits() >> (32 - bits) };
        (0..self.kept).map(|place| (self.member(place), self.member(reversed(place)))).collect()
    }
}
