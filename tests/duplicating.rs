//! Communicators that are being made while one of our algorithms first runs on another: nothing waits in a circle.

use nagare_harness::{Job, Mpi, compile};

#[test]
fn duplicates_in_the_making() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 5), (Mpi::OpenMpi5, 3), (Mpi::Mpich4, 3)] {
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
