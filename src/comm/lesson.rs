//! The lesson of one class of calls: candidates that take turns, and what they took (docs/decisions/0017).

use crate::report::learned::{Learned, LearnedWay};
use log::Level;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::choice::Reason;
use nagare_plan::collective::Collective;
use nagare_plan::learn::{Call, Measured, Trials};

/// What is worth trying beside the MPI library.
#[derive(Default)]
pub struct Candidates {
    /// The algorithms, first the one that is predicted to be the fastest.
    pub algorithms: Vec<Algorithm>,
    /// How many of the others are predicted to take about as long.
    pub alike: usize,
    /// Whether that is by what a self-test of the network has found.
    pub is_tested: bool,
}

/// The measured calls of a class: the candidates that take turns, and what they took.
pub struct Lesson {
    /// The candidates: the MPI library (none), then algorithms of ours.
    pub(super) ways: Vec<Option<Algorithm>>,
    pub(super) trials: Trials,
    /// Whether these were found by a self-test of the network.
    pub(super) is_tested: bool,
    /// What the measured call before took here, and was about; nothing if it was left by an exception.
    pub(super) own: Call,
}

/// What is run. A call that is timed is measured, unless it is an early one: the ranks start it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// An algorithm of ours, or the MPI library, and why.
    pub way: Result<Algorithm, Reason>,
    /// Whether `Learning::took` is to be told what the call takes.
    pub is_timed: bool,
}

impl Lesson {
    /// Of calls that nobody has measured yet.
    pub fn new(Candidates { algorithms, alike, is_tested }: Candidates) -> Self {
        let ways: Vec<_> = [None].into_iter().chain(algorithms.into_iter().map(Some)).collect();
        Self { trials: Trials::new(ways.len()).with_alike(alike), ways, is_tested, own: Call::default() }
    }

    /// The next call. `together`: waits for all ranks, each with its own time and bytes of the measured call before,
    /// and tells the most of both. `tell`: is told what that was, and what it led to, if it settled or changed
    /// something.
    ///
    /// # Errors
    /// That of `together`.
    pub fn next<E>(
        &mut self,
        together: impl FnMut(Call) -> Result<Call, E>,
        tell: impl Fn(Level, String),
    ) -> Result<Step, E> {
        let settled = self.trials.settled();
        let (step, before) = self.trials.agreed_step(std::mem::take(&mut self.own), together)?;
        if let Some((way, slowest)) = before {
            tell(Level::Debug, format!("{} took {} us", name(self.ways[way]), slowest / 1000));
        }
        if let Some(way) = self.trials.settled().filter(|&way| settled != Some(way)) {
            tell(Level::Info, format!("{}; from now on {}", self.measured(), name(self.ways[way])));
        }
        let reason = if step.measured { Reason::Tried } else { Reason::Faster };
        Ok(Step { way: self.ways[step.way].ok_or(reason), is_timed: step.measured })
    }

    /// What each way takes, as far as it was measured.
    fn measured(&self) -> String {
        let measured: Vec<String> = (self.ways.iter().zip(self.trials.measurements()))
            .filter_map(|(&way, measured)| {
                Some(format!("{} {:.0} us ({} x)", name(way), measured.typical? * 1e-3, measured.samples))
            })
            .collect();
        measured.join(", ")
    }

    /// What was measured, for the report: of calls of a collective of so many bytes and more.
    pub fn learned(&self, collective: Collective, min_bytes: u64, (ranks, nodes, in_order): Where) -> Learned {
        let report_name = |way: Option<Algorithm>| way.map_or("stock", Algorithm::name);
        let way = |(&way, measured): (&Option<Algorithm>, Measured)| LearnedWay {
            algorithm: report_name(way),
            calls: measured.calls,
            samples: measured.samples,
            typical_us: measured.typical.map(|time| time * 1e-3),
            longest_us: measured.longest.map(|time| time * 1e-3),
        };
        let ways: Vec<LearnedWay> = self.ways.iter().zip(self.trials.measurements()).map(way).collect();
        Learned {
            collective: collective.name(),
            min_bytes,
            ranks,
            nodes,
            communicators: 1,
            runs: self.trials.settled().map(|way| report_name(self.ways[way])),
            saved_seconds: self.trials.saved() * 1e-9,
            most_calls: ways.iter().map(|way| way.calls).sum(),
            ways,
            in_order,
        }
    }
}

fn name(way: Option<Algorithm>) -> &'static str {
    way.map_or("the MPI library", Algorithm::name)
}

/// Ranks and nodes of a communicator, and whether its ranks are in the order of the world's.
pub type Where = (u32, u32, bool);
