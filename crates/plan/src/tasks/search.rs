//! Phases by local search: all tasks in so many phases that no link is used over its capacity in any of them.
//!
//! ```text
//!   start: the phases of some order; what comes too late goes to the phase where it hurts least
//!   repeat: a link that is used too often in a phase ─► of its tasks there, the one and the phase that help most
//! ```
//! A move may not be taken back at once (tabu search), or the same few tasks would change places for ever. The numbers
//! that break ties come from a generator with a fixed start: every rank finds the same phases.

use super::{Lanes, Order, Tasks};

/// Moves that are tried for one number of phases.
const MOVES: u32 = 60_000;
/// Moves for which a task stays away from the phase it left, and the random addition to it.
const TENURE: (u32, u32) = (6, 10);

/// Tasks in phases, for tasks that all take the same time.
struct Search<'t> {
    tasks: &'t Tasks<'t>,
    phases: usize,
    /// Tasks that a link carries at once.
    capacity: Vec<u16>,
    /// Tasks on every link, `on[first[l]..first[l + 1]]`.
    first: Vec<u32>,
    on: Vec<(u32, u32)>,
    phase: Vec<u16>,
    /// Uses of link `l` in phase `p`: `uses[l * phases + p]`.
    uses: Vec<u16>,
    /// Cells of `uses` above capacity, and the place of every cell in that list.
    over: Vec<u32>,
    at: Vec<u32>,
    /// Uses above capacity.
    excess: u32,
    /// Move before which a task may not go back to a phase.
    banned: Vec<u32>,
    random: u64,
}

/// A sequence of all tasks that runs in `phases` transfers, near `start` and with the lanes of [`Lanes::free`]; `None` where
/// none is found or tasks take different times.
pub fn search(tasks: &Tasks<'_>, start: &Order, phases: u64) -> Option<Vec<u32>> {
    let transfer = tasks.transfer(*start.sequence.first()?);
    let alike = (0..tasks.len() as u32).all(|t| tasks.transfer(t) == transfer);
    if !alike || phases > u64::from(u16::MAX) {
        return None;
    }
    let mut search = Search::new(tasks, phases as usize)?;
    for &task in &start.sequence {
        let known = start.start[task as usize] / transfer;
        let phase = if known < phases { known as usize } else { search.least(task) };
        search.put(task, phase);
    }
    for now in 1..=MOVES {
        if search.over.is_empty() {
            let mut sequence = start.sequence.clone();
            sequence.sort_by_key(|&task| search.phase[task as usize]);
            return Some(sequence);
        }
        search.step(now);
    }
    None
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
            uses: vec![0; links * phases],
            over: Vec::new(),
            at: vec![u32::MAX; links * phases],
            excess: 0,
            banned: vec![0; tasks.len() * phases],
            random: 0,
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

    /// Uses above capacity that a task would add in every phase.
    fn cost(&self, task: u32, cost: &mut Vec<u16>) {
        cost.clear();
        cost.resize(self.phases, 0);
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let (uses, capacity) = (&self.uses[link * self.phases..(link + 1) * self.phases], self.capacity[link]);
            for (cost, &uses) in cost.iter_mut().zip(uses) {
                *cost += u16::from(uses >= capacity);
            }
        }
    }

    /// The phase in which a task adds least.
    fn least(&self, task: u32) -> usize {
        let mut cost = Vec::new();
        self.cost(task, &mut cost);
        (0..self.phases).min_by_key(|&p| cost[p]).unwrap_or(0)
    }

    fn put(&mut self, task: u32, phase: usize) {
        self.phase[task as usize] = phase as u16;
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let cell = link * self.phases + phase;
            self.uses[cell] += 1;
            if self.uses[cell] > self.capacity[link] {
                self.excess += 1;
                if self.at[cell] == u32::MAX {
                    self.at[cell] = self.over.len() as u32;
                    self.over.push(cell as u32);
                }
            }
        }
    }

    fn take(&mut self, task: u32) {
        let phase = usize::from(self.phase[task as usize]);
        for place in self.tasks.places(task) {
            let link = self.tasks.routes().link(place) as usize;
            let cell = link * self.phases + phase;
            self.uses[cell] -= 1;
            if self.uses[cell] >= self.capacity[link] {
                self.excess -= 1;
                if self.uses[cell] == self.capacity[link] {
                    let at = std::mem::replace(&mut self.at[cell], u32::MAX);
                    self.over.swap_remove(at as usize);
                    if let Some(&moved) = self.over.get(at as usize) {
                        self.at[moved as usize] = at;
                    }
                }
            }
        }
    }

    /// The best move of a task out of some link's phase.
    fn step(&mut self, now: u32) {
        let pick = self.random() as usize % self.over.len();
        let cell = self.over[pick] as usize;
        let (link, phase) = (cell / self.phases, cell % self.phases);
        let mut best: Option<(i32, u32, u32, usize)> = None;
        let mut cost = Vec::with_capacity(self.phases);
        for i in self.first[link]..self.first[link + 1] {
            let task = self.on[i as usize].0;
            if usize::from(self.phase[task as usize]) != phase {
                continue;
            }
            self.take(task);
            self.cost(task, &mut cost);
            let here = i32::from(cost[phase]);
            for (to, &there) in cost.iter().enumerate() {
                let gain = i32::from(there) - here;
                let banned = self.banned[task as usize * self.phases + to] > now;
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
            self.banned[task as usize * self.phases + phase] = now + tenure;
        }
    }
}
