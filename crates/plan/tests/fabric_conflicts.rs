//! What docs/fabrics.md says of conflicts in the p = 6 mesh. The two-trees are built here, from their rule, and not by
//! the library: these are tests of fabrics, routes and the checker.

use std::collections::{BTreeMap, BTreeSet};

use nagare_plan::fabric::{CheckReport, Fabric, Generator, Placement, Round, TierRates, Transfer, check, shipped};

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Reduce,
    Bcast,
}
use Direction::{Bcast, Reduce};

/// In-order tree over 1..=k by the rule "the largest power of two is the root": (child, parent), root's parent 0.
fn in_order(k: usize) -> Vec<(usize, usize)> {
    fn part(low: usize, high: usize, parent: usize, edges: &mut Vec<(usize, usize)>) {
        if low > high {
            return;
        }
        // The top of 1..=k is the largest power of two; inside, the multiple of the largest power of two.
        let top = (low..=high).max_by_key(|x| x.trailing_zeros()).unwrap();
        edges.push((top, parent));
        part(low, top - 1, top, edges);
        part(top + 1, high, top, edges);
    }
    let mut edges = Vec::new();
    part(1, k, 0, &mut edges);
    edges
}

/// Rounds of both trees over `ranks`, the first of which is the root: colour 0 and colour 1, as (sender, receiver).
fn two_tree(ranks: &[u32], direction: Direction) -> [Vec<(u32, u32)>; 2] {
    coloured(ranks, direction, 0)
}

/// The same, where all parts of the edges but the first start with the colour `others`.
fn coloured(ranks: &[u32], direction: Direction, others: usize) -> [Vec<(u32, u32)>; 2] {
    let k = ranks.len() - 1;
    let shifted = |v: usize| if v == 0 { 0 } else { v % k + 1 };
    let tree = in_order(k);
    let mut edges = tree.clone();
    edges.extend(tree.iter().map(|&(c, p)| (shifted(c), shifted(p))));
    // Colours by spreading from edge to edge: same child or same parent means the other colour. Every part of the edges
    // that touch one another starts with a colour of its own; of the sizes below only 6, 7 and 25 ranks have two parts,
    // and 7 is where the choice matters: no routes clear the other colouring together with sizes 5, 8 and 9
    // (examples/search_routes.rs).
    let mut colour: BTreeMap<usize, usize> = BTreeMap::new();
    for start in 0..edges.len() {
        let mut open = vec![(start, if start == 0 { 0 } else { others })];
        while let Some((e, c)) = open.pop() {
            match colour.get(&e) {
                Some(&known) => assert!(e == start || known == c, "two sends or receives of one colour"),
                None => {
                    colour.insert(e, c);
                    let touches = |f: &usize| *f != e && (edges[*f].0 == edges[e].0 || edges[*f].1 == edges[e].1);
                    open.extend((0..edges.len()).filter(touches).map(|f| (f, 1 - c)));
                }
            }
        }
    }
    let mut rounds = [Vec::new(), Vec::new()];
    for (e, &(child, parent)) in edges.iter().enumerate() {
        let (child, parent) = (ranks[child], ranks[parent]);
        rounds[colour[&e]].push(if direction == Reduce { (child, parent) } else { (parent, child) });
    }
    rounds
}

fn round(label: String, pairs: Vec<(u32, u32)>) -> Round {
    let transfers = pairs.into_iter().map(|(from, to)| Transfer { from, to, bytes: 1000 });
    Round { label, transfers: transfers.collect() }
}

fn flat(ranks: u32, direction: Direction) -> Vec<Round> {
    let ranks: Vec<u32> = (0..ranks).collect();
    let rounds = two_tree(&ranks, direction).into_iter().enumerate();
    rounds.map(|(c, pairs)| round(format!("colour {c}"), pairs)).collect()
}

/// Local rounds of all groups at the same time, and the rounds among the representatives.
fn grouped(sizes: &[u32], direction: Direction) -> (Vec<Round>, Vec<Round>) {
    let mut local = [Vec::new(), Vec::new()];
    let (mut first, mut representatives) = (0, Vec::new());
    for &size in sizes {
        let members: Vec<u32> = (first..first + size).collect();
        for (all, pairs) in local.iter_mut().zip(two_tree(&members, direction)) {
            all.extend(pairs);
        }
        representatives.push(first);
        first += size;
    }
    let label = |level: &'static str| move |(c, pairs)| round(format!("{level}, colour {c}"), pairs);
    let global = two_tree(&representatives, direction);
    (
        local.into_iter().enumerate().map(label("local")).collect(),
        global.into_iter().enumerate().map(label("global")).collect(),
    )
}

fn shipped_mesh() -> Fabric {
    Fabric::from_toml(shipped("mlfm36").unwrap(), "mlfm36").unwrap()
}

/// The mesh without forwarding tables: the k-th destination takes the k-th of the equal paths.
fn naive_mesh() -> Fabric {
    let rates = TierRates::uniform(20.0, 5.0);
    Generator::Mlfm { ports: 6 }.builder("mlfm36", &rates).unwrap().build().unwrap()
}

fn packed(fabric: &Fabric) -> Placement {
    Placement::by_slot(fabric, 32, 1).unwrap()
}

fn balanced(fabric: &Fabric) -> Placement {
    Placement::balanced(fabric, 32, 1).unwrap()
}

/// Conflicting pairs as (first, second, shared links between switches), each pair in ascending order.
fn pairs(report: &CheckReport) -> Vec<[(u32, u32); 2]> {
    let mut found: Vec<[(u32, u32); 2]> = Vec::new();
    for c in &report.conflicts {
        let mut pair = [(c.first.from, c.first.to), (c.second.from, c.second.to)];
        pair.sort_unstable();
        found.push(pair);
    }
    found.sort_unstable();
    found
}

/// The links two transfers share, if the report has them as a conflict.
fn shared(report: &CheckReport, pair: [(u32, u32); 2]) -> Option<Vec<String>> {
    let is = |t: Transfer, p: (u32, u32)| (t.from, t.to) == p;
    let [a, b] = pair;
    let mut found = report.conflicts.iter();
    let found = found.find(|c| (is(c.first, a) && is(c.second, b)) || (is(c.first, b) && is(c.second, a)));
    found.map(|c| c.links.clone())
}

#[test]
fn the_two_tree_of_these_tests_is_the_documents() {
    let ranks: Vec<u32> = (0..8).collect();
    let mut rounds = two_tree(&ranks, Reduce);
    rounds.iter_mut().for_each(|r| r.sort_unstable());
    rounds.sort_unstable();
    let colour_0 = vec![(1, 2), (2, 4), (3, 5), (4, 3), (5, 0), (6, 7), (7, 6)];
    let colour_1 = vec![(1, 7), (2, 3), (3, 2), (4, 0), (5, 6), (6, 4), (7, 5)];
    assert_eq!(rounds, [colour_0, colour_1]);
}

#[test]
fn flat_packed() {
    for fabric in [naive_mesh(), shipped_mesh()] {
        let report = check(&fabric, &packed(&fabric), &flat(32, Reduce)).unwrap();
        let links = shared(&report, [(24, 16), (25, 17)]).expect("24->16 and 25->17 conflict");
        assert_eq!(links, ["c3 -> D", "D -> b3"]);
    }
}

#[test]
fn flat_balanced() {
    for fabric in [naive_mesh(), shipped_mesh()] {
        let report = check(&fabric, &balanced(&fabric), &flat(32, Reduce)).unwrap();
        let links = shared(&report, [(24, 16), (25, 17)]).expect("24->16 and 25->17 conflict");
        assert_eq!(links, ["d1 -> F", "F -> c1"]);
    }
}

#[test]
fn between_groups_never() {
    for fabric in [naive_mesh(), shipped_mesh()] {
        for direction in [Reduce, Bcast] {
            let (_, global) = grouped(&[8; 4], direction);
            assert_eq!(check(&fabric, &balanced(&fabric), &global).unwrap().conflicts, []);
            let (_, global) = grouped(&[9, 9, 9, 5], direction);
            assert_eq!(check(&fabric, &packed(&fabric), &global).unwrap().conflicts, []);
        }
    }
}

#[test]
fn inside_groups_of_eight_with_the_naive_rule() {
    let fabric = naive_mesh();
    let (local, _) = grouped(&[8; 4], Reduce);
    let report = check(&fabric, &balanced(&fabric), &local).unwrap();
    let expected: Vec<_> = (0..4).map(|g| [(8 * g + 4, 8 * g), (8 * g + 5, 8 * g + 6)]).collect();
    assert_eq!(pairs(&report), expected);
    assert_eq!(shared(&report, [(4, 0), (5, 6)]).unwrap(), ["a2 -> A"]);
    let (local, _) = grouped(&[8; 4], Bcast);
    assert_eq!(check(&fabric, &balanced(&fabric), &local).unwrap().conflicts, []);
}

#[test]
fn inside_groups_of_nine_with_the_naive_rule() {
    let fabric = naive_mesh();
    let (local, _) = grouped(&[9, 9, 9, 5], Reduce);
    let report = check(&fabric, &packed(&fabric), &local).unwrap();
    let expected: Vec<_> = (0..3).map(|g| 9 * g).map(|r| [(r + 3, r + 2), (r + 4, r + 8)]).collect();
    assert_eq!(pairs(&report), expected);
    assert_eq!(shared(&report, [(3, 2), (4, 8)]).unwrap(), ["a2 -> C"]);

    let (local, _) = grouped(&[9, 9, 9, 5], Bcast);
    let report = check(&fabric, &packed(&fabric), &local).unwrap();
    let expected: Vec<_> = (0..3).map(|g| 9 * g).map(|r| [(r, r + 8), (r + 1, r + 5)]).collect();
    assert_eq!(pairs(&report), expected);
    assert_eq!(shared(&report, [(0, 8), (1, 5)]).unwrap(), ["a1 -> C"]);
}

#[test]
fn the_shipped_routes_clear_all_group_sizes_in_both_directions() {
    let fabric = shipped_mesh();
    for direction in [Reduce, Bcast] {
        for size in 2..=9 {
            let (local, global) = grouped(&[size; 4], direction);
            let hosts = (0..4).flat_map(|g| (0..size).map(move |i| format!("n{}", 9 * g + i)));
            let placement = Placement::listed(&fabric, &hosts.collect::<Vec<_>>()).unwrap();
            for rounds in [local, global] {
                assert_eq!(check(&fabric, &placement, &rounds).unwrap().conflicts, [], "groups of {size}");
            }
        }
        let (local, global) = grouped(&[9, 9, 9, 5], direction);
        for rounds in [local, global] {
            assert_eq!(check(&fabric, &packed(&fabric), &rounds).unwrap().conflicts, []);
        }
    }
}

#[test]
fn a_spine_of_its_own_for_every_server_of_a_leaf_does_not_clear_nine() {
    // All 6³ ways to give the three servers of each leaf of group a different spines, used by everybody who sends
    // there.
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let rates = TierRates::uniform(20.0, 5.0);
    for choice in 0..216 {
        let mut b = Generator::Mlfm { ports: 6 }.builder("mlfm36", &rates).unwrap();
        for host in 0..9 {
            let order = orders[[choice % 6, choice / 6 % 6, choice / 36][host / 3]];
            let spine = ["A", "B", "C"][order[host % 3]];
            for leaf in (0..3).filter(|&l| l != host / 3) {
                b.route(&format!("a{}", leaf + 1), &format!("n{host}"), spine).unwrap();
            }
        }
        let fabric = b.build().unwrap();
        let conflicts = |direction| {
            let (local, _) = grouped(&[9], direction);
            check(&fabric, &Placement::by_slot(&fabric, 9, 1).unwrap(), &local).unwrap().conflicts.len()
        };
        assert!(conflicts(Reduce) + conflicts(Bcast) > 0, "{choice}");
    }
}

/// The mesh of more ports without tables, its hosts by slot, in the order of ranks: as many conflicts in every group.
#[test]
fn whole_groups_of_larger_meshes_meet_in_the_order_of_ranks() {
    for (ports, conflicts) in [(8u32, [5, 10]), (10, [12, 36])] {
        let half = ports / 2;
        let mesh = Generator::Mlfm { ports }.builder("mesh", &TierRates::uniform(20.0, 5.0)).unwrap().build().unwrap();
        let placement = Placement::by_slot(&mesh, mesh.host_count(), 1).unwrap();
        let found = [Reduce, Bcast].map(|direction| {
            let (local, global) = grouped(&vec![half * half; half as usize + 1], direction);
            assert_eq!(check(&mesh, &placement, &global).unwrap().conflicts, []);
            check(&mesh, &placement, &local).unwrap().conflicts.len()
        });
        assert_eq!(found, conflicts, "{ports}");
    }
}

/// In the order of ranks, the root first, no tables clear all roots of a whole group, however the edges are coloured:
/// some leaf sends to one host more than it has uplinks, to each two of them at the same time for one of these roots.
#[test]
fn no_tables_clear_all_roots_in_the_order_of_ranks() {
    let cases: [(u32, usize, u32, &[u32]); 6] = [
        (3, 0, 4, &[0, 2, 6, 7]),
        (3, 1, 4, &[0, 2, 6, 7]),
        (4, 0, 6, &[3, 4, 5, 7, 12]),
        (4, 1, 6, &[3, 4, 5, 7, 12]),
        (5, 0, 15, &[0, 7, 13, 14, 20, 21]),
        (5, 1, 10, &[7, 8, 9, 14, 20, 21]),
    ];
    for (half, others, roots, targets) in cases {
        assert_eq!(targets.len(), half as usize + 1);
        let mut together: BTreeSet<(u32, u32, u32)> = BTreeSet::new();
        for (root, direction) in (0..roots).flat_map(|root| [(root, Reduce), (root, Bcast)]) {
            let ranks: Vec<u32> = std::iter::once(root).chain((0..half * half).filter(|&r| r != root)).collect();
            for round in coloured(&ranks, direction, others) {
                let out: Vec<(u32, u32)> = round.into_iter().filter(|(a, b)| a / half != b / half).collect();
                for (&(a, to), &(b, other)) in out.iter().flat_map(|x| out.iter().map(move |y| (x, y))) {
                    if a / half == b / half {
                        together.insert((a / half, to, other));
                    }
                }
            }
        }
        let is_clique = |leaf| {
            let mut pairs = targets.iter().flat_map(|&a| targets.iter().map(move |&b| (a, b)));
            pairs.all(|(a, b)| a == b || together.contains(&(leaf, a, b)))
        };
        assert!((0..half).any(is_clique), "{half} hosts on a leaf, colouring {others}");
    }
}
