//! Which measured calls come next: the rounds before a way is settled on, and the looks at all ways afterwards.

use super::settling::STILL_CLOSE;
use super::{Trials, Way};

/// The first look after settling, in calls; each later one is so many times as many calls after the beginning, and one
/// more: of calls that differ by turns a way has now the one, now the other.
pub(super) const FIRST_LOOK: u64 = 64;
const LATER_LOOKS: u64 = 4;

/// Of the time that calls have taken, looks at other ways may have cost at most this; while there are ways with fewer
/// than three samples, or few of which one was bad, which may be bad luck, so much more.
const REGRET: f64 = 0.02;
const DOUBT: f64 = 0.08;

impl Trials {
    /// Plans measured calls, if any are due.
    pub(super) fn plan(&mut self) {
        match self.settled {
            None if self.rounds == 0 && self.ways.len() > 1 => {
                // Where calls are few and long, the first of them counts; but it may have opened connections.
                self.queue = [1, 0, 1].into_iter().chain(2..self.ways.len()).chain([0]).collect();
            }
            None => self.queue = self.tried().collect(),
            Some(settled) if self.calls >= self.look => {
                self.look = self.began.saturating_add(self.since().saturating_mul(LATER_LOOKS) | 1);
                self.queue = self.worth_a_look(settled);
                self.queue.push(settled);
            }
            Some(settled) if self.calls >= self.watch.next() => self.queue.push(settled),
            Some(_) => {}
        }
    }

    /// The ways besides the settled one that may still be the fastest, as far as calls have taken so long that
    /// measuring them costs little.
    fn worth_a_look(&self, settled: usize) -> Vec<usize> {
        let doubtful = |way: &Way| way.samples.count() < 3 || way.samples.is_doubtful();
        let share = REGRET + if self.ways.iter().any(doubtful) { DOUBT } else { 0.0 };
        let mut budget = self.reference * self.since() as f64 * share - self.regret;
        let close = self.reference * STILL_CLOSE;
        let may_be_fastest =
            |way: usize| way == 0 || !self.ways[way].dropped || doubtful(&self.ways[way]) || self.time(way) <= close;
        let is_affordable = |way: &usize| {
            let cost = (self.expected(*way) - self.reference).max(0.0);
            // The library's second sample is only postponed.
            let is_taken = cost <= budget.max(0.0) || *way == 0 && self.ways[0].samples.count() == 1;
            budget -= if is_taken { cost } else { 0.0 };
            is_taken
        };
        let others = (0..self.ways.len()).filter(|&way| way != settled && may_be_fastest(way));
        others.filter(is_affordable).collect()
    }

    /// Calls since all ways were last tried anew.
    fn since(&self) -> u64 {
        self.calls - self.began
    }

    /// What a call of that way would take: if it was never measured, what the best of ours took.
    fn expected(&self, way: usize) -> f64 {
        let known = |way: usize| self.ways[way].samples.typical();
        let best = || (1..self.ways.len()).filter_map(known).fold(f64::INFINITY, f64::min);
        known(way).unwrap_or_else(best)
    }
}
