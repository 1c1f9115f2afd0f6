//! What is proposed of communicators: how they are made, and when they are freed.

use super::case::{Action, Make};
use super::generate::Generator;
use super::valid::Known;

impl Generator<'_> {
    pub(super) fn make(&mut self, thread: u32) {
        if self.state.comms_of(thread).len() > 6 {
            return self.free(thread);
        }
        let Some((of, known)) = self.comm(thread) else { return };
        let make = self.how(&known);
        let id = self.next;
        self.take(thread, Action::Comm { id, of, make });
    }

    fn how(&mut self, of: &Known) -> Make {
        let ranks = of.most();
        match self.below(if of.grid.is_some() { 14 } else { 10 }) {
            0..2 => Make::Dup,
            2 => Make::Idup,
            3..5 => {
                let ways = 1 + self.below(3);
                let colors = (0..ranks).map(|_| if self.chance(8) { None } else { Some(self.below(ways)) });
                let colors = colors.collect();
                let keys = match self.below(3) {
                    0 => (0..ranks).rev().collect(),
                    1 => vec![7; ranks as usize],
                    _ => self.shuffled((0..ranks).collect()),
                };
                Make::Split { colors, keys }
            }
            5 | 6 => {
                let first = 1 + self.below(of.least());
                let second = 1 + self.below(of.least() / first);
                let dims = if self.chance(30) { vec![first * second] } else { vec![first, second] };
                let periods = dims.iter().map(|_| self.chance(50)).collect();
                Make::Cart { dims, periods, reorder: self.chance(50) }
            }
            7 | 8 => {
                let all = self.shuffled((0..of.least()).collect());
                let count = 1 + self.below(of.least()) as usize;
                let some = all[..count].to_vec();
                if self.chance(50) { Make::Group(some) } else { Make::Create(some) }
            }
            9 => Make::Merge { low: 1 + self.below(of.least().saturating_sub(1)), high: self.chance(50) },
            _ => Make::Sub(of.grid.iter().flatten().map(|_| self.chance(60)).collect()),
        }
    }

    pub(super) fn free(&mut self, thread: u32) {
        let own: Vec<u64> =
            self.state.comms_of(thread).into_iter().filter(|&c| c >= u64::from(self.case.threads)).collect();
        if let Some(id) = self.pick(&own) {
            let disconnect = self.chance(20);
            self.take(thread, Action::Free { id, disconnect });
        }
    }

    /// Communicators that are made, used and freed at once: libraries give their handles out again.
    pub(super) fn burst(&mut self, thread: u32) {
        let Some((of, known)) = self.comm(thread) else { return };
        for _ in 0..2 + self.below(3) {
            let id = self.next;
            let make = self.how(&known);
            if self.take(thread, Action::Comm { id, of, make }) {
                self.call_on(thread, id);
                let disconnect = self.chance(20);
                self.take(thread, Action::Free { id, disconnect });
            }
        }
    }

    fn shuffled(&mut self, mut items: Vec<u32>) -> Vec<u32> {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            items.swap(last, other);
        }
        items
    }
}
