//! Tools of the profiling interface see every call of the program once, and nothing of ours, wherever they are loaded.

use nagare_harness::{
    Job, Mpi, Outcome, Program, compile, compile_with, everything, root_directory, scratch_directory,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const RANKS: u32 = 4;

/// `source` as a library that can be preloaded or linked.
pub fn shared(mpi: Mpi, source: &str) -> Program {
    compile_with(mpi, source, "_shared", &["-shared", "-fPIC"].map(str::to_owned))
}

fn path(tool: &Program) -> String {
    tool.words[0].to_string_lossy().into_owned()
}

/// The four ways of loading the tool beside Nagare.
fn jobs(mpi: Mpi, tool: &str) -> [(&'static str, Job); 4] {
    const PROGRAM: &str = "tests/programs/tooled.c";
    let source = format!("tests/programs/{tool}.c");
    let library = shared(mpi, &source);
    let plain = compile(mpi, PROGRAM);
    let linked = compile_with(mpi, PROGRAM, &format!("_linked_{tool}"), &[path(&library)]);
    let source = root_directory().join(source).display().to_string();
    let containing = compile_with(mpi, PROGRAM, &format!("_with_{tool}"), &[source]);
    [
        ("before Nagare", Job::forced(&plain, RANKS).tool_before(&library)),
        ("behind Nagare", Job::forced(&plain, RANKS).tool_behind(&library)),
        ("linked", Job::forced(&linked, RANKS)),
        ("compiled in", Job::forced(&containing, RANKS)),
    ]
}

/// The lines of a tool, in the order of their ranks.
fn lines<'a>(outcome: &'a Outcome, tool: &str) -> Vec<&'a str> {
    let mut lines: Vec<_> = outcome.ended.stdout.lines().filter(|line| line.starts_with(tool)).collect();
    lines.sort_unstable();
    lines
}

/// What each rank calls in three rounds of `tooled`: rank 0 receives a message from each of the others.
fn called(mpi: Mpi, init: &str) -> Vec<String> {
    let large = if matches!(mpi, Mpi::Mpich4 | Mpi::Mpich5) { " MPI_Bcast_c=3 MPI_Allreduce_c=3" } else { "" };
    let line = |rank| {
        let messages = if rank == 0 { format!("MPI_Recv={}", RANKS - 1) } else { "MPI_Send=1".to_owned() };
        format!(
            "tool_count rank={rank} {init}=1 MPI_Pcontrol=3 MPI_Bcast=3 MPI_Reduce=3 MPI_Allreduce=3 MPI_Alltoall=3 \
             MPI_Alltoallv=3 MPI_Alltoallw=3 MPI_Gather=3 MPI_Allgather=3 MPI_Reduce_scatter_block=3 \
             MPI_Reduce_scatter=3 MPI_Allgatherv=3 MPI_Scatter=3 MPI_Gatherv=3 MPI_Scatterv=3 {messages} \
             MPI_Isend=3 MPI_Irecv=3 MPI_Waitall=6 MPI_Comm_idup=3 MPI_Comm_free=3{large}"
        )
    };
    (0..RANKS).map(line).collect()
}

/// Calls of `tooled` that ran on our algorithms: all in three rounds, and the large ones.
fn assert_ours(mpi: Mpi, outcome: &Outcome, more_allreduces: u64) {
    let large = if matches!(mpi, Mpi::Mpich4 | Mpi::Mpich5) { 3 } else { 0 };
    let report = outcome.report();
    for (collective, algorithm, calls) in [
        ("bcast", "grouped_two_tree", 3 + large),
        ("reduce", "grouped_two_tree", 3),
        ("allreduce", "grouped_two_tree", 3 + large + more_allreduces),
        ("alltoall", "xor", 3),
        ("alltoallv", "two_level_ring", 3),
        ("alltoallw", "two_level_ring", 3),
        ("allgather", "halving_doubling", 3),
        ("reduce_scatter_block", "halving_doubling", 3),
        ("reduce_scatter", "halving_doubling", 3),
        ("allgatherv", "halving_doubling", 3),
        ("scatter", "relay", 3),
        ("gatherv", "direct", 3),
        ("scatterv", "direct", 3),
    ] {
        assert_eq!(report.calls(collective, algorithm), calls, "{collective}: {report:?}");
    }
}

/// Each function that starts MPI with each way of loading, under one of the MPIs if not under all.
#[test]
fn a_tool_that_counts() {
    for (turn, &mpi) in Mpi::in_turn(0).iter().enumerate() {
        for (start, (init, name)) in [("plain", "MPI_Init"), ("thread", "MPI_Init_thread")].into_iter().enumerate() {
            let (skipped, step) = if everything() { (0, 1) } else { ((turn + start) % 2, 2) };
            for (loading, job) in jobs(mpi, "tool_count").into_iter().skip(skipped).step_by(step) {
                let outcome = job.arguments(&[&format!("init={init}")]).run().verified("tooled");
                assert_eq!(lines(&outcome, "tool_count"), called(mpi, name), "{} {loading}", mpi.name());
                assert_ours(mpi, &outcome, 0);
                assert_eq!(outcome.report().calls("gather", "relay"), 3, "{:?}", outcome.report());
            }
        }
    }
}

/// One Allreduce in `MPI_Init`, one after each of three calls of `MPI_Bcast`, and a Gather in `MPI_Finalize`.
#[test]
fn a_tool_that_communicates() {
    for &mpi in Mpi::in_turn(1) {
        for (loading, job) in jobs(mpi, "tool_talk") {
            let outcome = job.run().verified("tooled");
            let said = lines(&outcome, "tool_talk");
            assert_eq!(said, ["tool_talk broadcasts=3 nested=3"], "{} {loading}", mpi.name());
            assert_ours(mpi, &outcome, 4);
            assert_eq!(outcome.report().calls("gather", "relay"), 4, "{:?}", outcome.report());
        }
    }
}

/// A tool that the program opens itself comes after the MPI library, whose functions are found first.
#[test]
fn a_tool_that_is_opened() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let (program, tool) = (compile(mpi, "tests/programs/tooled.c"), shared(mpi, "tests/programs/tool_count.c"));
        let load = format!("load={}", path(&tool));
        let stock = Job::stock(&program, RANKS).arguments(&[&load]).run().verified("tooled");
        let outcome = Job::forced(&program, RANKS).arguments(&[&load]).run().verified("tooled");
        assert_eq!((lines(&stock, "tool_"), lines(&outcome, "tool_")), (vec![], vec![]), "{}", mpi.name());
        assert_ours(mpi, &outcome, 0);
    }
}

/// Fortran's wrappers of Open MPI call `PMPI_X`, those of MPICH `MPI_X`: a tool in C sees what it sees without Nagare.
#[test]
fn programs_in_fortran() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "tests/programs/coll_mpif.f90");
        for name in ["tool_count", "tool_fortran"] {
            let tool = shared(mpi, &format!("tests/programs/{name}.c"));
            let sizes = ["sizes=20000"];
            let stock = Job::stock(&program, 3).tool_before(&tool).arguments(&sizes).run().verified("coll_mpif");
            let seen = lines(&stock, name);
            assert_eq!(seen.is_empty(), mpi == Mpi::OpenMpi4 && name == "tool_count", "{seen:?}");
            let job = Job::forced(&program, 3).arguments(&sizes);
            for job in [job.clone().tool_before(&tool), job.tool_behind(&tool)] {
                let outcome = job.run().verified("coll_mpif");
                assert_eq!(lines(&outcome, name), seen, "{}", mpi.name());
                outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            }
        }
    }
}

/// Python opens the MPI library with local scope, and finds what is preloaded first.
#[test]
fn programs_in_python() {
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let program = Program::python(mpi, "tests/programs/buffers.py");
        let tool = shared(mpi, "tests/programs/tool_count.c");
        let seen = |outcome: &Outcome| lines(outcome, "tool_count").iter().map(|l| l.to_string()).collect::<Vec<_>>();
        let stock = seen(&Job::stock(&program, 2).tool_before(&tool).run().verified("buffers"));
        let job = Job::forced(&program, 2);
        for job in [job.clone().tool_before(&tool), job.tool_behind(&tool)] {
            let outcome = job.run().verified("buffers");
            assert_eq!((stock.len(), seen(&outcome)), (2, stock.clone()), "{}", mpi.name());
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
        }
    }
}

/// What Nagare calls is looked up in the MPI library, whatever else has the names.
#[test]
fn our_messages_go_to_the_mpi_library() {
    for &mpi in Mpi::in_turn(0) {
        let program = compile(mpi, "tests/programs/tooled.c");
        let covers = shared(mpi, "tests/programs/tool_covers.c");
        // The program's own messages go by MPI_X, which is not covered.
        let outcome = Job::forced(&program, RANKS).tool_before(&covers).run().verified("tooled");
        assert_ours(mpi, &outcome, 0);
    }
}

/// Before Nagare, a tool that looks up the next function itself finds Nagare's; behind it, one line says that nothing
/// can run on Nagare.
#[test]
fn a_tool_that_calls_the_next_function() {
    for &mpi in Mpi::in_turn(1) {
        let (program, tool) = (compile(mpi, "tests/programs/learning.c"), shared(mpi, "tests/programs/tool_next.c"));
        let job = Job::forced(&program, RANKS).arguments(&["calls=5"]);
        let before = job.clone().tool_before(&tool).run().verified("learning");
        assert_eq!((before.report().ours("bcast"), before.messages()), (5, vec![]), "{}", mpi.name());

        let behind = job.tool_behind(&tool);
        let outcome = behind.clone().run().passed();
        let [message] = outcome.messages()[..] else { panic!("{}", outcome.ended.output()) };
        assert!(message.contains("calls the MPI library past Nagare: no call runs on Nagare"), "{message}");
        assert!(outcome.ended.stdout.contains("PASS learning"), "{}", outcome.ended.output());
        let ended = behind.set("NAGARE_STRICT", "1").run().ended;
        assert!(!ended.success() && ended.stderr.contains("the job ends (NAGARE_STRICT=1)"), "{}", ended.output());
    }
}

/// EZTrace of Debian, for each of Debian's MPI libraries: the trace has the events that it has without Nagare. A
/// program with communicators of its own ends in EZTrace 2.0 itself.
#[test]
fn a_real_tracer() {
    for (mpi, plugin) in [(Mpi::OpenMpi4, "openmpi"), (Mpi::Mpich4, "mpich")] {
        let program = compile(mpi, "tests/programs/learning.c");
        for (collective, function) in [("allreduce", "MPI_Allreduce"), ("alltoallv", "MPI_Alltoallv")] {
            let traces = scratch_directory();
            let traced = |name: &str| {
                let directory = traces.path().join(name);
                let options = ["eztrace", "-t", plugin, "-o"].map(Into::into).into_iter();
                let words = options.chain([directory.clone().into(), program.words[0].clone()]).collect();
                (Program { words, ..program.clone() }, directory.join("learning_c_trace/eztrace_log.otf2"))
            };
            let arguments = [&format!("collective={collective}"), "calls=5"];
            let (stock, trace) = traced("stock");
            Job::stock(&stock, RANKS).arguments(&arguments).run().verified("learning");
            let expected = events(&trace);
            assert_eq!(expected.get(&format!("ENTER {function}")), Some(&(5 * RANKS as usize)), "{expected:?}");

            let (ours, trace) = traced("ours");
            let outcome = Job::forced(&ours, RANKS).arguments(&arguments).run().verified("learning");
            assert_eq!(events(&trace), expected, "{}", mpi.name());
            assert_eq!(outcome.report().ours(collective), 5, "{:?}", outcome.report());
        }
    }
}

/// How often each kind of event is in a trace, for entering and leaving a function also which.
fn events(trace: &Path) -> BTreeMap<String, usize> {
    let output = Command::new("otf2-print").arg(trace).output().expect("otf2-print of Debian's otf2-tools");
    let mut events = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut words = line.split_whitespace();
        let (Some(kind), Some(Ok(_))) = (words.next(), words.next().map(str::parse::<u32>)) else { continue };
        let function = line.split('"').nth(1).filter(|_| matches!(kind, "ENTER" | "LEAVE")).unwrap_or_default();
        *events.entry(format!("{kind} {function}").trim_end().to_owned()).or_default() += 1;
    }
    events
}

/// Debian's wrappers of valgrind for MPI, which are for Open MPI: with Nagare as without they find the undefined bytes
/// that a program sends, and none where there are none, though they look at Nagare's own messages as well.
#[test]
#[ignore = "long: make test-all"]
fn valgrind_s_wrappers() {
    let wrappers = format!("/usr/lib/{0}-linux-gnu/valgrind/libmpiwrap-amd64-linux.so", std::env::consts::ARCH);
    if !Path::new(&wrappers).exists() {
        eprintln!("skipped: no {wrappers} (valgrind-mpi)");
        return;
    }
    // With the MPI library behind them, since valgrind's own programs load them as well.
    let [wrappers, library] = [&wrappers, "libmpi.so.40"].map(|file| Program::executable(Mpi::OpenMpi4, file));
    for (name, arguments, expected) in [("undefined", &[][..], 1), ("retried", &["calls=2"], 0)] {
        let program = compile(Mpi::OpenMpi4, &format!("tests/programs/{name}.c"));
        let words = ["valgrind", "-q"].map(Into::into).into_iter().chain(program.words.iter().cloned()).collect();
        let program = Program { words, ..program };
        for job in [Job::stock(&program, 2), Job::forced(&program, 2)] {
            let outcome = job.tool_before(&wrappers).tool_behind(&library).arguments(arguments).run().verified(name);
            let stderr = &outcome.ended.stderr;
            assert!(stderr.contains("valgrind MPI wrappers"), "{}", outcome.ended.output());
            let found = stderr.matches("Uninitialised byte(s) found during client check request").count();
            assert_eq!(found, expected, "{name}\n{}", outcome.ended.output());
            assert!(outcome.report.as_ref().is_none_or(|report| report.ours("bcast") > 0), "{:?}", outcome.report);
        }
    }
}
