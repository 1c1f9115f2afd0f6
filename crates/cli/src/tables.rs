//! Send and receive tables of single ranks.

use crate::output::table;
use comfy_table::Table;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::schedule::{Action, Hop, Rank, RankPlan};
use std::collections::BTreeSet;

/// Most rounds of a stage that become columns of one table.
const COLUMNS: u32 = 4;

/// One table per stage: to whom each of `plans` sends and from whom it receives, by round.
pub fn rank_tables(stages: &[String], plans: &[RankPlan], algorithm: Algorithm) -> Vec<(String, Table)> {
    let word = algorithm.spec().round;
    let tables = stages.iter().enumerate().map(|(stage, name)| {
        let hops = |plan: &'_ RankPlan| -> Vec<Hop> {
            let moves = plan.hops.iter().filter(|h| h.action.copied().is_none());
            moves.filter(|h| usize::from(h.round.stage) == stage).cloned().collect()
        };
        let of_ranks: Vec<(Rank, Vec<Hop>)> = plans.iter().map(|plan| (plan.rank, hops(plan))).collect();
        let mut steps: BTreeSet<u32> =
            of_ranks.iter().flat_map(|(_, hops)| hops.iter().map(|h| h.round.step)).collect();
        if word == "colour" {
            steps.extend([0, 1]);
        }
        let many = steps.last().is_some_and(|&last| last >= COLUMNS);
        (name.clone(), if many { long(&of_ranks, &steps, word) } else { wide(&of_ranks, &steps, word) })
    });
    tables.collect()
}

/// One row per rank, two columns per round.
fn wide(of_ranks: &[(Rank, Vec<Hop>)], steps: &BTreeSet<u32>, word: &str) -> Table {
    let columns = |arrow: &str| steps.iter().map(|step| format!("{word} {step} {arrow}")).collect::<Vec<_>>();
    let mut table = table(["rank".to_owned()].into_iter().chain(columns("→")).chain(columns("←")));
    for (rank, hops) in of_ranks {
        let sends = steps.iter().map(|&step| peers(hops, step, true));
        let receives = steps.iter().map(|&step| peers(hops, step, false));
        table.add_row([rank.to_string()].into_iter().chain(sends).chain(receives));
    }
    table
}

/// One row per rank and round in which the rank takes part.
fn long(of_ranks: &[(Rank, Vec<Hop>)], steps: &BTreeSet<u32>, word: &str) -> Table {
    let mut table = table(["rank", word, "→", "←"]);
    for (rank, hops) in of_ranks {
        for &step in steps.iter().filter(|&&step| hops.iter().any(|h| h.round.step == step)) {
            table.add_row([rank.to_string(), step.to_string(), peers(hops, step, true), peers(hops, step, false)]);
        }
    }
    table
}

/// The other ends of the transfers of one round, or `none`.
fn peers(hops: &[Hop], step: u32, sends: bool) -> String {
    let of_round = hops.iter().filter(|h| h.round.step == step && (h.action == Action::Send) == sends);
    let peers: Vec<String> = of_round.map(|h| h.peer.to_string()).collect();
    if peers.is_empty() { "none".to_owned() } else { peers.join(" ") }
}
