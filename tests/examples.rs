//! The programs in `examples/`, unmodified, with the library preloaded.

use nagare_harness::{Job, Mpi, Program, compile, run_limited};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const MPIS: [(Mpi, u32); 2] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 4)];

/// Runs a program that prints OK, and asserts that all four of its calls ran on Nagare's algorithms.
fn says_ok(program: &Program, ranks: u32) {
    let outcome = Job::forced(program, ranks).run().passed();
    assert_eq!(outcome.ended.stdout.trim(), "OK", "{}", outcome.ended.output());
    outcome.report().assert_ran("grouped_two_tree", Some("xor"));
}

#[test]
fn hello() {
    for (mpi, ranks) in MPIS {
        says_ok(&compile(mpi, "examples/hello.c"), ranks);
        says_ok(&compile(mpi, "examples/hello.f90"), ranks);
    }
    for (mpi, ranks) in [(Mpi::OpenMpi5, 4), (Mpi::Mpich5, 2)] {
        says_ok(&compile(mpi, "examples/hello.c"), ranks);
        says_ok(&Program::python(mpi, "examples/hello.py"), ranks);
    }
}

#[test]
fn hello_in_rust() {
    // Where cargo put this test's own build. `cargo test` has made the examples there; asked for them alone, cargo
    // would build everything below them once more, with fewer features.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--no-run", "--quiet", "--workspace", "--manifest-path"]);
    cargo.arg(nagare_harness::root_directory().join("Cargo.toml")).arg("--target-dir").arg(target);
    cargo.env("MPICC", "mpicc.openmpi");
    let ended = run_limited(&mut cargo, Duration::from_secs(900));
    assert!(ended.success(), "{}", ended.output());
    says_ok(&Program::executable(Mpi::OpenMpi4, target.join("debug/examples/hello")), 4);
}

#[test]
fn integer_sort() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "examples/is.c");
        let outcome = Job::forced(&program, ranks).arguments(&["S"]).run().passed();
        let last = outcome.ended.stdout.lines().last().unwrap_or_default();
        assert!(last.to_lowercase().contains("verif"), "{}", outcome.ended.output());
        outcome.report().assert_ran("grouped_two_tree", Some("xor"));
        assert!(outcome.report().calls("alltoallv", "two_level_ring") > 0, "{:?}", outcome.report());
    }
}

#[test]
fn fourier_transform() {
    for (mpi, ranks) in MPIS {
        let program = compile(mpi, "examples/ft.f90");
        let outcome = Job::forced(&program, ranks).arguments(&["S"]).run().passed();
        let last = outcome.ended.stdout.lines().last().unwrap_or_default();
        assert!(last.to_lowercase().contains("verif"), "{}", outcome.ended.output());
        let report = outcome.report();
        for (collective, algorithm) in
            [("bcast", "grouped_two_tree"), ("reduce", "grouped_two_tree"), ("alltoall", "xor")]
        {
            assert!(report.calls(collective, algorithm) > 0, "{collective}: {report:?}");
        }
    }
}

#[test]
fn sweep() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 2)] {
        let program = compile(mpi, "examples/sweep.c");
        let outcome = Job::forced(&program, ranks).arguments(&["65536", "3"]).run().passed();
        let text = &outcome.ended.stdout;
        assert!(text.ends_with("SWEEP verified\n"), "{}", outcome.ended.output());
        assert!(text.contains("ran grouped_two_tree") && text.contains("ran xor"), "{text}");
        // Of each of four sizes one call and three on the library's own, 12 to 40 and three on ours.
        let report = outcome.report();
        assert_eq!(report.calls("bcast", "stock"), 16, "{report:?}");
        assert!((60..=172).contains(&report.calls("bcast", "grouped_two_tree")), "{report:?}");
        // Where both sides run the library's own, there is no ratio.
        let off = Job::nagare(&program, ranks).set("NAGARE_ALGORITHM", "all=stock").arguments(&["4096", "3"]).run();
        let off = off.passed();
        let rows = off.ended.stdout.lines().filter(|line| line.split_whitespace().nth(3) == Some("stock"));
        assert!(rows.clone().count() == 8 && rows.clone().all(|row| row.ends_with(" ratio - ran stock")), "{off:?}");
    }
}
