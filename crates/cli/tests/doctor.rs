//! `nagare doctor` with pretended launchers and libraries.

use crate::common::{copy_of_nagare, launcher, nagare, nagare_at, stdout};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn doctor(path: &Path, options: &[&str]) -> Output {
    // Away from the build tree, where libraries may or may not have been built.
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("nagare");
    copy_of_nagare(&copy);
    let mut command = nagare_at(&copy, &[&["doctor"], options].concat());
    // As root, Open MPI must be allowed to start anything, or doctor does not try.
    command.env("PATH", path).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.output().unwrap()
}

#[test]
fn without_any_mpi_it_says_so() {
    let empty = tempfile::tempdir().unwrap();
    let output = doctor(empty.path(), &[]);
    let text = stdout(&output);
    assert!(output.status.success(), "nothing is broken: {text}");
    assert!(text.contains("none: looked for mpirun, mpiexec,"), "{text}");
    assert!(text.contains("no libnagare.so for Open MPI; looked for "), "{text}");
    assert!(text.contains("none: there is no launcher"), "{text}");
}

#[test]
fn launchers_are_listed_with_their_version_and_every_name() {
    let site = tempfile::tempdir().unwrap();
    launcher(site.path(), "mpirun", "mpirun (Open MPI) 5.0.11", "exit 1");
    std::os::unix::fs::symlink("mpirun", site.path().join("mpiexec")).unwrap();
    launcher(site.path(), "mpiexec.hydra", "odd thing 3", "exit 1");
    let output = doctor(site.path(), &["--no-probe"]);
    let text = stdout(&output);
    let rows = crate::common::rows(&text);
    let row = rows.iter().position(|row| row[0] == "mpirun").unwrap();
    assert_eq!((rows[row][2].as_str(), rows[row][3].as_str()), ("Open MPI 5.0.11", "none"));
    assert_eq!(rows[row + 1][0], "mpiexec");
    assert!(text.contains("--version printed 'odd thing 3'"), "{text}");
    // There is an MPI and no library at all.
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("broken\n  there is no libnagare.so for any MPI found"), "{text}");

    let output = doctor(site.path(), &["--no-probe", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["launchers"][0]["commands"], serde_json::json!(["mpirun", "mpiexec"]), "{found}");
    assert!(found["launchers"][1]["problem"].as_str().unwrap().contains("odd thing 3"), "{found}");
    let broken = found["broken"].as_array().unwrap();
    assert!(output.status.code() == Some(1) && broken[0].as_str().unwrap().contains("no libnagare.so"), "{found}");
}

#[test]
fn a_library_that_breaks_its_promises_is_named() {
    let site = tempfile::tempdir().unwrap();
    let library = site.path().join("libnagare.so");
    fs::write(&library, "text").unwrap();
    let output = doctor(site.path(), &["--no-probe", "--lib", library.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("libnagare.so: not an ELF file"), "{}", stdout(&output));
    // This program is an ELF file, but exports nothing of MPI.
    crate::common::copy_of_nagare(&library);
    let output = doctor(site.path(), &["--no-probe", "--lib", library.to_str().unwrap()]);
    let text = stdout(&output);
    assert!(output.status.code() == Some(1) && text.contains("WRONG: it exports no PMPI_*"), "{text}");
    // A library of something else is no page of names.
    let functions: String = (10..30).map(|n| format!("int f{n};")).collect();
    let (source, given) = (site.path().join("other.c"), site.path().join("other.so"));
    fs::write(&source, functions).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&given, &source]).status();
    assert!(status.unwrap().success());
    let text = stdout(&doctor(site.path(), &["--no-probe", "--lib", given.to_str().unwrap()]));
    let told: Vec<&str> = text.lines().filter(|line| line.contains("WRONG: it exports f")).collect();
    assert!(told.len() == 2 && told.iter().all(|line| line.contains(" and 10 more; expected only MPI_*")), "{text}");
    assert_eq!(told.iter().filter(|line| line.ends_with("nagare_*, PMIx_Commit, PMIx_Put")).count(), 1, "{told:?}");
}

#[test]
fn a_launcher_that_hangs_is_asked_to_end() {
    let site = tempfile::tempdir().unwrap();
    let ended = site.path().join("ended");
    // In the background, so that the shell hears the signal at once.
    let body = format!(
        "trap 'kill $sleeper; echo yes > {}; exit 1' TERM; /bin/sleep 60 & sleeper=$!; echo \"$@\"; wait $sleeper",
        ended.display()
    );
    launcher(site.path(), "mpirun", "mpirun (Open MPI) 4.1.4", &body);
    let library = site.path().join("libnagare.so");
    fs::write(&library, "").unwrap();
    let output = doctor(site.path(), &["--timeout", "1", "--lib", library.to_str().unwrap()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("WRONG: two ranks did not end within 1 s"), "{text}");
    assert_eq!(fs::read_to_string(&ended).unwrap(), "yes\n");
    // What it was started with: two ranks of doctor with the library preloaded into them.
    let line = text.lines().find(|line| line.contains("-np 2")).unwrap();
    assert!(
        line.contains("-x LD_PRELOAD=") && line.contains("doctor --rank openmpi --mpi-library libmpi.so.40"),
        "{line}"
    );
}

#[test]
fn a_rank_without_an_mpi_library_says_what_it_tried() {
    let output = nagare(&["doctor", "--rank", "openmpi", "--mpi-library", "/nowhere/libmpi.so.40"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = crate::common::stderr(&output);
    assert!(error.contains("no MPI library could be opened: /nowhere/libmpi.so.40"), "{error}");
}

#[test]
fn configuration_and_slurm_are_shown() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = nagare(&["doctor"]);
    command.env("PATH", empty.path()).env("NAGARE_LOG", "loud").env("SLURM_TOPOLOGY_ADDR", "s0.n7");
    let output = command.output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("\n  NAGARE_LOG=loud\n") && text.contains("WRONG: NAGARE_LOG=loud: expected"), "{text}");
    assert!(text.contains("\n  SLURM_TOPOLOGY_ADDR=s0.n7\n"), "{text}");
}

/// What a job would say of its files, doctor and env say too, in one line and without any rank.
#[test]
fn files_that_a_job_could_not_read_are_broken() {
    let site = tempfile::tempdir().unwrap();
    let home = site.path().join(".config/nagare/profiles");
    fs::create_dir_all(&home).unwrap();
    let file = |path: &Path, text: &str| {
        fs::write(path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let fabric = file(&site.path().join("fabric.toml"), "hosts = [\n");
    let profile = file(&site.path().join("profile.toml"), "schema = 1\nodd = 2\n");
    let run = |command: &str, name: &str, value: &str| {
        let options: &[&str] = if command == "doctor" { &["doctor", "--no-probe"] } else { &["env"] };
        let mut command = nagare(options);
        command.env("PATH", "/none").env("HOME", site.path()).env_remove("XDG_CONFIG_HOME").env(name, value);
        command.output().unwrap()
    };
    let bad = |name: &str, value: &str, part: &str| {
        for command in ["doctor", "env"] {
            let output = run(command, name, value);
            let text = stdout(&output);
            assert_eq!(output.status.code(), Some(1), "{command} {name}={value}: {text}");
            let told = text.lines().filter(|line| line.contains("WRONG: ") || line.starts_with("problem: "));
            let told: Vec<&str> = told.collect();
            assert!(told.len() == 1 && told[0].contains(part), "{command} {name}={value}: {told:?}");
        }
    };
    bad("NAGARE_TOPOLOGY", "/nonexistent.toml", "NAGARE_TOPOLOGY: /nonexistent.toml: No such file");
    bad("NAGARE_TOPOLOGY", &fabric, "fabric.toml:1:");
    bad("NAGARE_TOPOLOGY", "synthetic:node:two", "NAGARE_TOPOLOGY: ");
    bad("NAGARE_TOPOLOGY", "shipped:nope", "no fabric `nope` comes with Nagare");
    bad("NAGARE_PROFILE", "/nonexistent.toml", "/nonexistent.toml: No such file");
    bad("NAGARE_PROFILE", &profile, "profile.toml:");
    for good in ["synthetic:node:2 core:1", "shipped:tree8"] {
        assert_eq!(run("doctor", "NAGARE_TOPOLOGY", good).status.code(), Some(0), "{good}");
        assert_eq!(run("env", "NAGARE_TOPOLOGY", good).status.code(), Some(0), "{good}");
    }
    file(&home.join("own.toml"), "words");
    bad("NAGARE_LOG", "info", "own.toml:1:");
    assert_eq!(run("doctor", "NAGARE_PROFILE", "off").status.code(), Some(0));
}

/// A launcher of Open MPI with ranks that do `body`, and a library for it.
fn probe(body: &str, options: &[&str], preload: Option<&Path>) -> Output {
    let site = tempfile::tempdir().unwrap();
    launcher(site.path(), "mpirun", "mpirun (Open MPI) 4.1.4", body);
    let library = site.path().join("libnagare.so");
    crate::common::copy_of_nagare(&library);
    let mut command = nagare(&[&["doctor", "--lib", library.to_str().unwrap()], options].concat());
    command.env("PATH", site.path()).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    preload.map(|tool| command.env("LD_PRELOAD", tool));
    command.output().unwrap()
}

#[test]
fn what_ranks_call_a_problem_is_broken() {
    let body = "echo 'functions bound in it: PMPI_Init'; echo 'problem: rank 0 has no place'";
    let text = stdout(&probe(body, &[], None));
    assert!(text.contains("\n  probe of mpirun: rank 0 has no place\n") && !text.contains("PMPI_Init\n"), "{text}");
    let text = stdout(&probe(body, &["-v"], None));
    assert!(text.contains("    functions bound in it: PMPI_Init\n"), "{text}");
}

/// Two ranks with a preloaded tool that crashes: which signal it was, and that it does not happen without the tool.
#[test]
fn a_tool_that_crashes_is_named() {
    let site = tempfile::tempdir().unwrap();
    let compile = |name: &str, text: &str, words: &[&str]| {
        let (source, file) = (site.path().join("source.c"), site.path().join(name));
        fs::write(&source, text).unwrap();
        let status = Command::new("cc").args(words).arg("-o").args([&file, &source]).status();
        assert!(status.unwrap().success(), "{name}");
        file
    };
    // As a tool does in its MPI_Init, of which the command itself never hears.
    let text = "#include <stdlib.h>\n#include <string.h>\n#include <signal.h>\n
        __attribute__((constructor)) void start(void) {
            if (getenv(\"CRASHES\")) { signal(SIGSEGV, SIG_DFL); raise(SIGSEGV); } }\n";
    let tool = compile("tool.so", text, &["-shared", "-fPIC"]);
    let rank = compile("rank", "int main(void) { return 0; }\n", &[]);
    let body = format!(
        "while [ $# -gt 0 ]; do case $1 in LD_PRELOAD=*) tools=${{1%:*}};; esac; shift; done
         case $tools in *tool.so) export ${{tools}} CRASHES=1;; esac; {} 2>/dev/null; exit $?",
        rank.display()
    );
    let text = stdout(&probe(&body, &[], Some(&tool)));
    let line = format!(
        "WRONG: two ranks ended with exit status: 139 (signal 11, SIGSEGV), with LD_PRELOAD={}; without it all is well",
        tool.display()
    );
    assert!(text.contains(&line), "{text}");
    let text = stdout(&probe("exit 134", &[], Some(&tool)));
    assert!(
        text.contains("(signal 6, SIGABRT), with LD_PRELOAD=") && text.contains("; without it they fail"),
        "{text}"
    );
    assert!(stdout(&probe("exit 3", &[], None)).contains("WRONG: two ranks ended with exit status: 3\n"));
}
