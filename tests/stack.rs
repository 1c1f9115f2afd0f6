//! Nagare takes at most 8 KiB more of a thread's stack than the library alone, wherever a thread calls: threads of
//! programs may have small ones.

use nagare_harness::{Job, Mpi, Outcome, compile};

/// Bytes beyond what the MPI library takes by itself.
const MORE: u64 = 8 << 10;

/// The most that a call took, of the thread that starts MPI or of a later one; `reduces`: among calls that reduce, or
/// that do not. MPICH's own reductions take 130 KiB.
fn most(outcome: &Outcome, thread: &str, reduces: bool) -> u64 {
    let start = format!("stack thread={thread} call=");
    let lines = outcome.ended.stdout.lines().filter_map(|line| line.strip_prefix(&start)?.split_once(" bytes="));
    let of_kind = lines.filter(|(call, _)| matches!(call.split('.').next(), Some("1" | "2" | "7" | "8")) == reduces);
    // Making a communicator is the program's own doing.
    let bytes = of_kind.filter(|(call, _)| *call != "dup").map(|(_, bytes)| bytes.parse().expect("bytes"));
    bytes.max().unwrap_or_else(|| panic!("no line `{start}`\n{}", outcome.ended.output()))
}

#[test]
fn no_more_than_eight_kib_more() {
    for &mpi in Mpi::in_turn(1) {
        let program = compile(mpi, "tests/programs/stack.c");
        let stock = Job::stock(&program, 4).run().verified("stack");
        let forced = Job::forced(&program, 4).run().verified("stack");
        assert!(forced.report().ours("") > 0, "{:?}", forced.report());
        let by_default = Job::nagare(&program, 4).set("NAGARE_TOPOLOGY", "synthetic:node:4 core:1");
        // The choice is by predicted time: calls that are measured begin with the library's own.
        let by_default = by_default.set("NAGARE_LEARN", "off");
        let by_default = by_default.arguments(&["count=50000"]).run().verified("stack");
        assert!(by_default.report().ours("") > 0, "{:?}", by_default.report());
        let off = Job::nagare(&program, 4).set("NAGARE_ENABLE", "0").run().verified("stack");
        for (thread, reduces) in [("first", false), ("first", true), ("later", false), ("later", true)] {
            let alone = most(&stock, thread, reduces);
            for (what, outcome) in [("forced", &forced), ("by default", &by_default), ("switched off", &off)] {
                let bytes = most(outcome, thread, reduces);
                eprintln!("{mpi:?} {thread} reduces={reduces} {what}: {bytes} bytes, the library alone {alone}");
                assert!(bytes <= alone + MORE, "{mpi:?} {thread} {what}: {bytes} bytes, the library alone {alone}");
            }
        }
    }
}
