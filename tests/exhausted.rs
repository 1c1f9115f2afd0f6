//! Memory that runs out in a call: an error before the first message, and the next call works.

use nagare_harness::{Job, Mpi, Program, compile, everything};

/// Segments so large that reductions need memory too, which they otherwise have from earlier calls.
const LARGE_SEGMENTS: (&str, &str) = ("NAGARE_SEGMENT", "16M");

fn job(program: &Program, ranks: u32) -> Job {
    // The C library would find 64 MiB of address space that it has set aside for other threads.
    Job::forced(program, ranks).set(LARGE_SEGMENTS.0, LARGE_SEGMENTS.1).set("MALLOC_ARENA_MAX", "1")
}

/// What each collective takes memory for.
const COLLECTIVES: [&str; 10] = [
    "bcast",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "reduce_scatter_block",
    "reduce_scatter",
];

/// A job for each collective: buffers of one are kept for the next.
fn every_rank_needs_memory((mpi, ranks): (Mpi, u32), collectives: impl Iterator<Item = &'static str>) {
    let program = compile(mpi, "tests/programs/exhausted.c");
    for collective in collectives {
        job(&program, ranks).arguments(&[&format!("collective={collective}")]).run().verified("exhausted");
    }
}

/// Each collective under one of Debian's MPIs; the collectives take turns.
#[test]
fn where_every_rank_needs_memory() {
    for (turn, job) in [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 3)].into_iter().enumerate() {
        let (skipped, step) = if everything() { (0, 1) } else { (turn, 2) };
        every_rank_needs_memory(job, COLLECTIVES.into_iter().skip(skipped).step_by(step));
    }
}

/// Ranks that need no memory are told of those that have none, whom they would wait for; also where these are many.
#[test]
fn where_some_ranks_need_none() {
    for (mpi, ranks, count, more) in [
        (Mpi::OpenMpi4, 4, "count=4194304", [].as_slice()),
        (Mpi::Mpich4, 4, "count=4194304", &[]),
        (Mpi::OpenMpi5, 4, "count=4194304", &["threads=multiple"]),
        (Mpi::Mpich5, 4, "count=4194304", &["threads=multiple"]),
        (Mpi::OpenMpi4, 18, "count=300000", &["ranks=reversed"]),
    ] {
        let program = compile(mpi, "tests/programs/exhausted.c");
        // Of the two, all ranks are told in an Allreduce, the root in a Reduce.
        let some = if mpi == Mpi::OpenMpi4 && ranks == 4 { ["reduce"] } else { ["allreduce"] };
        for collective in if everything() { &["reduce", "allreduce"][..] } else { &some } {
            let named = format!("collective={collective}");
            let words = [&[count, &named, "needed=some"], more].concat();
            let outcome = job(&program, ranks).set("NAGARE_LOG", "info").arguments(&words).run().verified("exhausted");
            let output = outcome.ended.output();
            let errors = |call: u32| {
                let start = format!("without collective={collective} call={call} rank=");
                outcome.ended.stdout.lines().filter(|line| line.starts_with(&start)).count()
            };
            // Whoever has a result to wait for cannot have it: all ranks of an Allreduce, else the root.
            let least = if *collective == "allreduce" { ranks as usize } else { 1 };
            assert!(errors(1) >= least && errors(2) >= least, "{mpi:?}: {collective}: who was told?\n{output}");
            let said = |line: &str| outcome.messages().iter().any(|message| message.contains(line));
            assert!(said("no memory") && said("has given up, with error class"), "{mpi:?}: {collective}\n{output}");
        }
    }
}

#[test]
fn the_handler_that_mpi_starts_with_ends_the_job() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 3)] {
        let program = compile(mpi, "tests/programs/exhausted.c");
        for collective in ["reduce", "reduce_scatter", "gather"] {
            let words = [format!("collective={collective}"), "handler=fatal".to_owned()];
            let outcome = job(&program, ranks).arguments(&words.each_ref().map(String::as_str)).run();
            let output = outcome.ended.output();
            assert!(!outcome.ended.success(), "{words:?}: no error\n{output}");
            assert!(outcome.ended.status.is_some(), "{words:?}: the job does not end\n{output}");
            assert!(!output.contains("FAIL") && !output.contains("panicked"), "{words:?}\n{output}");
        }
    }
}
