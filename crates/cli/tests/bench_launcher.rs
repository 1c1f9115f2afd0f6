//! `nagare bench` with pretended launchers in place of an emulated fabric: what becomes of results where a launcher
//! fails, and of a launcher where the command is ended.

use crate::common::{launcher, nagare, script, stand_in, stderr};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What a job of one rank writes, up to its last line.
const JOB: &str = r#"{"line":"job","nagare":null,"mpi":"Open MPI v4.1.4","hosts":["n0"]}"#;

/// What a pretended launcher does first: finds the file for lines among its arguments.
const FILE: &str = "for word; do case $word in *.jsonl) file=$word;; esac; done";

/// What the benchmark has written.
fn results(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("here.json")).unwrap()).unwrap()
}

/// A benchmark of a launcher that does `body`, whose arguments are its own options, the program that measures, and that
/// one's words, of which the first is the file for its lines.
fn bench(directory: &Path, body: &str) -> Command {
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let mpirun = path(&launcher(directory, "mpirun", "mpirun (Open MPI) 4.1.4", body));
    let program = path(&script(directory, "nagare-bench", "exit 1"));
    let library = directory.join("libnagare.so");
    stand_in(&library);
    let (library, out) = (path(&library), path(directory));
    nagare(&["bench", "--name", "here", "--out", &out, "--lib", &library, "--program", &program, "--", &mpirun])
}

#[test]
fn the_last_line_tells_whether_results_are_complete() {
    for (last, complete) in [(r#"echo '{"line":"end"}' >>"$file""#, true), (":", false)] {
        let directory = tempfile::tempdir().unwrap();
        let output =
            bench(directory.path(), &format!("{FILE}\necho '{JOB}' >\"$file\"\n{last}\nexit 1")).output().unwrap();
        // The launcher's failure stays one.
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert_eq!(results(directory.path())["complete"], complete, "{}", stderr(&output));
        assert_eq!(stderr(&output).contains("did not come to its end"), !complete, "{}", stderr(&output));
    }
}

/// From n0 to n4 there are four links of 100 Mbit/s, of which 1448 of 1514 bytes are data, and 5 us.
#[test]
fn the_limit_is_told_where_the_fabric_is() {
    let lines = |hosts: &str| {
        let job = r#"{"line":"job","nagare":null,"mpi":"Open MPI v4.1.4","hosts":["#;
        let goodput = r#"{"line":"goodput","test":"pair","flows":[[0,1]],"bytes":1000000,"seconds":1.0}"#;
        let latency = r#"{"line":"message","test":"latency","flows":[[0,1]],"bytes":8,"microseconds":90.0}"#;
        let cell = r#"{"line":"cell","collective":"bcast","bytes":1000000,"block":1000000,"timings":[]}"#;
        format!("{job}{hosts}]}}\n{goodput}\n{latency}\n{cell}\n{}", r#"{"line":"end"}"#)
    };
    let directory = tempfile::tempdir().unwrap();
    let found = |hosts: &str, topology: Option<&str>| {
        let body = format!("{FILE}\necho '{}' >\"$file\"", lines(hosts));
        let output = bench(directory.path(), &body).envs(topology.map(|of| ("NAGARE_TOPOLOGY", of))).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let results = results(directory.path());
        assert_eq!(results["fabric"], "no emulation");
        // Its test of the network was slow, which does not tell of this machine.
        assert_eq!(results["cells"][0]["cpu_bound"], false);
        assert_eq!(results["goodput"][0]["limit"], results["cells"][0]["limit"]);
        (results["cells"][0]["limit"].as_f64(), results["messages"][0]["links"].as_f64())
    };
    let (limit, links) = (1e6 * 8.0 / 100e6 * 1514.0 / 1448.0, 20.0);
    for hosts in [r#""n0","n4""#, r#""n0.site.example","n4.site.example""#] {
        let (told, of_links) = found(hosts, Some("shipped:tree8"));
        assert!(told.is_some_and(|told| (told - limit).abs() < 1e-9), "{told:?}");
        assert_eq!(of_links, Some(links));
    }
    for (hosts, topology) in [
        (r#""n0","n4""#, None),
        (r#""n0","n4""#, Some("synthetic:node:2")),
        (r#""n0","n4""#, Some("/nonexistent/fabric.toml")),
        (r#""n0","elsewhere""#, Some("shipped:tree8")),
    ] {
        assert_eq!(found(hosts, topology), (None, None), "{hosts} {topology:?}");
    }
}

#[test]
fn a_launcher_ends_with_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let [started, ended] = ["started", "ended"].map(|name| directory.path().join(name));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let trap = format!("trap 'echo >{}; exit 1' TERM", text(&ended));
    // Of itself it ends after five minutes.
    let body = format!("{trap}\necho >{}\nfor i in $(seq 3000); do sleep 0.1; done", text(&started));
    let mut child = bench(directory.path(), &body).spawn().unwrap();
    let wait_for = |path: &Path| {
        let start = Instant::now();
        while !path.exists() {
            assert!(start.elapsed() < Duration::from_secs(120), "no {}", path.display());
            sleep(Duration::from_millis(10));
        }
    };
    wait_for(&started);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    wait_for(&ended);
}
