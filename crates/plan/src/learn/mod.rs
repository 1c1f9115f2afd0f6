//! Which of several ways of carrying out a call is the fastest, found out in the program's own calls
//! (docs/decisions/0017). Pure: the caller measures, and hands in what all ranks have agreed on.
//!
//! ```text
//!   call    1  2  3  4   5  6  7   8  9   10 … 63   64 65   66 …
//!   way     a  s  b  s   s  a  b   s  a    a … a     s  a    a …      s: the MPI library, a, b: algorithms of ours
//!           └─round──┘   └round┘   └──┘              └──┘
//!                           b is dropped  settled: a     looked at again, at 64, 256, 1024 … calls
//! ```
//!
//! Between these looks the settled way is measured now and then, so that it is left soon where it has become slow
//! (`watch.rs`). Before all that, calls of the class must have taken so long that trying is worth it ([`Earning`]). A
//! measured call begins with all ranks together, so that a rank that comes late is not taken for a slow algorithm, and
//! costs what it costs the slowest rank.

mod earning;
mod samples;
mod watch;

pub use earning::{Earning, Verdict};
use samples::Samples;
use watch::Watch;

/// Measured calls at most before a way is settled on.
const TRIALS: u32 = 12;

/// Rounds at most before a way is settled on.
const ROUNDS: u32 = 3;

/// Slower by this ratio than the fastest after so many rounds, a way is tried no further. The first sample of a way is
/// the least sure, since connections are opened in it; the library has two in the first round, unless it is
/// [`CLEAR`]ly slower.
const DROPPED: [f64; ROUNDS as usize] = [1.4, 1.15, 1.1];

/// Slower by this ratio than the library in the first round, a way speaks for the others of ours too, which were
/// predicted to be much like it or slower: they are not tried until calls have earned the time for it.
const HOPELESS: f64 = 1.4;

/// Where the library's first sample is slower by this ratio than one of ours, the next is taken at so many calls:
/// programs with fewer long calls are spared it, and an unlucky first sample does little harm.
const CLEAR: f64 = 1.5;
const SECOND_SAMPLE: u64 = 8;

/// In the trials of one class, calls of other ways after the first may together have taken longer than the library's by
/// so many of its calls; then those that are not known to be faster are tried no further.
const EXCESS: f64 = 2.0;

/// Of what the first way, the MPI library, takes, another may take at most this to be preferred.
const PREFERRED: f64 = 0.97;

/// The first look after settling, in calls; each later one is so many times as many calls after the beginning.
const FIRST_LOOK: u64 = 64;
const LATER_LOOKS: u64 = 4;

/// Of the time that calls have taken, looks at other ways may have cost at most this; while there are ways with fewer
/// than three samples, which may have been unlucky, so much more.
const REGRET: f64 = 0.02;
const DOUBT: f64 = 0.08;

/// A settled way that takes this many times what it took, twice, is no longer known: all are tried again.
const DRIFT: f64 = 1.5;

/// What the next call runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which of the ways, in the order they were given.
    pub way: usize,
    /// Whether the call is to be measured.
    pub measured: bool,
}

/// One way: what it took, whether it is still tried, and how many calls it has run.
#[derive(Clone, Debug, Default)]
struct Way {
    samples: Samples,
    dropped: bool,
    /// Since all ways were last tried anew, and before.
    calls: u64,
    earlier: u64,
}

/// What is known of one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Calls it has run.
    pub calls: u64,
    /// How many of them were measured since all ways were last tried anew.
    pub samples: u32,
    /// What it takes by the last of these, nanoseconds, and the longest of them; none if there are none.
    pub typical: Option<f64>,
    /// The longest of these.
    pub longest: Option<f64>,
}

/// The ways of one kind of call: a communicator, a collective, a class of sizes.
///
/// Every rank calls [`Self::next_step`] at each such call, and before that [`Self::note`] if the call before was
/// measured: with the same numbers on all ranks, all decide alike.
#[derive(Clone, Debug)]
pub struct Trials {
    ways: Vec<Way>,
    /// The measured calls that come next, in order.
    queue: Vec<usize>,
    /// The way that is being measured.
    measuring: Option<usize>,
    rounds: u32,
    measured: u32,
    /// What other ways than the library's have taken more than it before one was settled on, in calls of the library.
    excess: f64,
    settled: Option<usize>,
    /// Calls so far, the number of them at which to look at all ways again, and when at the settled one.
    calls: u64,
    look: u64,
    watch: Watch,
    /// What the settled way took when it was settled on, nanoseconds; how often it has taken much longer since.
    reference: f64,
    drifts: u32,
    /// What looking again has cost, nanoseconds.
    regret: f64,
    /// What calls had saved when all ways were last tried anew, nanoseconds.
    banked: f64,
}

impl Trials {
    /// For so many ways, at least one. The first is the MPI library's, which another must beat clearly; the second is
    /// predicted to be the fastest.
    pub fn new(ways: usize) -> Self {
        let ways = vec![Way::default(); ways.max(1)];
        Self {
            ways,
            queue: Vec::new(),
            measuring: None,
            rounds: 0,
            measured: 0,
            excess: 0.0,
            settled: None,
            calls: 0,
            look: FIRST_LOOK,
            watch: Watch::default(),
            reference: 0.0,
            drifts: 0,
            regret: 0.0,
            banked: 0.0,
        }
    }

    /// The way of the next call.
    pub fn next_step(&mut self) -> Step {
        self.calls += 1;
        if self.queue.is_empty() {
            self.plan();
        }
        let measured = !self.queue.is_empty();
        if measured {
            self.measuring = Some(self.queue.remove(0));
        }
        let way = self.measuring.or(self.settled).unwrap_or(0);
        self.ways[way].calls += 1;
        Step { way, measured }
    }

    /// What the measured call before took on the slowest rank, nanoseconds.
    pub fn note(&mut self, nanoseconds: u64) {
        let Some(way) = self.measuring.take() else { return };
        let time = nanoseconds.max(1) as f64;
        self.measured += 1;
        self.ways[way].samples.add(time);
        match self.settled {
            Some(settled) if way != settled => self.regret += (time - self.reference).max(0.0),
            Some(_) if time > self.reference * DRIFT => self.drifts += 1,
            Some(_) => self.drifts = 0,
            None => {
                self.give_up_dear_ones(way, time);
                self.spare_the_library();
            }
        }
        if self.queue.is_empty() {
            self.conclude();
        }
    }

    /// The way of the measured call whose time is not yet noted.
    pub fn measuring(&self) -> Option<usize> {
        self.measuring
    }

    /// The way that was settled on.
    pub fn settled(&self) -> Option<usize> {
        self.settled
    }

    /// What is known of every way.
    pub fn measurements(&self) -> impl Iterator<Item = Measured> + '_ {
        self.ways.iter().map(|Way { samples, calls, earlier, .. }| Measured {
            calls: calls + earlier,
            samples: samples.count(),
            typical: samples.typical(),
            longest: samples.longest(),
        })
    }

    /// What the calls have saved so far against running all of them on the first way, nanoseconds, estimated by what
    /// each way takes; negative if trying has cost more than it has gained.
    pub fn saved(&self) -> f64 {
        let Some(library) = self.ways[0].samples.typical() else { return self.banked };
        let of = |way: &Way| way.samples.typical().map_or(0.0, |time| way.calls as f64 * (library - time));
        self.banked + self.ways.iter().map(of).sum::<f64>()
    }

    /// The way of the next call, if it is settled on and nothing is to be measured or noted: then as
    /// [`Self::next_step`].
    pub fn next_unmeasured(&mut self) -> Option<usize> {
        let is_quiet =
            self.queue.is_empty() && self.measuring.is_none() && self.calls + 1 < self.look.min(self.watch.next());
        let settled = self.settled.filter(|_| is_quiet)?;
        self.calls += 1;
        self.ways[settled].calls += 1;
        Some(settled)
    }

    /// Plans measured calls, if any are due.
    fn plan(&mut self) {
        match self.settled {
            None if self.rounds == 0 && self.ways.len() > 1 => {
                // Where calls are few and long, the first of them counts.
                self.queue = [1, 0].into_iter().chain(2..self.ways.len()).chain([0]).collect();
            }
            None => self.queue = self.tried().collect(),
            Some(settled) if self.calls >= self.look => {
                self.look = self.calls.saturating_mul(LATER_LOOKS);
                let doubtful = |way: &Way| way.samples.count() < 3;
                let share = REGRET + if self.ways.iter().any(doubtful) { DOUBT } else { 0.0 };
                let mut budget = self.reference * self.calls as f64 * share - self.regret;
                let close = self.reference * DROPPED[ROUNDS as usize - 1];
                let worth = |way: usize| {
                    way == 0 || !self.ways[way].dropped || doubtful(&self.ways[way]) || self.time(way) <= close
                };
                let affordable = |way: &usize| {
                    let cost = (self.expected(*way) - self.reference).max(0.0);
                    // Its second sample is only postponed.
                    let is_taken = cost <= budget || *way == 0 && self.ways[0].samples.count() == 1;
                    budget -= if is_taken { cost } else { 0.0 };
                    is_taken
                };
                let others = (0..self.ways.len()).filter(|&way| way != settled && worth(way));
                let others: Vec<usize> = others.filter(affordable).collect();
                self.queue = others.into_iter().chain([settled]).collect();
            }
            Some(settled) if self.calls >= self.watch.next() => self.queue.push(settled),
            Some(_) => {}
        }
    }

    /// The ways that are not dropped.
    fn tried(&self) -> impl Iterator<Item = usize> + '_ {
        self.ways.iter().enumerate().filter(|(_, way)| !way.dropped).map(|(at, _)| at)
    }

    /// After the last measured call of a round, or of a look.
    fn conclude(&mut self) {
        if self.settled.is_some() {
            match self.drifts {
                0 => self.settle(),
                // Once may be chance.
                1 => self.watch.at_once(self.calls),
                _ => {
                    let (calls, look, banked) = (self.calls, self.look, self.saved());
                    let anew = |way: &Way| Way { earlier: way.earlier + way.calls, ..Way::default() };
                    let ways = self.ways.iter().map(anew).collect();
                    *self = Self { ways, calls, look, banked, ..Self::new(self.ways.len()) };
                }
            }
            return;
        }
        let least = self.tried().map(|way| self.time(way)).fold(f64::INFINITY, f64::min);
        let ratio = DROPPED[self.rounds.min(ROUNDS - 1) as usize];
        for way in 0..self.ways.len() {
            self.ways[way].dropped |= self.time(way) > least * ratio;
        }
        self.rounds += 1;
        let left = self.tried().count() as u32;
        if left < 2 || self.rounds == ROUNDS || self.measured + left > TRIALS {
            if self.ways[0].samples.count() == 1 {
                self.look = SECOND_SAMPLE;
            }
            self.settle();
        }
    }

    /// After a measured call before a way is settled on: what has cost too much, or is much like what has, is tried no
    /// further.
    fn give_up_dear_ones(&mut self, way: usize, time: f64) {
        let library = self.time(0);
        if way != 0 && library.is_finite() {
            self.excess += (time / library - 1.0).max(0.0);
        }
        let is_hopeless = |way: &Way| way.samples.typical().is_some_and(|time| time > library * HOPELESS);
        if self.excess <= EXCESS && !(self.rounds == 0 && self.ways[1..].iter().any(is_hopeless)) {
            return;
        }
        let slow: Vec<usize> = self.queue.iter().copied().filter(|&way| way != 0 && self.time(way) > library).collect();
        slow.into_iter().for_each(|way| self.ways[way].dropped = true);
        let ways = &self.ways;
        self.queue.retain(|&way| !ways[way].dropped);
    }

    /// After a measured call of the first round: where the library is clearly slower, it is tried no further.
    fn spare_the_library(&mut self) {
        let ours = (1..self.ways.len()).map(|way| self.time(way)).fold(f64::INFINITY, f64::min);
        if self.rounds == 0 && self.ways[0].samples.count() > 0 && self.time(0) >= ours * CLEAR {
            self.ways[0].dropped = true;
            self.queue.retain(|&way| way != 0);
        }
    }

    fn settle(&mut self) {
        let others = (1..self.ways.len()).filter(|&way| self.ways[way].samples.count() > 0);
        let best = others.min_by(|&a, &b| self.time(a).total_cmp(&self.time(b)));
        let preferred = best.filter(|&way| self.time(way) <= self.time(0) * PREFERRED);
        let settled = preferred.unwrap_or(0);
        self.reference = self.time(settled);
        self.watch.calm(self.calls, self.reference);
        self.settled = Some(settled);
    }

    /// What a call of that way would take: if it was never measured, what the best of ours took.
    fn expected(&self, way: usize) -> f64 {
        let known = |way: usize| self.ways[way].samples.typical();
        let best = || (1..self.ways.len()).filter_map(known).fold(f64::INFINITY, f64::min);
        known(way).unwrap_or_else(best)
    }

    fn time(&self, way: usize) -> f64 {
        self.ways[way].samples.typical().unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests;
