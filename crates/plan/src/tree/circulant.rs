//! Circulant broadcast: q = ⌈log2 p⌉ trees over p places, in rounds in which every place sends to the same distance.
//!
//! ```text
//!   p = 5, distances 1 2 3        tree 0   0 → 1 → 2 3 4      tree 1   0 → 2 → 3 → 1      tree 2   0 → 3 → 4 → 1 2
//!                                                                          2 → 4
//!   round 0, 3, 6 …   every place sends a block 1 place on
//!   round 1, 4, 7 …                             2 places on
//!   round 2, 5, 8 …                             3 places on
//! ```
//! Block b of the vector takes tree b mod q. In round i, k = i mod q, place r sends one block to r + skip(k) and
//! receives one from r - skip(k), modulo p; the root sends block i. In q rounds that follow one another a place
//! receives one block of each tree. By Träff's schedule n blocks are everywhere after n - 1 + q rounds, fewer than
//! which nothing with one send and one receive at a time can do; by the trees here after at most n + q. Source: Träff
//! 2024 (docs/provenance.md).

/// The schedule for a number of places.
#[derive(Clone, Debug)]
pub struct Circulant {
    /// Distances of the rounds, ascending; then the number of places.
    skips: Vec<u32>,
}

/// What one place sends to another in a round of every phase of q rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the round in its phase.
    pub round: u32,
    /// The other end.
    pub peer: u32,
    /// The tree.
    pub tree: u32,
    /// Whether the block is one of the phase before.
    pub late: bool,
}

impl Circulant {
    /// For `places` ≥ 1; O(log places).
    pub fn new(places: u32) -> Self {
        let rounds = places.next_power_of_two().ilog2();
        let mut skips = vec![places];
        (0..rounds).for_each(|round| skips.push(skips[round as usize].div_ceil(2)));
        skips.reverse();
        Self { skips }
    }

    /// Rounds of a phase, and trees: ⌈log2 of the places⌉.
    pub fn rounds(&self) -> u32 {
        self.skips.len() as u32 - 1
    }

    fn places(&self) -> u32 {
        self.skips[self.skips.len() - 1]
    }

    /// Where a place other than 0 gets its blocks from, in the order of rounds. In some O(log² places) steps.
    pub fn parents(&self, place: u32) -> Vec<Edge> {
        let edge = |(round, block): (u32, i64)| {
            let peer = self.back(place, self.skips[round as usize]);
            self.edge(round, peer, block)
        };
        (0..).zip(self.received(place)).map(edge).collect()
    }

    /// Where a place sends blocks to, in the order of rounds. In some O(log³ places) steps: with the parents 14 us for
    /// 2²⁰ places.
    pub fn children(&self, place: u32) -> Vec<Edge> {
        let children = (0..self.rounds()).filter_map(|round| {
            let peer = self.back(place, self.places() - self.skips[round as usize]);
            let mut blocks = (peer != 0).then(|| self.received(peer))?;
            Some(self.edge(round, peer, blocks.nth(round as usize)?))
        });
        children.collect()
    }

    fn edge(&self, round: u32, peer: u32, block: i64) -> Edge {
        let trees = i64::from(self.rounds());
        Edge { round, peer, tree: block.rem_euclid(trees) as u32, late: block < 0 }
    }

    fn back(&self, place: u32, distance: u32) -> u32 {
        place.checked_sub(distance).unwrap_or_else(|| place + (self.places() - distance))
    }

    /// The block that a place other than 0 receives in each round of a phase, counted from the phase's first: a
    /// negative one is of the phase before. Each is the largest base of the places that could pass it on in this round,
    /// without those that the place has already.
    fn received(&self, place: u32) -> impl Iterator<Item = i64> {
        let rounds = self.rounds();
        let own = self.base(place);
        // A bit for each base.
        let mut known = 1u32 << own;
        (0..rounds).map(move |round| {
            let [near, far] = [0, 1].map(|next| self.skips[(round + next) as usize]);
            let is_new = |base: &u32| known & (1 << base) == 0;
            let (last, count) = (self.back(place, near), far - near);
            // A window has few places of a base from its round on; of those below it mostly one of every base.
            let above = self.bases(last, count, round).filter(is_new).max();
            let below =
                || (0..round).rev().filter(is_new).find(|&base| self.bases(last, count, base).any(|b| b == base));
            let base = above.or_else(below).unwrap_or_else(|| self.base(self.back(place, far)));
            known |= 1 << base;
            if base == rounds { i64::from(own) } else { i64::from(base) - i64::from(rounds) }
        })
    }

    /// The bases, of at least `least`, of the `count` places that end with `last`, around the end, the last place's
    /// first.
    fn bases(&self, last: u32, count: u32, least: u32) -> impl Iterator<Item = u32> {
        let mut left = Some((last, count));
        std::iter::from_fn(move || {
            let (place, count) = left.take()?;
            // What distances from `least` on make of the place is the nearest place behind it with such a base.
            let (rest, base) = self.reduced(place, least);
            let count = count.checked_sub(rest + 1)?;
            left = Some((self.back(place, rest + 1), count));
            Some(base)
        })
    }

    /// Number of the last distance where a place is written as a sum of distances, the largest first: the one over
    /// which it receives its first block. Of place 0 the number of rounds.
    fn base(&self, place: u32) -> u32 {
        self.reduced(place, 0).1
    }

    /// What is left of a place without the distances from `least` on that it is a sum of, and the last of these, or the
    /// number of rounds where there is none.
    fn reduced(&self, place: u32, least: u32) -> (u32, u32) {
        let (mut rest, mut last) = (place, self.rounds());
        for round in (least..self.rounds()).rev() {
            let skip = self.skips[round as usize];
            if rest >= skip {
                rest -= skip;
                last = round;
            }
        }
        (rest, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Träff's conditions: in q rounds a place receives each of the last q blocks but one, and its base block instead;
    /// what it sends it has.
    #[test]
    fn every_place_receives_what_is_new_and_sends_what_it_has() {
        for places in (2..=400).chain([4097, 65_535]) {
            let circulant = Circulant::new(places);
            let rounds = i64::from(circulant.rounds());
            let step = if places > 400 { 97 } else { 1 };
            for place in (1..places).step_by(step) {
                let received: Vec<i64> = circulant.received(place).collect();
                let base = i64::from(circulant.base(place));
                let mut expected: BTreeSet<i64> = (-rounds..0).filter(|&block| block != base - rounds).collect();
                expected.insert(base);
                assert_eq!(received.iter().copied().collect::<BTreeSet<_>>(), expected, "{places} places, {place}");
                for edge in circulant.children(place) {
                    let sent = circulant.received(edge.peer).nth(edge.round as usize).unwrap();
                    let before = &received[..edge.round as usize];
                    assert!(sent == base - rounds || before.contains(&sent), "{places} places, {place}: {edge:?}");
                }
            }
        }
    }

    /// Bases by subtracting distances until nothing is left, and of every window all places, one by one.
    #[test]
    fn the_schedule_is_that_of_a_plain_search() {
        for places in 2..=400u32 {
            let circulant = Circulant::new(places);
            let (skips, rounds) = (&circulant.skips, circulant.rounds() as usize);
            let base_of = |place: u32| {
                let mut rest = place;
                let last = (0..rounds).rev().filter(|&k| {
                    let is_part = rest >= skips[k];
                    rest -= if is_part { skips[k] } else { 0 };
                    is_part
                });
                last.last().unwrap_or(rounds)
            };
            let bases: Vec<usize> = (0..places).map(base_of).collect();
            for place in 1..places {
                let behind = |distance: u32| bases[((place + places - distance) % places) as usize];
                let mut seen = vec![bases[place as usize]];
                for (k, &block) in circulant.received(place).collect::<Vec<_>>().iter().enumerate() {
                    let window = (skips[k]..skips[k + 1]).map(behind).filter(|base| !seen.contains(base));
                    let base = window.max().unwrap_or_else(|| behind(skips[k + 1]));
                    seen.push(base);
                    let own = bases[place as usize] as i64;
                    let expected = if base == rounds { own } else { base as i64 - rounds as i64 };
                    assert_eq!(block, expected, "{places} places, {place}, round {k}");
                }
            }
        }
    }

    /// 17 places, found by searching all windows place by place.
    #[test]
    fn the_schedule_of_seventeen_places() {
        let circulant = Circulant::new(17);
        assert_eq!(circulant.skips, [1, 2, 3, 5, 9, 17]);
        assert!(circulant.received(7).eq([-5, -2, -3, 1, -1]));
        assert!(circulant.received(16).eq([-5, -2, -3, -1, 1]));
    }

    /// In rounds, each tree carries the blocks of its number: all are everywhere one round after the least there is.
    #[test]
    fn blocks_arrive_in_as_many_rounds_as_there_are_blocks_and_trees() {
        for places in [2u32, 3, 5, 8, 9, 16, 17, 31, 100] {
            let circulant = Circulant::new(places);
            let (rounds, phases) = (circulant.rounds(), 4);
            let mut has = vec![BTreeSet::new(); places as usize];
            has[0] = (0..rounds * phases).collect();
            for time in 0..rounds * phases + rounds {
                let (phase, round) = (time / rounds, time % rounds);
                let mut moved = Vec::new();
                for place in 0..places {
                    let Some(edge) = circulant.children(place).into_iter().find(|edge| edge.round == round) else {
                        continue;
                    };
                    let Some(turn) = phase.checked_sub(u32::from(edge.late)).filter(|&turn| turn < phases) else {
                        continue;
                    };
                    let block = turn * rounds + edge.tree;
                    assert!(has[place as usize].contains(&block), "{places} places: {place} lacks {block}");
                    moved.push((edge.peer, block));
                }
                let mut receivers: Vec<u32> = moved.iter().map(|&(peer, _)| peer).collect();
                receivers.sort_unstable();
                assert!(receivers.windows(2).all(|pair| pair[0] < pair[1]), "two receives in a round");
                moved.into_iter().for_each(|(peer, block)| assert!(has[peer as usize].insert(block), "twice"));
            }
            assert!(has.iter().all(|blocks| blocks.len() == (rounds * phases) as usize), "{places} places");
        }
    }

    #[test]
    fn both_ends_of_an_edge_agree() {
        for places in [1, 2, 3, 7, 16, 40] {
            let circulant = Circulant::new(places);
            for place in 1..places {
                for up in circulant.parents(place) {
                    let down = circulant
                        .children(up.peer)
                        .into_iter()
                        .find(|edge| edge.peer == place && edge.round == up.round);
                    assert_eq!(down, Some(Edge { peer: place, ..up }));
                }
            }
        }
    }
}
