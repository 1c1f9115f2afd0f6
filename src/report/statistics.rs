//! Counting calls: by collective and by what ran, with size range and time; by class of size; by the communicator's
//! ranks; what is passed on.

use super::snapshot::{CLASSES, OUTCOMES, RANKS, communicator_index, host_words, outcome, size_index};
use crate::real::{OTHERS, Other};
use nagare_plan::choice::Choice;
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Counters of one process.
pub struct Statistics {
    /// By collective, then by outcome. On the heap: this is made on the stack of the thread that calls MPI first, which
    /// may be small.
    rows: Box<[Row]>,
    /// By collective, then by class of size, then what ran on the MPI library and on Nagare.
    sizes: Box<[Calls]>,
    /// Numbers of ranks, in the order of their first calls; 0 where there are no more.
    ranks: [AtomicU32; RANKS],
    /// By the number of ranks, that of the others last; by collective; what ran on the MPI library and on Nagare.
    communicators: Box<[Calls]>,
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

/// The class of so many bytes.
fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog2() as usize / 2).min(CLASSES - 1)
}

impl Default for Statistics {
    fn default() -> Self {
        let collectives = Collective::ALL.len();
        Self {
            rows: (0..collectives * OUTCOMES).map(|_| Row::default()).collect(),
            sizes: (0..collectives * CLASSES * 2).map(|_| Calls::default()).collect(),
            ranks: Default::default(),
            communicators: (0..(RANKS + 1) * collectives * 2).map(|_| Calls::default()).collect(),
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

    /// Counts the same call, which was timed, on a communicator of so many ranks.
    pub fn count_ranks(&self, collective: Collective, on_nagare: bool, ranks: u32, nanoseconds: u64) {
        let is_its = |place: &AtomicU32| match place.load(Relaxed) {
            // What another thread has put there meanwhile may be the same.
            0 => place.compare_exchange(0, ranks, Relaxed, Relaxed).map_or_else(|other| other == ranks, |_| true),
            known => known == ranks,
        };
        let place = self.ranks.iter().position(is_its).unwrap_or(RANKS);
        self.communicators[communicator_index(place, collective as usize, on_nagare)].count(nanoseconds);
    }

    /// Counts one call of a collective that is passed on.
    pub fn count_other(&self, which: Other, nanoseconds: u64) {
        self.others[which as usize].count(nanoseconds);
    }

    /// All counters, in the order of the snapshot, of a rank on `host`.
    pub fn snapshot(&self, host: &str) -> Vec<u64> {
        let rows = self.rows.iter();
        let rows = rows.flat_map(|r| [&r.calls, &r.bytes, &r.least, &r.most, &r.nanoseconds].map(|v| v.load(Relaxed)));
        let numbers = |calls: &[Calls]| -> Vec<u64> {
            calls.iter().flat_map(|c| [&c.calls, &c.nanoseconds].map(|v| v.load(Relaxed))).collect()
        };
        let ranks = self.ranks.iter().map(|ranks| u64::from(ranks.load(Relaxed)));
        let communicators = numbers(&self.communicators);
        let elapsed = self.start.get().map_or(0, |start| start.elapsed().as_nanos() as u64);
        let rows = rows.chain(numbers(&self.sizes)).chain(ranks).chain(communicators);
        rows.chain(numbers(&self.others)).chain([elapsed]).chain(host_words(host)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Snapshot;
    use super::*;
    use nagare_plan::algorithm::ALGORITHMS;
    use nagare_plan::choice::Reason;

    #[test]
    fn a_snapshot_says_what_was_counted() {
        let statistics = Statistics::default();
        let (ours, early) = (Choice::Run(ALGORITHMS[0].algorithm), Choice::Library(Reason::Early));
        for (choice, bytes, time) in [(ours, 64, 7), (ours, 255, 5), (ours, 256, 3), (early, 100, 0)] {
            statistics.count(Collective::Reduce, choice, bytes, time);
        }
        statistics.count_other(Other::iexscan, 11);
        // More numbers of ranks than are told apart.
        (1..=RANKS as u32 + 2).for_each(|ranks| statistics.count_ranks(Collective::Reduce, true, ranks, 2));
        statistics.count_ranks(Collective::Reduce, true, 3, 5);
        let (one, empty) = (statistics.snapshot("node7"), Statistics::default().snapshot(&"n".repeat(80)));
        let numbers = [empty, one].concat();
        let [before, after] = Snapshot::each(&numbers).collect::<Vec<_>>()[..] else { panic!("two ranks") };
        let reduce = Collective::Reduce as usize;
        let row = after.row(reduce, outcome(ours));
        assert_eq!((row.calls, row.bytes, row.least, row.most, row.nanoseconds), (3, 575, 64, 256, 15));
        assert_eq!(after.row(reduce, outcome(early)).calls, 1);
        let both = after.collective(reduce);
        assert_eq!((both.calls, both.bytes, both.least, both.most, both.nanoseconds), (4, 675, 64, 256, 15));
        assert_eq!((after.all().calls, after.all().nanoseconds, before.all().calls), (5, 26, 0));
        assert_eq!((after.host(), before.host()), ("node7".to_owned(), "n".repeat(64)));
        // 64 to 255, and 256 to 1023 bytes; what was not timed is in neither.
        let size = |class, ours| (after.size(reduce, class, ours).calls, after.size(reduce, class, ours).nanoseconds);
        assert_eq!([size(3, true), size(4, true), size(3, false)], [(2, 12), (1, 3), (0, 0)]);
        assert_eq!(after.other(Other::iexscan as usize).nanoseconds, 11);
        let of_ranks = |ranks| after.communicators(ranks, reduce, true).nanoseconds;
        assert_eq!([Some(3), Some(16), None, Some(17)].map(of_ranks), [7, 2, 4, 0]);
        assert_eq!(after.communicator_ranks().count(), RANKS + 1);
        assert_eq!((before.row(reduce, outcome(ours)).calls, before.other(Other::iexscan as usize).calls), (0, 0));
    }

    #[test]
    fn every_size_has_a_class() {
        assert_eq!([0, 1, 3, 4, 1 << 20, (1 << 22) - 1, 1 << 30, u64::MAX].map(class), [0, 0, 0, 1, 10, 10, 15, 15]);
    }
}
