//! `NAGARE_WATCH`: who has not arrived in a collective that does not end, and whom the others wait for.

use nagare_harness::{Job, Mpi, Outcome, compile, root_directory, run_limited, scratch_directory};
use std::cell::RefCell;
use std::process::Command;
use std::time::Duration;

/// Long after every machine has come to the point.
const ENOUGH: Duration = Duration::from_secs(240);

/// Runs the program until the watch has told, and to its end where it has one then.
fn watched(mpi: Mpi, ranks: u32, case: &str, to_the_end: bool, set: impl Fn(Job) -> Job) -> Outcome {
    watched_until(&["NAGARE_WATCH: "], mpi, ranks, case, to_the_end, set)
}

/// The same, until it has told all of these words.
fn watched_until(
    words: &[&str],
    mpi: Mpi,
    ranks: u32,
    case: &str,
    to_the_end: bool,
    set: impl Fn(Job) -> Job,
) -> Outcome {
    let scratch = scratch_directory();
    let file = scratch.path().join("told");
    let arguments = [format!("case={case}"), format!("file={}", file.display())];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let job = Job::forced(&compile(mpi, "tests/programs/watched.c"), ranks).set("NAGARE_WATCH", "2s");
    set(job).arguments(&arguments).run_watched(&mut |running| {
        // The message is written at once.
        let told = words.iter().all(|words| running.stderr().contains(words));
        if told && to_the_end {
            std::fs::write(&file, "").expect("a file");
        }
        running.elapsed() < ENOUGH && (to_the_end || !told)
    })
}

/// The lines of the watch: one rank tells, once.
fn told(outcome: &Outcome) -> Vec<&str> {
    let lines: Vec<&str> = outcome.messages().into_iter().filter(|line| !line.contains("known fault")).collect();
    let heads = lines.iter().filter(|line| line.contains("NAGARE_WATCH: ")).count();
    assert_eq!(heads, 1, "{}", outcome.ended.output());
    lines
}

#[track_caller]
fn assert_line(lines: &[&str], words: &[&str]) {
    let has = |line: &&&str| words.iter().all(|word| line.contains(word));
    assert!(lines.iter().any(|line| has(&line)), "{words:?}: {lines:#?}");
}

#[test]
fn a_rank_that_has_not_arrived() {
    for mpi in Mpi::ALL {
        let outcome = watched(mpi, 3, "late", true, |job| job).verified("watched");
        let lines = told(&outcome);
        let bcast = "bcast (65536 bytes, root 0), collective number 2";
        assert_line(&lines, &["NAGARE_WATCH: ", bcast, "3 ranks (ranks 0-2) has not ended after"]);
        assert_line(&lines, &["arrived: ranks 0-1"]);
        let last = "in no collective since bcast (65536 bytes, root 0), collective number 1, which ended";
        assert_line(&lines, &["not there: rank 2 on ", ", process ", last]);
        // In the tree of three ranks the root sends to both, and to each a synchronous segment now and then.
        assert_line(&lines, &["rank 0 on ", "runs grouped_two_tree, and waits for rank", "to receive"]);
        assert!(outcome.report().calls("bcast", "grouped_two_tree") == 2, "{:?}", outcome.report());
    }
}

#[test]
fn a_rank_that_does_not_finalize() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let outcome = watched(mpi, 3, "finalize", true, |job| job).verified("watched");
        let lines = told(&outcome);
        assert_line(&lines, &["NAGARE_WATCH: finalize, collective number ", "(ranks 0-2) has not ended after"]);
        assert_line(&lines, &["not there: rank 2 on ", "in no collective since "]);
    }
}

/// Calls of the MPI library are watched as well.
#[test]
fn a_rank_in_another_collective() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 3), (Mpi::Mpich4, 2)] {
        let outcome = watched(mpi, ranks, "barrier", false, |job| job.set("NAGARE_ALGORITHM", "all=stock"));
        let lines = told(&outcome);
        let rank = format!("not there: rank {} on ", ranks - 1);
        assert_line(&lines, &[&rank, "in barrier instead, for "]);
    }
}

#[test]
fn arguments_that_differ() {
    let outcome = watched(Mpi::OpenMpi4, 3, "length", false, |job| job.set("NAGARE_ALGORITHM", "all=stock"));
    let lines = told(&outcome);
    assert_line(&lines, &["arguments differ: rank 2: 131072 bytes, root 0"]);
    assert_line(&lines, &["arguments differ: ", ": 65536 bytes, root 0"]);
}

#[test]
fn a_rank_that_does_not_answer() {
    // Rank 0 comes three seconds late, so that rank 1 looks first and leaves it to rank 0; which is stopped by the time
    // when it would look.
    let outcome = watched(Mpi::Mpich4, 3, "stopped", false, |job| job.set("NAGARE_WATCH", "4s"));
    assert_line(&told(&outcome), &["not there: rank", "2: no answer: ended, stopped, or out of reach for datagrams"]);
}

/// How far a rank has come is known on every communicator.
#[test]
fn ranks_that_are_through_and_have_gone_on() {
    let outcome = watched(Mpi::OpenMpi4, 3, "elsewhere", true, |job| job.set("NAGARE_ALGORITHM", "all=stock"))
        .verified("watched");
    let lines = told(&outcome);
    assert_line(&lines, &["NAGARE_WATCH: gather (", "root 0), collective number 2 on 3 ranks"]);
    assert_line(&lines, &["through with it: rank 1"]);
    assert_line(&lines, &["not there: rank 2 on ", "in no collective since bcast (65536 bytes, root 0)"]);
}

/// Which of several communicators a rank is in is not known where ranks use them in different orders.
#[test]
fn communicators_in_different_orders() {
    let outcome = watched(Mpi::Mpich4, 2, "order", false, |job| job);
    let lines = told(&outcome);
    assert_line(&lines, &["NAGARE_WATCH: barrier, collective number 1 on 2 ranks (ranks 0-1)"]);
    assert_line(&lines, &["perhaps all ranks have arrived"]);
}

/// A rank waits in what seems an earlier call, and is on another communicator: this one hangs all the same.
#[test]
fn a_call_that_seems_to_be_kept() {
    let told = ["barrier, collective number 2 on 2 ranks", "barrier, collective number 3 on 2 ranks"];
    let outcome =
        watched_until(&told, Mpi::OpenMpi4, 2, "crossed", false, |job| job.set("NAGARE_ALGORITHM", "all=stock"));
    let lines = outcome.messages();
    assert_line(&lines, &["perhaps through with it: rank 0"]);
    assert_line(&lines, &["perhaps not there: rank 1 on ", "in barrier, collective number 2, for "]);
}

/// The watch's thread ends soon after MPI_Finalize, when its descriptors may be the program's.
#[test]
fn files_of_the_program_are_left_alone() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let job = Job::forced(&compile(mpi, "tests/programs/watched.c"), 2).set("NAGARE_WATCH", "1h");
        job.arguments(&["case=closed"]).run().verified("watched");
    }
}

/// Ranks of the same user are asked while the job runs; nobody is told anything.
#[test]
fn a_running_job_is_shown() {
    // What the tests of the command are compiled with.
    let nagare = root_directory().join("target/debug/nagare");
    assert!(nagare.exists(), "{}: cargo build -p nagare-cli --target-dir target", nagare.display());
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let scratch = scratch_directory();
        let file = scratch.path().join("seen");
        let arguments = format!("file={}", file.display());
        let job = Job::forced(&compile(mpi, "tests/programs/watched.c"), 3).set("NAGARE_WATCH", "1h");
        // Slurm's number, by which one of several jobs is found.
        let number = format!("{}-{}", std::process::id(), mpi.name());
        let seen = RefCell::new(String::new());
        let outcome = job.set("SLURM_JOB_ID", &number).arguments(&[&arguments]).run_watched(&mut |running| {
            if !file.exists() {
                let shown =
                    run_limited(Command::new(&nagare).args(["ps", "--json", &number]), Duration::from_secs(300)).stdout;
                let calls = |rank: usize| {
                    serde_json::from_str::<serde_json::Value>(&shown).ok()?[0]["answers"]
                        .as_array()?
                        .iter()
                        .find(|answer| answer["rank"] == rank)
                        .cloned()
                };
                let late = calls(2).is_some_and(|answer| answer["last"][0]["number"] == 1);
                if late && calls(0).is_some_and(|answer| answer["now"][0]["call"]["number"] == 2) {
                    *seen.borrow_mut() = shown;
                    std::fs::write(&file, "").expect("a file");
                }
            }
            running.elapsed() < ENOUGH
        });
        let outcome = outcome.verified("watched");
        assert!(outcome.messages().iter().all(|line| line.contains("known fault")), "{:?}", outcome.messages());
        let seen: serde_json::Value = serde_json::from_str(&seen.borrow()).expect("what was shown");
        let call = &seen[0]["answers"][0]["now"][0];
        assert_eq!(call["call"]["arguments"], "65536 bytes, root 0", "{seen}");
        assert_eq!(call["runs"], "grouped_two_tree", "{seen}");
        assert_eq!((&seen[0]["ranks"], &seen[0]["job"]), (&3.into(), &number.into()), "{seen}");
    }
}
