//! More than 2^31 bytes in one call.

use nagare_harness::{Job, Mpi, compile};

/// Memory that programs may still take, in GiB.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc/meminfo");
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    kib.expect("MemAvailable") >> 20
}

/// Whether there is so much memory; if not, that is printed.
fn enough() -> bool {
    const NEEDED: u64 = 12;
    let there = available();
    if there < NEEDED {
        eprintln!("not run: {there} GiB of memory are available, expected {NEEDED}");
    }
    there >= NEEDED
}

#[test]
fn a_bcast_of_more_than_two_gib() {
    if !enough() {
        return;
    }
    let program = compile(Mpi::OpenMpi4, "tests/programs/huge.c");
    let outcome = Job::forced(&program, 2).arguments(&["what=bcast"]).run().verified("huge");
    assert_eq!(outcome.report().calls("bcast", "grouped_two_tree"), 1, "{:?}", outcome.report());
}

#[test]
#[ignore = "long: make test-all"]
fn more_than_two_gib_in_other_calls() {
    if !enough() {
        return;
    }
    let program = compile(Mpi::OpenMpi4, "tests/programs/huge.c");
    let outcome = Job::forced(&program, 2).arguments(&["what=alltoallv,gather,scatter"]).run().verified("huge");
    for (collective, algorithm) in [("alltoallv", "two_level_ring"), ("gather", "relay"), ("scatter", "relay")] {
        assert_eq!(outcome.report().calls(collective, algorithm), 1, "{:?}", outcome.report());
    }

    let job = Job::forced(&program, 2).set("NAGARE_SEGMENT", "64K");
    let outcome = job.arguments(&["what=allgather,reduce_scatter"]).run().verified("huge");
    for collective in ["allgather", "reduce_scatter"] {
        assert_eq!(outcome.report().calls(collective, "halving_doubling"), 1, "{:?}", outcome.report());
    }

    // Counts of type MPI_Count.
    let program = compile(Mpi::Mpich5, "tests/programs/huge.c");
    let outcome = Job::forced(&program, 2).arguments(&["what=bcast_c"]).run().verified("huge");
    assert_eq!(outcome.report().calls("bcast", "grouped_two_tree"), 1, "{:?}", outcome.report());
}
