//! What `docs/algorithms.md` says, against schedules and runs: its tables are read from the text, its formulas are
//! computed here from P, groups and root alone. Also the example and the table of `docs/fabrics.md`.
//! One file, since one page is checked, and its sections share what computes their formulas.

use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm, Candidacy, Spec};
use nagare_plan::choice::{Call, Choice, DEFAULTS, Prescription, Reason, Rules, usual};
use nagare_plan::collective::Collective::{self, Allreduce, Alltoall, Bcast, Reduce};
use nagare_plan::execute::{Credits, Executor, Pacing, ThreadTransport, World};
use nagare_plan::fabric::{Fabric, Level, LevelChoice, SHIPPED, shipped};
use nagare_plan::schedule::{Action, Program, Schedule};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::document::{number, table, table_of};
use crate::support::network;

const FABRICS: &str = include_str!("../../../docs/fabrics.md");

/// Smallest k with 2^k ≥ x.
fn log2_ceil(x: u32) -> u32 {
    (0..).find(|&k| 1u64 << k >= u64::from(x)).unwrap()
}

fn schedule(planner: &Planner, collective: Collective, algorithm: Algorithm, root: u32) -> Schedule {
    planner.schedule(collective, algorithm, root).expect("implemented")
}

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
fn the_table_of_algorithms_is_the_code_s() {
    let names = |c: &[Collective]| c.iter().map(|c| c.name()).collect::<Vec<_>>().join(", ");
    let row = |s: &Spec| [&format!("`{}`", s.name), &names(s.collectives), s.needs, s.summary, s.source].join(" | ");
    let documented = table("algorithm");
    for (place, row) in ALGORITHMS.iter().map(row).enumerate() {
        let found = documented.get(place).map(|cells| cells.join(" | "));
        assert_eq!(found, Some(row.replace('`', "")), "docs/algorithms.md, row {} must be\n| {row} |", place + 1);
    }
    assert_eq!(documented.len(), ALGORITHMS.len());
}

#[test]
fn the_thresholds_are_the_code_s() {
    let bytes = |cell: &str| match cell.strip_suffix(" KiB") {
        Some(kibibytes) => 1024 * number::<u64>(kibibytes),
        None => number(cell.trim_end_matches(" bytes")),
    };
    let documented: Vec<(String, String, u64, u64)> =
        table("collective").iter().map(|r| (r[0].clone(), r[1].clone(), bytes(&r[2]), bytes(&r[3]))).collect();
    // A switch whose first host has a wide link, and those that come with Nagare.
    let wide = "name = \"wide\"\nhosts = [\"n[0-4]\"]\nswitches = [\"s\"]\nbandwidth = 100\nlatency = 5\n\
                [[link]]\nfrom = \"n0\"\nto = \"s\"\nbandwidth = 400\n[[link]]\nfrom = \"n[1-4]\"\nto = \"s\"\n";
    let wide = Arc::new(Fabric::from_toml(wide, "wide").expect("valid"));
    let fabrics = SHIPPED.iter().map(|&(name, _)| network::load(name)).chain([wide]);
    let on =
        |fabric: Arc<Fabric>| network::planner(&fabric, &network::place(&fabric, "by slot", fabric.host_count(), 1));
    let networks: Vec<Planner> = fabrics.map(on).collect();
    let known: Vec<(String, String, u64, u64)> = DEFAULTS
        .iter()
        .map(|rule| {
            assert_eq!(rule.max, u64::MAX, "the document names no upper bound");
            assert_eq!(rule.prescription, Prescription::Fitting);
            let collective = rule.collective.expect("one collective");
            let able = || ALGORITHMS.iter().filter(|spec| spec.collectives.contains(&collective));
            let fits_one = |spec: &&Spec| networks.iter().any(|planner| planner.suits(spec, collective, 64 << 10));
            let fit: Vec<&str> = able().filter(fits_one).map(|spec| spec.name).collect();
            let by_time = able().any(|spec| spec.candidacy == Candidacy::Default);
            let algorithm = match (by_time, fit.is_empty()) {
                (true, _) => "by predicted time".to_owned(),
                (false, true) => "nothing".to_owned(),
                (false, false) => fit.join(" or "),
            };
            (collective.name().to_owned(), algorithm, usual(collective).max(rule.min), rule.min)
        })
        .collect();
    assert_eq!(documented, known);
    // The rows that fit are the choice: one byte below the threshold nothing of ours runs.
    for (collective, _, _, min) in documented {
        let call = |bytes| {
            let collective = Collective::from_name(&collective).expect("a collective");
            Rules::default().choose(&Call { collective, bytes, ranks: 16, nodes: 2 }, || Some(Algorithm::Chain))
        };
        if let Some(below) = u64::checked_sub(min, 1) {
            assert_eq!(call(below), Choice::Library(Reason::Small));
        }
        assert_eq!(call(min), Choice::Run(Algorithm::Chain));
        assert_eq!(call(u64::MAX), Choice::Run(Algorithm::Chain));
    }
}

#[test]
fn the_candidates_by_predicted_time_are_the_code_s() {
    let text = include_str!("../../../docs/algorithms.md");
    let text = text.replace('\n', " ");
    let from = text.find("**By predicted time**: of ").expect("the sentence");
    let to = text[from..].find("as far").expect("its end");
    let documented: Vec<&str> = text[from..from + to].split('`').skip(1).step_by(2).collect();
    let known: Vec<&str> = ALGORITHMS.iter().filter(|s| s.candidacy == Candidacy::Default).map(|s| s.name).collect();
    assert_eq!(documented, known);
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

/// Levels of `counts` nested groups, outermost first; the last level but one is the node, the last the rank.
fn regular(counts: &[u32]) -> Vec<Vec<u32>> {
    let ranks: u32 = counts.iter().product();
    let size = |level: usize| counts[level + 1..].iter().product::<u32>();
    (0..counts.len()).map(|l| (0..ranks).map(|r| r / size(l)).collect()).collect()
}

fn planner_of(levels: &[Vec<u32>]) -> Planner {
    let given = levels[..levels.len() - 1].to_vec();
    let names = (0..given.len()).map(|l| format!("level{l}")).collect();
    Planner::new(Topology::new(names, given, vec![0; levels[0].len()]).unwrap())
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

#[test]
fn xor_formulas() {
    let documented = table("ranks per node");
    let layouts = documented.iter().map(|r| r[0].split(' ').map(number).collect::<Vec<u32>>());
    let more = [vec![1], vec![5], vec![3; 9], vec![1, 2, 3, 4, 5], vec![8; 4], vec![7, 1, 1]];
    for (row, layout) in layouts.chain(more).enumerate() {
        let nodes: Vec<u32> = (0..).zip(&layout).flat_map(|(n, &p)| std::iter::repeat_n(n, p as usize)).collect();
        let ranks = nodes.len() as u32;
        let planner = Planner::new(Topology::of_nodes(nodes.clone()).unwrap());
        let s = schedule(&planner, Alltoall, Algorithm::Xor, 0);
        let width = 1 << log2_ceil(*layout.iter().max().unwrap());
        let steps = width << log2_ceil(layout.len() as u32);
        assert_eq!(s.moves().len() as u32, ranks * (ranks - 1), "{layout:?}");
        for plan in &s.plans {
            let used: BTreeSet<u32> = plan.hops.iter().map(|h| h.round.step).collect();
            assert!(used.iter().all(|&step| step < steps));
            assert_eq!(used.len() as u32, ranks, "{layout:?}: one step per rank, its own copy included");
            let exchange = |h: &&nagare_plan::schedule::Hop| h.action == Action::Send;
            for hop in plan.hops.iter().filter(exchange) {
                let inside = nodes[hop.peer as usize] == nodes[plan.rank as usize];
                assert_eq!(inside, hop.round.step < width, "{layout:?}");
            }
        }
        for (node, &p) in (0..).zip(&layout) {
            let leaves =
                |m: &&nagare_plan::schedule::Move| nodes[m.from as usize] == node && nodes[m.to as usize] != node;
            assert_eq!(s.moves().iter().filter(leaves).count() as u32, p * (ranks - p));
        }
        if let Some(cells) = documented.get(row) {
            let found = [ranks, ranks * (ranks - 1), steps, steps - ranks];
            assert_eq!(found, [1, 2, 3, 4].map(|c| number::<u32>(&cells[c])), "{cells:?}");
        }
    }
}

#[test]
fn ring_exchange_formulas() {
    for row in table("nodes × ranks per node") {
        let (nodes, each) = row[0].split_once(" × ").expect("two numbers");
        let (nodes, each): (u32, u32) = (number(nodes), number(each));
        let ranks = nodes * each;
        let planner = Planner::new(Topology::of_nodes((0..ranks).map(|rank| rank / each).collect()).unwrap());
        let moves = schedule(&planner, Alltoall, Algorithm::RingExchange, 0).moves();
        let steps: BTreeSet<u32> = moves.iter().map(|m| m.round.step).collect();
        assert!(steps.iter().all(|step| moves.iter().filter(|m| m.round.step == *step).count() as u32 == ranks));
        // Other nodes than its own that node 0 sends to.
        let others = |step: u32| {
            let of_node = moves.iter().filter(|m| m.round.step == step && m.from < each && m.to >= each);
            of_node.map(|m| m.to / each).collect::<BTreeSet<_>>().len()
        };
        let two = steps.iter().filter(|step| others(**step) == 2).count() as u32;
        assert_eq!(two, nodes.saturating_sub(2) * (each - 1));
        let found = [ranks, moves.len() as u32, steps.len() as u32, two];
        assert_eq!(found, [1, 2, 3, 4].map(|c| number::<u32>(&row[c])), "{row:?}");
    }
}

/// Messages, units and scratch units of a run; `late` starts when nothing else moves any more.
fn run(s: &Schedule, units: u64, pacing: Pacing, late: u32) -> (u64, u64, Vec<u64>, usize) {
    let world = World::new(s.plans.len() as u32, false);
    let has_output = |rank| s.collective != Reduce || rank == s.root;
    let bcast = s.collective == Bcast;
    let programs: Vec<Program> = s.plans.iter().map(|p| Program::new(p.clone(), has_output(p.rank)).unwrap()).collect();
    let mut transports: Vec<ThreadTransport> = (0..s.plans.len() as u32)
        .map(|rank| ThreadTransport::new(&world, rank, vec![1; units as usize]))
        .map(|t| if bcast { t.in_place() } else { t })
        .collect();
    let mut credits = vec![Credits::default(); s.plans.len()];
    let mut executors: Vec<Executor> = programs
        .iter()
        .zip(&mut transports)
        .zip(&mut credits)
        .map(|((p, t), c)| Executor::new(p, pacing, (bcast, has_output(p.plan.rank)), c, t).unwrap())
        .collect();
    let (mut is_late, mut all_done) = (true, false);
    while !all_done {
        let before = world.started();
        all_done = true;
        for (rank, (executor, transport)) in (0..).zip(executors.iter_mut().zip(&mut transports)) {
            all_done &= !(is_late && rank == late) && executor.progress(transport).unwrap();
        }
        is_late &= world.started() != before || world.has_news();
    }
    let sum = |of: fn(&nagare_plan::execute::Traffic) -> u64| executors.iter().map(|e| of(&e.traffic())).sum();
    let reserved = transports.iter().map(|t| t.reserved() as u64).collect();
    (sum(|t| t.messages), sum(|t| t.units), reserved, world.most_waiting())
}

#[test]
fn segments_window_and_memory() {
    let levels = regular(&[4, 4, 2]);
    let (ranks, planner) = (32u64, planner_of(&levels));
    for (units, segment, window) in [(1000, 8, 4), (1001, 7, 6), (37, 64, 16), (500, 3, 2)] {
        let pacing = Pacing { segment, window, flow: None };
        for algorithm in [Algorithm::TwoTree, Algorithm::GroupedTwoTree, Algorithm::GatewayTwoTree, Algorithm::Chain] {
            let whole = algorithm == Algorithm::Chain;
            let parts: Vec<u64> = if whole { vec![units] } else { vec![units / 2, units - units / 2] };
            let per_edge: u64 = parts.iter().map(|h| h.div_ceil(segment)).sum();
            for (collective, directions) in [(Bcast, 1), (Reduce, 1), (Allreduce, 2)] {
                let s = schedule(&planner, collective, algorithm, 5);
                let (messages, moved, reserved, most_waiting) = run(&s, units, pacing, 21);
                assert_eq!(messages, directions * (ranks - 1) * per_edge);
                assert_eq!(moved, directions * (ranks - 1) * units);
                assert!(most_waiting as u64 <= window, "{most_waiting} messages waited unreceived");
                for (plan, reserved) in s.plans.iter().zip(reserved) {
                    let combining: Vec<_> = plan.hops.iter().filter(|h| h.action == Action::Reduce).collect();
                    let combinations = combining.len() as u64;
                    // Into a result, the first of each part needs none.
                    let has_result = collective == Allreduce || plan.rank == 5;
                    let first = |n: usize| combining[..n].iter().all(|h| h.parts != combining[n].parts);
                    let in_scratch: Vec<_> =
                        (0..combining.len()).filter(|&n| !(has_result && first(n))).map(|n| combining[n]).collect();
                    let rings = in_scratch.len() as u64;
                    let longest = in_scratch.iter().map(|h| parts[h.parts.first as usize]).max().unwrap_or(0);
                    let ring = window.min(longest.div_ceil(segment));
                    let most = match algorithm {
                        Algorithm::TwoTree | Algorithm::Chain => 2,
                        Algorithm::GatewayTwoTree => 4,
                        _ => 2 * 3,
                    };
                    assert!(combinations <= most);
                    assert_eq!(reserved, rings * ring * segment.min(longest), "{collective} {algorithm}");
                }
            }
        }
    }
}

fn levels_of(fabric: &Fabric) -> String {
    shown_levels(&fabric.levels())
}

fn shown_levels(levels: &[Level]) -> String {
    let shown: Vec<String> = levels.iter().map(|l| format!("{} {}", l.name, l.group_count())).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[test]
fn the_fabric_file_of_the_document_is_one() {
    let text = FABRICS.split("```toml\n").nth(1).and_then(|t| t.split("```").next()).expect("an example");
    let fabric = Fabric::from_toml(text, "docs/fabrics.md").unwrap();
    assert_eq!((fabric.host_count(), fabric.switch_count(), levels_of(&fabric).as_str()), (8, 3, "leaf 2"));
    // Four hosts of 100 Mbit/s per leaf, two cables of 200: else there is no leaf level, and one group over all.
    assert_eq!(fabric.levels_by(&LevelChoice::Default), []);
}

#[test]
fn the_shipped_fabrics_are_listed_with_their_levels() {
    let mut documented = BTreeSet::new();
    for row in table_of(FABRICS, "name") {
        for name in row[0].split(", ") {
            let fabric = Fabric::from_toml(shipped(name).expect("shipped"), name).unwrap();
            if row[2] != "as above" {
                assert_eq!(levels_of(&fabric), row[2], "{name}");
            }
            let counts = fabric.levels();
            let mut further = fabric.levels_by(&LevelChoice::All);
            further.retain(|level| !counts.contains(level));
            assert_eq!(shown_levels(&further), row[3], "{name}");
            documented.insert(name.to_owned());
        }
    }
    assert_eq!(documented, SHIPPED.iter().map(|s| s.0.to_owned()).collect());
}
