//! Communicators that are being made while one of our algorithms first runs on another, or ranks ask each other on the
//! one that is duplicated: nothing waits in a circle.

use nagare_harness::{Job, Mpi, compile};

const MPIS: [(Mpi, u32); 3] = [(Mpi::OpenMpi4, 5), (Mpi::OpenMpi5, 3), (Mpi::Mpich4, 3)];

#[test]
fn duplicates_in_the_making() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "tests/programs/duplicating.c");
        Job::stock(&program, ranks).run().verified("duplicating");
        let forced = Job::forced(&program, ranks).run().verified("duplicating");
        let ours = forced
            .report()
            .counts()
            .iter()
            .any(|(collective, algorithm, _)| collective == "bcast" && algorithm != "stock");
        assert!(ours, "{:?}", forced.report());
    }
}

/// Ranks ask each other before the second call on a communicator or a later one whether trials are worth it, the first
/// time on the program's, since there is none of ours yet.
#[test]
fn ranks_ask_beside_a_duplicate_in_the_making() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "tests/programs/duplicating.c");
        let job = Job::nagare(&program, ranks).arguments(&["count=400000"]).set("NAGARE_LEARN", "on");
        let topology = format!("synthetic:node:2 core:{}", ranks.div_ceil(2));
        let job = job.set("NAGARE_TOPOLOGY", &topology).set("NAGARE_LOG", "debug");
        let outcome = job.run().verified("duplicating");
        assert!(outcome.ended.stderr.contains("calls took at most"), "{}", outcome.ended.output());
    }
}
