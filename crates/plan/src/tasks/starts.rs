//! When tasks to one node start: as many at a time as the links carry.
//!
//! ```text
//!   root ◄──300── s ◄──100── a, b, c, d, e, f          first g, a and b: the link from t has most to do;
//!                 s ◄──100── t ◄──100── g, h           then c, d and e, each when one of these is done; then f and h
//! ```
//! A task takes its own rate of every link on its way while it runs, and the next starts when that is free again. Next
//! is the one with the most left to do on a link that not all tasks use. Groups, which an Alltoall is made of
//! (`groups.rs`), are no measure here: each takes a share of the root's link for one sender, also where many senders
//! are behind one thinner link, and the senders that are left over are one group, whatever the other groups have to do.
//! Nor is what a token costs: all tokens come from the one node, so that every order waits for the same latencies.
//! Source of bandwidths that are shared and of the largest remaining cost: the thesis on contention-free communication
//! in docs/provenance.md.

use super::Tasks;
use super::groups::EQUAL;

/// When a task starts, and what frees the links for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Index of the task.
    pub task: u32,
    /// Its tick.
    pub tick: u64,
    /// Tasks that end in that tick and leave it their rates; none if the links were free from the beginning. All come
    /// earlier in the order of starts.
    pub follows: Vec<u32>,
}

/// The starts of all tasks, earliest first, and the tick in which the last byte has left. All tasks go to one node,
/// over at least one link. O(tasks² · links of a route).
pub fn starts(tasks: &Tasks<'_>) -> (Vec<Start>, u64) {
    let routes = tasks.routes();
    let links = |task: u32| tasks.places(task).map(|place| routes.link(place));
    let mut free: Vec<f64> =
        (0..routes.link_count() as u32).map(|link| (1.0 + EQUAL) / routes.per_byte(link)).collect();
    let mut remaining = vec![0u64; free.len()];
    let mut waiting: Vec<u32> = (0..tasks.len() as u32).collect();
    waiting.iter().for_each(|&task| links(task).for_each(|link| remaining[link as usize] += tasks.transfer(task)));
    let shared = |link: u32| (0..tasks.len() as u32).all(|task| links(task).any(|other| other == link));
    // A link that all use does not tell them apart.
    let apart: Vec<bool> = (0..free.len() as u32).map(|link| !shared(link)).collect();
    let (mut starts, mut tick) = (Vec::with_capacity(waiting.len()), 0);
    // Tasks under way with their ends, and those that end now with what is left of their rates.
    let mut running: Vec<(u64, u32)> = Vec::new();
    let mut ended: Vec<(u32, f64)> = Vec::new();
    loop {
        loop {
            let fits = |&task: &u32| links(task).all(|link| free[link as usize] >= tasks.rate(task));
            let most = |task: u32| links(task).filter(|&l| apart[l as usize]).map(|l| remaining[l as usize]).max();
            // Of equal ones the first.
            let next = waiting.iter().copied().filter(fits).reduce(|a, b| if most(b) > most(a) { b } else { a });
            let Some(task) = next else { break };
            waiting.retain(|&other| other != task);
            links(task).for_each(|link| {
                free[link as usize] -= tasks.rate(task);
                remaining[link as usize] -= tasks.transfer(task);
            });
            let follows = left_by(&mut ended, tasks.rate(task), |other| {
                links(other).filter(|&link| links(task).any(|own| own == link)).count()
            });
            starts.push(Start { task, tick, follows });
            running.push((tick + tasks.transfer(task), task));
        }
        let Some(end) = running.iter().map(|r| r.0).min() else { return (starts, tick) };
        tick = end;
        ended = running.iter().filter(|r| r.0 == end).map(|&(_, task)| (task, tasks.rate(task))).collect();
        running.retain(|r| r.0 > end);
        ended.iter().for_each(|&(task, rate)| links(task).for_each(|link| free[link as usize] += rate));
    }
}

/// Takes `rate` of what the tasks that have ended leave, most of all of those that share most links, and says whose it
/// is; where others have taken all of that, the one that shares most links.
fn left_by(ended: &mut [(u32, f64)], rate: f64, shares: impl Fn(u32) -> usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..ended.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(shares(ended[at].0)));
    let (mut missing, mut whose) = (rate, Vec::new());
    for &at in &order {
        let (task, left) = &mut ended[at];
        if missing <= rate * EQUAL || *left <= rate * EQUAL {
            continue;
        }
        let taken = left.min(missing);
        missing -= taken;
        *left -= taken;
        whose.push(*task);
    }
    if whose.is_empty() {
        whose.extend(order.first().map(|&at| ended[at].0));
    }
    whose
}
