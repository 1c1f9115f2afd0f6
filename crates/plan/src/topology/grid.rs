//! Nodes as points of a grid: the dimensions along which halving and doubling goes.

use std::cmp::Ordering;
use std::fmt;

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

/// In which order dimensions are halved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DimensionOrder {
    /// The widest first, so that the most is moved where there is the most bandwidth; else as given.
    #[default]
    Bandwidth,
    /// By name.
    Alphabetical,
    /// As given.
    Given,
}

/// Where dimensions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave them.
    Given,
    /// The network is a torus.
    Fabric,
    /// The communicator is Cartesian.
    Cartesian,
    /// Levels of equally large groups.
    Levels,
    /// Nodes are numbered.
    Line,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "the dimensions given",
            Self::Fabric => "the torus of the fabric",
            Self::Cartesian => "the Cartesian communicator",
            Self::Levels => "the levels",
            Self::Line => "the number of nodes",
        })
    }
}

/// A node at every point. Nodes are numbered as by [`Hierarchy::node_of`](super::Hierarchy::node_of).
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    dimensions: Vec<Dimension>,
    origin: Origin,
    switched: bool,
    /// The node at every point; points are in row-major order, the last dimension fastest.
    nodes: Vec<u32>,
    /// The other way round.
    points: Vec<u32>,
}

impl Grid {
    /// One dimension: nodes in the order of a ring.
    pub fn of_line(nodes: Vec<u32>) -> Self {
        let size = nodes.len() as u32;
        Self::of_nodes(vec![Dimension { name: "node".to_owned(), size, mbit: 0.0, closed: true }], nodes)
    }

    /// `nodes` at the points of a grid, in row-major order: one for every point.
    pub fn of_nodes(dimensions: Vec<Dimension>, nodes: Vec<u32>) -> Self {
        let mut points = vec![0; nodes.len()];
        for (point, &node) in (0..).zip(&nodes) {
            points[node as usize] = point;
        }
        Self { dimensions, origin: Origin::Given, switched: false, nodes, points }
    }

    /// The same where the dimensions come from there.
    pub(super) fn from(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The same where the nodes along a dimension are at one switch, or in groups below switches.
    pub(super) fn switched(self) -> Self {
        Self { switched: true, ..self }
    }

    /// Its dimensions.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Where they come from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether the nodes along a dimension are at one switch, or in groups below switches, and not joined one to the
    /// next.
    pub fn is_switched(&self) -> bool {
        self.switched
    }

    /// The dimensions of more than one node, by index, in the order in which they are halved.
    pub fn ordered(&self, order: DimensionOrder) -> Vec<usize> {
        // Where no rates are known, all links are taken to be as fast as each other.
        let unknown = self.dimensions.iter().all(|d| d.mbit == 0.0);
        let bandwidth =
            |d: &Dimension| if unknown { Dimension { mbit: 1.0, ..d.clone() }.bandwidth() } else { d.bandwidth() };
        let compare = |a: &Dimension, b: &Dimension| match order {
            DimensionOrder::Bandwidth => bandwidth(b).total_cmp(&bandwidth(a)),
            DimensionOrder::Alphabetical => a.name.cmp(&b.name),
            DimensionOrder::Given => Ordering::Equal,
        };
        let mut ordered: Vec<usize> = (0..self.dimensions.len()).filter(|&d| self.dimensions[d].size > 1).collect();
        ordered.sort_by(|&a, &b| compare(&self.dimensions[a], &self.dimensions[b]));
        ordered
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

impl fmt::Display for Grid {
    /// Names and sizes, and where they come from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions: Vec<String> = self.dimensions.iter().map(|d| format!("{} {}", d.name, d.size)).collect();
        write!(f, "{} (from {})", dimensions.join(", "), self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimension(name: &str, size: u32, mbit: f64, closed: bool) -> Dimension {
        Dimension { name: name.to_owned(), size, mbit, closed }
    }

    fn names(dimensions: Vec<Dimension>, order: DimensionOrder) -> Vec<String> {
        let nodes = dimensions.iter().map(|d| d.size).product();
        let grid = Grid::of_nodes(dimensions, (0..nodes).collect());
        grid.ordered(order).into_iter().map(|d| grid.dimensions()[d].name.clone()).collect()
    }

    #[test]
    fn the_documents_example_begins_with_the_dimension_of_two_links() {
        let dimensions =
            |mbit| [("W", 4), ("X", 2), ("Y", 1), ("Z", 4)].map(|(n, s)| dimension(n, s, mbit, true)).to_vec();
        for mbit in [0.0, 100.0] {
            assert_eq!(names(dimensions(mbit), DimensionOrder::Bandwidth), ["X", "W", "Z"]);
            assert_eq!(names(dimensions(mbit), DimensionOrder::Alphabetical), ["W", "X", "Z"]);
            assert_eq!(names(dimensions(mbit), DimensionOrder::Given), ["W", "X", "Z"]);
        }
    }

    #[test]
    fn the_widest_dimension_comes_first_and_names_sort() {
        let all = vec![
            dimension("q", 2, 100.0, false),
            dimension("c", 2, 60.0, true),
            dimension("b", 3, 200.0, true),
            dimension("a", 4, 100.0, true),
        ];
        assert_eq!(names(all.clone(), DimensionOrder::Bandwidth), ["b", "c", "q", "a"]);
        assert_eq!(names(all.clone(), DimensionOrder::Alphabetical), ["a", "b", "c", "q"]);
        assert_eq!(names(all, DimensionOrder::Given), ["q", "c", "b", "a"]);
        assert!(names(vec![dimension("x", 1, 1.0, true)], DimensionOrder::Bandwidth).is_empty());
    }

    #[test]
    fn moving_changes_one_coordinate() {
        let dimensions = [2, 3, 4].map(|size| dimension("", size, 0.0, false)).to_vec();
        // Nodes in some other order than the points.
        let grid = Grid::of_nodes(dimensions, (0..24).map(|point| point * 7 % 24).collect());
        for node in 0..24 {
            for d in 0..3 {
                for coordinate in 0..grid.dimensions()[d].size {
                    let there = grid.moved(node, d, coordinate);
                    assert_eq!(grid.coordinate(there, d), coordinate);
                    assert!((0..3).filter(|&o| o != d).all(|o| grid.coordinate(there, o) == grid.coordinate(node, o)));
                    assert_eq!(grid.moved(there, d, grid.coordinate(node, d)), node);
                }
            }
        }
    }
}
