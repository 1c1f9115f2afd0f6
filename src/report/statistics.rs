//! Counting calls: by collective and by what ran, with size range and time; by class of size; on communicators that are
//! no more; what is passed on.

use super::counter::{Calls, words};
use super::kinds::{Counters, Kind, Kinds};
use super::snapshot::{CLASSES, HOST, OUTCOMES, outcome, size_index};
use crate::real::{OTHERS, Other};
use nagare_plan::choice::Choice;
use nagare_plan::collective::Collective;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Counters of one process.
pub struct Statistics {
    /// By collective, then by outcome. On the heap: this is made on the stack of the thread that calls MPI first, which
    /// may be small.
    rows: Box<[Row]>,
    /// By collective, then by class of size, then what ran on the MPI library and on Nagare.
    sizes: Box<[Calls]>,
    /// Calls on communicators that are freed.
    kinds: Mutex<Kinds>,
    /// Calls on communicators that have no record.
    elsewhere: Counters,
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
            kinds: Mutex::default(),
            elsewhere: Counters::default(),
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

    /// Counts one call. `bytes`: of the vector, of a block, or all that this rank sends (Alltoallv, Alltoallw);
    /// `nanoseconds`: 0 if it was not timed.
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

    /// Counts the same call, which was timed, on a communicator that has no record.
    pub fn count_elsewhere(&self, collective: Collective, on_nagare: bool, nanoseconds: u64) {
        self.elsewhere.count(collective, on_nagare, nanoseconds);
    }

    /// Keeps what was counted on a communicator of this kind, which is freed.
    pub fn keep(&self, kind: Kind, calls: &Counters) {
        self.kinds.lock().add(Some(kind), calls);
    }

    /// Calls by kinds of communicators, without those on communicators that live.
    pub fn kinds(&self) -> Kinds {
        let mut kinds = self.kinds.lock().clone();
        kinds.add(None, &self.elsewhere);
        kinds
    }

    /// Counts one call of a collective that is passed on.
    pub fn count_other(&self, which: Other, nanoseconds: u64) {
        self.others[which as usize].count(nanoseconds);
    }

    /// All counters, in the order of the snapshot, of a rank on `host`; `kinds`: of all communicators.
    pub fn snapshot(&self, host: &str, kinds: &Kinds) -> Vec<u64> {
        let rows = self.rows.iter();
        let rows = rows.flat_map(|r| [&r.calls, &r.bytes, &r.least, &r.most, &r.nanoseconds].map(|v| v.load(Relaxed)));
        let elapsed = self.start.get().map_or(0, |start| start.elapsed().as_nanos() as u64);
        let rows = rows.chain(Calls::numbers(&self.sizes)).chain(kinds.words()).chain(Calls::numbers(&self.others));
        rows.chain([elapsed]).chain(words::<HOST>(host)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::KINDS;
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
        // More kinds than are told apart: the first ones have the least time.
        for ranks in 1..=KINDS as u32 + 2 {
            let calls = Counters::default();
            calls.count(Collective::Reduce, true, ranks.into());
            statistics.keep(Kind::new(ranks, if ranks == 9 { "nine" } else { "" }), &calls);
        }
        let more = Counters::default();
        more.count(Collective::Reduce, true, 5);
        statistics.keep(Kind::new(9, "nine"), &more);
        statistics.count_elsewhere(Collective::Reduce, false, 100);
        let one = statistics.snapshot("node7", &statistics.kinds());
        let empty = Statistics::default().snapshot(&"n".repeat(80), &Kinds::default());
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
        let place = |kind| after.kinds().find(|&(other, _)| other == kind).and_then(|(_, place)| place);
        let on =
            |place, ours| (after.on_kind(place, reduce, ours).calls, after.on_kind(place, reduce, ours).nanoseconds);
        assert_eq!([Kind::new(9, "nine"), Kind::new(3, "")].map(|kind| on(place(kind), true)), [(2, 14), (1, 3)]);
        assert_eq!([Kind::new(9, ""), Kind::new(2, "")].map(place), [None; 2]);
        assert_eq!([on(None, true), on(None, false)], [(2, 3), (1, 100)]);
        assert_eq!((after.kinds().count(), before.kinds().count()), (KINDS, 0));
        assert_eq!((before.row(reduce, outcome(ours)).calls, before.other(Other::iexscan as usize).calls), (0, 0));
    }

    #[test]
    fn every_size_has_a_class() {
        assert_eq!([0, 1, 3, 4, 1 << 20, (1 << 22) - 1, 1 << 30, u64::MAX].map(class), [0, 0, 0, 1, 10, 10, 15, 15]);
    }
}
