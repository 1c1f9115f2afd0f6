//! What a task waits for: tokens, but for those that other tokens already imply.
//!
//! ```text
//!   lane of a link:  … R  S  T …      window 1: T waits for S;  window 2: T waits for R, and S and T share the link
//!   S = a→b, T = c→d:   b ──token──► c      a = c: c knows when its own send is done    b = c: c has received S itself
//!   S before U before T:   T need not wait for S
//! ```

use super::{Order, Task, Tasks};
use std::collections::BinaryHeap;

/// Tasks looked at for one task, to find out which of its waits others imply: least, most, and in all, about.
const LOOKS: (usize, usize, usize) = (16, 32, 1 << 22);

/// A task waits for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Place of the earlier task in the sequence.
    pub on: u32,
    /// Who tells the waiting task's sender.
    pub completion: Completion,
}

/// How a node knows that an earlier task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It sent it.
    Sent,
    /// It received it.
    Received,
    /// The receiver of the earlier task sends a token; this is number `nth` of those between the two nodes in this
    /// direction.
    Token {
        /// Number from 0.
        nth: u32,
    },
}

/// The waits of every task of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// Waits of the task at place i of the sequence: `waits[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    waits: Vec<Wait>,
    /// Tokens left out because others imply them.
    implied: usize,
}

impl Waits {
    /// Every task waits for the `window`-th before it in each of its lanes, at least the first.
    pub fn new(tasks: &Tasks<'_>, order: &Order, window: u32) -> Self {
        let window = window.max(1) as usize;
        let mut lanes: Vec<u32> = vec![u32::MAX; order.lanes as usize * window];
        let mut used = vec![0u32; order.lanes as usize];
        let mut waits = Self { first: vec![0], waits: Vec::new(), implied: 0 };
        let mut needed: Vec<u32> = Vec::new();
        let looks = (LOOKS.2 / tasks.len().max(1)).clamp(LOOKS.0, LOOKS.1);
        for (place, &task) in (0..).zip(&order.sequence) {
            needed.clear();
            for lane in tasks.places(task).map(|p| order.lane[p] as usize) {
                // The slot about to be overwritten holds the task `window` before.
                let slot = &mut lanes[lane * window + used[lane] as usize % window];
                used[lane] += 1;
                let earlier = std::mem::replace(slot, place);
                if earlier != u32::MAX {
                    needed.push(earlier);
                }
            }
            needed.sort_unstable_by(|a, b| b.cmp(a));
            needed.dedup();
            waits.keep_needed(tasks, order, &mut needed, looks);
            let of = |place: u32| tasks.task(order.sequence[place as usize]);
            let Task { from, .. } = tasks.task(task);
            waits.waits.extend(needed.iter().map(|&on| {
                let earlier = of(on);
                let completion = match earlier {
                    _ if earlier.from == from => Completion::Sent,
                    _ if earlier.to == from => Completion::Received,
                    _ => Completion::Token { nth: 0 },
                };
                Wait { on, completion }
            }));
            waits.first.push(waits.waits.len() as u32);
        }
        waits.number(tasks, order);
        waits
    }

    /// The waits of the task at a place of the sequence.
    pub fn of(&self, place: u32) -> &[Wait] {
        &self.waits[self.first[place as usize] as usize..self.first[place as usize + 1] as usize]
    }

    /// Tokens between nodes.
    pub fn tokens(&self) -> usize {
        self.waits.iter().filter(|w| matches!(w.completion, Completion::Token { .. })).count()
    }

    /// Tokens left out because others imply them.
    pub fn implied(&self) -> usize {
        self.implied
    }

    /// Leaves in `needed`, latest first, only what the waits of the others do not imply, as far as a bounded search
    /// finds.
    fn keep_needed(&mut self, tasks: &Tasks<'_>, order: &Order, needed: &mut Vec<u32>, looks: usize) {
        let Some(&earliest) = needed.last() else { return };
        // Latest first, so that every task is looked at once.
        let mut open: BinaryHeap<u32> = needed.iter().copied().collect();
        let task = |place: u32| tasks.task(order.sequence[place as usize]);
        let sender = task(self.first.len() as u32 - 1).from;
        for _ in 0..looks {
            let Some(place) = open.pop() else { return };
            while open.peek() == Some(&place) {
                open.pop();
            }
            for wait in self.first[place as usize]..self.first[place as usize + 1] {
                let on = self.waits[wait as usize].on;
                if on < earliest {
                    continue;
                }
                if let Some(found) = needed.iter().position(|&n| n == on) {
                    needed.remove(found);
                    let Task { from, to, .. } = task(on);
                    self.implied += usize::from(from != sender && to != sender);
                    if needed.len() == 1 {
                        return;
                    }
                }
                open.push(on);
            }
        }
    }

    /// Numbers the tokens between every two nodes.
    fn number(&mut self, tasks: &Tasks<'_>, order: &Order) {
        let nodes = tasks.routes().nodes() as usize;
        let mut next = vec![0u32; nodes * nodes];
        for (place, &task) in order.sequence.iter().enumerate() {
            let to = tasks.task(task).from as usize;
            for wait in &mut self.waits[self.first[place] as usize..self.first[place + 1] as usize] {
                if let Completion::Token { nth } = &mut wait.completion {
                    let from = tasks.task(order.sequence[wait.on as usize]).to as usize;
                    let next = &mut next[from * nodes + to];
                    *nth = std::mem::replace(next, *next + 1);
                }
            }
        }
    }
}
