//! Halving and doubling on grids that are made directly.

use nagare_plan::algorithm::halving_doubling;
use nagare_plan::collective::Collective::Allreduce;
use nagare_plan::pattern::{Lane, Rails};
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::{Dimension, Grid, Hierarchy, NodeRanks, Topology};

/// A closed grid whose nodes are numbered in the order of points.
pub fn grid(sizes: &[u32]) -> Grid {
    let dimension = |(d, &size): (usize, &u32)| Dimension { name: format!("d{d}"), size, mbit: 50.0, closed: true };
    Grid::of_nodes(sizes.iter().enumerate().map(dimension).collect(), (0..sizes.iter().product()).collect())
}

/// One order, not mirrored.
pub fn lane(order: &[usize]) -> Lane {
    Lane { order: order.to_vec(), mirrored: false }
}

/// The schedule on nodes with so many ranks each.
pub fn schedule(ranks_on: &[u32], rails: &Rails, chunks: u32) -> Schedule {
    let nodes = (0..).zip(ranks_on).flat_map(|(node, &ranks)| std::iter::repeat_n(node, ranks as usize)).collect();
    let topology = Topology::of_nodes(nodes).unwrap();
    let node_ranks = NodeRanks::new(&Hierarchy::new(&topology), &topology);
    let plans = (0..node_ranks.ranks()).map(|rank| halving_doubling(&node_ranks, rails, chunks, rank)).collect();
    Schedule { collective: Allreduce, algorithm: "halving_doubling".to_owned(), root: 0, stages: Vec::new(), plans }
}
