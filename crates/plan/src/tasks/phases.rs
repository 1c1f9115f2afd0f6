//! Phases: all tasks in so many rounds that no link is used over its capacity in any of them.
//!
//! ```text
//!   construct: tasks of the busiest links first ─► each to the first phase in which it asks least too much
//!   repair:    a link that is asked too much in a phase ─► of its tasks there, the one and the phase that help most
//! ```
//! The busiest link is used in every phase, and what crosses other links goes beside it. Where phases are as few as the
//! load of the busiest link, the order is optimal, as Faraj and Yuan show to be possible on every tree with equal
//! links. A move of the repair may not be taken back at once (tabu search), or the same few tasks would change places
//! for ever. The numbers that break ties come from a generator with a fixed start: every rank finds the same phases.
//! The repair is our own (docs/provenance.md).

use super::{Lanes, Tasks};
use std::cmp::Reverse;
use std::ops::Range;

/// An order is near the bound up to this factor.
pub const NEAR: f64 = 1.05;

/// Moves of the repair for a number of phases that need not be met, and for one that should be.
const MOVES: [u32; 2] = [5_000, 80_000];
/// Moves for which a task stays away from the phase it left, and the random addition to it.
const TENURE: (u32, u32) = (6, 10);
/// One move in so many goes anywhere, so that small cases do not run in circles.
const STRAYS: u32 = 128;
/// Phases looked at together.
const AT_ONCE: usize = 128;
/// Cells of the table of uses, 6 bytes each.
const MOST_CELLS: u64 = 1 << 24;
/// Phases looked at in all places of all tasks: some tenths of a second.
const MOST_LOOKS: u64 = 1 << 32;

/// A sequence of all tasks in as few phases as are found, with the lanes of [`Lanes::free`]; `None` where there are too
/// many tasks, or no such phases are found. Optimal only where all tasks take the same time: how long they take is not
/// looked at.
pub fn phases(tasks: &Tasks<'_>) -> Option<Vec<u32>> {
    let Lanes::Free { first: lanes, .. } = Lanes::free(tasks) else { return None };
    let on = tasks.by_link().0;
    let load =
        |link: usize| u64::from(on[link + 1] - on[link]).div_ceil(u64::from(lanes[link + 1] - lanes[link]).max(1));
    let fewest = (0..tasks.routes().link_count()).map(load).max()?;
    let near = ((fewest as f64 * NEAR) as u64).max(fewest);
    let most = near.saturating_add(fewest / 5).min(u64::from(u16::MAX));
    let cells = near.saturating_mul(tasks.routes().link_count() as u64);
    let looks = near.saturating_mul(tasks.routes().place_count() as u64);
    if near > most || cells > MOST_CELLS || looks > MOST_LOOKS {
        return None;
    }
    (fewest..=most).find_map(|count| {
        let moves = MOVES[usize::from(count == near)];
        Search::new(tasks, count as usize)?.run(moves)
    })
}

/// Tasks in phases.
struct Search<'t> {
    tasks: &'t Tasks<'t>,
    phases: usize,
    /// Tasks that a link carries at once.
    capacity: Vec<u16>,
    /// Tasks on every link, `on[first[l]..first[l + 1]]`.
    first: Vec<u32>,
    on: Vec<(u32, u32)>,
    phase: Vec<u16>,
    /// Phases from the first on in which a link carries nothing more, while no task has moved yet.
    full: Vec<usize>,
    /// Uses of link `l` in phase `p`: `uses[l * phases + p]`.
    uses: Vec<u16>,
    /// Cells of `uses` above capacity, and the place of every cell in that list.
    over: Vec<u32>,
    at: Vec<u32>,
    /// The phase a task left last, and the move before which it may not go back there.
    left: Vec<(u16, u32)>,
    random: u64,
}

impl<'t> Search<'t> {
    fn new(tasks: &'t Tasks<'t>, phases: usize) -> Option<Self> {
        let links = tasks.routes().link_count();
        let Lanes::Free { first: lanes, .. } = Lanes::free(tasks) else { return None };
        let (first, on) = tasks.by_link();
        Some(Self {
            tasks,
            phases,
            capacity: lanes.windows(2).map(|w| (w[1] - w[0]).min(u32::from(u16::MAX)) as u16).collect(),
            first,
            on,
            phase: vec![u16::MAX; tasks.len()],
            full: vec![0; links],
            uses: vec![0; links * phases],
            over: Vec::new(),
            at: vec![u32::MAX; links * phases],
            left: vec![(u16::MAX, 0); tasks.len()],
            random: 0,
        })
    }

    /// The tasks by phase, if the repair succeeds.
    fn run(mut self, moves: u32) -> Option<Vec<u32>> {
        let loads = self.tasks.loads();
        let load = |place: usize| loads[self.tasks.routes().link(place) as usize] as u64;
        let mut sequence: Vec<u32> = (0..self.tasks.len() as u32).collect();
        sequence.sort_by_cached_key(|&task| {
            let places = self.tasks.places(task);
            Reverse((places.clone().map(load).max(), places.map(load).sum::<u64>()))
        });
        let mut cost = Vec::with_capacity(self.phases);
        for &task in &sequence {
            let phase = self.first_fit(task, &mut cost)?;
            self.put(task, phase);
        }
        for made in 0..moves {
            if self.over.is_empty() {
                break;
            }
            self.step(made);
        }
        self.over.is_empty().then(|| {
            sequence.sort_unstable_by_key(|&task| (self.phase[task as usize], task));
            sequence
        })
    }

    /// SplitMix64.
    fn random(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// The first phase in which a task asks nothing too much, else the first in which it asks least too much.
    fn first_fit(&mut self, task: u32, cost: &mut Vec<u16>) -> Option<usize> {
        let mut from = 0;
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let uses = &self.uses[link * self.phases..(link + 1) * self.phases];
            let full = &mut self.full[link];
            *full += uses[*full..].iter().take_while(|&&uses| uses >= self.capacity[link]).count();
            from = from.max(*full);
        }
        while from < self.phases {
            let to = (from + AT_ONCE).min(self.phases);
            self.cost(task, from..to, cost);
            if let Some(found) = cost.iter().position(|&cost| cost == 0) {
                return Some(from + found);
            }
            from = to;
        }
        self.cost(task, 0..self.phases, cost);
        (0..self.phases).min_by_key(|&phase| cost[phase])
    }

    /// Uses above capacity that a task would add in every one of some phases.
    fn cost(&self, task: u32, phases: Range<usize>, cost: &mut Vec<u16>) {
        cost.clear();
        cost.resize(phases.len(), 0);
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let (first, capacity) = (link * self.phases, self.capacity[link]);
            let uses = &self.uses[first + phases.start..first + phases.end];
            for (cost, &uses) in cost.iter_mut().zip(uses) {
                *cost += u16::from(uses >= capacity);
            }
        }
    }

    fn put(&mut self, task: u32, phase: usize) {
        self.phase[task as usize] = phase as u16;
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let cell = link * self.phases + phase;
            self.uses[cell] += 1;
            if self.uses[cell] > self.capacity[link] && self.at[cell] == u32::MAX {
                self.at[cell] = self.over.len() as u32;
                self.over.push(cell as u32);
            }
        }
    }

    fn take(&mut self, task: u32) {
        let phase = usize::from(self.phase[task as usize]);
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let cell = link * self.phases + phase;
            self.uses[cell] -= 1;
            if self.uses[cell] == self.capacity[link] {
                let at = std::mem::replace(&mut self.at[cell], u32::MAX);
                self.over.swap_remove(at as usize);
                if let Some(&moved) = self.over.get(at as usize) {
                    self.at[moved as usize] = at;
                }
            }
        }
    }

    /// The best move of a task out of some link's phase.
    fn step(&mut self, now: u32) {
        let pick = self.random() as usize % self.over.len();
        let cell = self.over[pick] as usize;
        let (link, phase) = (cell / self.phases, cell % self.phases);
        let strays = self.random() % STRAYS == 0;
        let mut best: Option<(i32, u32, u32, usize)> = None;
        let mut cost = Vec::with_capacity(self.phases);
        for i in self.first[link]..self.first[link + 1] {
            let task = self.on[i as usize].0;
            if usize::from(self.phase[task as usize]) != phase {
                continue;
            }
            self.take(task);
            self.cost(task, 0..self.phases, &mut cost);
            let here = i32::from(cost[phase]);
            let (left, until) = self.left[task as usize];
            for (to, &there) in cost.iter().enumerate() {
                let gain = if strays { 0 } else { i32::from(there) - here };
                let banned = to == usize::from(left) && until > now;
                if to == phase || banned || best.is_some_and(|(least, ..)| gain > least) {
                    continue;
                }
                let tie = self.random();
                if best.is_none_or(|(least, other, ..)| (gain, tie) < (least, other)) {
                    best = Some((gain, tie, task, to));
                }
            }
            self.put(task, phase);
        }
        if let Some((_, _, task, to)) = best {
            self.take(task);
            self.put(task, to);
            let tenure = TENURE.0 + self.random() % TENURE.1;
            self.left[task as usize] = (phase as u16, now + tenure);
        }
    }
}
