//! Chooses the order of the tasks: the greedy one where it is near the bound, else phases, else the best that was
//! found.

use super::{Groups, Lanes, NEAR, Order, Preference, Tasks, greedy, phases, tree_phases};

/// Tasks from which on phases are tried before the greedy order, which takes longer then.
const MANY: usize = 1 << 14;

/// An order of `tasks`: the greedy one (`greedy.rs`) if its idealised execution takes at most [`NEAR`] times the bound,
/// else phases, where they are found, else the one of several that takes least.
pub fn choose(tasks: &Tasks<'_>) -> Order {
    let groups = Groups::new(tasks);
    let lanes = Lanes::free(tasks);
    let in_groups = || Some(Lanes::Groups(&groups).run(tasks, &greedy(tasks, &groups, Preference::Synchronisation)));
    let on_a_tree = || Some(lanes.run(tasks, &tree_phases(tasks)?));
    let in_phases = || Some(lanes.run(tasks, &phases(tasks)?));
    let early = || Some(lanes.run(tasks, &greedy(tasks, &groups, Preference::Start)));
    let ways: [&dyn Fn() -> Option<Order>; 4] = match tasks.len() > MANY {
        false => [&in_groups, &on_a_tree, &in_phases, &early],
        true => [&on_a_tree, &in_phases, &in_groups, &early],
    };
    let near = NEAR * tasks.bound();
    let mut best: Option<Order> = None;
    for order in ways.into_iter().filter_map(|way| way()) {
        if best.as_ref().is_none_or(|best| order.makespan < best.makespan) {
            best = Some(order);
        }
        if best.as_ref().is_some_and(|best| best.makespan as f64 <= near) {
            break;
        }
    }
    best.unwrap_or_else(|| lanes.run(tasks, &[]))
}
