//! Running the built command, waiting for what it does, and pretended launchers.

pub mod bed;
pub mod bench;
pub mod mpi;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The command with an environment in which nothing of Nagare, MPI or Slurm is set.
pub fn nagare(arguments: &[&str]) -> Command {
    nagare_at(env!("CARGO_BIN_EXE_nagare").as_ref(), arguments)
}

/// The same for a copy of the command.
pub fn nagare_at(path: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(path);
    let ours = |name: &str| name.starts_with("NAGARE_") || name.starts_with("SLURM_") || name.starts_with("OMPI_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(ours) || name == "LD_PRELOAD" {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

/// Standard output of a run that must succeed.
pub fn stdout_of(arguments: &[&str]) -> String {
    let output = nagare(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// Exit status and standard error of a run that must fail.
pub fn failure_of(arguments: &[&str]) -> (i32, String) {
    let output = nagare(arguments).output().unwrap();
    (output.status.code().unwrap(), stderr(&output))
}

/// A run that must not hang.
pub fn limited(command: &Command) -> Output {
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=10", "900"]).arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        limited.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.output().unwrap()
}

/// TCP's congestion control that a testbed has here if nobody asks for another; `None` where it is the machine's own.
pub fn usual_congestion() -> Option<&'static str> {
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    ["cubic", "reno"].into_iter().find(|name| allowed.split_whitespace().any(|known| known == *name))
}

/// Waits until something is there.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "no {what} within five minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Without the notice of a machine whose kernel has no cubic for namespaces, which is about the machine.
pub fn stderr(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    text.split_inclusive('\n').filter(|line| !line.starts_with("nagare: this kernel has no ")).collect()
}

/// An executable script in `directory`.
pub fn script(directory: &Path, name: &str, body: &str) -> PathBuf {
    let path = directory.join(name);
    shell(r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#, &[body.as_ref(), path.as_os_str()]);
    path
}

/// A copy of the command under test.
pub fn copy_of_nagare(path: &Path) {
    shell(r#"cp "$1" "$2""#, &[env!("CARGO_BIN_EXE_nagare").as_ref(), path.as_os_str()]);
}

/// Executables are written by a child: this process must never have one open for writing, because a test that starts a
/// program at that moment would pass the open file on for an instant, and starting the executable would fail.
fn shell(line: &str, arguments: &[&OsStr]) {
    assert!(Command::new("/bin/sh").args(["-c", line, "sh"]).args(arguments).status().unwrap().success());
}

/// What passes for the library, and does nothing.
pub fn stand_in(path: &Path) {
    shell(r#"echo 'int nagare_describe;' | cc -shared -fPIC -x c -o "$1" -"#, &[path.as_os_str()]);
}

/// A launcher that answers `--version` with `version` and otherwise does `body`.
pub fn launcher(directory: &Path, name: &str, version: &str, body: &str) -> PathBuf {
    script(directory, name, &format!("if [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\n{body}"))
}

/// The rows of the tables in a text, as trimmed cells.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let of_line = |line: &str| line.trim_matches('│').split('┆').map(|cell| cell.trim().to_owned()).collect();
    text.lines().filter(|line| line.starts_with('│')).map(of_line).collect()
}
