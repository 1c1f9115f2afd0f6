//! What Nagare leaves to the MPI library, and that programs see the library's own behaviour there.

use nagare_harness::{Family, Job, Mpi, compile};

const ALL: [&str; 14] = [
    "reduce",
    "bcast",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "reduce_scatter_block",
    "reduce_scatter",
];

/// Jobs of programs that pass one buffer for both sides of a call set this variable. Debian's MPICH ends them all the
/// same, since its copies look as well; others do not.
#[test]
fn buffers_that_are_one_where_mpich_does_not_look() {
    let program = compile(Mpi::Mpich4, "tests/programs/edge.c");
    let forced = Job::forced(&program, 4).set("MPIR_CVAR_COLL_ALIAS_CHECK", "0").run().verified("edge").ended.stdout;
    let looking = Job::stock(&program, 4).run().verified("edge").ended.stdout;
    assert_ne!(looking, forced, "it has more cases");
}

/// Valid but unusual uses behave as without Nagare, and each reason to pass a call on is counted.
#[test]
fn unusual_uses() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 6), (Mpi::OpenMpi4, 2), (Mpi::Mpich4, 4), (Mpi::Mpich4, 2)] {
        let program = compile(mpi, "tests/programs/edge.c");
        let stock = Job::stock(&program, ranks).run().verified("edge");
        let forced = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "2K").run().verified("edge");
        assert_eq!(forced.ended.stdout, stock.ended.stdout, "{} with {ranks} ranks", mpi.name());
        let report = forced.report();
        // The program reduces between groups and by itself only.
        for (collective, algorithm) in [
            ("bcast", "grouped_two_tree"),
            ("allreduce", "grouped_two_tree"),
            ("alltoall", "xor"),
            ("alltoallv", "two_level_ring"),
            ("alltoallw", "two_level_ring"),
            ("gather", "relay"),
            ("scatter", "relay"),
            ("gatherv", "direct"),
            ("scatterv", "direct"),
            ("allgather", "halving_doubling"),
        ] {
            assert!(report.calls(collective, algorithm) > 0, "{collective}: {report:?}");
        }
        for collective in ALL {
            assert_eq!(report.forwarded(collective, "intercommunicator"), 1, "{collective}: {report:?}");
            // A rank without data for anyone may not be left out: others have some for one another.
            let empty = report.forwarded(collective, "no data");
            let knows = !["alltoallv", "alltoallw", "gatherv", "scatterv"].contains(&collective);
            assert_eq!(empty >= 1, knows, "{collective}: {report:?}");
            assert!(report.forwarded(collective, "one rank") >= 1, "{collective}: {report:?}");
        }
    }
}

#[test]
fn unusual_uses_on_one_rank() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/edge.c");
        let stock = Job::stock(&program, 1).run().verified("edge");
        let forced = Job::forced(&program, 1).run().verified("edge");
        assert_eq!(forced.ended.stdout, stock.ended.stdout, "{}", mpi.name());
        assert!(forced.report().forwarded("bcast", "one rank") > 0);
    }
}

/// What Nagare does not carry out: every function passes its arguments on unchanged, and is counted.
#[test]
fn other_collectives() {
    const LARGE: [&str; 3] = ["scan", "ialltoallw", "neighbor_alltoallw"];
    for &mpi in Mpi::in_turn(0) {
        let outcome = Job::forced(&compile(mpi, "tests/programs/others.c"), 4).run().verified("others");
        let report = outcome.report();
        let others = report.0["others"].as_array().expect("a list");
        assert_eq!(others.len(), 30, "{others:?}");
        for row in others {
            let is_large = mpi.family() == Family::Mpich && LARGE.iter().any(|name| row["collective"] == *name);
            let calls = if is_large { 2 } else { 1 };
            assert_eq!((row["calls"].as_u64(), row["total_calls"].as_u64()), (Some(calls), Some(4 * calls)), "{row}");
            assert!(row["total_seconds"].as_f64() > Some(0.0), "{row}");
        }
        let share = report.0["share"].as_f64().expect("a share");
        assert!(0.0 < share && share < 1.0, "{share}");
    }
}

#[test]
fn operations_that_do_not_commute() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 5), (Mpi::Mpich4, 3)] {
        let program = compile(mpi, "tests/programs/collectives.c");
        let reductions = ["reduce", "allreduce", "reduce_scatter_block", "reduce_scatter"];
        let only = format!("only={}", reductions.join(","));
        let job = Job::forced(&program, ranks).arguments(&["types=matrix", &only, "sizes=1,1000"]);
        let outcome = job.run().verified("collectives");
        let report = outcome.report();
        for collective in reductions {
            assert!(report.forwarded(collective, "operation does not commute") > 0, "{collective}: {report:?}");
        }
        assert_eq!(report.ours(""), 0, "{report:?}");
    }
}

#[test]
fn elements_larger_than_a_segment() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 5), (Mpi::Mpich4, 2)] {
        let program = compile(mpi, "tests/programs/large_element.c");
        let calls = u64::from(ranks);
        let small = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "3999").run().verified("large_element");
        assert_eq!(small.report().forwarded("reduce", "element larger than a segment"), calls, "{:?}", small.report());
        assert_eq!(small.report().forwarded("allreduce", "element larger than a segment"), 1, "{:?}", small.report());
        let blocks = ["reduce_scatter_block", "reduce_scatter"];
        for collective in blocks {
            assert_eq!(
                small.report().forwarded(collective, "element larger than a segment"),
                1,
                "{:?}",
                small.report()
            );
        }
        let fitting = Job::forced(&program, ranks).set("NAGARE_SEGMENT", "4000").run().verified("large_element");
        assert_eq!(fitting.report().calls("reduce", "grouped_two_tree"), calls, "{:?}", fitting.report());
        for collective in blocks {
            assert_eq!(fitting.report().calls(collective, "halving_doubling"), 1, "{:?}", fitting.report());
        }
    }
}

#[test]
fn switched_off() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 2)] {
        let program = compile(mpi, "tests/programs/collectives.c");
        let job = Job::forced(&program, ranks).set("NAGARE_ENABLE", "0").arguments(&["thin=16", "sizes=1000,20000"]);
        let outcome = job.run().verified("collectives");
        let report = outcome.report();
        for collective in ALL {
            assert!(report.forwarded(collective, "switched off") > 0, "{collective}: {report:?}");
        }
        assert_eq!(report.ours(""), 0, "{report:?}");
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
    }
}
