//! Threads: eight of them on communicators of their own and on fresh ones.

use super::Found;
use crate::record::Row;
use nagare_harness::{Job, Mpi, compile};

/// Runs the threads for `seconds`, beside those of other MPIs, with every call on Nagare's algorithms.
pub fn run(mpi: Mpi, ranks: u32, name: &str, seconds: u64) -> Found {
    let program = compile(mpi, "tests/programs/storm.c");
    let arguments = ["threads=8", &format!("seconds={seconds}")];
    let outcome = Job::forced(&program, ranks).beside_others().arguments(&arguments).limit(300 + 12 * seconds).run();
    let line = |start: &str| outcome.ended.stdout.lines().find_map(|l| l.strip_prefix(start)).unwrap_or("").to_owned();
    let skipped = line("SKIP storm");
    let (calls, fresh) = (line("PASS storm cases="), line("storm fresh="));
    let ours = outcome.report.as_ref().map_or(0, |report| report.ours(""));
    let good = outcome.ended.success() && (!skipped.is_empty() || !calls.is_empty() && ours > 0);
    let result = match (good, skipped.is_empty()) {
        (false, _) => outcome.ended.output(),
        (true, false) => format!("skipped{skipped}"),
        (true, true) => "every result right, no foreign message".to_owned(),
    };
    let ran = format!("{seconds} s, {calls} calls and messages, {fresh} fresh communicators per process");
    let what = format!("soak: 8 threads, all fourteen collectives beside wildcard receives; {ranks} processes; forced");
    Found { good, row: Row { mpi: name.to_owned(), binding: "C".to_owned(), what, ran, result } }
}
