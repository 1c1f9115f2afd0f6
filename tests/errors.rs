//! Errors come out as they do without Nagare: the same class, heard by the same handlers as often, and the same end of
//! a job.

use nagare_harness::{Job, Mpi, Outcome, Program, compile};

const COLLECTIVES: [&str; 14] = [
    "bcast",
    "reduce",
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

fn sorted_lines(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<_> = outcome.ended.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

/// Runs the program in its three ways, compares what it says, and returns what ran where all calls are Nagare's.
fn compared(program: &Program, name: &str) -> Outcome {
    let stock = Job::stock(program, 2).run().verified(name);
    let default = Job::nagare(program, 2).run().verified(name);
    let forced = Job::forced(program, 2).run().verified(name);
    for (way, nagare) in [("default", &default), ("forced", &forced)] {
        let (expected, lines) = (sorted_lines(&stock), sorted_lines(nagare));
        let different: Vec<_> = expected.iter().zip(&lines).filter(|(stock, nagare)| stock != nagare).collect();
        assert!(different.is_empty(), "{} {way}: (stock, Nagare) {different:#?}", program.mpi.name());
        assert_eq!(lines.len(), expected.len(), "{} {way}", program.mpi.name());
    }
    // On one node nothing is Nagare's to do, and it was there to say so.
    assert_eq!(default.report().ours(""), 0, "{:?}", default.report());
    assert!(default.report().forwarded("bcast", "arguments") > 0, "{:?}", default.report());
    forced
}

/// Every argument of every collective that the standard lets be wrong, by every name that a program may call.
#[test]
fn errors_are_those_of_the_library() {
    for &mpi in Mpi::in_turn(0) {
        let forced = compared(&compile(mpi, "tests/programs/errors.c"), "errors");
        let (report, stdout) = (forced.report(), &forced.ended.stdout);
        for collective in COLLECTIVES {
            // Valid calls by every name, before and after the others.
            let works = |line: &&str| name_of(line) == collective && line.contains(" rank=0 MPI_SUCCESS calls=0 ");
            let valid = stdout.lines().filter(works).filter(|line| line.contains(" valid")).count() as u64;
            assert!(valid >= 8, "{collective}: {stdout}");
            assert!(report.ours(collective) >= valid, "{collective}: {report:?}");
            assert!(report.forwarded(collective, "arguments") > 0, "{collective}: {report:?}");
        }
    }
}

/// The collective that a line is about, whichever of its names was called.
fn name_of(line: &str) -> String {
    let name = line.split(' ').next().unwrap_or_default().to_lowercase();
    let name = name.split_once("mpi_").map_or("", |(_, name)| name);
    name.strip_suffix("_c").unwrap_or(name).to_owned()
}

#[test]
fn errors_in_fortran() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let forced = compared(&compile(mpi, "tests/programs/errors_f.f90"), "errors_f");
        for collective in ["bcast", "allreduce"] {
            assert!(forced.report().ours(collective) >= 2, "{:?}", forced.report());
            assert!(forced.report().forwarded(collective, "arguments") >= 2, "{:?}", forced.report());
        }
    }
}

/// What the library says at the end of a job, without what differs from one run to the next: processes, addresses,
/// handles.
fn last_words(outcome: &Outcome) -> Vec<String> {
    let said = outcome.ended.stderr.lines().filter_map(|line| {
        let line = match line.split_once("] *** ") {
            Some((_, words)) if words.starts_with("reported by process") => return None,
            Some((_, words)) => words,
            None => &line[line.find("Fatal error in ").or_else(|| line.starts_with("internal_").then_some(0))?..],
        };
        let words = line.split_inclusive([',', ' ', ')']).map(|word| match word.split_once("=0x") {
            Some((name, _)) => format!("{name}=0x "),
            None => word.to_owned(),
        });
        Some(words.collect())
    });
    said.collect()
}

/// Runs the job, again where nothing was said: Open MPI 4.1, alone or not, loses every second message of a rank that
/// ends its job ("Out of resource" in its `show_help.c`).
fn heard(job: &Job) -> Outcome {
    let runs = std::iter::repeat_with(|| job.clone().run()).take(20);
    let mut loud = runs.skip_while(|outcome| last_words(outcome).is_empty());
    loud.next().unwrap_or_else(|| panic!("{job:?} said nothing"))
}

/// Errors that nobody handles end the job with the code and the words of the library, which name the function that was
/// called.
#[test]
fn errors_that_end_the_job() {
    for &mpi in Mpi::in_turn(1) {
        let program = compile(mpi, "tests/programs/errors.c");
        let mpich = matches!(mpi, Mpi::Mpich4 | Mpi::Mpich5);
        let third = if mpich { ("Alltoallv", "comm_freed_used") } else { ("Alltoallv", "comm_null") };
        for (call, what) in [("Bcast", "root_too_large"), ("Allreduce", "op_not_for_double"), third] {
            let arguments = [&*format!("call={call}"), &*format!("what={what}")];
            let stock = heard(&Job::stock(&program, 2).arguments(&arguments));
            let forced = heard(&Job::forced(&program, 2).arguments(&arguments));
            let (expected, words) = (last_words(&stock), last_words(&forced));
            assert!(expected.iter().any(|line| line.contains(&format!("MPI_{call}"))), "{}", stock.ended.output());
            assert_eq!(words, expected, "{}\n{}", stock.ended.output(), forced.ended.output());
            let codes = [&stock, &forced].map(|outcome| outcome.ended.status.and_then(|status| status.code()));
            assert!(codes[0].is_some_and(|code| code != 0), "{}", stock.ended.output());
            // MPICH 4.0's launcher tells the signal that ended a rank, or 1 where it sees the rank's connection close
            // first (pmodels/mpich, pull request 5930).
            let either = mpi == Mpi::Mpich4 && codes.iter().all(|code| matches!(code, Some(1 | 9)));
            assert!(either || codes[1] == codes[0], "{}\n{}", stock.ended.output(), forced.ended.output());
        }
    }
}
