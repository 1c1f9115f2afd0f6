//! Compares two runs by test and rank, and runs what differs a few times more on both sides.

use super::cell::{Cell, Mode};
use super::collect::{Run, Selection, collect};
use super::events::{Outcome, Status};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How often both sides of a difference are run again.
const REPETITIONS: usize = 3;

/// What came of comparing one way of running with stock; numbers of tests times ranks, or of differences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub compared: usize,
    /// Among the compared: it crashed or hung the job, with Nagare and without.
    pub broken: usize,
    pub different: usize,
    /// Differences where stock differs from itself.
    pub flaky: usize,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.broken += other.broken;
        self.different += other.different;
        self.flaky += other.flaky;
    }

    pub fn equal(&self) -> usize {
        self.compared - self.different - self.flaky
    }
}

/// A test on a rank.
type Place = (String, usize);

/// Compares `nagare` with `stock`, and prints what differs.
///
/// # Errors
/// If what differs cannot be run again.
pub fn compare(cell: Cell, mode: Mode, selection: &Selection, stock: &Run, nagare: &Run) -> Result<Tally> {
    let mut tally = Tally::default();
    let mut different: BTreeMap<Place, [Vec<Outcome>; 2]> = BTreeMap::new();
    let tests: BTreeSet<&String> = stock.outcomes.keys().chain(nagare.outcomes.keys()).collect();
    for test in tests {
        for rank in 0..cell.processes as usize {
            let [without, with] = [stock, nagare].map(|run| outcome(run, test, rank));
            tally.compared += 1;
            if without.status != with.status {
                different.insert((test.clone(), rank), [vec![without], vec![with]]);
            } else if matches!(without.status, Status::Crashed | Status::Hung) {
                tally.broken += 1;
            }
        }
    }
    if different.is_empty() {
        return Ok(tally);
    }
    println!("             {} differ in {mode}; run {REPETITIONS} times more on both sides", different.len());
    let again = Selection { patterns: modules(different.keys()), ..selection.clone() };
    for _ in 0..REPETITIONS {
        let runs = [collect(cell, Mode::Stock, &again)?, collect(cell, mode, &again)?];
        for ((test, rank), sides) in &mut different {
            for (side, run) in sides.iter_mut().zip(&runs) {
                side.push(outcome(run, test, *rank));
            }
        }
    }
    for ((test, rank), [without, with]) in &different {
        let stock_varies = without.iter().any(|o| o.status != without[0].status);
        *(if stock_varies { &mut tally.flaky } else { &mut tally.different }) += 1;
        let verdict = if stock_varies { "FLAKY" } else { "DIFFERENT" };
        println!("{verdict}  {cell}, {mode}, rank {rank}: {test}");
        println!("    stock   {}", listed(without));
        println!("    nagare  {}", listed(with));
        println!(
            "    nagare-verify conformance --mpi {} --processes {} --tests {test}",
            cell.mpi.name(),
            cell.processes
        );
    }
    Ok(tally)
}

fn outcome(run: &Run, test: &str, rank: usize) -> Outcome {
    let missing = || Outcome { status: Status::Missing, message: String::new() };
    run.outcomes.get(test).and_then(|by_rank| by_rank.get(rank)).cloned().unwrap_or_else(missing)
}

/// Patterns for the modules of tests: a test may depend on what ran before it.
fn modules<'a>(places: impl Iterator<Item = &'a Place>) -> Vec<String> {
    let modules: BTreeSet<&str> = places.filter_map(|(test, _)| test.split('.').next()).collect();
    modules.iter().map(|module| format!("{module}.*")).collect()
}

/// Outcomes with how often each came, and their messages.
fn listed(outcomes: &[Outcome]) -> String {
    let mut counts: BTreeMap<Status, (usize, &str)> = BTreeMap::new();
    for outcome in outcomes {
        counts.entry(outcome.status).or_insert((0, &outcome.message)).0 += 1;
    }
    let mut text = String::new();
    for (status, (count, message)) in counts {
        let separator = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{separator}{count} of {} {status}", outcomes.len());
        if !message.is_empty() {
            let _ = write!(text, ": {message}");
        }
    }
    text
}
