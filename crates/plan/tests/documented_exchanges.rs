//! What `docs/algorithms.md` says about exchanges in steps, XOR and ring: messages, steps, and who meets whom in which.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::Alltoall;
use nagare_plan::schedule::Action;
use nagare_plan::topology::Topology;
use std::collections::BTreeSet;

use crate::support::document::{number, table};
use crate::support::formulas::{log2_ceil, schedule};

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
