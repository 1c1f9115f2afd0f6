//! When a job tests its network (docs/decisions/0022): before the first measured call that is long enough, of all ranks
//! of the world.
//!
//! ```text
//!   agree: how long may it take? ─► stage ─► agree: how long did it take? ─► stage … ─► the call is decided anew
//! ```

use super::decide::Decision;
use crate::boundary::failure::Failure;
use crate::boundary::stack;
use crate::comm::learning::Class;
use crate::transport::private::Private;
use crate::transport::self_test::Ways;
use crate::transport::together::{Times, longest};
use crate::world::self_test::Outcome;
use crate::world::shim::{Shim, World};
use nagare_plan::schedule::Rank;
use nagare_plan::self_test::SelfTest;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Nanoseconds that it may take, at most: about as long as a call of the class before which it comes, or a hundredth of
/// what has passed since MPI_Init, but no more than this, and none of that are too few for it.
const MOST: u64 = 20_000_000;
const LEAST: u64 = 3_000_000;
const SHARE_OF_JOB: u32 = 100;

/// How often ranks agree in a test, at most.
const AGREEMENTS: u64 = 15;

/// The world of the job, if the test is to come and this call, whose class has no measured call yet, is one of all its
/// ranks.
pub fn is_due(shim: &Shim, decision: &Decision, class: Class) -> Option<Arc<World>> {
    let Decision { record, place, .. } = *decision;
    let world = shim.world()?;
    let ranks = world.facts.as_ref().ok()?.topology.ranks();
    let is_due = world.self_test.is_to_come() && record.size == ranks && !place.shares_memory;
    let is_due = is_due && SelfTest::is_due(place.planner.topology());
    (is_due && record.learning().is_new(class)).then_some(world)
}

/// Tests the network, if there is time enough, and decides the call anew by what is found. Collective over `private`;
/// `call`: the number of the agreements that belong to it.
///
/// # Errors
/// A rank has given up, the library fails, or there is no memory. Where the test had begun it is over then.
pub fn run(
    shim: &Shim,
    world: &World,
    decision: &mut Decision,
    (private, call): (&Private, u32),
    class: Class,
) -> Result<(), Failure> {
    let Decision { record, place, .. } = *decision;
    let together = |own: Times| stack::on_large(|| longest(shim.real, private, call, own, shim.waiting()));
    let of_job = (world.self_test.elapsed() / SHARE_OF_JOB).as_nanos() as u64;
    let predicted = decision.predicted().unwrap_or(0.0) as u64;
    let (of_call, own_asking) = {
        let learning = record.learning();
        (learning.mean(class).unwrap_or(predicted), learning.asking(class))
    };
    // A rank that has given up an earlier call does not come: then nobody goes on, and the test is still to come.
    let [budget, asking, _] = together([of_job.max(of_call).min(MOST), own_asking, 0])?;
    if budget < LEAST || asking.saturating_mul(AGREEMENTS) > budget {
        return Ok(());
    }
    // However it is left.
    let mut concluding = Concluding { shim, world, outcome: Outcome { found: None, took: Duration::ZERO } };
    let mut test = SelfTest::new(place.planner.topology(), budget);
    let firsts = firsts(place.planner.topology().nodes());
    let (real, tags, waiting, message) = (shim.real, place.tags, shim.waiting(), place.message);
    let ways = Ways { real, private, tags, call, waiting, message };
    let start = Instant::now();
    let (mut took, mut elapsed) = (0, 0);
    while let Some(stage) = test.next(took, elapsed) {
        let own = ways.carry_out(stage, &firsts, record.rank)?;
        [took, elapsed, _] = together([own, start.elapsed().as_nanos() as u64, 0])?;
    }
    concluding.outcome = Outcome { found: test.found(), took: Duration::from_nanos(elapsed) };
    let Outcome { found, took } = concluding.outcome;
    drop(concluding);
    if record.rank == 0 {
        let (ms, found) = (took.as_secs_f64() * 1e3, found.unwrap_or_default().found());
        log::info!("a test of the network took {ms:.1} ms and found: {found}");
    }
    if found.is_some() {
        decision.replan(place.planning(shim, true));
        record.learning().begin(class, || decision.candidates());
    }
    Ok(())
}

/// Ends the test on this rank: as it came out, or without a result where it fails, or the program's thread ends.
struct Concluding<'t> {
    shim: &'t Shim,
    world: &'t World,
    outcome: Outcome,
}

impl Drop for Concluding<'_> {
    fn drop(&mut self) {
        self.shim.end_self_test(self.world, self.outcome);
    }
}

/// The first rank of each node, in their order. `nodes`: of each rank, numbered by their smallest.
fn firsts(nodes: &[u32]) -> Vec<Rank> {
    let mut firsts = Vec::new();
    for (rank, &node) in (0..).zip(nodes) {
        if node as usize == firsts.len() {
            firsts.push(rank);
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_of_each_node_takes_part() {
        assert_eq!(firsts(&[0, 0, 1, 0, 2, 1]), [0, 2, 4]);
    }
}
