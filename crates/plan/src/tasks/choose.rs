//! Which order: the greedy one where it is near the bound, else phases, else the best there is.

use super::{Groups, Lanes, Order, Preference, Tasks, greedy, phases, tree_phases};

/// An order is near the bound up to this factor.
pub const NEAR: f64 = 1.05;

/// Tasks from which on phases are tried before the greedy order, which takes longer then.
const MANY: usize = 1 << 14;

/// An order of `tasks`: the greedy one of section 4 if its idealised execution takes at most [`NEAR`] times the bound, else
/// phases, where they are found, else the one of several that takes least.
pub fn choose(tasks: &Tasks<'_>) -> Order {
    let bound = tasks.bound();
    let near = |order: &Order| order.makespan as f64 <= NEAR * bound;
    let shortest = (0..tasks.len() as u32).map(|task| tasks.transfer(task)).min().unwrap_or(1);
    let within = (NEAR * bound / shortest as f64) as u64;
    let lanes = Lanes::free(tasks);
    let in_phases = |below: u64| phases(tasks, within, below).map(|sequence| lanes.run(tasks, &sequence));
    let many = tasks.len() > MANY;
    let tree = || tree_phases(tasks).map(|sequence| lanes.run(tasks, &sequence)).filter(near);
    if let Some(order) = many.then(|| tree().or_else(|| in_phases(within + 1))).flatten() {
        return order;
    }
    let groups = Groups::new(tasks);
    let synchronised = greedy(tasks, &groups, Preference::Synchronisation);
    let mut best = Lanes::Groups(&groups).run(tasks, &synchronised);
    if near(&best) || many {
        return best;
    }
    let early = greedy(tasks, &groups, Preference::Start);
    for order in [synchronised, early].map(|sequence| lanes.run(tasks, &sequence)) {
        if order.makespan < best.makespan {
            best = order;
        }
    }
    tree().or_else(|| in_phases(best.makespan / shortest)).unwrap_or(best)
}
