//! Calls are tried on the MPI library and on ours, and the faster one stays (docs/decisions/0017).

use super::tools::shared;
use nagare_harness::{Job, Mpi, Outcome, Program, compile, everything};

const CALLS: u64 = 100;

/// Measured calls before one way is settled on, and at looks at calls 12 and 48, or 64, at most: of the library and
/// three of ours; and of the settled way, after 8 calls, 16, 32 and 32, twice as many where some are slow by chance.
const MEASURED: u64 = 12 + 2 * 4 + 2 * 4;

/// The same in a test whose machine may be busy: a settled way that has become slow by chance is looked at, and all
/// candidates are measured again, up to three times in a hundred calls.
const MEASURED_UNDER_LOAD: u64 = MEASURED + 3 * 12;

/// Calls that pass before anything is tried, at most, where one takes 67 times as long as asking, also under load.
const EARLY: u64 = 2;

/// Measured calls among so many on a busy machine: the settled way is looked at twice in 32 calls, not four times in
/// all.
const EXCHANGES: u64 = 600;
const MEASURED_OF_EXCHANGES: u64 = MEASURED_UNDER_LOAD + 2 * (EXCHANGES - CALLS) / 32;

/// Four ranks, two on each of two pretended nodes, nothing prescribed.
fn four_ranks(program: &Program) -> Job {
    Job::nagare(program, 4).set("NAGARE_TOPOLOGY", "synthetic:node:2 core:2").set("NAGARE_LEARN", "on")
}

fn job(program: &Program, words: &[&str]) -> Job {
    four_ranks(program).arguments(words).arguments(&[&format!("calls={CALLS}")])
}

/// Calls that the MPI library ran, and those of them that were measured.
fn stock(outcome: &Outcome, collective: &str) -> [u64; 2] {
    let calls = |reason: &str| outcome.report().forwarded(collective, reason);
    let early = calls("not yet worth trying");
    [early + calls("stock as fast") + calls("being measured"), calls("being measured")]
}

/// Pieces of 64 bytes make ours slow, whatever the machine does beside it, and are predicted to take so long that the
/// first call is measured.
fn in_small_pieces(job: Job) -> Job {
    job.set("NAGARE_SEGMENT", "64")
}

/// The library runs nearly all calls of a collective on vectors, or blocks, of so many bytes.
fn the_library_stays(mpi: Mpi, cases: &[(&str, u32)]) {
    let program = compile(mpi, "tests/programs/learning.c");
    for (collective, bytes) in cases {
        let words = [format!("collective={collective}"), format!("bytes={bytes}")];
        let job = in_small_pieces(job(&program, &words.each_ref().map(String::as_str)));
        let outcome = job.run().verified("learning");
        let [all, measured] = stock(&outcome, collective);
        assert_eq!(outcome.report().forwarded(collective, "not yet worth trying"), 0, "{:?}", outcome.report());
        assert!(all >= CALLS - MEASURED_UNDER_LOAD, "{:?}", outcome.report());
        assert!((1..=MEASURED_UNDER_LOAD).contains(&measured), "{:?}", outcome.report());
        assert!(outcome.report().ours(collective) >= 1, "ours was never tried: {:?}", outcome.report());
        assert_eq!(all + outcome.report().ours(collective), CALLS, "{:?}", outcome.report());
    }
}

#[test]
fn the_library_stays_where_ours_is_slow() {
    the_library_stays(Mpi::OpenMpi4, &[("bcast", 1 << 20), ("allreduce", 1 << 20)]);
    the_library_stays(Mpi::Mpich4, &[("allgather", 1 << 19)]);
}

#[test]
#[ignore = "long: make test-all"]
fn the_library_stays_where_ours_is_slow_by_the_other_mpi() {
    the_library_stays(Mpi::OpenMpi4, &[("allgather", 1 << 19)]);
    the_library_stays(Mpi::Mpich4, &[("bcast", 1 << 20), ("allreduce", 1 << 20)]);
}

/// Exchanges earn trials by what calls take, on a busy machine perhaps none in so many calls: where ranks of MPICH wait
/// for a processor in each agreement.
#[test]
fn exchanges_that_are_slow_on_ours_stay_with_the_library() {
    let [openmpi, mpich] = [Mpi::OpenMpi4, Mpi::Mpich4];
    let cases = [(openmpi, "alltoall"), (openmpi, "alltoallv"), (mpich, "alltoallv"), (mpich, "alltoall")];
    for (mpi, collective) in cases.into_iter().step_by(if everything() { 1 } else { 2 }) {
        let program = compile(mpi, "tests/programs/learning.c");
        let words = [format!("collective={collective}"), "bytes=524288".to_owned(), format!("calls={EXCHANGES}")];
        let job = in_small_pieces(four_ranks(&program).arguments(&words.each_ref().map(String::as_str)));
        let outcome = job.run().verified("learning");
        let [all, measured] = stock(&outcome, collective);
        assert!(all >= EXCHANGES - MEASURED_UNDER_LOAD, "{:?}", outcome.report());
        assert!(measured <= MEASURED_OF_EXCHANGES, "{:?}", outcome.report());
        let tried = all < EXCHANGES;
        let early = outcome.report().forwarded(collective, "not yet worth trying");
        assert!((tried || measured == 0) && tried != (early == EXCHANGES), "{:?}", outcome.report());
        assert_eq!(all + outcome.report().ours(collective), EXCHANGES, "{:?}", outcome.report());
    }
}

/// The library's is made slow by its own variables: a chain of ranks that passes 64 bytes at a time.
#[test]
fn ours_stays_where_the_library_is_slow() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let job = job(&program, &["collective=bcast", "bytes=1048576"])
        .set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
        .set("OMPI_MCA_coll_tuned_bcast_algorithm", "2")
        .set("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "64")
        .set("NAGARE_LOG", "info");
    let outcome = job.run().verified("learning");
    assert!(outcome.report().ours("bcast") >= CALLS - MEASURED - EARLY, "{:?}", outcome.report());
    assert!(stock(&outcome, "bcast")[1] >= 1, "the library was never tried: {:?}", outcome.report());
    assert!(outcome.ended.stderr.contains("from now on"), "{}", outcome.ended.output());

    // The report says the same: on what the calls ran, what was measured, and that it has paid.
    let report = outcome.report();
    let [learned] = report.0["learned"].as_array().expect("learned").as_slice() else { panic!("{report:?}") };
    assert_eq!((&learned["collective"], &learned["min_bytes"]), (&"bcast".into(), &(1u64 << 20).into()), "{learned}");
    assert_eq!((&learned["ranks"], &learned["nodes"]), (&4.into(), &2.into()), "{learned}");
    let ways = learned["ways"].as_array().expect("ways");
    let calls = |name: &str| ways.iter().filter(|way| way["algorithm"] == name).map(|way| way["calls"].as_u64()).sum();
    let measured: Option<u64> = calls("stock");
    assert_eq!(measured, Some(stock(&outcome, "bcast")[1]), "{learned}");
    // A job that ends while all candidates are measured once more, as a busy machine may cause, has no way that runs.
    assert_ne!(learned["runs"], "stock", "{learned}");
    let most = ways.iter().max_by_key(|way| way["calls"].as_u64()).expect("a way");
    let most = most["algorithm"].as_str().expect("an algorithm");
    assert_eq!(calls(most), Some(report.calls("bcast", most)), "{learned}");
    assert!(learned["saved_seconds"].as_f64().expect("seconds") > 0.0, "{learned}");
}

/// A communicator that is freed before the end is in the report, and two that are alike are one row.
#[test]
fn what_freed_communicators_taught_is_reported() {
    let program = compile(Mpi::Mpich4, "tests/programs/learning.c");
    let words = ["collective=allgather", "bytes=524288", "communicators=2"];
    let outcome = in_small_pieces(job(&program, &words)).run().verified("learning");
    let learned = outcome.report().0["learned"].as_array().cloned().unwrap_or_default();
    assert_eq!(learned.len(), 1, "{:?}", outcome.report());
    assert_eq!(learned[0]["communicators"], 2, "{:?}", outcome.report());
    let calls: u64 = learned[0]["ways"].as_array().expect("ways").iter().filter_map(|way| way["calls"].as_u64()).sum();
    assert_eq!(calls, 2 * CALLS, "{:?}", outcome.report());
}

/// Ranks that share memory, on pretended nodes: sums that round stay with the library, since nothing may measure them;
/// sums of integers are measured.
#[test]
fn rounding_sums_in_shared_memory_stay_with_the_library() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/learning.c");
        let words = ["collective=allreduce", "bytes=1048576"];
        let sums = |kind| in_small_pieces(job(&program, &words)).arguments(&[kind]).run().verified("learning");
        let rounding = sums("kind=double");
        assert_eq!(rounding.report().forwarded("allreduce", "stock as fast"), CALLS, "{:?}", rounding.report());
        assert_eq!(rounding.report().0.get("learned"), None);
        assert!(stock(&sums("kind=int"), "allreduce")[1] > 0);
    }
}

#[test]
fn off_measures_nothing() {
    let program = compile(Mpi::OpenMpi4, "tests/programs/learning.c");
    let outcome = job(&program, &["collective=bcast"]).set("NAGARE_LEARN", "off").run().verified("learning");
    assert_eq!(outcome.report().ours("bcast"), CALLS, "{:?}", outcome.report());
}

/// Calls of a few microseconds end long before anything has been earned: nothing is tried, and no communicator is made.
#[test]
fn nothing_is_tried_in_a_short_series() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/learning.c");
        let words = ["collective=bcast", "bytes=16384", "calls=4"];
        let outcome = four_ranks(&program).arguments(&words).run().verified("learning");
        let line = outcome.ended.stdout.lines().find_map(|line| line.strip_prefix("learning seconds="));
        let seconds: f64 = line.and_then(|seconds| seconds.parse().ok()).expect("a line");
        let early = outcome.report().forwarded("bcast", "not yet worth trying");
        // Where the machine is busy the calls may take 15 ms; then they have earned measured calls.
        assert!(early == 4 || seconds > 0.014, "{:?}", outcome.report());
    }
}

/// Ranks agree by a non-blocking collective of the library, which finds no memory on one of them. Only Open MPI 4 has a
/// library of its own for these, which can be told from the rest of it.
#[test]
fn a_rank_that_cannot_agree_tells_the_others() {
    let mpi = Mpi::OpenMpi4;
    let (program, tool) = (compile(mpi, "tests/programs/starved.c"), shared(mpi, "tests/programs/tool_starve.c"));
    // Pieces of 64 bytes are predicted to take long: the first call is measured.
    let job = four_ranks(&program).tool_behind(&tool).set("NAGARE_LOG", "info").set("NAGARE_SEGMENT", "64");
    let outcome = job.run().verified("starved");
    assert!(stock(&outcome, "bcast")[1] >= 1, "nothing was measured: {:?}", outcome.report());
    let told = outcome.messages().iter().filter(|line| line.contains("rank 1 has given up, with error class")).count();
    assert!(told >= 3, "{}", outcome.ended.output());
}

/// A call that is wrong on one rank alone, and made again, is counted once: all ranks ask each other in the same calls.
#[test]
fn a_call_made_again_is_one_call() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/retried.c");
        let outcome = four_ranks(&program).arguments(&["calls=80"]).run().verified("retried");
        assert!(outcome.report().forwarded("bcast", "not yet worth trying") >= 1, "{:?}", outcome.report());
    }
}
