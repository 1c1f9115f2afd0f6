//! Sums that round have the same bits from run to run.

use nagare_harness::{Job, Mpi, Program, compile, everything};

/// The digest of all rounded results of one run.
fn digest(program: &Program, ranks: u32, algorithm: &str, collectives: &[&str], sizes: &str) -> String {
    let only = format!("only={}", collectives.join(","));
    let job = Job::forced(program, ranks).set("NAGARE_SEGMENT", "1K").set("NAGARE_WINDOW", "8");
    let job = job.set("NAGARE_ALGORITHM", &format!("all={algorithm}"));
    let outcome = job.arguments(&["types=rounding", &only, sizes]).run().verified("collectives");
    let report = outcome.report();
    assert!(collectives.iter().all(|c| report.calls(c, algorithm) > 0), "{report:?}");
    assert!(report.reasons().iter().all(|r| r == "one rank"), "{report:?}");
    let line = outcome.ended.stdout.lines().find(|l| l.starts_with("digest="));
    line.unwrap_or_else(|| panic!("no digest\n{}", outcome.ended.output())).to_owned()
}

#[test]
fn the_same_bits_from_run_to_run() {
    // Half of 4097 numbers, a tree's share, are twice as many segments as may be under way.
    let sizes = if everything() { "sizes=1000,4097,65536" } else { "sizes=1000,4097" };
    for (mpi, ranks, sizes) in [(Mpi::OpenMpi4, 7, sizes), (Mpi::Mpich4, 3, "sizes=4097")] {
        let program = compile(mpi, "tests/programs/collectives.c");
        let trees = ["reduce", "allreduce"].as_slice();
        let halves = ["allreduce", "reduce_scatter_block", "reduce_scatter"].as_slice();
        for (algorithm, collectives) in [("grouped_two_tree", trees), ("two_tree", trees), ("halving_doubling", halves)]
        {
            let run = |_| digest(&program, ranks, algorithm, collectives, sizes);
            let digests: Vec<String> = (0..2).map(run).collect();
            assert!(digests.iter().all(|d| *d == digests[0]), "{} {algorithm}: {digests:?}", mpi.name());
        }
    }
}
