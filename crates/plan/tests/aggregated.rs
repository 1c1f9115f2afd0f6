//! The aggregated exchanges: what every message holds, how many there are, and what is staged, counted from the
//! schedules.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::pattern::{self, RailOptions};
use nagare_plan::schedule::{Action, Parts, Rank, RankPlan, Schedule, Space};
use nagare_plan::topology::Topology;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::support::document::{number, table};

/// A block, by the rank it comes from and the rank it is for.
type Block = (Rank, Rank);

/// A message: stage, sender, receiver, blocks.
type Message = (u16, Rank, Rank, Vec<Block>);

fn planner(nodes: &[u32]) -> Planner {
    Planner::new(Topology::of_nodes(nodes.to_vec()).unwrap())
}

/// The same where one rank of a node talks to other nodes.
fn led(nodes: &[u32]) -> Planner {
    planner(nodes).with_rails(RailOptions { aggregators: Some(1), ..RailOptions::default() })
}

/// Ranks numbered node by node.
fn even(nodes: u32, width: u32) -> Vec<u32> {
    (0..nodes * width).map(|rank| rank / width).collect()
}

fn schedule(planner: &Planner, algorithm: Algorithm) -> Schedule {
    planner.schedule(Collective::Alltoall, algorithm, 0).unwrap()
}

/// Every rank does its hops one after another, with names in place of data; the messages, and what is in the outputs.
fn walk(plans: &[RankPlan]) -> (Vec<Message>, Vec<Vec<Option<Block>>>) {
    let ranks = plans.len() as Rank;
    let buffers = |plan: &RankPlan| {
        let input = (0..ranks).map(|to| Some((plan.rank, to))).collect();
        [input, vec![None; plans.len()], vec![None; plan.staged as usize]]
    };
    let index = |space| match space {
        Space::Input => 0,
        Space::Output => 1,
        Space::Stage => 2,
        Space::Vector => panic!("an exchange has no vector"),
    };
    let mut memory: Vec<[Vec<Option<Block>>; 3]> = plans.iter().map(buffers).collect();
    let mut under_way: HashMap<(Rank, Rank, u32), VecDeque<Vec<Block>>> = HashMap::new();
    let mut messages = Vec::new();
    let mut next = vec![0; plans.len()];
    loop {
        let before = next.clone();
        for (rank, plan) in plans.iter().enumerate() {
            while let Some(hop) = plan.hops.get(next[rank]) {
                let range = |p: Parts| p.first as usize..p.end() as usize;
                let mine = &mut memory[rank];
                match hop.action {
                    Action::Send => {
                        let blocks: Vec<Block> =
                            mine[index(hop.parts.space)][range(hop.parts)].iter().map(|b| b.expect("known")).collect();
                        messages.push((hop.round.stage, plan.rank, hop.peer, blocks.clone()));
                        under_way.entry((plan.rank, hop.peer, hop.tag)).or_default().push_back(blocks);
                    }
                    Action::Recv => {
                        let stream = under_way.get_mut(&(hop.peer, plan.rank, hop.tag));
                        let Some(blocks) = stream.and_then(VecDeque::pop_front) else { break };
                        for (place, block) in
                            memory[rank][index(hop.parts.space)][range(hop.parts)].iter_mut().zip(blocks)
                        {
                            *place = Some(block);
                        }
                    }
                    Action::Copy { from } => {
                        let blocks = mine[index(from.space)][range(from)].to_vec();
                        mine[index(hop.parts.space)][range(hop.parts)].copy_from_slice(&blocks);
                    }
                    Action::Shuffle { from, .. } => {
                        for run in plan.runs(hop) {
                            let (from_space, to_space) = (index(from.space), index(hop.parts.space));
                            for block in 0..run.count as usize {
                                mine[to_space][run.to as usize + block] = mine[from_space][run.from as usize + block];
                            }
                        }
                    }
                    Action::Reduce => panic!("an exchange combines nothing"),
                }
                next[rank] += 1;
            }
        }
        if next == before {
            break;
        }
    }
    assert!(plans.iter().zip(next).all(|(plan, next)| next == plan.hops.len()), "ranks wait for one another");
    (messages, memory.into_iter().map(|[_, output, _]| output).collect())
}

/// The document's example: which blocks every message holds, in order.
#[test]
fn two_nodes_of_two_as_documented() {
    let mut documented: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    let rows = table("example");
    for row in &rows {
        documented.entry(&row[0]).or_default().push(row[1..].to_vec());
    }
    let nodes = even(2, 2);
    for (example, planner) in [("all ranks", planner(&nodes)), ("one leader", led(&nodes))] {
        let schedule = schedule(&planner, Algorithm::Aggregated);
        let (mut messages, output) = walk(&schedule.plans);
        messages.sort();
        let found: Vec<Vec<String>> = messages
            .iter()
            .map(|(stage, from, to, blocks)| {
                let blocks: Vec<String> = blocks.iter().map(|(from, to)| format!("{from}{to}")).collect();
                vec![schedule.stages[*stage as usize].clone(), format!("{from}→{to}"), blocks.join(" ")]
            })
            .collect();
        assert_eq!(found, documented[example]);
        for (rank, output) in (0..).zip(output) {
            assert_eq!(output, [0, 1, 2, 3].map(|from| Some((from, rank))));
        }
    }
}

/// The document's formulas, for the same number of ranks on every node, numbered node by node.
#[test]
fn messages_blocks_and_memory_of_even_nodes() {
    let documented = table("nodes × ranks");
    let layouts = documented.iter().map(|row| {
        let (nodes, width) = row[0].split_once(" × ").unwrap();
        (number(nodes), number(width))
    });
    for (row, (nodes, width)) in layouts.chain([(2, 2), (3, 1), (5, 3), (7, 4), (1, 6), (2, 9)]).enumerate() {
        let ranks = nodes * width;
        let (alike, led) = (planner(&even(nodes, width)), led(&even(nodes, width)));
        let node = |rank: Rank| rank / width;
        let mut totals = Vec::new();
        let ways = [(&alike, Algorithm::TwoLevelRing), (&alike, Algorithm::Aggregated), (&led, Algorithm::Aggregated)];
        for (way, (planner, algorithm)) in ways.into_iter().enumerate() {
            let schedule = schedule(planner, algorithm);
            let mut total = [0, 0];
            for plan in &schedule.plans {
                let sends = |inside: bool| {
                    let sends = plan.hops.iter().filter(|hop| hop.action == Action::Send);
                    let counts = sends.filter(move |hop| (node(hop.peer) == node(plan.rank)) == inside);
                    counts.map(|hop| hop.parts.count).fold((0, 0), |(n, sum), count| (n + 1, sum + count))
                };
                let (far, near) = (sends(false), sends(true));
                total[0] += far.0;
                total[1] += near.0;
                let alone = width == 1;
                let leads = plan.rank % width == 0;
                let expected = match way {
                    0 => ((ranks - width, ranks - width), (width - 1, width - 1), 0),
                    1 => {
                        let staged = if alone || nodes == 1 { 0 } else { 3 * ranks - 2 * nodes - width };
                        ((nodes - 1, ranks - width), (width - 1, (width - 1) * nodes), staged)
                    }
                    _ if leads => {
                        let staged = if alone { 0 } else { (4 * width - 1) * ranks - 2 * width * width };
                        ((nodes - 1, width * (ranks - width)), (width - 1, (width - 1) * ranks), staged)
                    }
                    _ => ((0, 0), (1, ranks), 0),
                };
                assert_eq!(
                    (far, near, plan.staged),
                    expected,
                    "{way}: {algorithm} {nodes} × {width}, rank {}",
                    plan.rank
                );
                // Two hops per message and a handful of shuffles; a leader has one more for every other node.
                let most = match way {
                    1 => 2 * (far.0 + near.0) + 4,
                    _ => 2 * (far.0 + near.0) + far.0 + 4,
                };
                assert!(plan.hops.len() as u32 <= most, "{way}: {algorithm}, {} hops", plan.hops.len());
            }
            totals.extend(total);
        }
        if let Some(cells) = documented.get(row) {
            let found = [totals[0], totals[2], totals[4], totals[1], totals[3], totals[5]];
            assert_eq!(found, [1, 2, 3, 4, 5, 6].map(|cell| number::<u32>(&cells[cell])), "{cells:?}");
        }
    }
}

/// With one rank per node there is nothing to aggregate: every block is sent from where it is and received where it
/// belongs.
#[test]
fn nodes_of_one_rank_exchange_directly() {
    let nodes: Vec<u32> = (0..9).collect();
    for planner in [planner(&nodes), led(&nodes)] {
        for plan in schedule(&planner, Algorithm::Aggregated).plans {
            assert_eq!(plan.staged, 0);
            for hop in &plan.hops {
                let place = match hop.action {
                    Action::Send => (Space::Input, hop.peer),
                    _ => (Space::Output, hop.peer),
                };
                assert_eq!((hop.parts.space, hop.parts.first, hop.parts.count), (place.0, place.1, 1));
            }
            assert_eq!(plan.hops.len(), 1 + 2 * 8, "its own block, and an exchange with every other");
        }
    }
}

/// Ranks dealt out to the nodes in turn: what a slot serves is a run of the input, so nothing is copied before it is
/// sent inside the node.
#[test]
fn ranks_dealt_out_in_turn_send_from_the_input() {
    let planner = planner(&(0..24).map(|rank| rank % 6).collect::<Vec<u32>>());
    for plan in schedule(&planner, Algorithm::Aggregated).plans {
        let inside = plan.hops.iter().filter(|hop| hop.action == Action::Send && hop.round.stage == 0);
        assert!(inside.clone().count() == 3 && inside.clone().all(|hop| hop.parts.space == Space::Input));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any placement: between two nodes the right slots talk, with a block of every rank of the sender's node.
    #[test]
    fn slots_talk_to_the_slots_they_serve(
        nodes in prop::collection::vec(0u32..9, 2..50),
        cores in prop::collection::vec(0u32..8, 50),
    ) {
        let topology = Topology::new(vec!["node".into()], vec![nodes.clone()], cores[..nodes.len()].to_vec()).unwrap();
        let slots = topology.slots();
        let on = |node: u32| -> Vec<Rank> { (0..).zip(&nodes).filter(|n| *n.1 == node).map(|n| n.0).collect() };
        let schedule = schedule(&Planner::new(topology), Algorithm::Aggregated);
        let (messages, _) = walk(&schedule.plans);
        let mut between: HashMap<(u32, Rank), u32> = HashMap::new();
        for (stage, from, to, blocks) in messages {
            let (here, there) = (nodes[from as usize], nodes[to as usize]);
            let width = on(here).len() as u32;
            if stage == 0 {
                prop_assert_eq!(here, there);
                prop_assert!(blocks.iter().all(|b| b.0 == from && slots[b.1 as usize] % width == slots[to as usize]));
                continue;
            }
            prop_assert!(here != there);
            prop_assert_eq!(slots[from as usize], slots[to as usize] % width);
            prop_assert_eq!(blocks, on(here).into_iter().map(|source| (source, to)).collect::<Vec<_>>());
            *between.entry((here, to)).or_default() += 1;
        }
        prop_assert!(between.values().all(|&count| count == 1), "one message from a node to a rank");
        for plan in &schedule.plans {
            let width = on(nodes[plan.rank as usize]).len();
            let served = |slot: u32| slots.iter().filter(|&&s| s % width as u32 == slot).count();
            let most = 2 * nodes.len() + 2 * width * served(slots[plan.rank as usize]);
            prop_assert!(plan.staged as usize <= most, "{} blocks staged", plan.staged);
        }
    }

    /// Any placement and number of leaders: one message from each node to each other, between the two leaders for one
    /// another.
    #[test]
    fn leaders_send_one_message_per_pair_of_nodes(
        nodes in prop::collection::vec(0u32..9, 2..50),
        cores in prop::collection::vec(0u32..8, 50),
        leaders in 1u32..10,
        units in 0u64..5,
        rendezvous: bool,
    ) {
        let ranks = nodes.len() as Rank;
        let topology = Topology::new(vec!["node".into()], vec![nodes.clone()], cores[..nodes.len()].to_vec()).unwrap();
        let planner = Planner::new(topology.clone());
        let plans: Vec<RankPlan> =
            (0..ranks).map(|rank| pattern::through_leaders(planner.context().node_ranks(), rank, leaders)).collect();
        let (messages, output) = walk(&plans);
        for (rank, output) in (0..).zip(output) {
            prop_assert_eq!(output, (0..ranks).map(|from| Some((from, rank))).collect::<Vec<_>>());
        }
        let slots = topology.slots();
        let on = |node: u32| nodes.iter().filter(|&&n| n == node).count();
        let used: BTreeMap<u32, ()> = nodes.iter().map(|&n| (n, ())).collect();
        let mut between: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut partners: HashMap<(u32, u32), Rank> = HashMap::new();
        for (_, from, to, blocks) in messages.iter().filter(|m| nodes[m.1 as usize] != nodes[m.2 as usize]) {
            let (here, there) = (nodes[*from as usize], nodes[*to as usize]);
            *between.entry((here, there)).or_default() += 1;
            prop_assert_eq!(blocks.len(), on(here) * on(there));
            for (own, own_node, other) in [(*from, here, there), (*to, there, here)] {
                prop_assert!(slots[own as usize] < leaders);
                let leader = *partners.entry((own_node, other)).or_insert(own);
                prop_assert_eq!(leader, own, "one leader for both directions");
            }
        }
        prop_assert_eq!(between.len(), used.len() * (used.len() - 1));
        prop_assert!(between.values().all(|&count| count == 1));
        for plan in &plans {
            let own = nodes[plan.rank as usize];
            // Of how many ranks this one deals with the nodes, its own included; where it is no leader, of none.
            let peers = partners.iter().filter(|p| p.0.0 == own && *p.1 == plan.rank).map(|p| on(p.0.1)).sum::<usize>();
            let dealt = if slots[plan.rank as usize] < leaders { peers + on(own) } else { 0 };
            prop_assert!(plan.staged as usize <= 4 * on(own) * dealt + 2 * nodes.len());
        }
        let stages = pattern::LEADER_STAGES.map(str::to_owned).to_vec();
        let algorithm = Algorithm::Aggregated.name().to_owned();
        let schedule = Schedule { collective: Collective::Alltoall, algorithm, root: 0, stages, plans };
        prop_assert_eq!(play(&schedule, units, Pacing { segment: 3, window: 2, flow: None }, rendezvous), Ok(()));
    }
}
