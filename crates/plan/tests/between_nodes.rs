//! What the schedules for the full rate promise, on random nested groups of all sizes: loads of leaders and of group
//! borders, the colouring over all levels, who serves whom. Everything is found from the moves and the groups alone.

use crate::support::amount::everything;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast, Reduce};
use nagare_plan::schedule::{Action, Move, Rank, Schedule};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A small generator of numbers (Knuth's MMIX constants), so that cases are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// Groups of every rank: pods, leaves in pods, nodes in leaves, with several ranks; sizes at random up to a size of its
/// own for every level, ranks in order or dealt in no order.
fn random_groups(ranks: u32, seed: u64) -> Vec<Vec<u32>> {
    let mut numbers = Numbers(u64::from(ranks) << 20 | seed);
    let most = [1 + numbers.below(6), 1 + numbers.below(9), 1 + numbers.below(4)];
    let (mut number, mut left) = ([0; 3], [0; 3]);
    let mut groups = vec![Vec::new(); 3];
    for _ in 0..ranks {
        // A group that is full ends all groups inside it.
        for level in (0..3).rev() {
            if left[level] > 0 {
                break;
            }
            left[level] = 1 + numbers.below(most[level]);
            number[level] += 1;
            if level > 0 {
                left[level - 1] = u32::max(left[level - 1], 1) - 1;
            }
        }
        left[2] -= 1;
        (0..3).for_each(|level| groups[level].push(number[level]));
    }
    if seed % 3 == 2 {
        for rank in (1..ranks).rev() {
            let other = numbers.below(rank + 1) as usize;
            groups.iter_mut().for_each(|of_rank| of_rank.swap(rank as usize, other));
        }
    }
    groups
}

fn planner(groups: &[Vec<u32>]) -> Planner {
    let names = ["pod", "leaf", "node"].map(str::to_owned).to_vec();
    Planner::new(Topology::new(names, groups.to_vec(), vec![0; groups[0].len()]).expect("nested"))
}

/// All sizes, some groupings and roots of each: one whose ranks are in no order among them.
fn cases() -> impl Iterator<Item = (Vec<Vec<u32>>, Planner, BTreeSet<Rank>)> {
    (1..=130).flat_map(|ranks| {
        let seeds = if everything() { vec![0, 1, 2, 3] } else { vec![[0, 1, 3][ranks as usize % 3], 2] };
        seeds.into_iter().map(move |seed| {
            let groups = random_groups(ranks, seed);
            let roots = BTreeSet::from([0, ranks / 3, ranks - 1]);
            (groups.clone(), planner(&groups), roots)
        })
    })
}

#[test]
fn the_random_groups_are_nested_uneven_and_have_nodes_of_several_ranks() {
    let (mut uneven, mut shared, mut deep) = (0, 0, 0);
    for (groups, planner, _) in cases() {
        let sizes = |level: &Vec<u32>| {
            let mut of = BTreeMap::<u32, u32>::new();
            level.iter().for_each(|&g| *of.entry(g).or_default() += 1);
            of.into_values().collect::<BTreeSet<u32>>()
        };
        uneven += u32::from(groups.iter().all(|level| sizes(level).len() > 1));
        shared += u32::from(planner.context().grouped().shares_nodes());
        deep += u32::from(planner.context().grouped().depth_between_nodes() == 3);
    }
    assert!(uneven > 150 && shared > 150 && deep > 150, "{uneven} {shared} {deep}");
}

/// A schedule, both ends of all of whose transfers agree.
fn schedule(planner: &Planner, collective: Collective, algorithm: Algorithm, root: Rank) -> Schedule {
    let schedule = planner.schedule(collective, algorithm, root).expect("implemented");
    let mut ends = [HashSet::new(), HashSet::new()];
    for (plan, hop) in schedule.plans.iter().flat_map(|plan| plan.hops.iter().map(move |hop| (plan, hop))) {
        let sends = hop.action == Action::Send;
        let (from, to) = if sends { (plan.rank, hop.peer) } else { (hop.peer, plan.rank) };
        assert!(ends[usize::from(sends)].insert((from, to, hop.parts, hop.round, hop.tag)));
    }
    assert_eq!(ends[0], ends[1]);
    schedule
}

/// Moves between nodes and moves inside.
fn split(schedule: &Schedule, node: &[u32]) -> (Vec<Move>, Vec<Move>) {
    schedule.moves().into_iter().partition(|m| node[m.from as usize] != node[m.to as usize])
}

/// Only the leader of a node, its smallest rank or the root, talks to other nodes.
fn check_leaders(between: &[Move], node: &[u32], root: Rank) {
    let mut leader = HashMap::new();
    for (rank, &node) in (0..).zip(node) {
        leader.entry(node).or_insert(rank);
    }
    leader.insert(node[root as usize], root);
    for m in between {
        for end in [m.from, m.to] {
            assert_eq!(leader[&node[end as usize]], end, "{m:?} root {root}");
        }
    }
}

/// Entries to and exits from every group of one level, as (into, out of) by group.
fn crossings(between: &[Move], group: &[u32]) -> HashMap<u32, (u32, u32)> {
    let mut crossings = HashMap::new();
    for m in between {
        let (from, to) = (group[m.from as usize], group[m.to as usize]);
        if from != to {
            crossings.entry(to).or_insert((0, 0)).0 += 1;
            crossings.entry(from).or_insert((0, 0)).1 += 1;
        }
    }
    crossings
}

/// Every rank is served exactly once per part in one direction, along ways that all start at the root. Reduce is read
/// backwards. Returns the largest number of edges on a way.
fn check_served(moves: &[Move], parts: u32, backwards: bool, ranks: u32, root: Rank) -> usize {
    let mut parent = HashMap::new();
    for m in moves {
        let (giver, taker) = if backwards { (m.to, m.from) } else { (m.from, m.to) };
        for part in m.parts.first..m.parts.end() {
            assert_eq!(parent.insert((taker, part), giver), None, "{taker} is served part {part} twice");
        }
    }
    assert_eq!(parent.len() as u32, (ranks - 1) * parts);
    let parent = &parent;
    let way = |rank, part| std::iter::successors(Some(rank), move |&r| parent.get(&(r, part)).copied());
    let mut longest = 0;
    for (rank, part) in (0..ranks).flat_map(|r| (0..parts).map(move |p| (r, p))) {
        let edges = way(rank, part).take(ranks as usize + 1).count() - 1;
        assert!(edges < ranks as usize, "{rank} is served part {part} in a circle");
        assert_eq!(way(rank, part).last(), Some(root));
        longest = longest.max(edges);
    }
    longest
}

/// Inside a node every rank but one has one parent, the same for all parts and both directions.
fn check_inside(inside: &[Move], collective: Collective, node: &[u32], before: u16) {
    let mut parent = HashMap::<Rank, HashSet<Rank>>::new();
    for m in inside {
        let upwards = collective != Bcast && m.round.stage < before;
        let (child, above) = if upwards { (m.from, m.to) } else { (m.to, m.from) };
        parent.entry(child).or_default().insert(above);
    }
    assert!(parent.values().all(|parents| parents.len() == 1));
    let nodes: HashSet<u32> = node.iter().copied().collect();
    assert_eq!(parent.len(), node.len() - nodes.len());
}

/// The moves of a Reduce or Bcast, or of the two halves of an Allreduce: (upwards, moves, parts).
fn directions(moves: &[Move], collective: Collective) -> Vec<(bool, Vec<Move>)> {
    match collective {
        Bcast => vec![(false, moves.to_vec())],
        Reduce => vec![(true, moves.to_vec())],
        _ => {
            // Stages: node reduce, reduce, bcast, node bcast, without the outer two where no node has several ranks.
            let stages: BTreeSet<u16> = moves.iter().map(|m| m.round.stage).collect();
            let half = stages.last().map_or(0, |last| last / 2);
            let (up, down) = moves.iter().partition(|m| m.round.stage <= half);
            vec![(true, up), (false, down)]
        }
    }
}

#[test]
fn gateway_two_tree_loads_no_link_twice_and_its_colours_fit_over_all_levels() {
    for (groups, planner, roots) in cases() {
        let (node, ranks) = (&groups[2], groups[2].len() as u32);
        for (&root, (collective, most)) in
            roots.iter().flat_map(|r| [(Bcast, 2), (Reduce, 2), (Allreduce, 4)].map(|c| (r, c)))
        {
            let schedule = schedule(&planner, collective, Algorithm::GatewayTwoTree, root);
            let root = if collective == Allreduce { 0 } else { root };
            let what = format!("P {ranks} {collective} root {root} {groups:?}");
            let (between, inside) = split(&schedule, node);
            assert!(between.iter().chain(&inside).all(|m| (m.parts.count, m.of) == (1, 2)));
            check_leaders(&between, node, root);
            for level in &groups {
                for (group, (into, out)) in crossings(&between, level) {
                    assert!(into <= most && out <= most, "group {group}: {into} in, {out} out; {what}");
                }
            }
            // One stage per direction holds the transfers of all levels, and in it only colours 0 and 1.
            let stages: BTreeSet<u16> = between.iter().map(|m| m.round.stage).collect();
            assert!(stages.len() as u32 <= most / 2, "{what}");
            let mut busy = HashSet::new();
            for m in &between {
                assert!(m.round.step < 2);
                assert!(busy.insert((m.from, true, m.round)), "{} sends twice in {:?}: {what}", m.from, m.round);
                assert!(busy.insert((m.to, false, m.round)), "{} receives twice in {:?}: {what}", m.to, m.round);
            }
            let all = schedule.moves();
            for (upwards, moves) in directions(&all, collective) {
                check_served(&moves, 2, upwards, ranks, root);
            }
            check_inside(&inside, collective, node, 1);
        }
    }
}

#[test]
fn chain_crosses_every_border_once_per_direction() {
    for (groups, planner, roots) in cases() {
        let (node, ranks) = (&groups[2], groups[2].len() as u32);
        let nodes = node.iter().collect::<HashSet<_>>().len();
        for (&root, collective) in roots.iter().flat_map(|r| [Bcast, Reduce, Allreduce].map(|c| (r, c))) {
            let schedule = schedule(&planner, collective, Algorithm::Chain, root);
            let root = if collective == Allreduce { 0 } else { root };
            let (between, inside) = split(&schedule, node);
            check_leaders(&between, node, root);
            assert!(between.iter().chain(&inside).all(|m| (m.parts.count, m.of) == (1, 1)));
            for (upwards, moves) in directions(&schedule.moves(), collective) {
                let (between, _): (Vec<Move>, Vec<Move>) =
                    moves.iter().partition(|m| node[m.from as usize] != node[m.to as usize]);
                assert_eq!(between.len(), nodes - 1);
                for level in &groups {
                    for (group, (into, out)) in crossings(&between, level) {
                        // The root's group is at both ends of the line, so the line leaves it once more than it enters.
                        let holds_root = level[root as usize] == group;
                        // Rank 0, the root of Allreduce, is on the first node.
                        let most = if holds_root && collective != Allreduce { 2 } else { 1 };
                        let (towards_root, away) = if upwards { (out, into) } else { (into, out) };
                        assert!(towards_root <= 1 && away <= most, "group {group}: {into} in, {out} out; {groups:?}");
                        assert!(holds_root || towards_root == 1);
                    }
                }
                // No node forks: a line through all nodes.
                let givers: HashSet<Rank> = between.iter().map(|m| m.from).collect();
                let takers: HashSet<Rank> = between.iter().map(|m| m.to).collect();
                assert_eq!((givers.len(), takers.len()), (nodes - 1, nodes - 1));
                check_served(&moves, 1, upwards, ranks, root);
            }
            check_inside(&inside, collective, node, 1);
        }
    }
}

#[test]
fn in_every_step_of_the_ring_a_node_sends_to_one_node_and_receives_from_one() {
    for (groups, planner, _) in cases() {
        let node = &groups[2];
        let nodes = node.iter().collect::<HashSet<_>>().len() as u32;
        let schedule = schedule(&planner, Allreduce, Algorithm::Ring, 0);
        let (between, inside) = split(&schedule, node);
        check_leaders(&between, node, 0);
        assert_eq!(between.len() as u32, 2 * nodes * (nodes - 1));
        assert!(schedule.plans.iter().all(|p| p.parts == nodes));
        let mut partner: HashMap<(u32, bool), u32> = HashMap::new();
        let mut busy = HashSet::new();
        for m in &between {
            let (from, to) = (node[m.from as usize], node[m.to as usize]);
            assert!(busy.insert((from, true, m.round)) && busy.insert((to, false, m.round)), "{m:?} {groups:?}");
            assert_eq!(*partner.entry((from, true)).or_insert(to), to, "node {from} sends to two nodes");
            assert_eq!(*partner.entry((to, false)).or_insert(from), from, "node {to} receives from two nodes");
        }
        assert_eq!(busy.len() as u32, 4 * nodes * (nodes - 1), "every node is busy in every step");
        // The neighbours go around: one pair of them crosses a group's border in each direction.
        for level in &groups {
            let pairs: HashSet<(Rank, Rank)> = between.iter().map(|m| (m.from, m.to)).collect();
            let mut into = HashMap::<u32, u32>::new();
            for (from, to) in pairs {
                if level[from as usize] != level[to as usize] {
                    *into.entry(level[to as usize]).or_default() += 1;
                }
            }
            assert!(into.values().all(|&n| n == 1), "{groups:?}");
        }
        check_inside(&inside, Allreduce, node, 1);
    }
}
