//! Which of several ways of carrying out a call is the fastest, found out in the program's own calls
//! (docs/decisions/0017). Pure: the caller measures, and hands in what all ranks have agreed on.
//!
//! ```text
//!   call    1  2  3  4  5   6 … 11   12 13 14   15 … 48   49 50 51   52 …
//!   way     a  s  a  b  s   s …  s    a  b  s    a …  a    s  b  a    a …   s: the MPI library, a, b: ours
//!           └───round───┘            └─look──┘            └─look─┘
//!            settled: s, since all are alike   settled: a            looked at again, at 197, 789 … calls
//! ```
//!
//! Where the first round does not tell enough, up to two more follow, and the looks come at 64, 257, 1029 … calls.
//!
//! `looks.rs` says which of these calls are measured, `settling.rs` what is dropped and settled on. Between the looks
//! the settled way is measured now and then, so that it is left soon where it has become slow (`watch.rs`). Where calls
//! of a class move now little and now much, which no rank can know before, `sizes.rs` says which count. Before all
//! that, calls of the class must have taken so long that trying is worth it ([`Earning`]). A measured call begins with
//! all ranks together, so that a rank that comes late is not taken for a slow algorithm, and costs what it costs the
//! slowest rank.

mod belief;
mod earning;
mod looks;
mod samples;
mod settling;
mod sizes;
mod watch;

pub use earning::Earning;
use looks::FIRST_LOOK;
use samples::Samples;
use sizes::{Sizes, Worth};
use watch::Watch;

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
/// Every rank calls [`Self::agreed_step`] at each such call: by the times of the slowest ranks, which all know, all
/// decide alike.
#[derive(Clone, Debug)]
pub struct Trials {
    ways: Vec<Way>,
    /// How many ways after the first of ours are predicted to take about as long.
    alike: usize,
    /// The measured calls that come next, in order.
    queue: Vec<usize>,
    /// The way that is being measured.
    measuring: Option<usize>,
    rounds: u32,
    measured: u32,
    /// What other ways than the library's have taken more than it before one was settled on, in calls of the library.
    excess: f64,
    settled: Option<usize>,
    /// Calls so far, those of them before all ways were last tried anew, the number of calls at which to look at all
    /// ways again, and when to look at the settled one.
    calls: u64,
    began: u64,
    look: u64,
    watch: Watch,
    /// What the settled way took when it was settled on, nanoseconds; how often it has taken much longer since.
    reference: f64,
    drifts: u32,
    /// What looking again has cost, nanoseconds.
    regret: f64,
    /// What calls had saved when all ways were last tried anew, nanoseconds.
    banked: f64,
    sizes: Sizes,
}

/// What a measured call took, and moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// On the slowest rank.
    pub nanoseconds: u64,
    /// Of the rank that it is about the most on, where calls of one class may move more and less; else 0.
    pub bytes: u64,
}

impl Trials {
    /// For so many ways, at least one. The first is the MPI library's, which another must beat clearly; the second is
    /// predicted to be the fastest.
    pub fn new(ways: usize) -> Self {
        let ways = vec![Way::default(); ways.max(1)];
        Self {
            ways,
            alike: 0,
            queue: Vec::new(),
            measuring: None,
            rounds: 0,
            measured: 0,
            excess: 0.0,
            settled: None,
            calls: 0,
            began: 0,
            look: FIRST_LOOK,
            watch: Watch::default(),
            reference: 0.0,
            drifts: 0,
            regret: 0.0,
            banked: 0.0,
            sizes: Sizes::default(),
        }
    }

    /// The same where so many ways after the first of ours are predicted to take about as long as that.
    pub fn with_alike(self, alike: usize) -> Self {
        Self { alike, ..self }
    }

    /// What the next call runs on, and, if the one before was measured, its way and what that took on the slowest rank.
    /// `own`: what it took on this one. `together`: waits for all ranks, each with its own time and bytes, and tells
    /// the most of both. They agree so on what a measured call took, and begin the next one together.
    ///
    /// # Errors
    /// That of `together`.
    pub fn agreed_step<E>(
        &mut self,
        own: Call,
        mut together: impl FnMut(Call) -> Result<Call, E>,
    ) -> Result<(Step, Option<(usize, u64)>), E> {
        let mut before = None;
        if let Some(way) = self.measuring {
            let slowest = together(own)?;
            self.note(slowest);
            before = Some((way, slowest.nanoseconds));
        }
        let step = self.next_step();
        if step.measured && before.is_none() {
            together(Call::default())?;
        }
        Ok((step, before))
    }

    /// The way of the next call.
    fn next_step(&mut self) -> Step {
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

    /// What the measured call before took on the slowest rank, and moved.
    fn note(&mut self, Call { nanoseconds, bytes }: Call) {
        let Some(way) = self.measuring.take() else { return };
        match self.sizes.judge(bytes, nanoseconds as f64 <= self.known(way), self.calls) {
            Worth::Counts => {}
            Worth::Short => return self.queue.insert(0, way),
            Worth::Anew => return self.try_anew(),
        }
        let time = nanoseconds.max(1) as f64;
        self.measured += 1;
        self.ways[way].samples.add(time);
        match self.settled {
            Some(settled) if way != settled => self.regret += (time - self.reference).max(0.0),
            Some(_) if time > self.reference * DRIFT => self.drifts += 1,
            Some(_) => self.drifts = 0,
            None if self.is_clear() => {
                self.queue = self.alike_unknown();
                if self.queue.is_empty() {
                    return self.end_trials();
                }
            }
            None => self.give_up_dear_ones(way, time),
        }
        if self.queue.is_empty() {
            self.conclude();
        }
    }

    /// Whether there was no call yet.
    pub fn is_new(&self) -> bool {
        self.calls == 0
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
        self.banked + self.sizes.share(self.measured) * self.ways.iter().map(of).sum::<f64>()
    }

    /// The way of the next call, if it is settled on and nothing is to be measured or noted: then as
    /// [`Self::agreed_step`].
    pub fn next_unmeasured(&mut self) -> Option<usize> {
        let is_quiet =
            self.queue.is_empty() && self.measuring.is_none() && self.calls + 1 < self.look.min(self.watch.next());
        let settled = self.settled.filter(|_| is_quiet)?;
        self.calls += 1;
        self.ways[settled].calls += 1;
        Some(settled)
    }

    /// The ways that are not dropped.
    fn tried(&self) -> impl Iterator<Item = usize> + '_ {
        self.ways.iter().enumerate().filter(|(_, way)| !way.dropped).map(|(at, _)| at)
    }

    /// What a way takes, or, if it was never measured, the fastest that was.
    fn known(&self, way: usize) -> f64 {
        let fastest = || (0..self.ways.len()).map(|way| self.time(way)).fold(f64::INFINITY, f64::min);
        self.ways[way].samples.typical().unwrap_or_else(fastest)
    }

    fn time(&self, way: usize) -> f64 {
        self.ways[way].samples.typical().unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests;
