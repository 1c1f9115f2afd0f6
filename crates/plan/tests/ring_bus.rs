//! The XOR exchange between NUMA nodes on a ring bus with a clockwise and a counter-clockwise path (docs/algorithms.md,
//! xor, "NUMA nodes"): how many transfers of a step meet on one part of a path, found by trying every choice.

use nagare_plan::pattern::VirtualRanks;
use nagare_plan::topology::Topology;
use std::collections::BTreeMap;

use crate::support::document::{number, table};

/// The parts of the path from one place to another: `i` clockwise from i to i + 1, `size + i` the other way from i to i
/// − 1.
fn path(size: usize, from: usize, to: usize, clockwise: bool) -> Vec<usize> {
    if clockwise {
        (0..(size + to - from) % size).map(|k| (from + k) % size).collect()
    } else {
        (0..(size + from - to) % size).map(|k| size + (size + from - k) % size).collect()
    }
}

/// Most transfers on one part, with the best choice for those whose ways are equally long; also the parts used in all.
fn sharing(size: usize, transfers: &[(usize, usize)]) -> (usize, usize) {
    let (mut fixed, mut ties) = (vec![0; 2 * size], Vec::new());
    for &(from, to) in transfers {
        let (there, back) = ((size + to - from) % size, (size + from - to) % size);
        match there.cmp(&back) {
            std::cmp::Ordering::Equal => ties.push((from, to)),
            order => path(size, from, to, order.is_lt()).into_iter().for_each(|part| fixed[part] += 1),
        }
    }
    let best = (0..1u32 << ties.len()).map(|choice| {
        let mut load = fixed.clone();
        for (k, &(from, to)) in ties.iter().enumerate() {
            path(size, from, to, choice >> k & 1 == 0).into_iter().for_each(|part| load[part] += 1);
        }
        load
    });
    let best = best.min_by_key(|load| load.iter().copied().max()).expect("one choice at least");
    (best.iter().copied().max().unwrap_or(0), best.iter().sum())
}

/// Transfers of every step between NUMA nodes whose numbers are on the given places, with one process on each.
fn steps(place: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let ranks = place.len() as u32;
    // One node, a core on each of its NUMA nodes: virtual ranks are the numbers of the NUMA nodes.
    let topology = Topology::new(vec!["node".into()], vec![vec![0; place.len()]], (0..ranks).collect()).unwrap();
    let v = VirtualRanks::new(&topology);
    (1..v.steps())
        .map(|step| {
            let pairs = (0..ranks).filter_map(|rank| v.partner(rank, step).map(|partner| (rank, partner)));
            pairs.map(|(a, b)| (place[a as usize], place[b as usize])).collect()
        })
        .collect()
}

/// Ways to number the places, the first of them fixed: the ring has no beginning.
fn numberings(size: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0]];
    for _ in 1..size {
        let longer =
            |n: Vec<usize>| (1..size).filter(|p| !n.contains(p)).map(|p| [&n[..], &[p]].concat()).collect::<Vec<_>>();
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

#[test]
fn ways_around_the_ring() {
    assert_eq!(path(4, 3, 1, true), [3, 0]);
    assert_eq!(path(4, 3, 1, false), [7, 6]);
    assert_eq!(path(4, 0, 3, false), [4]);
    // Two transfers across share nothing if one goes each way round; four fill both paths.
    assert_eq!(sharing(4, &[(0, 2), (1, 3)]), (1, 4));
    assert_eq!(sharing(4, &[(0, 2), (2, 0), (1, 3), (3, 1)]), (1, 8));
    assert_eq!(sharing(8, &[(0, 2), (1, 3)]), (2, 4));
}

#[test]
fn on_four_nodes_nothing_is_shared_and_on_eight_as_little_as_can_be() {
    for row in table("NUMA nodes") {
        let size: usize = number(&row[0]);
        let found: Vec<(usize, usize)> =
            steps(&(0..size).collect::<Vec<_>>()).iter().map(|s| sharing(size, s)).collect();
        let uses: usize = found.iter().map(|f| f.1).sum();
        let parts = 2 * size * (size - 1);
        let free = found.iter().filter(|f| f.0 == 1).count();
        let most = found.iter().map(|f| f.0).max().unwrap();
        assert_eq!([uses, parts, free, most], [1, 2, 3, 4].map(|c| number::<usize>(&row[c])), "{row:?}");
        // Shortest ways: each pair's distance, both ways, whatever the steps are. More uses than parts must share.
        let distances: usize =
            (0..size).flat_map(|a| (0..size).map(move |b| (a.abs_diff(b)).min(size - a.abs_diff(b)))).sum();
        assert_eq!(uses, distances);
        assert!(most >= uses.div_ceil(parts));
        if size == 8 {
            assert_eq!((uses, parts), (128, 112));
            assert_eq!(most, uses.div_ceil(parts), "no exchange in seven steps can share less");
        }
    }
}

#[test]
fn no_other_numbering_of_eight_nodes_shares_less() {
    let mut outcomes: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for place in numberings(8) {
        let mut most: Vec<usize> = steps(&place).iter().map(|s| sharing(8, s).0).collect();
        most.sort_unstable();
        *outcomes.entry(most).or_default() += 1;
    }
    assert_eq!(outcomes.values().sum::<usize>(), 5040);
    // The order along the ring: the step to the next node is free, in the other six two transfers meet. None is better.
    assert_eq!(outcomes.keys().next().unwrap(), &[1, 2, 2, 2, 2, 2, 2]);
    assert!(outcomes.keys().all(|most| most.iter().sum::<usize>() >= 13));
    // On four nodes every numbering is free of sharing.
    let four = numberings(4);
    assert!(four.iter().all(|place| steps(place).iter().all(|s| sharing(4, s).0 == 1)) && four.len() == 6);
}
