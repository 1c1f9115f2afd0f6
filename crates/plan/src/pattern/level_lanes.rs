//! Orders in which halving can go through the levels of a tree or mesh.
//!
//! ```text
//!   levels: leaf, node   near first   node leaf   little crosses the links between leaves, 1/N of the vector per node
//!                        far first    leaf node   much crosses them, in the first step and in the last
//!                        both         half of the vector each: while one half is inside leaves the other crosses
//! ```
//! Which is fastest depends on how wide the links between groups are; the cost model compares them. Source of the
//! orders, and of sending half of the data the other way: Japanese patent 7087953 (docs/provenance.md).

use super::lanes::Lane;

/// The lanes of `aggregators` for every way to order `levels`, the dimensions of a grid from the widest groups to the
/// nodes.
pub fn level_lanes(levels: &[usize], aggregators: u32) -> [Vec<Lane>; 3] {
    let far = Lane { order: levels.to_vec(), mirrored: false };
    let near = Lane { order: levels.iter().rev().copied().collect(), mirrored: false };
    [vec![near.clone()], vec![far.clone()], vec![near, far]]
        .map(|way| std::iter::repeat_n(way, aggregators as usize).flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_first_far_first_and_both() {
        let orders = |levels: &[usize], aggregators| -> Vec<Vec<Vec<usize>>> {
            level_lanes(levels, aggregators).into_iter().map(|way| way.into_iter().map(|l| l.order).collect()).collect()
        };
        let [far, near] = [vec![0, 1, 2], vec![2, 1, 0]];
        assert_eq!(orders(&[0, 1, 2], 1), [vec![near.clone()], vec![far.clone()], vec![near.clone(), far.clone()]]);
        assert_eq!(orders(&[0, 1, 2], 2)[2], [near.clone(), far.clone(), near, far]);
    }
}
