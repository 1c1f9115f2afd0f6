//! The order of chains and rings: nodes of a group are neighbours, at every level, so that each link between groups is
//! crossed once per direction. On a torus: a cycle of neighbouring switches, used in both directions.

use super::{Hierarchy, Topology};
use crate::fabric::Torus;

/// All nodes in order, as places on a line or a ring. Nodes are numbered as by [`Hierarchy::node_of`].
#[derive(Clone, Debug)]
pub struct Line {
    nodes: u32,
    /// Order and its inverse; `None` for the order of the numbers.
    order: Option<(Vec<u32>, Vec<u32>)>,
    /// Ways around that share no link in one direction: 2 uses both directions of the line, with half of the data each.
    lanes: u32,
}

impl Line {
    /// Hierarchy order, or the cycle of the torus that `topology` is on.
    pub fn new(hierarchy: &Hierarchy, topology: &Topology) -> Self {
        let nodes = hierarchy.node_count();
        let network = topology.network();
        let Some((torus, network)) = network.and_then(|n| n.fabric().torus().map(|t| (t, n))) else {
            return Self { nodes, order: None, lanes: 1 };
        };
        let mut order: Vec<u32> = (0..nodes).collect();
        let key = |&node: &u32| {
            let host = network.host(topology.nodes()[hierarchy.leader(node, 0) as usize]).0;
            (cycle_position(torus, host / torus.hosts_per_switch), host)
        };
        order.sort_by_cached_key(key);
        let mut place = vec![0; order.len()];
        for (at, &node) in (0..).zip(&order) {
            place[node as usize] = at;
        }
        Self { nodes, order: Some((order, place)), lanes: if nodes > 2 { 2 } else { 1 } }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Ways around that share no link in one direction.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// The node at the start of the line.
    pub fn first(&self) -> u32 {
        self.order.as_ref().map_or(0, |(order, _)| order[0])
    }

    /// Place of `node` when the line is turned so that `first` has place 0; on lane 1 the line is walked backwards.
    pub fn place(&self, node: u32, first: u32, lane: u32) -> u32 {
        let forwards = (self.absolute(node) + self.nodes - self.absolute(first)) % self.nodes;
        if lane == 0 { forwards } else { (self.nodes - forwards) % self.nodes }
    }

    /// The node `steps` places after `node` on a lane.
    pub fn after(&self, node: u32, steps: u32, lane: u32) -> u32 {
        let steps = steps % self.nodes;
        let ahead = if lane == 0 { steps } else { self.nodes - steps };
        let place = (self.absolute(node) + ahead) % self.nodes;
        self.order.as_ref().map_or(place, |(order, _)| order[place as usize])
    }

    /// The node `steps` places before `node` on a lane.
    pub fn before(&self, node: u32, steps: u32, lane: u32) -> u32 {
        self.after(node, self.nodes - steps % self.nodes, lane)
    }

    fn absolute(&self, node: u32) -> u32 {
        self.order.as_ref().map_or(node, |(_, place)| place[node as usize])
    }
}

/// Position of a switch on a cycle through all switches that takes one step in one dimension at a time: the reflected
/// mixed-radix Gray code. Its last switch is a neighbour of its first where the leading dimension has an even size;
/// dimensions of even size come first.
fn cycle_position(torus: &Torus, mut switch: u32) -> u32 {
    let mut digits: Vec<(u32, u32)> = Vec::with_capacity(torus.dims.len());
    for &size in torus.dims.iter().rev() {
        digits.push((switch % size, size));
        switch /= size;
    }
    digits.reverse();
    digits.sort_by_key(|&(_, size)| size % 2);
    let mut position = 0;
    for (digit, size) in digits {
        // Every second sweep over a dimension runs backwards.
        let digit = if position % 2 == 1 { size - 1 - digit } else { digit };
        position = position * size + digit;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coordinates of the switches in the order of the cycle.
    fn cycle(dims: &[u32]) -> Vec<Vec<u32>> {
        let torus = Torus { dims: dims.to_vec(), hosts_per_switch: 1 };
        let total: u32 = dims.iter().product();
        let mut order: Vec<u32> = (0..total).collect();
        order.sort_by_key(|&s| cycle_position(&torus, s));
        let coordinates = |mut s: u32| {
            let mut at: Vec<u32> = dims
                .iter()
                .rev()
                .map(|&d| {
                    let digit = s % d;
                    s /= d;
                    digit
                })
                .collect();
            at.reverse();
            at
        };
        order.into_iter().map(coordinates).collect()
    }

    /// Steps between switches, over the wrap-around links too.
    fn distance(dims: &[u32], a: &[u32], b: &[u32]) -> u32 {
        dims.iter().zip(a.iter().zip(b)).map(|(&d, (&a, &b))| a.abs_diff(b).min(d - a.abs_diff(b))).sum()
    }

    #[test]
    fn neighbours_on_the_cycle_are_neighbours_on_the_torus() {
        for dims in [
            &[4, 4][..],
            &[2],
            &[2, 2, 2],
            &[3, 4],
            &[4, 3, 2],
            &[5, 2, 3],
            &[6, 5],
            &[3, 3],
            &[5, 3, 3],
            &[4, 4, 4, 4],
        ] {
            let cycle = cycle(dims);
            assert!(cycle.windows(2).all(|w| distance(dims, &w[0], &w[1]) == 1), "{dims:?}: {cycle:?}");
            let closes = distance(dims, &cycle[0], &cycle[cycle.len() - 1]) == 1;
            assert_eq!(closes, dims.iter().any(|d| d % 2 == 0), "{dims:?}");
        }
    }
}
