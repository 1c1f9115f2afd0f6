//! Which orders of dimensions halving and doubling takes at the same time, so that the links of all dimensions have
//! work.
//!
//! ```text
//!   dimensions by bandwidth: X Y Z      lane 0   X Y Z     while lane 0 uses the links along X, lane 1 uses those
//!                                       lane 1   Y Z X     along Y and lane 2 those along Z
//!                                       lane 2   Z X Y
//!   mirrored, if that is not enough:    lane 3   X Y Z     partners 3-0 and 1-2 of a line of four, where the lanes
//!                                       …                  above have 0-1 and 2-3: the links that those leave idle
//! ```
//! A host whose link is k times as fast as one of the torus needs k lanes to be kept busy. The hosts of one switch,
//! which share its links, are a dimension that comes first in all lanes. Between groups of a tree all traffic of a node
//! takes the same link, and one order crosses the thinnest links with the least: there is one lane. Source of the order
//! of dimensions, and of sending half of the data the other way: Japanese patent 7087953 (docs/provenance.md).

use crate::topology::{Dimension, Grid, Origin};

/// An order of dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Dimensions by index, the first halved first; those of size 1 may be left out.
    pub order: Vec<usize>,
    /// Whether coordinates are taken backwards around each closed dimension.
    pub mirrored: bool,
}

/// The lanes of all `aggregators` of a node, equally many for each: rotations of `order`, in which no dimension has
/// size 1.
///
/// `host_mbit`: rate of a node's link in one direction, Mbit/s, as [`Dimension::mbit`]; 0 where it is not known.
pub fn lanes(grid: &Grid, order: &[usize], host_mbit: f64, aggregators: u32) -> Vec<Lane> {
    let dimension = |&d: &usize| &grid.dimensions()[d];
    let known = host_mbit > 0.0 && order.iter().map(dimension).all(|d| d.mbit > 0.0);
    // Dimensions have links of their own on a torus, also on a part of one.
    let links = grid.origin() == Origin::Fabric || order.iter().map(dimension).any(|d| d.closed);
    let (wide, thin) = match (links, known) {
        (false, _) => (order, &order[..0]),
        (true, false) => (&order[..0], order),
        (true, true) => {
            let on_a_switch = |d: &Dimension| !d.closed && d.mbit >= host_mbit;
            order.split_at(order.iter().map(dimension).take_while(|d| on_a_switch(d)).count())
        }
    };
    let rotations = thin.len().max(1);
    // Backwards around a line of two are the same links.
    let most = if thin.iter().map(dimension).any(|d| d.closed && d.size > 2) { 2 * rotations } else { rotations };
    let slowest = thin.iter().map(|d| dimension(d).bandwidth()).fold(f64::INFINITY, f64::min);
    let sharing: f64 = wide.iter().map(|d| f64::from(dimension(d).size)).product();
    let fed = if known && slowest.is_finite() { (host_mbit * sharing / slowest).ceil() as usize } else { rotations };
    let all = fed.clamp(1, most).div_ceil(aggregators as usize) * aggregators as usize;
    let lane = |number: usize| {
        let mut order = order.to_vec();
        order[wide.len()..].rotate_left(number % rotations);
        Lane { order, mirrored: number / rotations % (most / rotations) == 1 }
    };
    (0..all).map(lane).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(sizes: &[u32], mbit: f64, closed: bool) -> Grid {
        let dimension = |(name, &size): (usize, &u32)| Dimension { name: format!("d{name}"), size, mbit, closed };
        Grid::of_nodes(sizes.iter().enumerate().map(dimension).collect(), (0..sizes.iter().product()).collect())
    }

    /// Orders as text, mirrored ones with a minus.
    fn names(sizes: &[u32], (mbit, closed): (f64, bool), host_mbit: f64, aggregators: u32) -> Vec<String> {
        let order: Vec<usize> = (0..sizes.len()).filter(|&d| sizes[d] > 1).collect();
        let name = |lane: &Lane| {
            let order: String = lane.order.iter().map(usize::to_string).collect();
            if lane.mirrored { format!("-{order}") } else { order }
        };
        lanes(&grid(sizes, mbit, closed), &order, host_mbit, aggregators).iter().map(name).collect()
    }

    #[test]
    fn there_are_as_many_lanes_as_the_host_can_feed() {
        let torus = (50.0, true);
        assert_eq!(names(&[4, 4], torus, 50.0, 1), ["01"]);
        assert_eq!(names(&[4, 4], torus, 100.0, 1), ["01", "10"]);
        assert_eq!(names(&[4, 4], torus, 101.0, 1), ["01", "10", "-01"]);
        assert_eq!(names(&[4, 4], torus, 1000.0, 1), ["01", "10", "-01", "-10"]);
        assert_eq!(names(&[4, 4, 4], torus, 1000.0, 1), ["012", "120", "201", "-012", "-120", "-201"]);
        assert_eq!(names(&[8], torus, 100.0, 1), ["0", "-0"]);
        // Both cables of a dimension of two are one link.
        assert_eq!(names(&[2, 2], torus, 100.0, 1), ["01"]);
        assert_eq!(names(&[2, 2], torus, 1000.0, 1), ["01", "10"], "backwards is the same");
        assert_eq!(names(&[1, 1], torus, 100.0, 1), [""]);
    }

    #[test]
    fn without_rates_every_dimension_of_a_torus_has_a_lane() {
        assert_eq!(names(&[4, 1, 4, 3], (0.0, true), 100.0, 1), ["023", "230", "302"]);
        assert_eq!(names(&[4, 4], (50.0, true), 0.0, 1), ["01", "10"]);
    }

    #[test]
    fn hosts_of_one_switch_share_its_links() {
        let dimension = |size, mbit, closed| Dimension { name: String::new(), size, mbit, closed };
        let sizes = vec![dimension(2, 100.0, false), dimension(4, 50.0, true), dimension(4, 50.0, true)];
        let found = lanes(&Grid::of_nodes(sizes, (0..32).collect()), &[0, 1, 2], 100.0, 1);
        let orders = [[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 2, 1]];
        let expected = (0..).zip(orders).map(|(n, order)| Lane { order: order.to_vec(), mirrored: n >= 2 });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn lanes_are_divided_among_aggregators() {
        let torus = (50.0, true);
        assert_eq!(names(&[4, 4], torus, 200.0, 2), ["01", "10", "-01", "-10"]);
        assert_eq!(names(&[4, 4], torus, 150.0, 2), ["01", "10", "-01", "-10"], "two each");
        assert_eq!(names(&[4, 4], torus, 50.0, 4), ["01", "10", "-01", "-10"], "one each");
        assert_eq!(names(&[4, 4, 4, 4], torus, 50.0, 4), ["0123", "1230", "2301", "3012"]);
    }

    #[test]
    fn levels_of_a_tree_have_one_order() {
        assert_eq!(names(&[4, 8], (50.0, false), 100.0, 1), ["01"]);
        assert_eq!(names(&[4, 8], (0.0, false), 0.0, 3), ["01", "01", "01"]);
    }
}
