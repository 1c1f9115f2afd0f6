//! The pictures at the head of the algorithms' files, read from there and compared with plans of what they show.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Alltoall, Bcast, Gather, Reduce};
use nagare_plan::pattern::{Partners, VirtualRanks};
use nagare_plan::schedule::{Action, Move, Schedule};
use nagare_plan::topology::Topology;
use std::collections::BTreeSet;

/// The lines of the pictures in a file's head.
fn pictures(source: &'static str) -> Vec<&'static str> {
    let head = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut inside = false;
    head.filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        inside && !fence
    })
    .collect()
}

macro_rules! pictures {
    ($file:literal) => {
        pictures(include_str!(concat!("../src/algorithm/", $file, ".rs")))
    };
}

/// What stands behind `mark` in the line that has it, up to the next gap of two blanks.
fn behind<'a>(lines: &[&'a str], mark: &str) -> &'a str {
    let line = lines.iter().find_map(|line| line.split_once(mark)).unwrap_or_else(|| panic!("no `{mark}`")).1;
    line.trim_start().split("  ").next().unwrap_or_default()
}

fn number(text: &str) -> u32 {
    text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is no rank"))
}

/// `0 → 2` or `0→2`.
fn edge(text: &str) -> (u32, u32) {
    let (from, to) = text.split_once('→').unwrap_or_else(|| panic!("`{text}` has no arrow"));
    (number(from), number(to))
}

fn planner(node_of: &[u32]) -> Planner {
    Planner::new(Topology::of_nodes(node_of.to_vec()).expect("one level"))
}

fn schedule(planner: &Planner, collective: Collective, algorithm: Algorithm) -> Schedule {
    planner.schedule(collective, algorithm, 0).expect("implemented")
}

/// What is no token.
fn data(schedule: &Schedule) -> Vec<Move> {
    schedule.moves().into_iter().filter(|m| m.parts.count > 0).collect()
}

fn edges<'a>(moves: impl IntoIterator<Item = &'a Move>) -> BTreeSet<(u32, u32)> {
    moves.into_iter().map(|m| (m.from, m.to)).collect()
}

#[test]
fn a_chain_is_a_line_from_the_root() {
    const N: u32 = 6;
    let place = |word: &str| match word {
        "root" => 0,
        "N-1" => N - 1,
        other => number(other),
    };
    for (collective, mark, arrow) in [(Bcast, "Bcast ", '→'), (Reduce, "Reduce ", '←')] {
        let places: Vec<&str> = behind(&pictures!("chain"), mark).split(arrow).map(str::trim).collect();
        let gap = places.iter().position(|&place| place == "…").expect("N is any number");
        let (before, after) = (places[gap - 1], places[gap + 1]);
        let line = places[..gap].iter().map(|p| place(p)).chain(place(before) + 1..place(after));
        let line: Vec<u32> = line.chain(places[gap + 1..].iter().map(|p| place(p))).collect();
        let shown = line.windows(2).map(|pair| if arrow == '→' { (pair[0], pair[1]) } else { (pair[1], pair[0]) });
        let chain = schedule(&planner(&[0, 1, 2, 3, 4, 5]), collective, Algorithm::Chain);
        assert_eq!(edges(&data(&chain)), shown.collect(), "{collective}");
    }
}

#[test]
fn a_tree_gathers_runs_of_places() {
    let lines = pictures!("tree");
    let messages = lines.iter().flat_map(|line| line.split("  ")).filter(|text| text.contains('→'));
    let shown: BTreeSet<(u32, u32, Vec<u32>)> = messages
        .map(|text| {
            let (ends, blocks) = text.split_once(':').expect("blocks");
            let (from, to) = edge(ends);
            (from, to, blocks.split_whitespace().map(number).collect())
        })
        .collect();
    let tree = schedule(&planner(&[0, 1, 2, 3, 4, 5, 6, 7]), Gather, Algorithm::Tree);
    // A rank's run begins with its own block.
    let planned = data(&tree).into_iter().map(|m| (m.from, m.to, (m.from..m.from + m.parts.count).collect()));
    assert_eq!(planned.collect::<BTreeSet<_>>(), shown);
}

#[test]
fn a_member_of_a_group_with_a_gateway_is_a_leaf_in_both_trees() {
    let lines = pictures!("gateway_two_tree");
    let bcast = schedule(&planner(&[0, 1, 2, 3]), Bcast, Algorithm::GatewayTwoTree);
    for (half, mark) in [(0, "T1 (half 0):"), (1, "T2 (half 1):")] {
        let shown: BTreeSet<_> = behind(&lines, mark).split(',').map(edge).collect();
        assert_eq!(edges(data(&bcast).iter().filter(|m| m.parts.first == half)), shown, "half {half}");
    }
}

#[test]
fn steps_of_a_task_in_which_every_rank_sends_to_the_other_node() {
    let lines = pictures!("contention_free");
    let line = lines.iter().find_map(|line| line.split_once("task a→b:")).expect("the task").1;
    let words: Vec<&str> = line.split_whitespace().take_while(|word| word.contains('→')).collect();
    let exchange = schedule(&planner(&[0, 0, 1, 1, 1]), Alltoall, Algorithm::ContentionFree);
    for rank in [0, 1] {
        let shown: Vec<u32> = words.iter().map(|w| edge(w)).filter(|e| e.0 == rank).map(|e| e.1).collect();
        let hops = exchange.plans[rank as usize].hops.iter();
        let sends = hops.filter(|hop| hop.action == Action::Send && hop.parts.count > 0 && hop.peer >= 2);
        assert_eq!(sends.map(|hop| hop.peer).collect::<Vec<_>>(), shown, "rank {rank}");
    }
}

/// Nodes of 2, 3 and 2 ranks: the virtual ranks as the picture has them, a dash where there is no rank.
#[test]
fn partners_of_an_xor_exchange() {
    let lines = pictures!("xor");
    let rows = ["node 0:", "node 1:", "node 2:"].map(|mark| behind(&lines, mark));
    let of: Vec<u32> = rows.iter().flat_map(|row| row.split_whitespace().filter(|w| *w != "-").map(number)).collect();
    assert_eq!(of.len(), 7);
    let exchange = schedule(&planner(&[0, 0, 1, 1, 1, 2, 2]), Alltoall, Algorithm::Xor);
    let planned: BTreeSet<_> = data(&exchange).iter().map(|m| (m.round.step, m.from, m.to)).collect();
    let pairs = (0..7).flat_map(|from| (0..7).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let shown = pairs.map(|(from, to)| (of[from as usize] ^ of[to as usize], from, to));
    assert_eq!(planned, shown.collect());
}

/// NUMA nodes of 2 and 3 ranks of one node, likewise.
#[test]
fn numa_nodes_of_an_xor_exchange() {
    let lines = pictures!("xor");
    let rows = ["NUMA node 0:", "NUMA node 1:"].map(|mark| behind(&lines, mark));
    let of: Vec<u32> = rows.iter().flat_map(|row| row.split_whitespace().filter(|w| *w != "-").map(number)).collect();
    let topology = Topology::new(vec!["node".into()], vec![vec![0; 5]], (0..5).collect()).expect("one level");
    let v = VirtualRanks::new(&topology.with_numa(vec![0, 0, 1, 1, 1]));
    assert_eq!((0..5).map(|rank| v.of(rank)).collect::<Vec<_>>(), of);
}

#[test]
fn two_partners_of_an_xor_exchange() {
    let lines = pictures!("xor");
    let (step, cycles) = lines.iter().find_map(|line| line.split_once("with u = 5")).expect("the cycles");
    let step = number(step.rsplit_once("t = ").expect("a step").1);
    let shown: BTreeSet<_> = cycles
        .trim()
        .split("  ")
        .filter(|cycle| !cycle.trim().is_empty())
        .flat_map(|cycle| {
            cycle.split("─►").map(number).collect::<Vec<_>>().windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(shown.len(), 8);
    let planner = planner(&[0, 1, 2, 3, 4, 5, 6, 7]).with_partners(Partners::Two);
    let exchange = schedule(&planner, Alltoall, Algorithm::Xor);
    assert_eq!(edges(data(&exchange).iter().filter(|m| m.round.step == step)), shown);
}

/// `slot (l + k) mod w of node s + j` in step j·W + k; the rest is idle.
#[test]
fn steps_of_a_two_level_ring() {
    let text = pictures!("two_level_ring").join("\n");
    assert!(
        text.contains("this is step j·W + k") && text.contains("sends to slot (l + k) mod w of node s + j"),
        "{text}"
    );
    let sizes = [2_u32, 3, 2];
    let rank = |node: u32, slot: u32| sizes[..node as usize].iter().sum::<u32>() + slot;
    let mut shown = BTreeSet::new();
    for (j, k) in (0..3).flat_map(|j| (0..3).map(move |k| (j, k))).filter(|step| *step != (0, 0)) {
        for (node, slot) in (0..3_u32).flat_map(|node| (0..sizes[node as usize]).map(move |slot| (node, slot))) {
            let other = (node + j) % 3;
            let w = sizes[node as usize].max(sizes[other as usize]);
            let to = (slot + k) % w;
            if k < w && to < sizes[other as usize] {
                shown.insert((j * 3 + k, rank(node, slot), rank(other, to)));
            }
        }
    }
    let exchange = schedule(&planner(&[0, 0, 1, 1, 1, 2, 2]), Alltoall, Algorithm::TwoLevelRing);
    let planned: BTreeSet<_> = data(&exchange).iter().map(|m| (m.round.step, m.from, m.to)).collect();
    assert_eq!(planned, shown);
}

/// The formula, and step 1 of six ranks.
#[test]
fn steps_of_a_ring_exchange() {
    let lines = pictures!("ring_exchange");
    let text = lines.join("\n");
    assert!(text.contains("sends to rank (r + k) mod P and receives from rank (r - k) mod P in step k"), "{text}");
    let shown: BTreeSet<_> =
        lines.iter().flat_map(|l| l.split_whitespace()).filter(|w| w.contains('→')).map(edge).collect();
    let exchange = schedule(&planner(&[0, 0, 1, 1, 2, 2]), Alltoall, Algorithm::RingExchange);
    assert_eq!(edges(data(&exchange).iter().filter(|m| m.round.step == 1)), shown);
    let planned: BTreeSet<_> = data(&exchange).iter().map(|m| (m.round.step, m.from, m.to)).collect();
    assert_eq!(planned, (1..6).flat_map(|k| (0..6).map(move |r| (k, r, (r + k) % 6))).collect());
}

#[test]
fn parts_of_a_ring() {
    const N: u32 = 5;
    let text = pictures!("ring").join("\n");
    assert!(
        text.contains("sends part i - t and combines") && text.contains("sends part i + 1 - t and receives"),
        "{text}"
    );
    let ring = schedule(&planner(&[0, 1, 2, 3, 4]), Allreduce, Algorithm::Ring);
    for (stage, ahead) in [(0, 0), (1, 1)] {
        let sent = data(&ring).into_iter().filter(|m| m.round.stage == stage);
        let planned: BTreeSet<_> = sent.map(|m| (m.round.step, m.from, m.to, m.parts.first)).collect();
        let steps = (0..N - 1).flat_map(|t| (0..N).map(move |i| (t, i, (i + 1) % N, (i + ahead + N - t) % N)));
        assert_eq!(planned, steps.collect(), "stage {stage}");
    }
}

/// Messages inside the nodes and between them, each with two blocks.
#[test]
fn messages_of_an_aggregated_exchange() {
    let lines = pictures!("aggregated");
    let arrows = lines.iter().flat_map(|line| line.split_whitespace()).filter(|word| word.contains('→'));
    let shown: BTreeSet<_> = arrows.map(edge).collect();
    assert_eq!(shown.len(), 8);
    let exchange = schedule(&planner(&[0, 0, 1, 1]), Alltoall, Algorithm::Aggregated);
    assert_eq!(edges(&data(&exchange)), shown);
    for (from, to) in shown {
        let between = data(&exchange).into_iter().filter(|m| (m.from, m.to) == (from, to));
        assert_eq!(between.map(|m| m.parts.count).sum::<u32>(), 2, "{from} → {to}");
    }
}

/// The root lets the next but one sender start when a block is there.
#[test]
fn tokens_of_a_direct_gather() {
    let line = pictures!("direct")[0];
    let gather = schedule(&planner(&[0, 1, 2, 3, 4]), Gather, Algorithm::Direct);
    let hops = &gather.plans[0].hops;
    let mut waits = None;
    for word in line.split_whitespace() {
        if let Some(block) = word.strip_prefix('⟨') {
            waits = Some(number(block));
        }
        let Some(rank) = word.strip_prefix("token→") else { continue };
        let rank = number(rank);
        let token = hops.iter().find(|hop| hop.action == Action::Send && hop.peer == rank).expect("a token");
        let after: Vec<u32> = token.after.iter().map(|&hop| hops[hop as usize].peer).collect();
        assert_eq!(after, waits.take().into_iter().collect::<Vec<_>>(), "the token of {rank}");
    }
}
