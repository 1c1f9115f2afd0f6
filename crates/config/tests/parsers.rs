//! Environments, whatever is in them: never a panic, one clear line for each problem, and defaults in its place.

use nagare_config::{Config, VARIABLES};
use nagare_mutate::{Counting, assert_clear, assert_helpful, bytes, cases, checked};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

#[global_allocator]
static MEMORY: Counting = Counting;

const VALUES: &[&str] = &[
    "1",
    "0",
    "bcast=grouped_two_tree:64K-;alltoall=xor;all=stock",
    "synthetic:group:4 node:2 core:4",
    "shipped:tree8",
    "fabric.toml",
    "16K",
    "64",
    "1G",
    "1024",
    "2",
    "32",
    "4x4x2",
    "W4xX2xY1xZ4",
    "bandwidth",
    "alphabetical",
    "near",
    "bits",
    "library",
    "pause",
    "stderr",
    "report.json",
    "warn",
    "debug",
];
const WORDS: &[&str] = &["all=stock", "K", "M", "x", "stderr", "synthetic:", "1"];

fn names() -> impl Strategy<Value = Vec<u8>> {
    const KNOWN: &[&str] =
        &["NAGARE_ALGORITHM", "NAGARE_TORUS", "NAGARE_REPORT", "NAGARE_FOO", "NAGARE_", "PATH", "NAGARE"];
    let table: Vec<Vec<u8>> = VARIABLES.iter().map(|v| v.name.as_bytes().to_vec()).collect();
    prop_oneof![6 => select(table), 1 => bytes(KNOWN, &["NAGARE_", "_"])]
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn environments(vars in vec((names(), bytes(VALUES, WORDS)), 1..4)) {
        checked(&vars, |vars| {
            let vars: Vec<(OsString, OsString)> =
                vars.iter().map(|(n, v)| (OsString::from_vec(n.clone()), OsString::from_vec(v.clone()))).collect();
            let (config, problems) = Config::from_vars(vars.clone());
            for problem in &problems {
                match problem {
                    nagare_config::Problem::Value { .. } => assert_helpful(&problem.to_string()),
                    nagare_config::Problem::Hidden { .. } | nagare_config::Problem::Unknown { .. } => assert_clear(&problem.to_string()),
                }
            }
            let ours = vars.iter().filter(|(name, _)| name.to_string_lossy().starts_with("NAGARE_")).count();
            // One for each, and one for a rule that never holds.
            assert!(problems.len() <= ours + 1);
            // What is not set, or not understood, has its default.
            let is_hidden = |problem: &nagare_config::Problem| matches!(problem, nagare_config::Problem::Hidden { .. });
            if vars.len() == 1 && problems.iter().any(|problem| !is_hidden(problem)) {
                assert_eq!(config, Config::default());
            }
            assert!(config.segment.is_none_or(|bytes| (64..=1 << 30).contains(&bytes)));
        });
    }
}

#[test]
fn what_once_failed() {
    let problem = |name: &str, value: &[u8]| {
        let (config, problems) = Config::from_vars([(OsString::from(name), OsString::from_vec(value.to_vec()))]);
        assert_eq!(config, Config::default());
        assert_eq!(problems.len(), 1);
        assert_clear(&problems[0].to_string());
        problems[0].to_string()
    };
    // Taken for the name of another file.
    assert_eq!(
        problem("NAGARE_REPORT", b"report\xff.json"),
        "NAGARE_REPORT=report\u{fffd}.json: not UTF-8; expected text"
    );
    assert_eq!(problem("NAGARE_WAIT", b"a\nb"), "NAGARE_WAIT=a\\nb: expected library or pause");
    problem("NAGARE_ENABLE", &vec![b'1'; 1 << 20]);
    problem(&format!("NAGARE_{}", "X".repeat(1 << 20)), b"");
    problem("NAGARE_\u{1b}[31m", b"");
}
