//! Sending through an earlier pair instead of waiting for its token.
//!
//! ```text
//!   scheduled last in a group: x→y      next: w→z, which would have to wait for a token from y
//!
//!     w ───► x ───► y ───► z        x→y has the same sender as the last one and waits for no token; w→x and y→z share
//!                                   no link with it or with each other (tree networks); all parts are pipelined
//! ```
//! In a Gather y and z are both the root. The first and the last part may be replaced in the same way. The tail of the
//! data leaves the last host of a path H₀ H₁ … at
//!
//! ```text
//!   α(k, k+1) = T(g) + Sync(last of g, Hₖ) + M/B     g: of the groups of Hₖ→Hₖ₊₁ the one whose clock T is furthest
//!   β(k, k+1) = max(α(k, k+1), γ(k-1, k))            γ(k, k+1) = β(k, k+1) + L(Hₖ→Hₖ₊₁)
//!   T = Σ C + Σ Sync                                 over the tasks scheduled in a group so far
//! ```
//! and the path is taken on which that is earliest. Source: the thesis on contention-free communication in
//! docs/provenance.md.

use super::{Groups, Task, Tasks};
use std::collections::HashMap;

/// Paths compared for one task.
const PATHS: usize = 16;

/// The tasks and parts of tasks scheduled so far, by group.
struct Clocks<'t> {
    tasks: &'t Tasks<'t>,
    /// Group of a source host on a link, as the tasks have it.
    of_source: HashMap<(u32, u32), u32>,
    /// Group 0 of every link; a new one for links that no task uses itself.
    of_link: Vec<u32>,
    /// Clock of every group, and sender and receiver of what was scheduled last.
    groups: Vec<(u64, Option<(u32, u32)>)>,
}

/// A way from the sender to the receiver of a task, and which of its parts may be replaced by ways through others.
#[derive(Clone)]
struct Path {
    nodes: Vec<u32>,
    open: Vec<bool>,
}

/// The path of every task, in the order of `sequence`: sender, relays, receiver. `sequence` has every task once, as
/// [`greedy()`](super::greedy()) gives it with the same groups.
pub fn relays(tasks: &Tasks<'_>, groups: &Groups, sequence: &[u32]) -> Vec<Vec<u32>> {
    let mut clocks = Clocks::new(tasks, groups);
    let path = |&task: &u32| {
        let Task { from, to, bytes } = tasks.task(task);
        let path = clocks.best(Path { nodes: vec![from, to], open: vec![true] }, bytes);
        path.windows(2).for_each(|part| clocks.schedule((part[0], part[1]), bytes));
        path
    };
    sequence.iter().map(path).collect()
}

impl<'t> Clocks<'t> {
    fn new(tasks: &'t Tasks<'t>, groups: &Groups) -> Self {
        let routes = tasks.routes();
        let mut of_source = HashMap::new();
        let mut of_link = vec![u32::MAX; routes.link_count()];
        for task in 0..tasks.len() as u32 {
            for place in tasks.places(task) {
                let (link, group) = (routes.link(place), groups.at(place));
                of_source.insert((link, tasks.task(task).from), group);
                of_link[link as usize] = of_link[link as usize].min(group);
            }
        }
        let mut count = groups.len() as u32;
        for group in of_link.iter_mut().filter(|group| **group == u32::MAX) {
            *group = count;
            count += 1;
        }
        Self { tasks, of_source, of_link, groups: vec![(0, None); count as usize] }
    }

    /// Groups of a part: those its sender has, else group 0 of the link.
    fn of(&self, (from, to): (u32, u32)) -> impl Iterator<Item = u32> + Clone + '_ {
        let links = self.tasks.routes().links(from, to).iter();
        links.map(move |&link| self.of_source.get(&(link, from)).copied().unwrap_or(self.of_link[link as usize]))
    }

    /// Ticks from the end of what a group did last to the moment a sender knows of it.
    fn sync(&self, group: u32, sender: u32) -> u64 {
        match self.groups[group as usize].1 {
            Some((from, to)) if from != sender => self.tasks.latency(to, sender),
            _ => 0,
        }
    }

    /// Of the groups of a part the one whose clock is furthest, the first of equals.
    fn furthest(&self, part: (u32, u32)) -> Option<u32> {
        self.of(part).reduce(|g, h| if self.groups[h as usize].0 > self.groups[g as usize].0 { h } else { g })
    }

    /// When the tail of the data leaves the last host but one of a path.
    fn leaves(&self, path: &[u32], bytes: u64) -> u64 {
        let (mut arrives, mut leaves) = (0, 0);
        for part in path.windows(2).map(|p| (p[0], p[1])) {
            let waits = self.furthest(part).map_or(0, |g| self.groups[g as usize].0 + self.sync(g, part.0));
            leaves = arrives.max(waits + self.tasks.transfer_of(bytes, part));
            arrives = leaves + self.tasks.latency(part.0, part.1);
        }
        leaves
    }

    /// The path on which the tail leaves earliest, of equals the one found first, with fewest relays.
    fn best(&self, direct: Path, bytes: u64) -> Vec<u32> {
        let mut paths = vec![direct];
        let mut next = 0;
        while next < paths.len() && paths.len() < PATHS {
            let path = paths[next].clone();
            let parts = (0..path.open.len()).filter(|&part| path.open[part]);
            paths.extend(parts.filter_map(|part| self.through_the_last(&path, part)));
            next += 1;
        }
        let first = paths.into_iter().map(|path| (self.leaves(&path.nodes, bytes), path.nodes));
        let least = first.reduce(|best, path| if path.0 < best.0 { path } else { best });
        least.map_or_else(Vec::new, |(_, nodes)| nodes)
    }

    /// The path with one of its parts led through the pair that was scheduled last in that part's furthest group;
    /// `None` where there is none, or where two parts would be in one group.
    fn through_the_last(&self, path: &Path, part: usize) -> Option<Path> {
        let (w, z) = (path.nodes[part], path.nodes[part + 1]);
        let (x, y) = self.groups[self.furthest((w, z))? as usize].1?;
        if x == w || w == y || x == z {
            return None;
        }
        let (between, open) = if y == z { (vec![x], vec![true, false]) } else { (vec![x, y], vec![true, false, true]) };
        let mut path = path.clone();
        path.nodes.splice(part + 1..part + 1, between);
        path.open.splice(part..=part, open);
        let mut used: Vec<u32> = path.nodes.windows(2).flat_map(|p| self.of((p[0], p[1]))).collect();
        let all = used.len();
        used.sort_unstable();
        used.dedup();
        (used.len() == all).then_some(path)
    }

    /// Appends a part to its groups.
    fn schedule(&mut self, part: (u32, u32), bytes: u64) {
        let cost = self.tasks.latency(part.0, part.1) + self.tasks.transfer_of(bytes, part);
        let groups: Vec<u32> = self.of(part).collect();
        for group in groups {
            let sync = self.sync(group, part.0);
            let (clock, last) = &mut self.groups[group as usize];
            *clock += sync + cost;
            *last = Some(part);
        }
    }
}
