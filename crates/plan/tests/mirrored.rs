//! A Scatter and the Gather of the same shape.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::{Action, Parts, Rank, Round, Schedule, Space};
use nagare_plan::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};

fn schedule(nodes: &[u32], collective: Collective, algorithm: Algorithm, root: Rank) -> Schedule {
    let planner = Planner::new(Topology::of_nodes(nodes.to_vec()).expect("a topology"));
    planner.schedule(collective, algorithm, root).expect("implemented")
}

/// What `rank` does, in order: whom it sends to and receives from, and how many blocks.
fn done(schedule: &Schedule, rank: Rank) -> Vec<(bool, Rank, u32)> {
    let moved = schedule.plans[rank as usize].hops.iter().filter(|hop| hop.action.copied().is_none());
    moved.map(|hop| (hop.action == Action::Send, hop.peer, hop.parts.count)).collect()
}

/// Pairs of ranks between which something is moved, round by round.
fn rounds(schedule: &Schedule) -> Vec<BTreeSet<[Rank; 2]>> {
    let mut rounds: BTreeMap<Round, BTreeSet<[Rank; 2]>> = BTreeMap::new();
    for m in schedule.moves() {
        rounds.entry(m.round).or_default().insert([m.from.min(m.to), m.from.max(m.to)]);
    }
    rounds.into_values().collect()
}

#[test]
fn a_scatter_is_a_gather_backwards() {
    let nodes = [0, 0, 1, 1, 1, 2, 3, 3, 4];
    for algorithm in [Algorithm::Relay, Algorithm::Tree] {
        for root in 0..nodes.len() as Rank {
            let gather = schedule(&nodes, Collective::Gather, algorithm, root);
            let scatter = schedule(&nodes, Collective::Scatter, algorithm, root);
            for rank in 0..nodes.len() as Rank {
                let mut backwards = done(&gather, rank);
                backwards.reverse();
                backwards.iter_mut().for_each(|(sends, ..)| *sends = !*sends);
                assert_eq!(done(&scatter, rank), backwards, "{algorithm}, root {root}, rank {rank}");
            }
            let mut backwards = rounds(&gather);
            backwards.reverse();
            assert_eq!(rounds(&scatter), backwards, "{algorithm}, root {root}");
        }
    }
}

/// The farthest block leaves the root first, and a relay's own block arrives last.
#[test]
fn a_relay_passes_on_before_it_receives_its_own() {
    let scatter = schedule(&[0, 1, 2, 3], Collective::Scatter, Algorithm::Relay, 0);
    let sent: Vec<u32> =
        scatter.plans[0].hops.iter().filter(|h| h.action == Action::Send).map(|h| h.parts.first).collect();
    assert_eq!(sent, [3, 2, 1]);
    assert_eq!(done(&scatter, 1), [(false, 0, 1), (true, 2, 1), (false, 0, 1), (true, 2, 1), (false, 0, 1)]);
    let last = scatter.plans[1].hops.last().expect("hops");
    assert_eq!(last.parts, Parts { space: Space::Output, first: 0, count: 1 });
}

/// The root sends every block itself, one turn after another; nobody waits for a token.
#[test]
fn a_direct_scatter_has_no_tokens() {
    let scatter = schedule(&[0, 0, 1, 2], Collective::Scatter, Algorithm::Direct, 0);
    assert_eq!(done(&scatter, 0), [(true, 3, 1), (true, 2, 1), (true, 1, 1)]);
    let turns: Vec<u32> = scatter.plans[0].hops.iter().filter(|h| h.action == Action::Send).map(|h| h.turn).collect();
    assert_eq!(turns, [0, 1, 2]);
    assert!((1..4).all(|rank| done(&scatter, rank) == [(false, 0, 1)]));
}
