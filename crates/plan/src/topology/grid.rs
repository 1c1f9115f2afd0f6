//! Nodes as points of a grid: the dimensions along which halving and doubling goes.

use super::{Hierarchy, Topology};

/// One dimension of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// What it is called.
    pub name: String,
    /// Nodes along it.
    pub size: u32,
    /// Rate of one link along it, in one direction, Mbit/s; 0 where it is not known.
    pub mbit: f64,
    /// Whether the last node of a line is a neighbour of the first.
    pub closed: bool,
}

impl Dimension {
    /// Mbit/s between two neighbours: in a closed dimension of size 2 two links join them.
    pub fn bandwidth(&self) -> f64 {
        if self.closed && self.size == 2 { 2.0 * self.mbit } else { self.mbit }
    }
}

/// A node at every point. Nodes are numbered as by [`Hierarchy::node_of`].
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    dimensions: Vec<Dimension>,
    /// The node at every point; points are in row-major order, the last dimension fastest.
    nodes: Vec<u32>,
    /// The other way round.
    points: Vec<u32>,
}

impl Grid {
    /// The grid of the communicator that `topology` describes.
    pub fn new(hierarchy: &Hierarchy, _topology: &Topology) -> Self {
        let nodes = hierarchy.node_count();
        let line = Dimension { name: "node".to_owned(), size: nodes, mbit: 0.0, closed: false };
        Self::of_nodes(vec![line], (0..nodes).collect())
    }

    /// One dimension: nodes in the order of a ring.
    pub fn of_line(nodes: Vec<u32>) -> Self {
        let size = nodes.len() as u32;
        Self::of_nodes(vec![Dimension { name: "node".to_owned(), size, mbit: 0.0, closed: true }], nodes)
    }

    /// `nodes` at the points of a grid, in row-major order: one for every point.
    fn of_nodes(dimensions: Vec<Dimension>, nodes: Vec<u32>) -> Self {
        let mut points = vec![0; nodes.len()];
        for (point, &node) in (0..).zip(&nodes) {
            points[node as usize] = point;
        }
        Self { dimensions, nodes, points }
    }

    /// Its dimensions.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Coordinate of a node in one dimension.
    pub fn coordinate(&self, node: u32, dimension: usize) -> u32 {
        self.points[node as usize] / self.stride(dimension) % self.dimensions[dimension].size
    }

    /// The node whose coordinates are those of `node` but for one dimension.
    pub fn moved(&self, node: u32, dimension: usize, coordinate: u32) -> u32 {
        let stride = self.stride(dimension);
        let point = self.points[node as usize] - self.coordinate(node, dimension) * stride;
        self.nodes[(point + coordinate * stride) as usize]
    }

    /// Points from one coordinate of a dimension to the next.
    fn stride(&self, dimension: usize) -> u32 {
        self.dimensions[dimension + 1..].iter().map(|d| d.size).product()
    }
}
