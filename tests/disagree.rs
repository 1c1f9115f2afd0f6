//! Ranks that disagree on the size of a call, an error in the program: some rank gets an error, and nothing is written
//! where it should not be.

use nagare_harness::{Job, Mpi, compile};

const DEBIAN: [(Mpi, u32); 2] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 3)];
const COLLECTIVES: [&str; 14] = [
    "bcast",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
    "reduce_scatter",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
];

/// Integers in a block of the last rank and of the others: one more, half as many and so the same messages but fewer,
/// far more.
const COUNTS: [(u32, u32); 3] = [(8193, 8192), (8192, 16384), (300_000, 4000)];

fn disagree(mpi: Mpi, ranks: u32, collectives: impl Iterator<Item = &'static str>, counts: &[(u32, u32)]) {
    let program = compile(mpi, "tests/programs/disagree.c");
    for collective in collectives {
        for (other, count) in counts {
            let words = [format!("collective={collective}"), format!("count={count}"), format!("other={other}")];
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let outcome = Job::forced(&program, ranks).arguments(&words).run();
            let output = outcome.ended.output();
            assert!(!outcome.ended.success(), "{words:?}: nobody has noticed\n{output}");
            assert!(!output.contains("CORRUPT"), "{words:?}\n{output}");
            assert!(!output.contains("panicked"), "{words:?}\n{output}");
            assert!(output.contains("error MPI_ERR_TRUNCATE"), "{words:?}\n{output}");
            assert!(output.contains("ranks disagree on counts or types"), "{words:?}: not said\n{output}");
        }
    }
}

/// Every second collective on each MPI.
#[test]
fn each_collective() {
    for (turn, (mpi, ranks)) in DEBIAN.into_iter().enumerate() {
        disagree(mpi, ranks, COLLECTIVES.into_iter().skip(turn).step_by(DEBIAN.len()), &COUNTS[..1]);
    }
}

#[test]
#[ignore = "long: make test-all"]
fn each_collective_of_each_mpi_with_all_counts() {
    for (mpi, ranks) in DEBIAN {
        disagree(mpi, ranks, COLLECTIVES.into_iter(), &COUNTS);
    }
}
