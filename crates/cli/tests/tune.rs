//! `nagare tune` and `nagare profile`. Measuring needs Open MPI and what `make` builds; without, a test prints why it
//! does nothing. No times are asserted.

use crate::common::bench::missing;
use crate::common::{failure_of, limited, nagare, stderr, stdout, stdout_of};
use nagare_bench::operation::Operation;
use nagare_bench::record::{Cell, Oracle, Results, Timing, forced_stock};
use nagare_bench::rules::{self, Selections};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BEFORE: &str = r#"schema = 1
[measured]
mpi = "Open MPI v4.1.4"
network = "tree8"
ranks = 16
nodes = 8
date = "2026-11-23"
[network]
message_latency = 66
[[fastest]]
collective = "bcast"
bytes = 65536
algorithm = "two_tree"
us = 10800
stock_us = 61000
[[fastest]]
collective = "alltoall"
bytes = 1024
algorithm = "stock"
us = 900
stock_us = 900
"#;

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_emulated_network_is_no_launcher() {
    let told = "nagare is no launcher; on an emulated network use --fabric FILE, which starts it and the ranks\n";
    for command in ["tune", "bench"] {
        let words = [command, "--", env!("CARGO_BIN_EXE_nagare"), "testbed", "run", "mpirun"];
        let (_, message) = failure_of(&words);
        assert!(message.ends_with(told), "{message}");
    }
}

#[test]
fn profiles_are_shown_compared_and_checked() {
    let scratch = tempfile::tempdir().unwrap();
    let before = write(scratch.path(), "before.toml", BEFORE);
    let shown = stdout_of(&["profile", "show", &before]);
    for part in ["Open MPI v4.1.4 on tree8, 16 ranks on 8 nodes", "66 µs", "two_tree", "10.800", "5.65", "1K per pair"]
    {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    let changed = BEFORE.replace("two_tree", "chain").replace("us = 900\nstock", "us = 910\nstock");
    let after = write(scratch.path(), "after.toml", &changed);
    let difference = stdout_of(&["profile", "diff", &before, &after]);
    assert!(difference.contains("bcast of 64K: two_tree 10.800 ms -> chain 10.800 ms"), "{difference}");
    assert!(!difference.contains("alltoall") && difference.ends_with("1 of 2 differ\n"), "{difference}");
    assert!(stdout_of(&["profile", "diff", &before, &before]).ends_with("0 of 2 differ\n"));
    assert!(stdout_of(&["profile", "check", &before]).contains("16 ranks on 8 nodes"));
    let unused = write(scratch.path(), "unused.toml", &BEFORE.replace("\"alltoall\"", "\"alltoallv\""));
    let told = "measured 2026-11-23; not used: alltoallv, of whose sizes a rank may know only its own";
    assert!(stdout_of(&["profile", "check", &unused]).contains(told));
    let broken = write(scratch.path(), "broken.toml", &BEFORE.replace("two_tree", "xor"));
    let (code, message) = failure_of(&["profile", "check", &before, &broken]);
    assert_eq!(code, 1);
    assert!(message.contains("broken.toml:13: `xor` does not implement bcast"), "{message}");
}

#[test]
fn costs_of_pairs_and_sums_are_shown_and_compared() {
    let scratch = tempfile::tempdir().unwrap();
    let pair = "[[pair]]\nwithin = \"node\"\nlatency = 0.5\ngoodput = 41000\neager = 4064\nrendezvous = 1.5\n\
                assumed = 3840\n[reduction]\nint = 0.2\ndouble = 0.25\n";
    let before = write(scratch.path(), "before.toml", &[BEFORE, pair].concat());
    let shown = stdout_of(&["profile", "show", &before]);
    for part in
        ["within a node: 0.5 µs, 41000 Mbit/s, up to 4064 bytes", "1.5 µs more", "0.2 ns of int, 0.25 ns of double"]
    {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    // A tenth is the same; what only one of them has is told.
    let changed = pair.replace("0.5", "0.52").replace("4064", "8128").replace("rendezvous = 1.5\n", "");
    let after = write(scratch.path(), "after.toml", &[BEFORE, &changed].concat());
    let difference = stdout_of(&["profile", "diff", &before, &after]);
    for line in ["within a node: eager, bytes: 4064 -> 8128\n", "within a node: one byte more, µs: 1.5 -> unknown\n"] {
        assert!(difference.contains(line), "no {line} in {difference}");
    }
    assert!(!difference.contains("latency") && difference.ends_with("0 of 2 differ\n"), "{difference}");
    let json: Value = serde_json::from_str(&stdout_of(&["profile", "diff", "--json", &before, &after])).unwrap();
    let costs = json["costs"].as_array().unwrap();
    assert_eq!((costs.len(), &costs[0]["before"], &costs[0]["after"]), (2, &4064.0.into(), &8128.0.into()), "{json}");
}

#[test]
fn profiles_are_json_too() {
    let scratch = tempfile::tempdir().unwrap();
    let before = write(scratch.path(), "before.toml", BEFORE);
    let (head, tail) = BEFORE.split_at(BEFORE.rfind("[[fastest]]").unwrap());
    let after =
        write(scratch.path(), "after.toml", &(head.replace("us = 10800", "us = 5400") + &tail.replace("1024", "8")));
    let json = |words: &[&str]| -> Value { serde_json::from_str(&stdout_of(&[words, &["--json"]].concat())).unwrap() };
    let shown = json(&["profile", "show", &before]);
    assert_eq!((&shown["schema"], &shown["measured"]["ranks"]), (&1.into(), &16.into()), "{shown}");
    assert_eq!((&shown["network"]["message_latency"], &shown["fastest"][0]["us"]), (&66.0.into(), &10800.0.into()));
    let differing = &json(&["profile", "diff", &before, &after])["differing"];
    let of = |collective: &str, bytes: u64| {
        differing.as_array().unwrap().iter().find(|d| d["collective"] == collective && d["bytes"] == bytes).unwrap()
    };
    let fastest = |algorithm: &str, us: f64| serde_json::json!({ "algorithm": algorithm, "us": us });
    let (tree, stock) = (of("bcast", 65536), fastest("stock", 900.0));
    assert_eq!((&tree["before"], &tree["after"]), (&fastest("two_tree", 10800.0), &fastest("two_tree", 5400.0)));
    assert_eq!((&of("alltoall", 8)["before"], &of("alltoall", 8)["after"]), (&Value::Null, &stock));
    assert_eq!((&of("alltoall", 1024)["before"], &of("alltoall", 1024)["after"]), (&stock, &Value::Null));
    let output = nagare(&["profile", "check", "--json", &before, "/none.toml"]).output().unwrap();
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [good, bad] = [&checked["profiles"][0], &checked["profiles"][1]];
    assert_eq!(
        (output.status.code(), &good["measured"]["nodes"], &good["problem"]),
        (Some(1), &8.into(), &Value::Null)
    );
    assert!(bad["measured"].is_null() && bad["problem"].as_str().unwrap().starts_with("/none.toml: "), "{checked}");
}

#[test]
fn mistakes_are_told_before_anything_starts() {
    if missing() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let there = write(scratch.path(), "there.toml", BEFORE);
    let launcher = ["--", "mpirun.openmpi", "-np", "2"];
    for (words, part) in [
        (vec!["tune", "--out", &there], "exists; --force replaces it"),
        (vec!["tune", "--budget", "soon"], "soon"),
        (vec!["tune", "--budget", "0s"], "expected some time to measure in"),
        (vec!["tune", "--sizes", "8Q"], "'8Q' is not"),
        (vec!["tune", "--sizes", "none"], "expected at least one size"),
        (vec!["tune", "--collectives", "alltoallv"], "a profile says nothing of these"),
        (vec!["tune", "--write", "rules", "f"], "--write rules; expected openmpi-rules or mpich-json"),
        (vec!["tune", "--write", "mpich-json", "f"], "expected ranks of MPICH"),
        (vec!["tune", "--out", "/nonexistent/p.toml"], "/nonexistent"),
    ] {
        let (code, message) = failure_of(&[&words[..], &launcher].concat());
        assert!(code == 2 && message.contains(part), "{words:?}: {code} {message}");
    }
    assert_eq!(std::fs::read_to_string(&there).unwrap(), BEFORE);
}

#[test]
fn open_mpi_takes_the_rules_that_are_written() {
    if missing() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let in_place = |words: &[&str]| {
        let mut command = nagare(words);
        command.env("NAGARE_TOPOLOGY", "synthetic:node:2 core:1").current_dir(scratch.path());
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    };
    let what = ["--sizes", "64K,1M", "--collectives", "bcast,allreduce", "--budget", "1s", "--out", "p.toml"];
    let launcher = ["--", "mpirun.openmpi", "--oversubscribe", "-np", "2"];
    let tune = [&["tune", "--write", "openmpi-rules", "rules.txt"], &what[..], &launcher].concat();
    let tuned = limited(&in_place(&tune));
    assert!(tuned.status.success(), "{}", stderr(&tuned));
    assert!(stdout(&tuned).contains("coll_tuned_dynamic_rules_filename="), "{}", stdout(&tuned));
    let rules = scratch.path().join("rules.txt");
    let text = std::fs::read_to_string(&rules).unwrap();
    assert!(text.contains("on 2 ranks"), "{text}");

    // Two ranks have no rule for three, and those of a Bcast hold for a Bcast: the library refuses an algorithm that
    // there is not, where a rule of the file prescribes it.
    let of_bcast =
        |algorithm: &str| format!("1\n7\n2\n2\n3\n0 0 0 0\n64 {algorithm} 0 8192\n1048576 0 0 0\n3\n1\n0 0 0 0\n");
    let other_ranks = "1\n7\n3\n1\n1\n0 0 0 0\n3\n1\n0 99 0 0\n4\n1\n0 0 0 0\n".to_owned();
    for (rules, works) in [(text, true), (of_bcast("3"), true), (of_bcast("99"), false), (other_ranks, true)] {
        let file = write(scratch.path(), "rules.txt", &rules);
        let mut job = nagare(&["run", "--", "mpirun.openmpi", "--oversubscribe", "-np", "2"]);
        job.arg(hello(scratch.path(), "mpicc.openmpi"))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        job.env("OMPI_MCA_coll_tuned_use_dynamic_rules", "1").env("OMPI_MCA_coll_tuned_dynamic_rules_filename", file);
        let ended = limited(&job);
        assert_eq!(ended.status.success(), works, "{rules}\n{}", stderr(&ended));
    }
}

/// Whether there is nothing of MPICH to measure with; the reason is printed.
fn lacks_mpich() -> bool {
    let found = Command::new("sh").args(["-c", "command -v mpicc.mpich"]).output().unwrap().status.success();
    let target = Path::new(env!("CARGO_BIN_EXE_nagare")).ancestors().nth(2).unwrap().join("mpich/release");
    let lacks = !found || ["nagare-bench", "libnagare.so"].iter().any(|name| !target.join(name).is_file());
    if lacks {
        eprintln!("skipped: no mpicc.mpich, or nothing built in {} (`make` does it)", target.display());
    }
    lacks
}

/// A job of two ranks of MPICH that reads these files for its selections.
fn ran_with(program: &Path, [algorithms, device]: &[PathBuf; 2]) -> Output {
    let mut job = nagare(&["run", "--", "mpiexec.mpich", "-n", "2"]);
    job.arg(program).env("NAGARE_ALGORITHM", "all=stock");
    job.env("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", algorithms);
    job.env("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE", device);
    limited(&job)
}

#[test]
fn mpich_takes_the_selections_that_are_written() {
    if lacks_mpich() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let what = ["--sizes", "64K,1M", "--collectives", "bcast,allreduce,alltoall", "--budget", "1s", "--out", "p.toml"];
    let launcher = ["--", "mpiexec.mpich", "-n", "2"];
    let mut tune = nagare(&[&["tune", "--write", "mpich-json", "select.json"], &what[..], &launcher].concat());
    tune.env("NAGARE_TOPOLOGY", "synthetic:node:2 core:1").current_dir(scratch.path());
    let tuned = limited(&tune);
    assert!(tuned.status.success(), "{}", stderr(&tuned));
    let files = ["select.json", "select.json.ch4"].map(|name| scratch.path().join(name));
    for (variable, file) in ["COLL", "CH4_COLL"].iter().zip(&files) {
        let used = format!("MPIR_CVAR_{variable}_SELECTION_TUNING_JSON_FILE={}", file.display());
        assert!(stdout(&tuned).contains(&used), "{}", stdout(&tuned));
    }
    let mut left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["p.toml", "select.json", "select.json.ch4"]);
    let ended = ran_with(&hello(scratch.path(), "mpicc.mpich"), &files);
    assert!(ended.status.success(), "{}", stderr(&ended));
}

/// Whatever is the fastest here: of what is told for a Bcast the library runs what is told for as many ranks and bytes,
/// and nothing else. What it is told is made to be of another collective, which ends the job where it would run.
#[test]
fn mpich_runs_what_is_selected_for_ranks_and_sizes() {
    if lacks_mpich() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut bench = nagare(&["bench", "--sizes", "none", "--name", "b", "--", "mpiexec.mpich", "-n", "2"]);
    let ended = limited(bench.current_dir(scratch.path()));
    assert!(ended.status.success(), "{}", stderr(&ended));
    let mut results: Results = serde_json::from_slice(&std::fs::read(scratch.path().join("b.json")).unwrap()).unwrap();
    let library = std::fs::read(results.job.library.as_ref().unwrap()).unwrap();
    let own = Selections::of_library(&library).unwrap();
    let program = hello(scratch.path(), "mpicc.mpich");
    let files = ["select.json", "select.json.ch4"].map(|name| scratch.path().join(name));
    // The program broadcasts 256 KiB.
    for (ranks, bytes, is_told) in [(2, 256 << 10, true), (3, 256 << 10, false), (2, 16 << 20, false)] {
        results.job.hosts = vec!["here".to_owned(); ranks];
        results.cells = vec![told("nb", bytes)];
        let selected = rules::mpich(&results, &own);
        assert_eq!(selected.told.len(), 1, "{:?}", own.algorithms);
        let nonblocking = "algorithm=MPIR_Bcast_allcomm_nb";
        assert!(selected.algorithms.contains(nonblocking), "{}", selected.algorithms);
        std::fs::write(&files[1], selected.device.unwrap()).unwrap();
        for (name, works) in [(nonblocking, true), ("algorithm=MPIR_Allgather_intra_ring", !is_told)] {
            std::fs::write(&files[0], selected.algorithms.replace(nonblocking, name)).unwrap();
            let ended = ran_with(&program, &files);
            assert_eq!(ended.status.success(), works, "{ranks} {bytes} {name}: {}", stderr(&ended));
        }
    }
}

/// A Bcast that was twice as fast with an algorithm of MPICH's.
fn told(algorithm: &str, bytes: u64) -> Cell {
    let timing = |configuration: &str, median: f64| Timing {
        configuration: configuration.to_owned(),
        ran: String::new(),
        iterations: 3,
        median,
        quartile1: median,
        quartile3: median,
        interval: None,
        fastest: median,
    };
    let variables = [("MPIR_CVAR_BCAST_INTRA_ALGORITHM", algorithm), ("MPIR_CVAR_DEVICE_COLLECTIVES", "none")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut cell = Cell::new(Operation::Bcast, bytes, bytes);
    cell.timings = vec![timing("stock", 2.0), timing(&forced_stock("forced"), 1.0)];
    let fastest = BTreeMap::from([("forced".to_owned(), BTreeMap::from(variables))]);
    cell.oracle = Some(Oracle { fastest, ..Oracle::default() });
    cell
}

/// A program that calls MPI_Bcast among others.
fn hello(directory: &Path, compiler: &str) -> PathBuf {
    let (program, source) =
        (directory.join("hello"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello.c"));
    let compiled = Command::new(compiler).arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(compiled.success());
    program
}

/// On two pretended nodes of this machine: the profile holds what was printed, and a job that is given it runs that.
#[test]
fn what_is_measured_is_what_later_jobs_run() {
    if missing() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("p.toml");
    let out = out.to_str().unwrap();
    let in_place = |words: &[&str]| {
        let mut command = nagare(words);
        command.env("NAGARE_TOPOLOGY", "synthetic:node:2 core:1").current_dir(scratch.path());
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    };
    let launcher = ["--", "mpirun.openmpi", "--oversubscribe", "-np", "2"];
    let tune = |budget| {
        let what = ["--sizes", "64,64K", "--collectives", "bcast,allreduce,alltoall", "--budget", budget, "--out", out];
        let tuned = limited(&in_place(&[&["tune", "--force"], &what[..], &launcher].concat()));
        assert!(tuned.status.success(), "{}", stderr(&tuned));
        (tuned, std::fs::read_to_string(out).unwrap())
    };
    let cells = |written: &str| written.matches("[[fastest]]").count();
    // Where others keep the processors, a call of the library may take a fifth of a second, and not all fit in.
    let tuned = ["8s", "2m"].into_iter().map(tune).find(|(_, written)| cells(written) == 6);
    let (tuned, written) = tuned.expect("all measured within two minutes");
    // With the rate of this machine's link, where it tells one.
    let shape = ["network = \"levels node in shared memory\"", "transport = \"tcp", "placement = \"node 2 x 1\""];
    let pairs = ["[[pair]]\nwithin = \"job\"", "[reduction]"];
    for line in
        shape.into_iter().chain(pairs).chain(["ranks = 2", "nodes = 2", "collective = \"alltoall\"\nbytes = 32768"])
    {
        assert!(written.contains(line), "no {line} in {written}");
    }
    assert_eq!(stdout_of(&["profile", "show", out]), stdout(&tuned).split("6 collectives and sizes").next().unwrap());
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["p.toml"]);

    // Whatever was the fastest on this machine, one collective and size is made to be ours, and one stock.
    let value: BTreeMap<&str, &str> = BTreeMap::from([("bcast", "chain"), ("allreduce", "stock")]);
    let mut collective = "";
    let edited: Vec<String> = written
        .lines()
        .map(|line| {
            collective = line.strip_prefix("collective = \"").map_or(collective, |name| name.trim_end_matches('"'));
            let is_algorithm = line.starts_with("algorithm");
            value
                .get(collective)
                .filter(|_| is_algorithm)
                .map_or(line.to_owned(), |name| format!("algorithm = \"{name}\""))
        })
        .collect();
    std::fs::write(out, edited.join("\n")).unwrap();
    let bench = ["bench", "--sizes", "64,64K", "--collectives", "bcast,allreduce", "--algorithms", "stock,default"];
    let command = [&bench[..], &["--budget", "0.1", "--name", "b"], &launcher].concat();
    let benched = limited(in_place(&command).env("NAGARE_PROFILE", out));
    assert!(benched.status.success(), "{}", stderr(&benched));
    let results: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.path().join("b.json")).unwrap()).unwrap();
    for cell in results["cells"].as_array().unwrap() {
        let default = &cell["timings"][1];
        assert_eq!(default["configuration"], "default");
        let ran = default["ran"].as_str().unwrap();
        assert!(if cell["collective"] == "bcast" { ran == "chain" } else { ran.starts_with("stock") }, "{cell}");
    }
}
