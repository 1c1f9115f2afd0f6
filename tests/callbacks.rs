//! Code of the program that the MPI library calls in the middle of a call: handlers, operations and callbacks that
//! throw, or that call collectives.

use nagare_harness::{Job, Mpi, compile};

/// With default rules every call is passed on (one node): nothing stands in the way there either.
#[test]
fn exceptions_reach_their_catch() {
    for &mpi in Mpi::in_turn(0) {
        let program = compile(mpi, "tests/programs/exceptions.cc");
        for throw in ["handler", "operation", "deletion"] {
            // Stock ranks wait for ever for one that leaves a collective of three ranks.
            let job = |job: Job| job.arguments(&[&format!("throw={throw}")]).run().verified("exceptions");
            let stock = job(Job::stock(&program, 2));
            let passed_on = job(Job::nagare(&program, 2));
            let forced = job(Job::forced(&program, 2).arguments(&["ours=yes"]));
            assert!(forced.report().calls("allreduce", "grouped_two_tree") > 0, "{:?}", forced.report());
            let caught = |outcome: &nagare_harness::Outcome| {
                let lines = outcome.ended.stdout.lines();
                let mut caught: Vec<&str> = lines.filter(|line| line.starts_with("caught ")).collect();
                caught.sort_unstable();
                caught.into_iter().map(str::to_owned).collect::<Vec<_>>()
            };
            assert!(!caught(&stock).is_empty());
            assert_eq!(caught(&passed_on), caught(&stock), "{mpi:?}");
            if throw == "operation" {
                // A rank whose operation has not been called is told of the other.
                let of = |word| forced.ended.stdout.lines().filter(|l| l.starts_with(word)).count();
                assert!(of("caught what=operation,commutes") >= 1, "{mpi:?}: {}", forced.ended.output());
                assert_eq!(of("caught what=operation,commutes") + of("told what=operation,commutes"), 2);
            } else {
                assert_eq!(caught(&forced), caught(&stock), "{mpi:?}");
            }
        }
    }
}

#[test]
fn collectives_while_their_communicator_is_freed() {
    for &mpi in Mpi::in_turn(1) {
        let program = compile(mpi, "tests/programs/closing.c");
        for mixed in ["mixed=no", "mixed=yes"] {
            let outcome = Job::forced(&program, 4).arguments(&[mixed]).run().verified("closing");
            assert!(outcome.report().ours("") > 100, "{:?}", outcome.report());
            assert!(outcome.report().forwarded("", "being freed") > 40, "{:?}", outcome.report());
        }
    }
}

/// Where a thread is still freeing a communicator, its number may be another's already. What a record of the first says
/// about the second gave wrong data in each of five runs.
#[test]
fn a_number_that_another_thread_is_still_freeing() {
    for mpi in [Mpi::Mpich4, Mpi::Mpich5] {
        let program = compile(mpi, "tests/programs/handed_on.c");
        let outcome = Job::forced(&program, 3).run().verified("handed_on");
        let calls = outcome.ended.stdout.lines().find_map(|line| line.strip_prefix("handed_on calls=")?.parse().ok());
        let calls: u64 = calls.unwrap_or_else(|| panic!("no number of calls\n{}", outcome.ended.output()));
        assert!(calls < 20_000, "the number was hardly ever one that was still being freed: {:?}", outcome.report());
        assert!(outcome.report().ours("allreduce") >= calls / 2, "{calls} calls: {:?}", outcome.report());
    }
}

/// A message of a call whose number looks the same in a tag is no sign that ranks disagree. On the code before receives
/// were asked to be cancelled the first of the distances failed in each of five runs.
#[test]
fn a_stopped_rank_is_not_one_that_disagrees() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/stalled.c");
        for distance in ["distance=256", "distance=255"] {
            let outcome = Job::forced(&program, 2).arguments(&[distance, "trials=400"]).run().verified("stalled");
            assert!(outcome.report().calls("alltoallv", "two_level_ring") > 100_000, "{:?}", outcome.report());
        }
    }
}

/// The thread is cancelled where it pauses between two looks for messages. Where the MPI library does the waiting, and
/// makes no call of the kernel meanwhile, a thread stays in its call, with Nagare or without.
#[test]
fn a_cancelled_thread() {
    for &mpi in Mpi::in_turn(0) {
        let program = compile(mpi, "tests/programs/cancelled.c");
        let outcome = Job::forced(&program, 3).set("NAGARE_WAIT", "pause").run().verified("cancelled");
        assert!(outcome.report().calls("allreduce", "grouped_two_tree") >= 3, "{:?}", outcome.report());
    }
}

/// The same where the ranks begin a measured call together: stock leaves the others waiting, ours tells them.
#[test]
fn a_cancelled_thread_in_a_measured_call() {
    for &mpi in Mpi::in_turn(1) {
        let program = compile(mpi, "tests/programs/cancelled.c");
        for calls in ["calls=1", "calls=2"] {
            // Pieces of 64 bytes are predicted to take long: the first call is measured, on one of ours.
            let job = Job::nagare(&program, 4).set("NAGARE_TOPOLOGY", "synthetic:node:2 core:2");
            let job = job.set("NAGARE_SEGMENT", "64").set("NAGARE_WAIT", "pause").set("NAGARE_LEARN", "on");
            let outcome = job.arguments(&["level=serialized", calls]).run().verified("cancelled");
            assert!(outcome.report().ours("allreduce") >= 1, "{:?}", outcome.report());
            assert_eq!(outcome.report().forwarded("allreduce", "not yet worth trying"), 0, "{:?}", outcome.report());
        }
    }
}
