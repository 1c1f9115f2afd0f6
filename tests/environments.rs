//! Jobs in environments in which anything may be said to Nagare: every one ends with code 0 and the right result, and
//! with a line for each thing that was not understood.

use nagare_harness::{Job, Mpi, Program, compile, scratch_directory};
use nagare_mutate::{bytes, cases};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// One variable with its value.
type Variable = (&'static str, Vec<u8>);

/// Longest value that the kernel passes on (MAX_ARG_STRLEN of execve(2), with the name).
const LONGEST: usize = 120_000;

/// Variables with values that are right, from which the others are made. NAGARE_STRICT is left out: it ends jobs.
const RIGHT: &[(&str, &[&str])] = &[
    ("NAGARE_ENABLE", &["1", "0"]),
    (
        "NAGARE_ALGORITHM",
        &[
            "bcast=grouped_two_tree:64K-;alltoall=xor;all=stock",
            "all=halving_doubling:1-1M;reduce=chain:-8K",
            "all=two_tree",
        ],
    ),
    (
        "NAGARE_TOPOLOGY",
        &[
            "synthetic:group:3 node:2 core:3",
            "synthetic:node:2 numa:2 core:2",
            "shipped:tree8",
            "/dev/zero",
            "Cargo.toml",
        ],
    ),
    ("NAGARE_SEGMENT", &["16K", "64", "1G"]),
    ("NAGARE_WINDOW", &["2", "1024"]),
    ("NAGARE_STEPS", &["1", "32", "together"]),
    ("NAGARE_PARTNERS", &["1", "2"]),
    ("NAGARE_TORUS", &["3", "3x1", "X1xY3", "4x4x2"]),
    ("NAGARE_TORUS_ORDER", &["bandwidth", "given"]),
    ("NAGARE_TORUS_PARTNERS", &["near", "bits"]),
    ("NAGARE_AGGREGATORS", &["1", "64"]),
    ("NAGARE_WAIT", &["library", "pause"]),
    ("NAGARE_MEETING_TIMEOUT", &["0", "600"]),
    ("NAGARE_REPORT", &["report.json", "report", "r%j.json"]),
    ("NAGARE_LOG", &["warn", "error"]),
    ("NAGARE_FOO", &["1", ""]),
    ("SLURM_TOPOLOGY_ADDR", &["s0.s4.node7", "n7"]),
    ("SLURM_TOPOLOGY_ADDR_PATTERN", &["switch.switch.node", "node"]),
];

fn variable() -> impl Strategy<Value = Variable> {
    select(RIGHT).prop_flat_map(|(name, right)| (Just(name), bytes(right, &["all", "=", "x", "2", "K"])))
}

/// The job's end, and at most one line for each variable and one that says what follows.
fn runs(program: &Program, variables: &[Variable]) {
    let scratch = scratch_directory();
    let mut words: Vec<OsString> = vec!["env".into()];
    for (name, value) in variables {
        let mut value: Vec<u8> = value.iter().copied().filter(|&byte| byte != 0).take(LONGEST).collect();
        if *name == "NAGARE_REPORT" {
            // Wherever it is written, it is in a directory of this test.
            value.retain(|&byte| byte != b'/');
            let directory = scratch.path().as_os_str().as_bytes();
            value = [directory, b"/", &value].concat();
        }
        words.push(OsString::from_vec([name.as_bytes(), b"=", &value].concat()));
    }
    words.extend(program.words.iter().cloned());
    let outcome = Job::forced(&Program { words, ..program.clone() }, 3).run().passed();
    assert_eq!(outcome.ended.stdout, "OK\n", "{variables:?}\n{}", outcome.ended.output());
    let messages = outcome.messages();
    assert!(messages.len() <= variables.len() + 2, "{variables:?}\n{}", outcome.ended.output());
    assert!(messages.iter().all(|line| line.chars().count() < 1100), "{variables:?}\n{}", outcome.ended.output());
    // No line of a value got out of its message.
    let others = outcome.ended.stderr.lines().filter(|line| !line.starts_with("nagare: ") && !line.trim().is_empty());
    assert_eq!(others.count(), 0, "{variables:?}\n{}", outcome.ended.output());
}

#[test]
fn any_environment_leaves_the_job_alone() {
    let program = compile(Mpi::OpenMpi4, "examples/hello.c");
    // The same environments every time: a job that fails can be run again.
    let mut runner = TestRunner::deterministic();
    for _ in 0..cases(16).cases {
        runs(&program, &vec(variable(), 1..4).new_tree(&mut runner).expect("an environment").current());
    }
}

/// What once failed, or could have.
#[test]
fn environments_that_once_failed() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let program = compile(mpi, "examples/hello.c");
        for (name, value) in [
            ("NAGARE_REPORT", b"report\xff.json".to_vec()),
            ("NAGARE_ALGORITHM", b"all=two_tree\nnagare: all is well".to_vec()),
            ("NAGARE_TOPOLOGY", vec![b'x'; LONGEST]),
            ("NAGARE_TOPOLOGY", b"synthetic:node:99999999999 core:9999\x1b[31m".to_vec()),
            ("NAGARE_TORUS", b"4294967295x4294967295".to_vec()),
            ("SLURM_TOPOLOGY_ADDR", Vec::new()),
        ] {
            runs(&program, &[(name, value)]);
        }
    }
}
