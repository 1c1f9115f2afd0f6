//! Communicators of sessions (MPI 4.0 section 11.3): left to the library, whatever settings their ranks have.

use nagare_harness::{Job, Mpi, compile};

const MPIS: [Mpi; 3] = [Mpi::OpenMpi5, Mpi::Mpich4, Mpi::Mpich5];

#[test]
fn without_a_world() {
    for mpi in MPIS {
        let program = compile(mpi, "tests/programs/sessions.c");
        let outcome = Job::forced(&program, 2).arguments(&["model=session"]).run().verified("sessions");
        assert!(outcome.report.is_none(), "there is no world to write a report for: {:?}", outcome.report);
    }
}

/// No rank may wait for facts from one that has no reason to exchange any.
#[test]
fn ranks_with_different_settings() {
    for mpi in MPIS {
        let program = compile(mpi, "tests/programs/sessions.c");
        for (name, value) in [("NAGARE_ENABLE", "0"), ("NAGARE_ALGORITHM", "all=stock"), ("LD_PRELOAD", "")] {
            let job = Job::forced(&program, 1).and_ranks(1, name, value).arguments(&["model=session"]);
            job.run().verified("sessions");
        }
    }
}

#[test]
fn beside_a_world_and_after_it() {
    for mpi in MPIS {
        let program = compile(mpi, "tests/programs/sessions.c");
        for model in ["beside", "after"] {
            let arguments = [&*format!("model={model}")];
            Job::stock(&program, 2).arguments(&arguments).run().verified("sessions");
            let outcome = Job::forced(&program, 2).arguments(&arguments).run().verified("sessions");
            let report = outcome.report();
            // All ranks of the session are in the world, whose facts hold.
            for (collective, algorithm) in [("allreduce", "grouped_two_tree"), ("alltoall", "xor")] {
                assert!(report.calls(collective, algorithm) >= 2, "{report:?}");
            }
        }
    }
}
