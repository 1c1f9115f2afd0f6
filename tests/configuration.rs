//! Wrong, contradictory and unfitting configuration: one clear line, the job runs on the MPI library, and no job is
//! lost.

use nagare_harness::{FORCED, Family, Job, MACHINE, Mpi, Outcome, Program};
use nagare_harness::{compile, root_directory, run_limited, scratch_directory};
use std::process::Command;
use std::time::Duration;

const MPIS: [(Mpi, u32); 2] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 2)];

fn hello(mpi: Mpi) -> Program {
    compile(mpi, "examples/hello.c")
}

/// Asserts that the program ran correctly without Nagare's algorithms, and that Nagare's only lines are one with all of
/// `words` and perhaps one that says what follows from it.
#[track_caller]
fn runs_on_the_library(outcome: Outcome, words: &[&str]) {
    let outcome = outcome.passed();
    assert_eq!(outcome.ended.stdout, "OK\n", "{}", outcome.ended.output());
    one_line(&outcome, words);
    if let Some(report) = &outcome.report {
        assert_eq!(report.ours(""), 0, "{report:?}");
        // Calls below the smallest threshold are passed on before anything is looked up.
        let reasons = report.reasons();
        let expected = ["below threshold", "switched off", "configuration"];
        assert!(reasons.iter().all(|r| expected.contains(&r.as_str())), "{report:?}");
        assert!(reasons.iter().any(|r| r == "configuration"), "{report:?}");
        // What was wrong stands in it.
        let problems: Vec<&str> =
            report.0["problems"].as_array().expect("problems").iter().flat_map(|p| p.as_str()).collect();
        assert!(!problems.is_empty(), "{report:?}");
    }
}

#[track_caller]
fn one_line(outcome: &Outcome, words: &[&str]) {
    let messages = outcome.messages();
    let naming = messages.iter().filter(|m| words.iter().all(|w| m.contains(w))).count();
    let consequence = |m: &&&str| m.contains("run on the MPI library's own collectives");
    let other = messages.iter().filter(|m| !words.iter().all(|w| m.contains(w))).count();
    let consequences = messages.iter().filter(consequence).count();
    assert_eq!(naming, 1, "expected one line with {words:?}\n{}", outcome.ended.output());
    assert!(other <= 1 && consequences <= 1 && other <= consequences, "too many lines\n{}", outcome.ended.output());
}

#[test]
fn a_topology_file_that_is_not_there() {
    for (mpi, ranks) in MPIS {
        let job = Job::forced(&hello(mpi), ranks).set("NAGARE_TOPOLOGY", "/nonexistent/fabric.toml");
        runs_on_the_library(job.run(), &["NAGARE_TOPOLOGY", "/nonexistent/fabric.toml", "No such file"]);
    }
}

#[test]
fn an_error_in_a_topology_file_is_named_with_its_line() {
    let scratch = scratch_directory();
    let file = scratch.path().join("broken.toml");
    std::fs::write(&file, "# a fabric\n[fabric]\ngenerator = \n").expect("a file");
    let path = file.to_str().expect("UTF-8");
    let job = Job::forced(&hello(Mpi::OpenMpi4), 4).set("NAGARE_TOPOLOGY", path);
    runs_on_the_library(job.run(), &["NAGARE_TOPOLOGY", &format!("{path}:3")]);
}

#[test]
fn more_ranks_than_places() {
    for (mpi, ranks) in MPIS {
        let job = Job::forced(&hello(mpi), ranks).set("NAGARE_TOPOLOGY", "synthetic:node:1 core:1");
        runs_on_the_library(job.run(), &["NAGARE_TOPOLOGY", "rank 1"]);
    }
}

#[test]
fn a_pretended_machine_that_is_not_understood() {
    let job = Job::forced(&hello(Mpi::OpenMpi4), 4).set("NAGARE_TOPOLOGY", "synthetic:node:two");
    runs_on_the_library(job.run(), &["NAGARE_TOPOLOGY", "two", "expected"]);
}

#[test]
fn algorithms_that_do_not_exist() {
    for (mpi, ranks) in MPIS {
        let job = Job::forced(&hello(mpi), ranks).set("NAGARE_ALGORITHM", "bcast=nonesuch");
        runs_on_the_library(
            job.run(),
            &["NAGARE_ALGORITHM=bcast=nonesuch", "unknown algorithm `nonesuch`", "expected two_tree"],
        );
    }
}

#[test]
fn strict_ends_the_job() {
    for (mpi, ranks) in MPIS {
        for (name, value) in [
            ("NAGARE_TOPOLOGY", "/nonexistent/fabric.toml"),
            ("NAGARE_ALGORITHM", "bcast=nonesuch"),
            ("NAGARE_FOO", "nonesuch"),
            ("NAGARE_LOG", "nonesuch"),
        ] {
            let job = Job::forced(&hello(mpi), ranks).set("NAGARE_STRICT", "1").set(name, value);
            let outcome = job.run();
            let ended = &outcome.ended;
            assert!(ended.status.is_some_and(|s| !s.success()), "{}", ended.output());
            assert!(!ended.stdout.contains("OK"), "{}", ended.output());
            let told = if name == "NAGARE_FOO" { name } else { value };
            assert_eq!(outcome.messages().iter().filter(|m| m.contains(told)).count(), 1, "{}", ended.output());
            assert_eq!(
                outcome.messages().iter().filter(|m| m.contains("NAGARE_STRICT=1")).count(),
                1,
                "{}",
                ended.output()
            );
        }
    }
}

#[test]
fn ranks_with_other_settings() {
    for (mpi, ranks) in MPIS {
        for (name, value) in
            [("NAGARE_ALGORITHM", "all=stock"), ("NAGARE_SEGMENT", "1K"), ("NAGARE_STEPS", "1"), ("NAGARE_ENABLE", "0")]
        {
            let job = Job::nagare(&hello(mpi), ranks - 1).set("NAGARE_TOPOLOGY", MACHINE).and_ranks(1, name, value);
            runs_on_the_library(job.run(), &[&format!("rank {}", ranks - 1), "settings", "same on all ranks"]);
        }
    }
}

#[test]
fn sub_communicators_inherit_the_verdict() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 5), (Mpi::Mpich4, 3)] {
        let program = compile(mpi, "tests/programs/edge.c");
        let job = Job::forced(&program, ranks - 1).and_ranks(1, "NAGARE_SEGMENT", "1K");
        let outcome = job.run().verified("edge");
        one_line(&outcome, &[&format!("rank {}", ranks - 1), "settings"]);
        let report = outcome.report();
        assert_eq!(report.ours(""), 0, "{report:?}");
        assert!(report.forwarded("bcast", "configuration") > 0, "{report:?}");
    }
}

#[test]
fn unknown_variables_are_reported_once() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 8), (Mpi::Mpich4, 2)] {
        let outcome = Job::forced(&hello(mpi), ranks).set("NAGARE_FOO", "1").run().passed();
        assert_eq!(outcome.messages().len(), 1, "{}", outcome.ended.output());
        one_line(&outcome, &["NAGARE_FOO"]);
        // It is a warning: everything still runs.
        outcome.report().assert_ran("grouped_two_tree", Some("xor"));
    }
}

/// What ranks need not agree on has a default.
#[test]
fn a_wrong_value_of_what_is_this_rank_s_own() {
    for (mpi, ranks) in MPIS {
        for (name, value) in [("NAGARE_LOG", "loud"), ("NAGARE_WAIT", "long")] {
            let outcome = Job::forced(&hello(mpi), ranks).set(name, value).run().passed();
            assert_eq!(outcome.messages().len(), 1, "{}", outcome.ended.output());
            one_line(&outcome, &[&format!("{name}={value}"), "expected"]);
            outcome.report().assert_ran("grouped_two_tree", Some("xor"));
            assert_eq!(outcome.report().0["problems"].as_array().map(Vec::len), Some(1), "{:?}", outcome.report());
        }
    }
}

#[test]
fn a_rule_that_never_holds() {
    let rules = "bcast=grouped_two_tree;all=grouped_two_tree;alltoall=xor;bcast=chain";
    let outcome = Job::forced(&hello(Mpi::OpenMpi4), 4).set("NAGARE_ALGORITHM", rules).run().passed();
    assert_eq!(outcome.messages().len(), 1, "{}", outcome.ended.output());
    one_line(&outcome, &["`bcast=chain` never holds", "`bcast=grouped_two_tree` comes before"]);
    outcome.report().assert_ran("grouped_two_tree", Some("xor"));
}

#[test]
fn a_report_on_standard_output() {
    for (mpi, ranks) in MPIS {
        let outcome = Job::forced(&hello(mpi), ranks).set("NAGARE_REPORT", "stdout").run().passed();
        let (out, err) = (&outcome.ended.stdout, &outcome.ended.stderr);
        assert!(out.contains(&format!("{ranks} ranks")) && out.contains("grouped_two_tree"), "{out}");
        assert!(!err.contains("grouped_two_tree"), "{err}");
    }
}

/// With time and rank, and of equal calls once.
#[test]
fn debugging_messages_do_not_repeat() {
    for (mpi, ranks) in MPIS {
        let job = Job::forced(&compile(mpi, "tests/programs/learning.c"), ranks).arguments(&["bcast", "int", "20"]);
        let outcome = job.set("NAGARE_LOG", "debug").run().verified("learning");
        let told = outcome.messages().into_iter().filter_map(|line| line.split_once(" s, rank 0: bcast of "));
        let told: Vec<&str> = told.map(|(_, call)| call).collect();
        let mut once = told.clone();
        once.sort_unstable();
        once.dedup();
        assert!(!told.is_empty() && once.len() == told.len(), "{}", outcome.ended.output());
        assert!(outcome.report().ours("bcast") > told.len() as u64, "{}", outcome.ended.output());
    }
}

#[test]
fn a_report_that_cannot_be_written() {
    for (mpi, ranks) in MPIS {
        let outcome = Job::forced(&hello(mpi), ranks).set("NAGARE_REPORT", "/nonexistent/report.json").run().passed();
        assert_eq!(outcome.ended.stdout, "OK\n");
        assert_eq!(outcome.messages().len(), 1, "{}", outcome.ended.output());
        one_line(&outcome, &["NAGARE_REPORT", "/nonexistent/report.json", "No such file"]);
    }
}

#[test]
fn a_report_as_a_table() {
    for (mpi, ranks) in MPIS {
        let outcome = Job::forced(&hello(mpi), ranks).set("NAGARE_REPORT", "stderr").run().passed();
        let text = &outcome.ended.stderr;
        assert!(text.contains(&format!("{ranks} ranks")), "{text}");
        for (collective, algorithm) in
            [("bcast", "grouped_two_tree"), ("reduce", "grouped_two_tree"), ("alltoall", "xor")]
        {
            let row = |l: &str| l.split_whitespace().take(2).eq([collective, algorithm]);
            assert_eq!(text.lines().filter(|l| row(l)).count(), 1, "{collective}: {text}");
        }
    }
}

#[test]
fn a_sound_configuration_says_nothing() {
    for (mpi, ranks) in MPIS {
        let outcome = Job::forced(&hello(mpi), ranks).run().passed();
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
    }
}

#[test]
fn the_library_of_the_wrong_family() {
    for mpi in [Mpi::Mpich4, Mpi::Mpich5] {
        for source in ["examples/hello.c", "tests/programs/edge.c"] {
            let job = Job::nagare(&compile(mpi, source), 2).preload(Family::OpenMpi).set("NAGARE_ALGORITHM", FORCED);
            let outcome = job.run().passed();
            assert!(
                outcome.ended.stdout.contains("OK") || outcome.ended.stdout.contains("PASS"),
                "{}",
                outcome.ended.output()
            );
            assert_eq!(outcome.messages().len(), 1, "{} {}", mpi.name(), outcome.ended.output());
            one_line(&outcome, &["is built for", "libmp"]);
            assert!(outcome.report.is_none(), "{:?}", outcome.report);
        }
    }
}

/// It exports large-count functions, which a program that looks for them would take for the MPI library's.
#[test]
fn the_library_of_the_wrong_family_that_exports_more_functions() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 3), (Mpi::OpenMpi5, 2)] {
        let outcome = Job::nagare(&hello(mpi), ranks).preload(Family::Mpich).run();
        let said = outcome.ended.output();
        assert!(!outcome.ended.success() && !outcome.ended.stdout.contains("OK"), "{} {said}", mpi.name());
        let line = |message: &&str| message.contains("is built for MPICH") && message.contains("the job ends");
        let messages = outcome.messages();
        assert!(!messages.is_empty() && messages.iter().all(line), "{} {said}", mpi.name());
    }
}

/// Its handles are neither family's, and its library calls `PMPI_X` for files.
#[test]
fn the_library_of_the_standards_abi() {
    let here = scratch_directory();
    let binary = here.path().join("edge");
    let mut compiler = Command::new(Mpi::Mpich5.c_compiler().with_file_name("mpicc_abi"));
    compiler.current_dir(root_directory()).args(["-O2", "tests/programs/edge.c", "-lm", "-o"]).arg(&binary);
    let compiled = run_limited(&mut compiler, Duration::from_secs(300));
    assert!(compiled.success(), "{}", compiled.output());
    let program = Program::executable(Mpi::Mpich5, &binary);
    let outcome = Job::nagare(&program, 2).set("NAGARE_ALGORITHM", FORCED).run().passed();
    assert!(outcome.ended.stdout.contains("PASS"), "{}", outcome.ended.output());
    one_line(&outcome, &["is built for MPICH", "libmpi_abi.so", "nothing is changed"]);
    assert!(outcome.report.is_none(), "{:?}", outcome.report);
}

#[test]
fn programs_without_mpi() {
    let here = scratch_directory();
    std::fs::write(here.path().join("file"), "").expect("a file");
    for family in [Family::OpenMpi, Family::Mpich] {
        for (program, output) in [("/bin/true", ""), ("ls", "file\n")] {
            let mut command = Command::new(program);
            command.current_dir(here.path()).env("LD_PRELOAD", family.library()).env("NAGARE_REPORT", "stderr");
            let ended = run_limited(&mut command, Duration::from_secs(300));
            assert!(ended.success(), "{program} {}", ended.output());
            assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), (output, ""), "{program}");
        }
    }
    for (mpi, ranks) in MPIS {
        let outcome = Job::forced(&Program::executable(mpi, "/bin/true"), ranks).run().passed();
        assert_eq!((outcome.ended.stdout.as_str(), outcome.ended.stderr.as_str()), ("", ""));
    }
}
