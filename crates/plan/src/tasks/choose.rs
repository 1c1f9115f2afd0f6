//! Which order: the greedy one where it is near the bound, else the best of several.

use super::{Groups, Lanes, Order, Preference, Tasks, greedy, search};

/// Over the bound, an order is near it up to this factor.
pub const NEAR: f64 = 1.05;

/// An order of `tasks`: the greedy one of section 4 if its idealised execution takes at most [`NEAR`] times the bound, else
/// the one of several that takes least.
pub fn choose(tasks: &Tasks<'_>) -> Order {
    let bound = tasks.bound();
    let near = |order: &Order| order.makespan as f64 <= NEAR * bound;
    let groups = Groups::new(tasks);
    let synchronised = greedy(tasks, &groups, Preference::Synchronisation);
    let mut best = Lanes::Groups(&groups).run(tasks, &synchronised);
    if near(&best) {
        return best;
    }
    let lanes = Lanes::free(tasks);
    let early = greedy(tasks, &groups, Preference::Start);
    for sequence in [synchronised, early] {
        let order = lanes.run(tasks, &sequence);
        if order.makespan < best.makespan {
            best = order;
        }
    }
    let shortest = tasks.transfer(best.sequence[0]);
    let fewest = (bound / shortest as f64 - 1e-6).ceil() as u64;
    for phases in fewest..best.makespan / shortest {
        if near(&best) {
            break;
        }
        if let Some(sequence) = search(tasks, &best, phases) {
            best = lanes.run(tasks, &sequence);
        }
    }
    best
}
