//! The order of chains and rings: ranks of a group are neighbours, at every level, so that each link between groups is
//! crossed once per direction.

use crate::schedule::Rank;
use crate::topology::Hierarchy;

/// All ranks in hierarchy order, as places on a line or a ring.
#[derive(Clone, Debug)]
pub struct Line {
    rank_at: Vec<Rank>,
    place_of: Vec<u32>,
}

impl Line {
    /// The order in which the innermost level numbers its groups, which are the ranks.
    pub fn new(hierarchy: &Hierarchy) -> Self {
        let ranks = hierarchy.ranks();
        let last = hierarchy.depth() - 1;
        let place_of: Vec<u32> = (0..ranks).map(|rank| hierarchy.group_of(last, rank)).collect();
        let mut rank_at = vec![0; ranks as usize];
        for (rank, &place) in place_of.iter().enumerate() {
            rank_at[place as usize] = rank as Rank;
        }
        Self { rank_at, place_of }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.rank_at.len() as u32
    }

    /// The rank at the start of the line.
    pub fn first(&self) -> Rank {
        self.rank_at.first().copied().unwrap_or(0)
    }

    /// Place of `rank` when the line is turned so that `first` has place 0.
    pub fn place(&self, rank: Rank, first: Rank) -> u32 {
        (self.place_of[rank as usize] + self.ranks() - self.place_of[first as usize]) % self.ranks()
    }

    /// The rank `steps` places after `rank` on the ring.
    pub fn after(&self, rank: Rank, steps: u32) -> Rank {
        self.rank_at[((self.place_of[rank as usize] + steps) % self.ranks()) as usize]
    }

    /// The rank `steps` places before `rank` on the ring; `steps` at most the number of ranks.
    pub fn before(&self, rank: Rank, steps: u32) -> Rank {
        self.after(rank, self.ranks() - steps)
    }
}
