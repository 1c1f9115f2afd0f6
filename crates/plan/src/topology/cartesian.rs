//! The grid of a Cartesian communicator.

use super::Dims;

/// Shape of a Cartesian communicator. Its ranks are in row-major order, the last dimension fastest, whatever was
/// reordered when it was made (MPI 4.0 section 8.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dims: Dims,
    closed: Vec<bool>,
}

impl Cartesian {
    /// A grid of these sizes; `closed` tells for every dimension whether it is periodic. `None` for no dimensions, or
    /// more than 16.
    pub fn new(sizes: &[u32], closed: &[bool]) -> Option<Self> {
        let dims = Dims::of_sizes(sizes).filter(|_| closed.len() == sizes.len())?;
        Some(Self { dims, closed: closed.to_vec() })
    }

    /// Names and sizes of its dimensions.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// Whether each dimension is periodic.
    pub fn closed(&self) -> &[bool] {
        &self.closed
    }

    /// Sizes of the grid of nodes, and the coordinates of every node in it, where the ranks of every node are a block
    /// of the grid of ranks, all blocks are equal, and they lie in rows.
    ///
    /// ```text
    ///   4 × 4 ranks        0 0 1 1           2 × 2 nodes       0 1
    ///   by node            0 0 1 1                             2 3
    ///                      2 2 3 3
    ///                      2 2 3 3
    /// ```
    /// `node_of[rank]` is a number below `nodes`.
    pub fn of_nodes(&self, node_of: &[u32], nodes: u32) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
        if self.dims.points() as usize != node_of.len() {
            return None;
        }
        let mut blocks: Vec<Option<Block>> = vec![None; nodes as usize];
        for (rank, &node) in (0..).zip(node_of) {
            let at = self.dims.coordinates(rank);
            blocks.get_mut(node as usize)?.get_or_insert_with(|| Block::at(&at)).add(&at);
        }
        let blocks = blocks.into_iter().collect::<Option<Vec<Block>>>()?;
        let extent = blocks.first()?.extent();
        let sizes: Vec<u32> = self.dims.named().iter().map(|&(_, size)| size).collect();
        let equal = blocks.iter().all(|b| b.ranks == extent.iter().product::<u32>() && b.extent() == extent);
        let in_rows = sizes.iter().zip(&extent).all(|(size, e)| *size % *e == 0)
            && blocks.iter().all(|b| b.low.iter().zip(&extent).all(|(low, e)| low % *e == 0));
        let quotient = |of: &[u32]| of.iter().zip(&extent).map(|(a, e)| a / e).collect();
        (equal && in_rows).then(|| (quotient(&sizes), blocks.iter().map(|b| quotient(&b.low)).collect()))
    }
}

/// The smallest block that holds some ranks of a grid.
#[derive(Clone)]
struct Block {
    low: Vec<u32>,
    high: Vec<u32>,
    /// How many ranks it is to hold.
    ranks: u32,
}

impl Block {
    fn at(coordinates: &[u32]) -> Self {
        Self { low: coordinates.to_vec(), high: coordinates.to_vec(), ranks: 0 }
    }

    fn add(&mut self, coordinates: &[u32]) {
        for ((low, high), &at) in self.low.iter_mut().zip(&mut self.high).zip(coordinates) {
            *low = at.min(*low);
            *high = at.max(*high);
        }
        self.ranks += 1;
    }

    fn extent(&self) -> Vec<u32> {
        self.low.iter().zip(&self.high).map(|(low, high)| high - low + 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_nodes(sizes: &[u32], node_of: &[u32]) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
        let nodes = node_of.iter().max().map_or(0, |last| last + 1);
        Cartesian::new(sizes, &vec![true; sizes.len()]).expect("sizes").of_nodes(node_of, nodes)
    }

    #[test]
    fn blocks_of_ranks_are_points() {
        let coordinates = vec![vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]];
        let squares = [0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3];
        assert_eq!(of_nodes(&[4, 4], &squares), Some((vec![2, 2], coordinates)));
        let rows = [1, 1, 1, 0, 0, 0];
        assert_eq!(of_nodes(&[2, 3], &rows), Some((vec![2, 1], vec![vec![1, 0], vec![0, 0]])));
        assert_eq!(of_nodes(&[6], &[0, 0, 1, 1, 2, 2]), Some((vec![3], vec![vec![0], vec![1], vec![2]])));
        assert_eq!(of_nodes(&[3], &[2, 0, 1]), Some((vec![3], vec![vec![1], vec![2], vec![0]])));
        assert_eq!(of_nodes(&[2, 2], &[0; 4]), Some((vec![1, 1], vec![vec![0, 0]])));
    }

    #[test]
    fn anything_else_is_no_grid_of_nodes() {
        // Dealt out in turn; blocks of different sizes; bricks; blocks of the right size in different shapes; too many
        // ranks.
        assert_eq!(of_nodes(&[4], &[0, 1, 0, 1]), None);
        assert_eq!(of_nodes(&[6], &[0, 0, 1, 1, 1, 1]), None);
        assert_eq!(of_nodes(&[5], &[0, 0, 1, 1, 2]), None);
        assert_eq!(of_nodes(&[2, 4], &[0, 0, 1, 1, 2, 3, 3, 2]), None);
        assert_eq!(of_nodes(&[3, 4], &[0, 0, 1, 2, 3, 3, 1, 2, 4, 4, 5, 5]), None);
        assert_eq!(of_nodes(&[2, 2], &[0, 0, 1, 1, 2, 2]), None);
    }
}
