//! Counting calls: by collective and by what ran, with size range and time; by class of size; what is passed on.

use crate::real::{OTHERS, Other};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::choice::{Choice, Reason};
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Outcomes: one per algorithm, then one per reason.
pub const OUTCOMES: usize = ALGORITHMS.len() + Reason::ALL.len();

/// Values kept of one outcome of one collective.
const VALUES: usize = 5;

/// Classes of sizes: the bytes of one are at least a power of four, and less than the next.
pub const CLASSES: usize = 16;

/// Counters of one process.
pub struct Statistics {
    /// By collective, then by outcome. On the heap: this is made on the stack of the thread that calls MPI first, which
    /// may be small.
    rows: Box<[Row]>,
    /// By collective, then by class of size, then what ran on the MPI library and on Nagare.
    sizes: Box<[Calls]>,
    /// The collectives that are passed on.
    others: Box<[Calls]>,
    /// When the world began.
    start: OnceCell<Instant>,
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

#[derive(Default)]
struct Calls {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Calls {
    fn count(&self, nanoseconds: u64) {
        self.calls.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

/// What one rank has counted, as it tells rank 0: so many numbers.
#[derive(Clone, Copy)]
pub struct Snapshot<'a>(&'a [u64]);

const SIZES_AT: usize = Collective::ALL.len() * OUTCOMES * VALUES;
const OTHERS_AT: usize = SIZES_AT + Collective::ALL.len() * CLASSES * 2 * 2;
const ELAPSED_AT: usize = OTHERS_AT + OTHERS.len() * 2;
const PER_RANK: usize = ELAPSED_AT + 1;

/// Calls of one kind on one rank.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    /// How many.
    pub calls: u64,
    /// Their bytes, where these are counted.
    pub bytes: u64,
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// Time in them.
    pub nanoseconds: u64,
}

impl<'a> Snapshot<'a> {
    /// Of some ranks, one after another.
    pub fn each(numbers: &'a [u64]) -> impl Iterator<Item = Self> {
        numbers.chunks_exact(PER_RANK).map(Self)
    }

    /// Calls of a collective with an outcome.
    pub fn row(self, collective: usize, outcome: usize) -> Counted {
        let at = (collective * OUTCOMES + outcome) * VALUES;
        let [calls, bytes, least, most, nanoseconds] = [0, 1, 2, 3, 4].map(|value| self.0[at + value]);
        Counted { calls, bytes, least: least.saturating_sub(1), most, nanoseconds }
    }

    /// Timed calls of a collective in a class of sizes, on Nagare or on the MPI library.
    pub fn size(self, collective: usize, class: usize, on_nagare: bool) -> Counted {
        self.calls(SIZES_AT + size_index(collective, class, on_nagare) * 2)
    }

    /// Calls of one of the collectives that are passed on.
    pub fn other(self, index: usize) -> Counted {
        self.calls(OTHERS_AT + index * 2)
    }

    /// Nanoseconds since the world began.
    pub fn elapsed(self) -> u64 {
        self.0[ELAPSED_AT]
    }

    fn calls(self, at: usize) -> Counted {
        Counted { calls: self.0[at], nanoseconds: self.0[at + 1], ..Counted::default() }
    }
}

fn size_index(collective: usize, class: usize, on_nagare: bool) -> usize {
    (collective * CLASSES + class) * 2 + usize::from(on_nagare)
}

/// The class of so many bytes.
fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2() as usize / 2).min(CLASSES - 1)
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
        let collectives = Collective::ALL.len();
        Self {
            rows: (0..collectives * OUTCOMES).map(|_| Row::default()).collect(),
            sizes: (0..collectives * CLASSES * 2).map(|_| Calls::default()).collect(),
            others: OTHERS.iter().map(|_| Calls::default()).collect(),
            start: OnceCell::new(),
        }
    }
}

impl Statistics {
    /// Notes when the world begins.
    pub fn start(&self) {
        self.start.get_or_init(Instant::now);
    }

    /// Counts one call. `bytes`: of the vector, of a block, or all that this rank sends (Alltoallv); `nanoseconds`: 0
    /// if it was not timed.
    pub fn count(&self, collective: Collective, choice: Choice, bytes: u64, nanoseconds: u64) {
        let row = &self.rows[collective as usize * OUTCOMES + outcome(choice)];
        row.calls.fetch_add(1, Relaxed);
        row.bytes.fetch_add(bytes, Relaxed);
        // A plain test first: once the range is known it hardly ever changes.
        let least = row.least.load(Relaxed);
        if least == 0 || bytes < least - 1 {
            let _ = row.least.fetch_update(Relaxed, Relaxed, |old| (old == 0 || bytes < old - 1).then_some(bytes + 1));
        }
        if bytes > row.most.load(Relaxed) {
            row.most.fetch_max(bytes, Relaxed);
        }
        if nanoseconds > 0 {
            row.nanoseconds.fetch_add(nanoseconds, Relaxed);
            let on_nagare = matches!(choice, Choice::Run(_));
            self.sizes[size_index(collective as usize, class(bytes), on_nagare)].count(nanoseconds);
        }
    }

    /// Counts one call of a collective that is passed on.
    pub fn count_other(&self, which: Other, nanoseconds: u64) {
        self.others[which as usize].count(nanoseconds);
    }

    /// All counters, for [`Snapshot`].
    pub fn snapshot(&self) -> Vec<u64> {
        let rows = self.rows.iter();
        let rows = rows.flat_map(|r| [&r.calls, &r.bytes, &r.least, &r.most, &r.nanoseconds].map(|v| v.load(Relaxed)));
        let calls = self.sizes.iter().chain(&self.others);
        let calls = calls.flat_map(|c| [&c.calls, &c.nanoseconds].map(|v| v.load(Relaxed)));
        let elapsed = self.start.get().map_or(0, |start| start.elapsed().as_nanos() as u64);
        rows.chain(calls).chain([elapsed]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_says_what_was_counted() {
        let statistics = Statistics::default();
        let (ours, early) = (Choice::Run(ALGORITHMS[0].algorithm), Choice::Library(Reason::Early));
        for (choice, bytes, time) in [(ours, 64, 7), (ours, 255, 5), (ours, 256, 3), (early, 100, 0)] {
            statistics.count(Collective::Reduce, choice, bytes, time);
        }
        statistics.count_other(Other::iexscan, 11);
        let (one, empty) = (statistics.snapshot(), Statistics::default().snapshot());
        let numbers = [empty, one].concat();
        let [before, after] = Snapshot::each(&numbers).collect::<Vec<_>>()[..] else { panic!("two ranks") };
        let reduce = Collective::Reduce as usize;
        let row = after.row(reduce, outcome(ours));
        assert_eq!((row.calls, row.bytes, row.least, row.most, row.nanoseconds), (3, 575, 64, 256, 15));
        assert_eq!(after.row(reduce, outcome(early)).calls, 1);
        // 64 to 255, and 256 to 1023 bytes; what was not timed is in neither.
        let size = |class, ours| (after.size(reduce, class, ours).calls, after.size(reduce, class, ours).nanoseconds);
        assert_eq!([size(3, true), size(4, true), size(3, false)], [(2, 12), (1, 3), (0, 0)]);
        assert_eq!(after.other(Other::iexscan as usize).nanoseconds, 11);
        assert_eq!((before.row(reduce, outcome(ours)).calls, before.other(Other::iexscan as usize).calls), (0, 0));
    }

    #[test]
    fn every_size_has_a_class() {
        assert_eq!([0, 1, 3, 4, 1 << 20, (1 << 22) - 1, 1 << 30, u64::MAX].map(class), [0, 0, 0, 1, 10, 10, 15, 15]);
    }
}
