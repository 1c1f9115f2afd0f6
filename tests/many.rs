//! Programs on MPICH, which has few communicators, get nearly as many as without Nagare (docs/decisions/0005).

use nagare_harness::{Job, Mpi, Outcome, compile};

/// Ours for the program's, one over the world, and one of a single rank.
const OURS: u64 = 64 + 2;

fn made(outcome: &Outcome) -> u64 {
    let number = outcome.ended.stdout.lines().find_map(|line| line.strip_prefix("many made=")?.parse().ok());
    number.unwrap_or_else(|| panic!("{}", outcome.ended.output()))
}

#[test]
fn until_one_is_refused() {
    for mpi in [Mpi::Mpich4, Mpi::Mpich5] {
        let program = compile(mpi, "tests/programs/many.c");
        let stock = made(&Job::stock(&program, 2).run().verified("many"));
        assert!(stock > 2000, "{} {stock}", mpi.name());
        let outcome = Job::forced(&program, 2).run().verified("many");
        assert_eq!(made(&outcome), stock - OURS, "{}\n{}", mpi.name(), outcome.ended.output());
        // The first 64, twice, and the one that was made when all had been freed.
        let report = outcome.report();
        assert_eq!(report.calls("allreduce", "grouped_two_tree"), 2 * 64 + 1, "{report:?}");
        assert!(report.reasons().contains(&"too many communicators".to_owned()), "{report:?}");
    }
}
