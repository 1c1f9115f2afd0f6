//! Contention-free task groups: in which order nodes exchange, so that no link receives more than it carries.
//!
//! ```text
//!   Routes ─► Tasks ─► Groups (per link: what must take turns) ─► Order ─► Tokens ─► algorithm::contention_free
//!                         └─► greedy, or phases where that is far from the bound
//!   Routes to one node ─► Tasks ─► Starts ─► algorithm::direct
//! ```
//! A *task* is everything one node sends to another in a collective. Two tasks that share a directed link conflict,
//! unless the link carries both at once. Everything here is about nodes and links; ranks come in when plans are made.
//! Source: docs/provenance.md, contention-free task groups and phases on a tree.

mod choose;
mod colouring;
mod greedy;
mod groups;
mod lanes;
mod phases;
mod routes;
mod starts;
mod tokens;
mod tree;

pub use choose::choose;
pub use greedy::{Preference, greedy};
pub use groups::Groups;
pub use lanes::{Lanes, Order};
pub use phases::{NEAR, phases};
pub use routes::Routes;
pub use starts::{Start, starts};
pub use tokens::{Completion, Wait, Waits};
pub use tree::tree_phases;

/// Ticks of the shortest transfer: durations are whole ticks, so that equal ones are equal in any sum.
const TICKS: f64 = 4096.0;
/// No duration is longer, so that no sum of 2²⁰ of them overflows.
const LONGEST: f64 = (1u64 << 42) as f64;

/// Everything one node sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Sending node.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// Bytes, at least 1.
    pub bytes: u64,
}

/// The tasks of a collective and what each costs. Time is counted in ticks, 4096 to the shortest transfer.
#[derive(Clone, Debug)]
pub struct Tasks<'r> {
    routes: &'r Routes,
    list: Vec<Task>,
    transfer: Vec<u64>,
    /// Nanoseconds per byte on the thinnest link of every task's route.
    per_byte: Vec<f64>,
    /// Nanoseconds of a tick.
    tick: f64,
}

/// Whole ticks that bytes take at so many nanoseconds each.
fn ticks(bytes: u64, per_byte: f64, tick: f64) -> u64 {
    (bytes.max(1) as f64 * per_byte / tick).round().clamp(1.0, LONGEST) as u64
}

impl<'r> Tasks<'r> {
    /// Tasks in the order of `list`; those from a node to itself are left out.
    pub fn new(routes: &'r Routes, list: impl IntoIterator<Item = Task>) -> Self {
        let list: Vec<Task> = list.into_iter().filter(|t| t.from != t.to).collect();
        let slowest = |t: &Task| routes.links(t.from, t.to).iter().map(|&l| routes.per_byte(l)).fold(0.0, f64::max);
        let per_byte: Vec<f64> = list.iter().map(slowest).collect();
        let times = list.iter().zip(&per_byte).map(|(t, p)| t.bytes.max(1) as f64 * p);
        let shortest = times.fold(f64::INFINITY, f64::min);
        let tick = if shortest.is_finite() && shortest > 0.0 { shortest / TICKS } else { 1.0 };
        let transfer = list.iter().zip(&per_byte).map(|(t, &p)| ticks(t.bytes, p, tick)).collect();
        Self { routes, list, transfer, per_byte, tick }
    }

    /// Alltoall with `bytes` per pair of ranks between nodes of `ranks_of` ranks: every node to every other, those at
    /// equal distance in the order of nodes together.
    pub fn alltoall(routes: &'r Routes, ranks_of: &[u32], bytes: u64) -> Self {
        let nodes = routes.nodes();
        let pairs = (1..nodes).flat_map(|offset| (0..nodes).map(move |from| (from, (from + offset) % nodes)));
        let size = |node: u32| u64::from(ranks_of[node as usize]);
        let tasks = pairs.map(|(from, to)| {
            let pairs_of_ranks = size(from).saturating_mul(size(to));
            Task { from, to, bytes: bytes.saturating_mul(pairs_of_ranks) }
        });
        Self::new(routes, tasks)
    }

    /// The routes they take.
    pub fn routes(&self) -> &'r Routes {
        self.routes
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A task.
    pub fn task(&self, index: u32) -> Task {
        self.list[index as usize]
    }

    /// The places of a task's route.
    pub fn places(&self, index: u32) -> std::ops::Range<usize> {
        let Task { from, to, .. } = self.task(index);
        self.routes.places(from, to)
    }

    /// Ticks its bytes take on the thinnest link of its route, `M / B`.
    pub fn transfer(&self, index: u32) -> u64 {
        self.transfer[index as usize]
    }

    /// Bytes per nanosecond while it runs.
    pub fn rate(&self, index: u32) -> f64 {
        1.0 / self.per_byte[index as usize]
    }

    /// Ticks from a send by one node to the arrival at another, beyond the bytes.
    pub fn latency(&self, from: u32, to: u32) -> u64 {
        (self.routes.latency(from, to) / self.tick).round().min(LONGEST) as u64
    }

    /// Ticks a task costs, `C = L + M / B`.
    pub fn cost(&self, index: u32) -> u64 {
        let Task { from, to, .. } = self.task(index);
        self.latency(from, to) + self.transfer(index)
    }

    /// Nanoseconds of a tick.
    pub fn tick(&self) -> f64 {
        self.tick
    }

    /// Bytes over every link.
    pub fn loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.routes.link_count()];
        for task in &self.list {
            for &link in self.routes.links(task.from, task.to) {
                loads[link as usize] += task.bytes as f64;
            }
        }
        loads
    }

    /// Ticks the busiest link needs for its bytes: no order is faster.
    pub fn bound(&self) -> f64 {
        let of_link = |(link, bytes): (u32, f64)| bytes * self.routes.per_byte(link) / self.tick;
        (0..).zip(self.loads()).map(of_link).fold(0.0, f64::max)
    }

    /// The tasks on every link as `(first, tasks)`: those of link `l` are `tasks[first[l]..first[l + 1]]`, each with
    /// its place, in the order of the list.
    pub fn by_link(&self) -> (Vec<u32>, Vec<(u32, u32)>) {
        let mut first = vec![0u32; self.routes.link_count() + 1];
        for task in &self.list {
            for &link in self.routes.links(task.from, task.to) {
                first[link as usize + 1] += 1;
            }
        }
        for link in 1..first.len() {
            first[link] += first[link - 1];
        }
        let mut next = first.clone();
        let mut on = vec![(0, 0); first[first.len() - 1] as usize];
        for index in 0..self.list.len() as u32 {
            for place in self.places(index) {
                let at = &mut next[self.routes.link(place) as usize];
                on[*at as usize] = (index, place as u32);
                *at += 1;
            }
        }
        (first, on)
    }
}
