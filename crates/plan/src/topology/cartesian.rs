//! The grid of a Cartesian communicator.

use super::Dims;

/// Shape of a Cartesian communicator. Its ranks are in row-major order, the last dimension fastest, whatever was reordered when
/// it was made (MPI 4.0 section 8.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cartesian {
    dims: Dims,
    closed: Vec<bool>,
}

impl Cartesian {
    /// A grid of these sizes; `closed` tells for every dimension whether it is periodic. `None` for no dimensions, or more than 16.
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

    /// Where ranks of equal nodes are equal blocks of the grid, sizes of the grid of blocks, and its coordinates by node.
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
        // Smallest and largest coordinates of every node, and its number of ranks.
        let mut spans: Vec<Option<(Vec<u32>, Vec<u32>, u32)>> = vec![None; nodes as usize];
        for (rank, &node) in (0..).zip(node_of) {
            let at = self.dims.coordinates(rank);
            let (low, high, ranks) = spans.get_mut(node as usize)?.get_or_insert_with(|| (at.clone(), at.clone(), 0));
            for (d, &coordinate) in at.iter().enumerate() {
                low[d] = low[d].min(coordinate);
                high[d] = high[d].max(coordinate);
            }
            *ranks += 1;
        }
        let spans = spans.into_iter().collect::<Option<Vec<_>>>()?;
        let extent = |low: &[u32], high: &[u32]| -> Vec<u32> { low.iter().zip(high).map(|(l, h)| h - l + 1).collect() };
        let (low, high, ranks) = spans.first()?;
        let block = extent(low, high);
        let whole = |(low, high, count): &(Vec<u32>, Vec<u32>, u32)| {
            let aligned = low.iter().zip(&block).all(|(l, b)| l.is_multiple_of(*b));
            aligned && count == ranks && extent(low, high) == block
        };
        let sizes = self.dims.named().iter().zip(&block);
        let fits =
            block.iter().product::<u32>() == *ranks && sizes.clone().all(|((_, size), b)| size.is_multiple_of(*b));
        let of_block = |low: &[u32]| low.iter().zip(&block).map(|(l, b)| l / b).collect();
        (fits && spans.iter().all(whole)).then(|| {
            (sizes.map(|((_, size), b)| size / b).collect(), spans.iter().map(|(low, ..)| of_block(low)).collect())
        })
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
        // Dealt out in turn; blocks of different sizes; bricks; blocks of the right size in different shapes; too many ranks.
        assert_eq!(of_nodes(&[4], &[0, 1, 0, 1]), None);
        assert_eq!(of_nodes(&[6], &[0, 0, 1, 1, 1, 1]), None);
        assert_eq!(of_nodes(&[5], &[0, 0, 1, 1, 2]), None);
        assert_eq!(of_nodes(&[2, 4], &[0, 0, 1, 1, 2, 3, 3, 2]), None);
        assert_eq!(of_nodes(&[3, 4], &[0, 0, 1, 2, 3, 3, 1, 2, 4, 4, 5, 5]), None);
        assert_eq!(of_nodes(&[2, 2], &[0, 0, 1, 1, 2, 2]), None);
    }
}
