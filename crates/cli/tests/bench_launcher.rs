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
        let file = r#"for word; do case $word in *.jsonl) file=$word;; esac; done"#;
        let output =
            bench(directory.path(), &format!("{file}\necho '{JOB}' >\"$file\"\n{last}\nexit 1")).output().unwrap();
        // The launcher's failure stays one.
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let results: Value =
            serde_json::from_slice(&std::fs::read(directory.path().join("here.json")).unwrap()).unwrap();
        assert_eq!(results["complete"], complete, "{}", stderr(&output));
        assert_eq!(stderr(&output).contains("did not come to its end"), !complete, "{}", stderr(&output));
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
