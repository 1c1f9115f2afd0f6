//! What `docs/algorithms.md` says about two-trees, alone and in groups: messages, loads of hosts, depths and rounds.
//! Formulas are computed here from P, groups and root alone.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allreduce, Bcast, Reduce};
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::document::{number, table};
use crate::support::formulas::{log2_ceil, planner_of, regular, schedule};

/// Half vectors a rank sends and receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Halves {
    sent: u32,
    received: u32,
}

fn traffic(schedule: &Schedule) -> Vec<Halves> {
    let mut of = vec![Halves::default(); schedule.plans.len()];
    for m in schedule.moves() {
        assert_eq!((m.parts.count, m.of), (1, 2));
        of[m.from as usize].sent += 1;
        of[m.to as usize].received += 1;
    }
    of
}

/// Longest way of a half from the root in the tree that `part` travels in a Bcast.
fn depth(bcast: &Schedule, part: u32) -> u32 {
    let moves = bcast.moves();
    let parent: BTreeMap<u32, u32> = moves.iter().filter(|m| m.parts.first == part).map(|m| (m.to, m.from)).collect();
    let way = |rank: u32| std::iter::successors(parent.get(&rank), |r| parent.get(r)).count() as u32;
    (0..bcast.plans.len() as u32).map(way).max().unwrap()
}

/// Children of member `i` of `m` in both trees together.
fn children(i: u32, m: u32) -> u32 {
    match m % 2 {
        1 if i == 1 => 0,
        0 if i == 1 || i == m => 1,
        _ => 2,
    }
}

/// Halves a Bcast makes each rank send, by the document's rule: groups within groups, each level a two-tree over
/// representatives. `levels[l][rank]` is a group number, outermost first. Returns the largest family of each level.
fn expect_bcast(levels: &[Vec<u32>], ranks: &[u32], root: u32, sent: &mut [u32], families: &mut [u32]) {
    let Some((level, inner)) = levels.split_first() else { return };
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    ranks.iter().for_each(|&r| groups.entry(level[r as usize]).or_default().push(r));
    let mut groups: Vec<Vec<u32>> = groups.into_values().collect();
    groups.sort_by_key(|g| g[0]);
    let of_root = groups.iter().position(|g| g.contains(&root)).unwrap_or(0);
    let members = groups.len() as u32 - 1;
    families[0] = families[0].max(groups.len() as u32);
    let mut member = 0;
    for (index, group) in groups.iter().enumerate() {
        let representative = if group.contains(&root) { root } else { group[0] };
        sent[representative as usize] += if index == of_root {
            2 * u32::from(members > 0)
        } else {
            member += 1;
            children(member, members)
        };
        expect_bcast(inner, group, root, sent, &mut families[1..]);
    }
}

/// Checks messages and bytes per rank of Bcast, Reduce and Allreduce, and returns the Bcast's depth and largest
/// families.
fn check_trees(planner: &Planner, algorithm: Algorithm, levels: &[Vec<u32>], root: u32) -> (u32, Vec<u32>) {
    let ranks = planner.topology().ranks();
    let all: Vec<u32> = (0..ranks).collect();
    let expected = |root| {
        let (mut sent, mut families) = (vec![0; ranks as usize], vec![0; levels.len()]);
        expect_bcast(levels, &all, root, &mut sent, &mut families);
        let received = |r: u32| if r == root { 0 } else { 2 };
        let halves: Vec<Halves> =
            all.iter().map(|&r| Halves { sent: sent[r as usize], received: received(r) }).collect();
        (halves, families)
    };
    let turned = |h: &Halves| Halves { sent: h.received, received: h.sent };
    let both = |h: &Halves| Halves { sent: h.sent + h.received, received: h.sent + h.received };
    let (down, families) = expected(root);
    let bcast = schedule(planner, Bcast, algorithm, root);
    assert_eq!(bcast.moves().len() as u32, 2 * (ranks - 1));
    assert_eq!(traffic(&bcast), down, "P {ranks} root {root}");
    assert!(bcast.plans.iter().all(|p| p.hops.len() <= 2 * levels.len() + 2));
    let reduce = schedule(planner, Reduce, algorithm, root);
    assert_eq!(traffic(&reduce), down.iter().map(turned).collect::<Vec<_>>());
    let allreduce = schedule(planner, Allreduce, algorithm, root);
    assert_eq!(allreduce.moves().len() as u32, 4 * (ranks - 1));
    assert_eq!(traffic(&allreduce), expected(0).0.iter().map(both).collect::<Vec<_>>());
    let depths = [depth(&bcast, 0), depth(&bcast, 1)];
    (depths[0].max(depths[1]), families)
}

/// The largest number of halves over the link of one host, in one direction.
fn busiest_host(schedule: &Schedule, node: &[u32]) -> u32 {
    let mut load: BTreeMap<(u32, bool), u32> = BTreeMap::new();
    for m in schedule.moves() {
        let (from, to) = (node[m.from as usize], node[m.to as usize]);
        if from != to {
            *load.entry((from, true)).or_default() += 1;
            *load.entry((to, false)).or_default() += 1;
        }
    }
    load.into_values().max().unwrap_or(0)
}

#[test]
fn two_tree_formulas() {
    for ranks in (2..=130).chain([257, 1000, 1024, 1025]) {
        let planner = Planner::new(Topology::of_nodes((0..ranks).collect()).unwrap());
        let levels = [(0..ranks).collect()];
        let roots = if ranks <= 20 { (0..ranks).collect() } else { BTreeSet::from([0, ranks / 2, ranks - 1]) };
        for root in roots {
            let (depth, _) = check_trees(&planner, Algorithm::TwoTree, &levels, root);
            assert_eq!(depth, log2_ceil(ranks), "P {ranks} root {root}");
            // Twice the busiest link of Allreduce: P = 2 and 3 have no member with two children.
            let of_allreduce = [2, 3, 4][ranks.min(4) as usize - 2];
            for (collective, halves) in [(Bcast, 2), (Reduce, 2), (Allreduce, of_allreduce)] {
                let s = schedule(&planner, collective, Algorithm::TwoTree, root);
                assert_eq!(busiest_host(&s, &levels[0]), halves, "P {ranks} {collective}");
            }
        }
    }
    for row in table("P") {
        let ranks: u32 = number(&row[0]);
        let planner = Planner::new(Topology::of_nodes((0..ranks).collect()).unwrap());
        let bcast = schedule(&planner, Bcast, Algorithm::TwoTree, 0);
        let allreduce = schedule(&planner, Allreduce, Algorithm::TwoTree, 0);
        let found = [bcast.moves().len() as u32, allreduce.moves().len() as u32, depth(&bcast, 0)];
        assert_eq!(found, [number(&row[1]), number(&row[2]), number::<u32>(&row[3])]);
    }
}

#[test]
fn grouped_two_tree_formulas_in_regular_groups() {
    let shapes: [&[u32]; 6] = [&[4, 8, 1], &[4, 8, 2], &[5, 7, 3], &[4, 4, 4, 1], &[5, 4, 6, 2], &[6, 1]];
    for counts in shapes {
        let levels = regular(counts);
        let planner = planner_of(&levels);
        let ranks: u32 = counts.iter().product();
        let node = &levels[levels.len() - 2];
        let between_nodes = counts.len() as u32 - 1;
        for root in BTreeSet::from([0, 1, ranks / 2, ranks - 1]) {
            let (depth, _) = check_trees(&planner, Algorithm::GroupedTwoTree, &levels, root);
            assert_eq!(depth, counts.iter().map(|&f| log2_ceil(f)).sum::<u32>(), "{counts:?} root {root}");
            for (collective, vectors) in
                [(Bcast, between_nodes), (Reduce, between_nodes), (Allreduce, between_nodes + 1)]
            {
                let s = schedule(&planner, collective, Algorithm::GroupedTwoTree, root);
                assert_eq!(busiest_host(&s, node), 2 * vectors, "{counts:?} {collective}");
            }
        }
    }
    for row in table("groups × nodes × ranks") {
        let counts: Vec<u32> = row[0].split('×').map(|c| number(c.trim())).collect();
        let levels = regular(&counts);
        let planner = planner_of(&levels);
        let bcast = schedule(&planner, Bcast, Algorithm::GroupedTwoTree, 0);
        let allreduce = schedule(&planner, Allreduce, Algorithm::GroupedTwoTree, 0);
        let node = &levels[levels.len() - 2];
        let longest = depth(&bcast, 0).max(depth(&bcast, 1));
        let found =
            [bcast.moves().len() as u32, longest, busiest_host(&bcast, node) / 2, busiest_host(&allreduce, node) / 2];
        assert_eq!(found, [1, 2, 3, 4].map(|c| number::<u32>(&row[c])), "{row:?}");
    }
}

#[test]
fn grouped_two_tree_formulas_in_uneven_groups() {
    for ranks in 2..=70u32 {
        for seed in 0..3 {
            // Ranks dealt over nodes and nodes over groups in no order, some of them alone.
            let node: Vec<u32> = (0..ranks).map(|r| (r * r + seed * r / 3) % (3 + seed * 8)).collect();
            let group: Vec<u32> = node.iter().map(|&n| n * 5 % 7 % (2 + seed)).collect();
            let levels = [group, node, (0..ranks).collect()];
            let planner = planner_of(&levels);
            for root in BTreeSet::from([0, ranks / 3, ranks - 1]) {
                let (depth, families) = check_trees(&planner, Algorithm::GroupedTwoTree, &levels, root);
                let bound: u32 = families.iter().map(|&f| log2_ceil(f)).sum();
                assert!(depth <= bound, "P {ranks} seed {seed} root {root}: depth {depth}, families {families:?}");
                for (collective, vectors) in [(Bcast, 2), (Reduce, 2), (Allreduce, 3)] {
                    let s = schedule(&planner, collective, Algorithm::GroupedTwoTree, root);
                    assert!(busiest_host(&s, &levels[1]) <= 2 * vectors, "P {ranks} seed {seed} {collective}");
                }
            }
        }
    }
}

/// Rounds until k blocks of each half are everywhere, colours taking turns; a hop moves its next block when it is
/// there.
fn rounds(schedule: &Schedule, k: u32) -> u32 {
    let moves = schedule.moves();
    let upwards = schedule.collective == Reduce;
    let feeds = |a: usize, b: usize| moves[a].to == moves[b].from && moves[a].parts == moves[b].parts;
    let before: Vec<Vec<usize>> =
        (0..moves.len()).map(|b| (0..moves.len()).filter(|&a| feeds(a, b)).collect()).collect();
    assert!(upwards || before.iter().all(|b| b.len() <= 1));
    let mut done = vec![0; moves.len()];
    for round in 0.. {
        if done.iter().all(|&d| d == k) {
            return round;
        }
        let earlier = done.clone();
        for i in (0..moves.len()).filter(|&i| moves[i].round.step == round % 2) {
            let ready = before[i].iter().map(|&a| earlier[a]).min().unwrap_or(k);
            done[i] += u32::from(earlier[i] < ready.min(k));
        }
    }
    unreachable!()
}

#[test]
fn rounds_of_a_pipelined_two_tree() {
    for ranks in (2..=20).chain([32, 33, 47, 64]) {
        let planner = Planner::new(Topology::of_nodes((0..ranks).collect()).unwrap());
        for collective in [Bcast, Reduce] {
            let s = schedule(&planner, collective, Algorithm::TwoTree, ranks / 2);
            for k in [1, 2, 5, 16] {
                let (found, most) = (rounds(&s, k), 2 * (k + log2_ceil(ranks) - 1));
                assert!((2 * k..=most).contains(&found), "P {ranks} {collective}, {k} blocks: {found} rounds");
            }
        }
    }
}
