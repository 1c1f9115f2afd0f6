//! Steps that ranks take together: whatever the times are, none begins a step before all have completed the one before.
//! Worked out from what hops wait for alone: the order that holds in every run.

use crate::support::network;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::execute::{Flow, Pacing, play};
use nagare_plan::fabric::timeline;
use nagare_plan::pattern::{Partners, Steps};
use nagare_plan::schedule::{Action, Hop, Schedule};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const EXCHANGES: [Algorithm; 3] = [Algorithm::Xor, Algorithm::TwoLevelRing, Algorithm::RingExchange];

/// Rank and hop.
type At = (u32, u32);

/// A schedule with the other end of every receive.
struct Order<'s> {
    schedule: &'s Schedule,
    sends: HashMap<(u32, u32, u32), u32>,
    /// Hops that are complete in every run when a hop starts, as far as asked for.
    known: HashMap<At, BTreeSet<At>>,
}

impl<'s> Order<'s> {
    fn new(schedule: &'s Schedule) -> Self {
        let all = schedule.plans.iter().flat_map(|plan| (0..).zip(&plan.hops).map(|(at, hop)| (plan.rank, at, hop)));
        let sends = all.filter(|(_, _, hop)| hop.action == Action::Send);
        let sends = sends.map(|(rank, at, hop)| ((rank, hop.peer, hop.tag), at)).collect();
        Self { schedule, sends, known: HashMap::new() }
    }

    fn hop(&self, (rank, at): At) -> &'s Hop {
        &self.schedule.plans[rank as usize].hops[at as usize]
    }

    /// What is complete when `at` starts: what it waits for, and what was complete then. A message that has arrived was
    /// sent: what was complete at its sender is, too.
    fn before(&mut self, at: At) -> BTreeSet<At> {
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        let mut found = BTreeSet::new();
        for earlier in &self.hop(at).after {
            let earlier = (at.0, *earlier);
            found.insert(earlier);
            found.extend(self.before(earlier));
            let hop = self.hop(earlier);
            if hop.action == Action::Recv {
                found.extend(self.before((hop.peer, self.sends[&(hop.peer, at.0, hop.tag)])));
            }
        }
        self.known.insert(at, found.clone());
        found
    }
}

/// Sends of blocks that may start while a hop of an earlier step is not complete on some rank.
fn early(schedule: &Schedule) -> usize {
    let blocks = |hop: &Hop| hop.parts.count > 0 && !matches!(hop.action, Action::Copy { .. });
    let mut of_step: BTreeMap<u32, Vec<At>> = BTreeMap::new();
    for plan in &schedule.plans {
        for (at, hop) in (0..).zip(&plan.hops).filter(|(_, hop)| blocks(hop)) {
            of_step.entry(hop.round.step).or_default().push((plan.rank, at));
        }
    }
    let mut order = Order::new(schedule);
    let mut early = 0;
    for (step, hops) in &of_step {
        let earlier: Vec<At> = of_step.range(..step).flat_map(|(_, hops)| hops.iter().copied()).collect();
        for &at in hops {
            let before = order.before(at);
            let sends = order.hop(at).action == Action::Send;
            early += usize::from(sends && !earlier.iter().all(|hop| before.contains(hop)));
        }
    }
    early
}

fn schedule(nodes: &[u32], algorithm: Algorithm, steps: Steps, partners: Partners) -> Schedule {
    let planner = Planner::new(Topology::of_nodes(nodes.to_vec()).expect("one level"));
    let planner = planner.with_steps(steps).with_partners(partners);
    planner.schedule(Alltoall, algorithm, 0).expect("implemented")
}

#[test]
fn no_two_steps_overlap() {
    let layouts: [&[u32]; 6] =
        [&[0, 1], &[0, 0, 0], &[0, 0, 1, 1, 1, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7], &[0, 0, 0, 0, 1], &[0; 9]];
    for nodes in layouts {
        for (algorithm, partners) in EXCHANGES.iter().flat_map(|&a| [Partners::One, Partners::Two].map(|p| (a, p))) {
            let together = schedule(nodes, algorithm, Steps::Together, partners);
            assert_eq!(early(&together), 0, "{nodes:?} {algorithm} {partners:?}");
            // Each rank for itself: others may be behind, but where two ranks are all.
            let alone = schedule(nodes, algorithm, Steps::InFlight(1), partners);
            assert_eq!(early(&alone) == 0, nodes.len() == 2, "{nodes:?} {algorithm} {partners:?}");
        }
    }
}

/// The tokens after a step, and what holds for every schedule: nothing waits for ever, and every block arrives.
#[test]
fn tokens_go_to_one_two_and_four_ranks_on() {
    let nodes = [0, 0, 1, 1, 1, 2, 2];
    for (algorithm, partners) in EXCHANGES.iter().flat_map(|&a| [Partners::One, Partners::Two].map(|p| (a, p))) {
        let together = schedule(&nodes, algorithm, Steps::Together, partners);
        assert_eq!(together.stages, ["step", "token +1", "token +2", "token +4"]);
        let steps: BTreeSet<u32> = together.moves().iter().map(|m| m.round.step).collect();
        let last = *steps.last().expect("a step");
        for m in together.moves().iter().filter(|m| m.parts.count == 0) {
            assert_eq!(m.to, (m.from + (1 << (m.round.stage - 1))) % 7);
        }
        // After every step but the last, whether a rank has a part in it or not.
        let tokens = together.moves().iter().filter(|m| m.parts.count == 0).count() as u32;
        assert_eq!(tokens, 7 * 3 * (last - 1));
        let tight = Some(Flow { unconfirmed: 1, confirmed: 1, behind: 0 });
        for (flow, rendezvous) in [(None, true), (None, false), (tight, true)] {
            assert_eq!(play(&together, 5, Pacing { segment: 2, window: 2, flow }, rendezvous), Ok(()), "{algorithm}");
        }
    }
}

/// Sixteen hosts on a switch: fifteen messages with their latency, and four tokens after each but the last.
#[test]
fn in_time_a_step_costs_its_tokens() {
    let fabric = network::load("star16");
    let placement = network::place(&fabric, "by slot", 16, 1);
    let (message, latency) = (8.0 * 65536.0 / 50e6, 90e-6);
    for algorithm in EXCHANGES {
        let planner = network::planner(&fabric, &placement).with_steps(Steps::Together);
        let schedule = planner.schedule(Alltoall, algorithm, 0).expect("implemented");
        let found = timeline(&schedule, &fabric, placement.hosts(), 65536, None).expect("played");
        let expected = 15.0 * (message + latency) + 14.0 * 4.0 * latency;
        assert!((found.finish - expected).abs() < 1e-9, "{algorithm}: {} {expected}", found.finish);
        assert_eq!((found.tokens, found.conflicts().len()), (14 * 4 * 16, 0), "{algorithm}");
    }
}

/// Tokens have more steps than tags: those of one tag follow one another.
#[test]
fn more_steps_than_tags() {
    let ranks = nagare_plan::schedule::TAGS + 900;
    let planner = Planner::new(Topology::of_nodes((0..ranks).collect()).expect("one level"));
    let plan = planner.with_steps(Steps::Together).plan(Alltoall, Algorithm::RingExchange, 0, 7).expect("implemented");
    let mut seen: HashMap<(u32, u32), u32> = HashMap::new();
    for hop in plan.hops.iter().filter(|hop| hop.action == Action::Send && hop.parts.count == 0) {
        assert!((1..nagare_plan::schedule::TAGS).contains(&hop.tag));
        let earlier = seen.insert((hop.peer, hop.tag), hop.turn);
        assert!(earlier.is_none_or(|turn| turn < hop.turn));
    }
}

/// One wide node pads all others: 131 072 steps of 1151 ranks, whose tokens no plan could hold.
#[test]
fn where_tokens_are_too_many_a_rank_completes_its_own_steps() {
    let nodes: Vec<u32> = (0..1023).chain([1023; 128]).collect();
    let plan = |steps| {
        let planner = Planner::new(Topology::of_nodes(nodes.clone()).expect("one level")).with_steps(steps);
        planner.plan(Alltoall, Algorithm::Xor, 0, 7).expect("implemented")
    };
    assert_eq!(plan(Steps::Together).hops, plan(Steps::InFlight(1)).hops);
}
