//! What a process holds after a tenth of its cycles and at the end, with Nagare and without.

use super::Found;
use crate::record::Row;
use nagare_harness::{Ended, Job, Mpi, compile};

/// How much of which kind.
pub enum Amount {
    /// Communicators made, used and freed.
    Cycles(u64),
    /// Collectives on one communicator.
    Calls(u64),
}

/// Growth of the rank that grew most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Growth {
    /// Resident memory, KiB.
    kib: i64,
    /// Open files.
    files: i64,
    /// Mappings.
    mappings: i64,
    /// Threads.
    threads: i64,
}

/// Resident memory that may grow beyond the library's own, KiB: a dozen pages, less than a byte for each of 90 000
/// cycles. The program fills the library's pools beforehand; the allocator's free lists still settle.
const ALLOWED_KIB: i64 = 48;

/// The same where a tenth of the cycles is too few for pools to reach their size: runs of less than this.
const ALLOWED_KIB_SHORT: i64 = 512;
const SHORT: u64 = 50_000;

/// Mappings beyond the library's own.
const ALLOWED_MAPPINGS: i64 = 1;

/// Runs the program without Nagare, with it, and with all calls forced on its algorithms, and compares.
pub fn run(mpi: Mpi, ranks: u32, name: &str, amount: &Amount) -> Found {
    let program = compile(mpi, "tests/programs/soak.c");
    let (n, argument, ran, what) = match amount {
        Amount::Cycles(n) => {
            (n, format!("cycles={n}"), format!("{n} communicators"), "communicators made, used, freed")
        }
        Amount::Calls(n) => (n, format!("calls={n}"), format!("{n} calls"), "small collectives, all fourteen"),
    };
    let measure = |job: Job| {
        let outcome = job.arguments(&[&argument, "watchdog=3000"]).limit(3600).run();
        let growth = if outcome.ended.success() { of(&outcome.ended) } else { None };
        growth.ok_or_else(|| outcome.ended.output())
    };
    let allowed = if *n < SHORT { ALLOWED_KIB_SHORT } else { ALLOWED_KIB };
    let jobs = [Job::stock(&program, ranks), Job::nagare(&program, ranks), Job::forced(&program, ranks)];
    let (good, result) = match jobs.map(measure) {
        [Ok(stock), Ok(default), Ok(forced)] => {
            let text = format!("stock {}; with Nagare {}; forced {}", stock.words(), default.words(), forced.words());
            (default.is_within(stock, allowed) && forced.is_within(stock, allowed), text)
        }
        outcomes => (false, outcomes.into_iter().filter_map(Result::err).collect::<Vec<_>>().join("\n")),
    };
    let what = format!("soak: {what}; {ranks} processes; without Nagare, with it, forced");
    Found { good, row: Row { mpi: name.to_owned(), binding: "C".to_owned(), what, ran, result } }
}

impl Growth {
    fn is_within(self, stock: Self, allowed_kib: i64) -> bool {
        self.kib <= stock.kib.max(0) + allowed_kib
            && self.files <= stock.files.max(0)
            && self.mappings <= stock.mappings.max(0) + ALLOWED_MAPPINGS
            && self.threads <= stock.threads.max(0)
    }

    fn words(self) -> String {
        format!("+{} KiB, {:+} files, {:+} mappings, {:+} threads", self.kib, self.files, self.mappings, self.threads)
            .replace("+-", "-")
    }
}

/// From the line of every rank; `None` if there is none.
fn of(ended: &Ended) -> Option<Growth> {
    let mut most: Option<Growth> = None;
    for line in ended.stdout.lines().filter(|line| line.starts_with("soak rank=")) {
        let value = |key: &str| line.split_whitespace().find_map(|w| w.strip_prefix(key)?.parse::<i64>().ok());
        let grown = |name: &str| Some(value(&format!("{name}_end="))? - value(&format!("{name}_start="))?);
        let of_rank = Growth {
            kib: grown("rss_kb")?,
            files: grown("fds")?,
            mappings: grown("maps")?,
            threads: grown("threads")?,
        };
        most = Some(most.map_or(of_rank, |most| Growth {
            kib: most.kib.max(of_rank.kib),
            files: most.files.max(of_rank.files),
            mappings: most.mappings.max(of_rank.mappings),
            threads: most.threads.max(of_rank.threads),
        }));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_grew_most_counts() {
        let stdout = "soak rank=0 rss_kb_start=10 rss_kb_end=11 fds_start=3 fds_end=3 maps_start=9 maps_end=8 \
            threads_start=1 threads_end=1 deleted=0\nPASS soak cases=1\nsoak rank=1 rss_kb_start=10 rss_kb_end=30 \
            fds_start=3 fds_end=4 maps_start=9 maps_end=9 threads_start=1 threads_end=1 deleted=0\n";
        let ended = Ended { status: None, stdout: stdout.to_owned(), stderr: String::new(), alone: false };
        assert_eq!(of(&ended), Some(Growth { kib: 20, files: 1, mappings: 0, threads: 0 }));
        assert!(!of(&ended).is_some_and(|growth| growth.is_within(Growth::default(), ALLOWED_KIB)));
        assert_eq!(of(&Ended { stdout: "PASS soak cases=1\n".to_owned(), ..ended }), None);
    }
}
