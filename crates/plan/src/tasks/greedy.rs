//! The greedy order: next comes the group with the most left to do, and in it the task that waits least for others.
//! Source: the thesis on contention-free communication in docs/provenance.md.

use super::{Groups, Tasks};
use std::collections::BinaryHeap;

/// Tasks of a group that are compared for one choice: smaller groups are searched whole, of larger ones the first that
/// are left, which are tasks of many different hosts. Fewer where there are many tasks.
const CANDIDATES: (usize, usize) = (8, 48);
/// Places of routes looked at in all, about.
const LOOKS: usize = 1 << 24;

const NONE: u32 = u32::MAX;

/// What makes a task of the chosen group the next one; ties go to the other criterion, then to the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The smallest synchronisation cost: the longest wait for a token from the tasks last scheduled in its groups.
    Synchronisation,
    /// The earliest start.
    Start,
}

impl Preference {
    fn rank(self, wait: u64, start: u64) -> (u64, u64) {
        match self {
            Self::Synchronisation => (wait, start),
            Self::Start => (start, wait),
        }
    }
}

/// The task last scheduled in a group, and when it is done.
#[derive(Clone, Copy)]
struct Last {
    from: u32,
    to: u32,
    done: u64,
}

/// A task's sender and the places of its route.
#[derive(Clone, Copy)]
struct Route {
    from: u32,
    first: u32,
    end: u32,
}

/// A group's unscheduled tasks: those of `on[begin..end]` that are not scheduled.
struct Pending {
    begin: usize,
    end: usize,
    count: usize,
}

/// All tasks in the order in which they are chosen.
///
/// Until nothing is left: the group with the largest remaining cost `R = Σ (L + M/B)`, in it the task that `preference`
/// names; it is appended to all groups of its route.
pub fn greedy(tasks: &Tasks<'_>, groups: &Groups, preference: Preference) -> Vec<u32> {
    let nodes = tasks.routes().nodes();
    let latency: Vec<u32> = (0..nodes)
        .flat_map(|to| (0..nodes).map(move |from| (from, to)))
        .map(|(from, to)| tasks.latency(from, to).min(u64::from(u32::MAX)) as u32)
        .collect();
    let (mut pending, mut on) = members(tasks, groups);
    let mut remaining = vec![0u64; groups.len()];
    for task in 0..tasks.len() as u32 {
        for place in tasks.places(task) {
            remaining[groups.at(place) as usize] += tasks.cost(task);
        }
    }
    let mut last = vec![Last { from: NONE, to: NONE, done: 0 }; groups.len()];
    let mut scheduled = vec![false; tasks.len()];
    // Largest remaining cost first, then the lowest number. Entries may be too large: costs only fall.
    let key = |remaining: u64, group: u32| (remaining, u32::MAX - group);
    let mut heap: BinaryHeap<(u64, u32)> = (0..).zip(&remaining).map(|(group, &r)| key(r, group)).collect();
    let routes: Vec<Route> = (0..tasks.len() as u32)
        .map(|task| {
            let places = tasks.places(task);
            Route { from: tasks.task(task).from, first: places.start as u32, end: places.end as u32 }
        })
        .collect();
    let candidates = (LOOKS / tasks.routes().place_count().max(1)).clamp(CANDIDATES.0, CANDIDATES.1);
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(mut top) = heap.peek_mut() {
        let (known, group) = (top.0, u32::MAX - top.1);
        let group = group as usize;
        if known != remaining[group] {
            top.0 = remaining[group];
            continue;
        }
        if pending[group].count == 0 {
            std::collections::binary_heap::PeekMut::pop(top);
            continue;
        }
        drop(top);
        let mut best: Option<((u64, u64), u32)> = None;
        pending[group].each(&mut on, &scheduled, candidates, |task| {
            let Route { from, first, end } = routes[task as usize];
            let (mut wait, mut start) = (0, 0);
            for last in groups.of(first as usize..end as usize).iter().map(|&group| last[group as usize]) {
                if last.from == NONE {
                    continue;
                }
                let token = if last.from == from { 0 } else { u64::from(latency[(from * nodes + last.to) as usize]) };
                wait = wait.max(token);
                start = start.max(last.done + token);
                // Both only grow.
                if best.is_some_and(|(least, _)| preference.rank(wait, start) >= least) {
                    return;
                }
            }
            let rank = preference.rank(wait, start);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, task));
            }
        });
        let Some(((a, b), task)) = best else { continue };
        let start = if preference == Preference::Start { a } else { b };
        let super::Task { from, to, .. } = tasks.task(task);
        scheduled[task as usize] = true;
        let done = start + tasks.cost(task);
        for place in tasks.places(task) {
            let group = groups.at(place) as usize;
            last[group] = Last { from, to, done };
            remaining[group] -= tasks.cost(task);
            pending[group].count -= 1;
        }
        order.push(task);
    }
    order
}

/// The tasks of every group, in the order of the list.
fn members(tasks: &Tasks<'_>, groups: &Groups) -> (Vec<Pending>, Vec<u32>) {
    let mut size = vec![0usize; groups.len()];
    let all = |f: &mut dyn FnMut(u32, usize)| {
        for task in 0..tasks.len() as u32 {
            tasks.places(task).for_each(|place| f(task, groups.at(place) as usize));
        }
    };
    all(&mut |_, group| size[group] += 1);
    let mut next = 0;
    let mut pending: Vec<Pending> = Vec::with_capacity(size.len());
    for count in size {
        pending.push(Pending { begin: next, end: next, count });
        next += count;
    }
    let mut on = vec![0; next];
    all(&mut |task, group| {
        let end = &mut pending[group].end;
        on[*end] = task;
        *end += 1;
    });
    (pending, on)
}

impl Pending {
    /// Calls `found` with the first tasks that are left, and forgets the scheduled ones among them.
    fn each(&mut self, on: &mut [u32], scheduled: &[bool], candidates: usize, mut found: impl FnMut(u32)) {
        let mut left = [0u32; CANDIDATES.1];
        let mut count = 0;
        let mut at = self.begin;
        while at < self.end && count < candidates {
            let task = on[at];
            at += 1;
            if !scheduled[task as usize] {
                left[count] = task;
                count += 1;
                found(task);
            }
        }
        self.begin = at - count;
        on[self.begin..at].copy_from_slice(&left[..count]);
    }
}
