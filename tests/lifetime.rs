//! Nothing grows: communicators that come and go, ranks that come late, threads.

use nagare_harness::{Job, Mpi, Outcome, compile};

/// The numbers of `name` in all lines that start with `line`.
fn numbers(outcome: &Outcome, line: &str, name: &str) -> Vec<i64> {
    let key = format!("{name}=");
    let lines = outcome.ended.stdout.lines().filter(|l| l.starts_with(line));
    let words = lines.filter_map(|l| l.split_whitespace().find_map(|w| w.strip_prefix(&key)));
    let numbers: Vec<i64> = words.map(|w| w.parse().expect("a number")).collect();
    assert!(!numbers.is_empty(), "no line {line} … {key}\n{}", outcome.ended.output());
    numbers
}

/// Growth from a tenth of the cycles to the end, of the rank where it is largest: resident memory in KiB, open files.
fn growth(outcome: &Outcome) -> (i64, i64) {
    let difference = |from, to| {
        let (from, to) = (numbers(outcome, "lifetime ", from), numbers(outcome, "lifetime ", to));
        from.iter().zip(&to).map(|(from, to)| to - from).max().unwrap_or(0)
    };
    (difference("rss_kb_start", "rss_kb_end"), difference("fds_start", "fds_end"))
}

/// Beyond what the library's own bookkeeping grows by: 64 bytes for each of 9000 cycles would be more.
const ALLOWED_KIB: i64 = 512;

#[test]
fn communicators_that_come_and_go() {
    come_and_go([(Mpi::OpenMpi4, 2), (Mpi::Mpich4, 2)]);
}

#[test]
#[ignore = "long: make test-all"]
fn communicators_that_come_and_go_in_newer_mpis() {
    come_and_go([(Mpi::OpenMpi5, 4), (Mpi::Mpich5, 2)]);
}

fn come_and_go(mpis: [(Mpi, u32); 2]) {
    for (mpi, ranks) in mpis {
        let program = compile(mpi, "tests/programs/lifetime.c");
        let stock = Job::stock(&program, ranks).arguments(&["10000"]).run().verified("lifetime");
        let forced = Job::forced(&program, ranks).arguments(&["10000"]).run().verified("lifetime");
        let ours: u64 = ["bcast", "allreduce"].iter().map(|c| forced.report().calls(c, "grouped_two_tree")).sum();
        // The rest are communicators of one rank.
        assert!(ours > 3000, "{:?}", forced.report());
        let ((stock_kib, stock_files), (kib, files)) = (growth(&stock), growth(&forced));
        eprintln!("{}: stock {stock_kib} KiB, {stock_files} files; Nagare {kib} KiB, {files} files", mpi.name());
        assert!(kib <= stock_kib.max(0) + ALLOWED_KIB, "grew by {kib} KiB, the library itself by {stock_kib}");
        assert!(files <= stock_files.max(0), "{files} more open files, the library itself {stock_files}");
    }
}

/// A rank that comes late makes nobody buffer more than the window (16 segments of 8 KiB) for each neighbour.
/// Neighbours: at most a parent and two children on each of two trees at each of three levels. Allowed beyond: what the
/// MPI library needs for its own request and fragment pools. The message is nearly four times as large.
#[test]
fn a_late_rank() {
    const WINDOW_KIB: i64 = 16 * 8;
    const NEIGHBOURS: i64 = 6 * 3;
    const LIBRARY_KIB: i64 = 2048;
    for (mpi, ranks, sleepers) in [(Mpi::OpenMpi4, 8, &["0", "7"][..]), (Mpi::Mpich4, 3, &["0", "2"][..])] {
        let program = compile(mpi, "tests/programs/late.c");
        for sleeper in sleepers {
            let job = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "8K").set("NAGARE_WINDOW", "16");
            let outcome = job.arguments(&[&format!("rank={sleeper}"), "bytes=16777216"]).run().verified("late");
            let report = outcome.report();
            for collective in ["reduce", "bcast", "allreduce"] {
                assert_eq!(report.calls(collective, "grouped_two_tree"), 1, "{report:?}");
            }
            let grown = numbers(&outcome, "late ", "growth_kb").into_iter().max().unwrap_or(0);
            eprintln!("{} sleeper {sleeper}: grown by {grown} KiB", mpi.name());
            let allowed = WINDOW_KIB * NEIGHBOURS + LIBRARY_KIB;
            assert!(grown <= allowed, "grown by {grown} KiB, allowed {allowed}\n{}", outcome.ended.output());
        }
    }
}

#[test]
fn threads() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 3), (Mpi::Mpich4, 2)] {
        let program = compile(mpi, "tests/programs/threads.c");
        let outcome = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "1K").run().passed();
        if outcome.ended.stdout.contains("SKIP") {
            eprintln!("{} has no MPI_THREAD_MULTIPLE here", mpi.name());
            continue;
        }
        let outcome = outcome.verified("threads");
        outcome.report().assert_ran("grouped_two_tree", Some("xor"));
    }
}
