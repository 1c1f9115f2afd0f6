//! Unusual beginnings and ends: as without Nagare.

use nagare_harness::{Family, Job, Mpi, Outcome, Program, compile};

fn run(job: fn(&Program, u32) -> Job, mpi: Mpi, how: &str) -> Outcome {
    job(&compile(mpi, "tests/programs/endings.c"), 2).arguments(&[&format!("how={how}")]).run()
}

/// Programs that end well, and how many of their Allreduces are ours.
#[test]
fn that_are_allowed() {
    let words = |outcome: &Outcome| outcome.ended.stdout.lines().any(|line| line == "callback cases=2");
    for &mpi in Mpi::in_turn(0) {
        for (how, ours) in [
            // As many as have one of ours (docs/decisions/0005).
            ("kept", if mpi.family() == Family::Mpich { 64 } else { 201 }),
            ("atexit", 3),
            ("fork", 2),
            ("exec", 2),
            ("constructor", 1),
            ("opened", 1),
            ("level0", 1),
            ("level1", 1),
            ("level2", 1),
            ("level3", 1),
            // What is called when the world is being closed is the library's.
            ("callback", 1),
        ] {
            let forced = run(Job::forced, mpi, how).verified("endings");
            assert_eq!(forced.report().ours("allreduce"), ours, "{how}: {:?}", forced.report());
            assert_eq!(words(&forced), how == "callback", "{how}");
        }
        assert!(words(&run(Job::stock, mpi, "callback").verified("endings")), "stock has other callbacks");
    }
}

/// The words the library has for a mistake: lines that name the function called, without process numbers.
fn complaints(outcome: &Outcome) -> Vec<String> {
    let text = outcome.ended.stderr.lines().chain(outcome.ended.stdout.lines());
    let named =
        text.filter(|line| line.contains("MPI_Finalize") || line.contains("MPI_Allreduce") || line.contains("PMPI_"));
    let mut words: Vec<String> = named.map(|line| line.split('(').next().unwrap_or_default().to_owned()).collect();
    words.sort();
    words.dedup();
    words
}

#[test]
fn that_are_not() {
    for &mpi in Mpi::in_turn(1) {
        for how in ["exit", "twice", "late"] {
            let [stock, forced] = [Job::stock, Job::forced].map(|job| run(job, mpi, how));
            let code = |outcome: &Outcome| outcome.ended.status.map(|status| status.code());
            // Hydra sees a rank's connection close before it sees the rank end, or after, and ends with 1 or 0: stock
            // too.
            let either = |outcome: &Outcome| matches!(code(outcome), Some(Some(0 | 1)));
            let same = how == "exit" && mpi.family() == Family::Mpich && either(&forced) && either(&stock);
            let said = || format!("{how}: {}\n{}", forced.ended.output(), stock.ended.output());
            assert!(same || code(&forced) == code(&stock), "{}", said());
            assert!(code(&forced).is_some(), "{how}: a hang: {}", forced.ended.output());
            assert_eq!(complaints(&forced), complaints(&stock), "{how}");
            assert_eq!(forced.report.is_some(), how != "exit", "a report is written by MPI_Finalize");
        }
    }
}
