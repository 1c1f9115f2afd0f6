//! Where the parts of a plan lie in the buffers of a call.

use crate::collective::Collective;
use crate::schedule::{Parts, RankPlan, Space};

/// Units of the parts in every space of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One vector, cut into parts of equal size (Reduce, Bcast, Allreduce).
    Vector {
        /// Units of the vector.
        units: u64,
    },
    /// Blocks of equal size: part k of every space starts at unit k times the block (Alltoall, Gather, Scatter).
    Blocks {
        /// Units of a block.
        block: u64,
    },
    /// A block for every peer, or one alone, each with its own place and size (Alltoallv, Alltoallw, Gatherv,
    /// Scatterv); nothing is staged.
    Table {
        /// First unit and number of units of every block that is sent, by destination.
        input: Vec<(u64, u64)>,
        /// The same of every block that is received, by source.
        output: Vec<(u64, u64)>,
    },
    /// A block for every rank, of any size, each cut into the same number of slices as even as can be (Allgather,
    /// Reduce_scatter). The side of a rank's own block holds nothing else, but its parts have the same numbers.
    Cut {
        /// First unit of every block in rank order, and one past the last.
        bounds: Vec<u64>,
        /// Slices of a block.
        slices: u32,
        /// The unit at which the input, and the output, begins.
        begin: [u64; 2],
        /// First unit of every staged slice, and one past the last.
        staged: Vec<u64>,
    },
}

impl Layout {
    /// The layout of a rank's buffers in an Allgather or Reduce_scatter by `plan`, not in place; `bounds`: of the
    /// blocks, one more than there are ranks.
    pub fn cut(collective: Collective, bounds: Vec<u64>, plan: &RankPlan) -> Self {
        let slices = plan.parts / (bounds.len() as u32 - 1).max(1);
        let own = bounds[plan.rank as usize];
        let begin = if collective.scatters() { [0, own] } else { [own, 0] };
        let mut staged = Vec::with_capacity(plan.order.len() + 1);
        staged.push(0);
        for &part in &plan.order {
            let units = bound(&bounds, slices, part + 1) - bound(&bounds, slices, part);
            staged.push(staged[staged.len() - 1] + units);
        }
        Self::Cut { bounds, slices, begin, staged }
    }

    /// The same layout with input and output in one buffer, which begins where the longer of them does: the own block
    /// of an Allgather is at its place among all, that of a Reduce_scatter at the start.
    pub fn in_place(mut self) -> Self {
        if let Self::Cut { begin, .. } = &mut self {
            begin[0] = 0;
        }
        self
    }

    /// Units of `parts`, as `(first unit, one past the last)` in the space's own buffer; `of` parts make the whole
    /// vector.
    ///
    /// Blocks of a table need not be neighbours: a run of them has no place, and plans for it name one part at a time.
    pub fn units(&self, parts: Parts, of: u32) -> (u64, u64) {
        match self {
            Self::Vector { units } => {
                let bound = |part: u32| (u128::from(*units) * u128::from(part) / u128::from(of.max(1))) as u64;
                (bound(parts.first), bound(parts.end()))
            }
            Self::Blocks { block } => (u64::from(parts.first) * block, u64::from(parts.end()) * block),
            Self::Table { input, output } => {
                let side = if parts.space == Space::Input { input } else { output };
                let listed = side.get(parts.first as usize).filter(|_| parts.count > 0);
                let (first, units) = listed.copied().unwrap_or((0, 0));
                (first, first + units)
            }
            Self::Cut { bounds, slices, begin, staged } => {
                let begin = match parts.space {
                    _ if parts.count == 0 => return (0, 0),
                    Space::Stage => return (staged[parts.first as usize], staged[parts.end() as usize]),
                    Space::Input => begin[0],
                    Space::Vector | Space::Output => begin[1],
                };
                (bound(bounds, *slices, parts.first) - begin, bound(bounds, *slices, parts.end()) - begin)
            }
        }
    }
}

/// First unit of a part of blocks with these bounds.
fn bound(bounds: &[u64], slices: u32, part: u32) -> u64 {
    let (block, slice) = ((part / slices) as usize, u128::from(part % slices));
    let length = bounds.get(block + 1).map_or(0, |end| end - bounds[block]);
    bounds[block] + (u128::from(length) * slice / u128::from(slices)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_cut_without_gaps() {
        let layout = Layout::Vector { units: 10 };
        let bounds: Vec<_> = (0..3).map(|part| layout.units(Parts::vector(part, 1), 3)).collect();
        assert_eq!(bounds, [(0, 3), (3, 6), (6, 10)]);
        assert_eq!(layout.units(Parts::token(), 3), (0, 0));
    }

    #[test]
    fn blocks_follow_one_another_in_every_space() {
        let layout = Layout::Blocks { block: 7 };
        assert_eq!(layout.units(Parts { space: Space::Stage, first: 2, count: 3 }, 4), (14, 35));
        assert_eq!(layout.units(Parts { space: Space::Input, first: 0, count: 1 }, 4), (0, 7));
    }

    #[test]
    fn a_table_has_a_place_for_every_block() {
        let layout = Layout::Table { input: vec![(5, 2), (0, 0)], output: vec![(0, 3), (3, 4)] };
        assert_eq!(layout.units(Parts { space: Space::Input, first: 0, count: 1 }, 2), (5, 7));
        assert_eq!(layout.units(Parts { space: Space::Output, first: 1, count: 1 }, 2), (3, 7));
        assert_eq!(layout.units(Parts { space: Space::Input, first: 1, count: 1 }, 2), (0, 0));
        assert_eq!(layout.units(Parts::token(), 2), (0, 0));
    }

    #[test]
    fn cut_blocks_have_even_slices_wherever_they_are() {
        // Three ranks with blocks of 5, 0 and 2 units, three slices each; staged from the last to the first.
        let order: Vec<u32> = (0..9).rev().collect();
        let plan = RankPlan { order, staged: 9, ..RankPlan::new(2, 9, Vec::new()) };
        let at = |layout: &Layout, space, first, count| layout.units(Parts { space, first, count }, 9);
        let bounds = vec![0, 5, 5, 7];
        let scattered = Layout::cut(Collective::ReduceScatter, bounds.clone(), &plan);
        let slices: Vec<_> = (0..9).map(|part| at(&scattered, Space::Input, part, 1)).collect();
        assert_eq!(slices, [(0, 1), (1, 3), (3, 5), (5, 5), (5, 5), (5, 5), (5, 5), (5, 6), (6, 7)]);
        let staged: Vec<_> = (0..9).map(|place| at(&scattered, Space::Stage, place, 1)).collect();
        assert_eq!(staged, [(0, 1), (1, 2), (2, 2), (2, 2), (2, 2), (2, 2), (2, 4), (4, 6), (6, 7)]);
        assert_eq!(at(&scattered, Space::Stage, 0, 9), (0, 7));
        // The result is the own block alone, and the parts of it have the numbers that they have among all.
        assert_eq!(at(&scattered, Space::Output, 6, 3), (0, 2));
        let gathered = Layout::cut(Collective::Allgather, bounds, &plan);
        assert_eq!((at(&gathered, Space::Input, 7, 2), at(&gathered, Space::Output, 7, 2)), ((0, 2), (5, 7)));
        // In place the contribution lies where it will be in the result.
        assert_eq!(at(&gathered.in_place(), Space::Input, 7, 2), (5, 7));
        assert_eq!(at(&scattered.in_place(), Space::Output, 7, 2), (0, 2));
    }
}
