//! The XOR exchange between NUMA nodes on a ring bus with a clockwise and a counter-clockwise path (docs/algorithms.md,
//! xor, "NUMA nodes"): how many transfers of a step meet on one part of a path, found by trying every choice.

use nagare_plan::pattern::VirtualRanks;
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

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

/// One node with so many ranks on each of its NUMA nodes, whose numbers are told or not.
fn node(numas: u32, each: u32, told: bool) -> Topology {
    let ranks = numas * each;
    let topology = Topology::new(vec!["node".into()], vec![vec![0; ranks as usize]], (0..ranks).collect()).unwrap();
    if told { topology.with_numa((0..ranks).map(|rank| rank / each).collect()) } else { topology }
}

/// Pairs of NUMA nodes, by their places, between which something is sent in every step that leaves a NUMA node.
fn pairs(topology: &Topology, each: u32, place: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let v = VirtualRanks::new(topology);
    let at = |rank: u32| place[(rank / each) as usize];
    let of_step = |step| -> Vec<(usize, usize)> {
        let partners =
            (0..topology.ranks()).filter_map(|rank| v.partner(rank, step).map(|other| (at(rank), at(other))));
        partners.filter(|(from, to)| from != to).collect::<BTreeSet<_>>().into_iter().collect()
    };
    (1..v.steps()).map(of_step).filter(|pairs| !pairs.is_empty()).collect()
}

/// The same with one process on each NUMA node: virtual ranks are the numbers of the NUMA nodes.
fn steps(place: &[usize]) -> Vec<Vec<(usize, usize)>> {
    pairs(&node(place.len() as u32, 1, true), 1, place)
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

/// All ranks of a NUMA node go the same way, and nobody else does.
#[test]
fn several_ranks_on_a_numa_node_go_the_same_way() {
    for each in [1, 2, 3, 5, 12] {
        for (size, most) in [(2, 1), (4, 1), (8, 2)] {
            let place: Vec<usize> = (0..size).collect();
            let padded = pairs(&node(size as u32, each, true), each, &place);
            assert_eq!(padded.len() as u32, (size as u32 - 1) * each.next_power_of_two());
            assert_eq!(padded.iter().map(|step| sharing(size, step).0).max(), Some(most), "{size} × {each}");
        }
    }
    // Numbered through, ranks of a NUMA node of three go to two others, and their ways meet.
    let through = pairs(&node(4, 3, false), 3, &[0, 1, 2, 3]);
    assert!(through.iter().any(|step| sharing(4, step).0 > 1));
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
