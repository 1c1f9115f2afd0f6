//! The worked examples of docs/algorithms.md, literally.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::{Action, Rank, Schedule, send_tables};
use nagare_plan::topology::Topology;
use std::collections::BTreeSet;

type Moves = BTreeSet<(Rank, Rank)>;

fn moves(text: &str) -> Moves {
    text.split_whitespace()
        .map(|m| {
            let (from, to) = m.split_once('→').expect("from→to");
            (from.parse().expect("rank"), to.parse().expect("rank"))
        })
        .collect()
}

fn round(schedule: &Schedule, stage: usize, colour: u32) -> Moves {
    send_tables(schedule)[stage].rounds[&colour].iter().copied().collect()
}

/// `two_tree`: ranks 0..7, root 0.
#[test]
fn two_tree_of_eight() {
    let planner = Planner::new(Topology::of_nodes((0..8).collect()).unwrap());
    let reduce = planner.schedule(Collective::Reduce, Algorithm::TwoTree, 0).unwrap();
    let colour_0 = moves("1→2 2→4 7→6 5→0 3→5 4→3 6→7");
    let colour_1 = moves("3→2 5→6 6→4 4→0 2→3 1→7 7→5");
    assert_eq!(round(&reduce, 0, 0), colour_0);
    assert_eq!(round(&reduce, 0, 1), colour_1);
    // T1 carries part 0, T2 part 1.
    let tree = |part: u32| -> Moves {
        reduce.moves().iter().filter(|m| m.parts.first == part).map(|m| (m.from, m.to)).collect()
    };
    assert_eq!(tree(0), moves("1→2 3→2 5→6 7→6 2→4 6→4 4→0"));
    assert_eq!(tree(1), moves("2→3 4→3 6→7 1→7 3→5 7→5 5→0"));

    // Bcast is the same tables with send and receive swapped.
    let bcast = planner.schedule(Collective::Bcast, Algorithm::TwoTree, 0).unwrap();
    let swapped = |m: &Moves| m.iter().map(|&(a, b)| (b, a)).collect::<Moves>();
    assert_eq!(round(&bcast, 0, 0), swapped(&colour_0));
    assert_eq!(round(&bcast, 0, 1), swapped(&colour_1));
}

/// `grouped_two_tree`: 32 ranks in four groups of eight.
#[test]
fn grouped_two_tree_of_four_groups() {
    let groups: Vec<u32> = (0..32).map(|r| r / 8).collect();
    let topology =
        Topology::new(vec!["group".into(), "node".into()], vec![groups, (0..32).collect()], vec![0; 32]).unwrap();
    let planner = Planner::new(topology);
    let reduce = planner.schedule(Collective::Reduce, Algorithm::GroupedTwoTree, 0).unwrap();
    assert_eq!(reduce.stages, ["rank reduce", "group reduce"]);

    let local = ["1→2 2→4 7→6 5→0 3→5 4→3 6→7", "3→2 5→6 6→4 4→0 2→3 1→7 7→5"];
    for (colour, text) in local.iter().enumerate() {
        let expected: Moves =
            (0..4).flat_map(|g| moves(text).into_iter().map(move |(a, b)| (a + 8 * g, b + 8 * g))).collect();
        assert_eq!(round(&reduce, 0, colour as u32), expected);
    }
    assert_eq!(round(&reduce, 1, 0), moves("24→16 8→24 16→0"));
    assert_eq!(round(&reduce, 1, 1), moves("8→16 16→24 24→0"));

    // The table excerpts: (stage, rank, action) → peers of colour 0 and 1.
    let table = |stage: u16, rank: usize, action: Action| -> Vec<Rank> {
        let mut hops: Vec<_> =
            reduce.plans[rank].hops.iter().filter(|h| h.round.stage == stage && h.action == action).collect();
        hops.sort_by_key(|h| h.round.step);
        hops.iter().map(|h| h.peer).collect()
    };
    assert_eq!(table(0, 1, Action::Send), [2, 7]);
    assert_eq!(table(0, 0, Action::Reduce), [5, 4]);
    assert_eq!(table(1, 8, Action::Send), [24, 16]);
    assert_eq!(table(1, 0, Action::Reduce), [16, 24]);
    assert_eq!(table(0, 0, Action::Send), Vec::<u32>::new());
}
