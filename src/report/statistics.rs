//! Counting calls: by collective and by what ran, with size range and time.

use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::choice::{Choice, Reason};
use nagare_plan::collective::Collective;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Outcomes: one per algorithm, then one per reason.
pub const OUTCOMES: usize = ALGORITHMS.len() + Reason::ALL.len();

/// Values kept of one outcome of one collective.
pub const VALUES: usize = 5;

/// Counters of one process.
pub struct Statistics {
    /// By collective, then by outcome. On the heap: this is made on the stack of the thread that calls MPI first, which
    /// may be small.
    rows: Box<[Row]>,
}

#[derive(Default)]
struct Row {
    calls: AtomicU64,
    bytes: AtomicU64,
    /// Smallest number of bytes, plus one; 0 before the first call.
    least: AtomicU64,
    most: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Index of an outcome.
pub fn outcome(choice: Choice) -> usize {
    match choice {
        Choice::Run(algorithm) => ALGORITHMS.iter().position(|s| s.algorithm == algorithm).unwrap_or(0),
        Choice::Library(reason) => ALGORITHMS.len() + reason as usize,
    }
}

/// Algorithm name, or `stock` with the reason.
pub fn outcome_name(index: usize) -> (&'static str, Option<Reason>) {
    match ALGORITHMS.get(index) {
        Some(spec) => (spec.name, None),
        None => ("stock", Reason::ALL.get(index - ALGORITHMS.len()).copied()),
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self { rows: (0..Collective::ALL.len() * OUTCOMES).map(|_| Row::default()).collect() }
    }
}

impl Statistics {
    /// Counts one call. `bytes`: of the vector, of a block, or all that this rank sends (Alltoallv).
    pub fn count(&self, collective: Collective, choice: Choice, bytes: u64, nanoseconds: u64) {
        let row = &self.rows[collective as usize * OUTCOMES + outcome(choice)];
        row.calls.fetch_add(1, Relaxed);
        row.bytes.fetch_add(bytes, Relaxed);
        row.nanoseconds.fetch_add(nanoseconds, Relaxed);
        // A plain test first: once the range is known it hardly ever changes.
        let least = row.least.load(Relaxed);
        if least == 0 || bytes < least - 1 {
            let _ = row.least.fetch_update(Relaxed, Relaxed, |old| (old == 0 || bytes < old - 1).then_some(bytes + 1));
        }
        if bytes > row.most.load(Relaxed) {
            row.most.fetch_max(bytes, Relaxed);
        }
    }

    /// All counters: `[collective][outcome][calls, bytes, least + 1, most, nanoseconds]`, flattened.
    pub fn snapshot(&self) -> Vec<u64> {
        self.rows
            .iter()
            .flat_map(|r| [&r.calls, &r.bytes, &r.least, &r.most, &r.nanoseconds].map(|v| v.load(Relaxed)))
            .collect()
    }
}
