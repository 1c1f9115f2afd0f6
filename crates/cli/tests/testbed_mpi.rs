//! `nagare testbed run` with Debian's two MPIs: ranks sit where they should, find their fabric, and nothing stays
//! behind. Needs what the tests of `nagare testbed` need, both MPIs, and for Nagare in the ranks the built libraries
//! (`make`).

use crate::common::bed::{Bed, holder, namespaces, processes_in, records, skipped, survivors};
use crate::common::{nagare, stderr, stdout};
use nagare_plan::fabric::Placement;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What --mpi takes, and the compiler of its programs.
const MPIS: [(&str, &str); 2] = [("openmpi", "mpicc.openmpi"), ("mpich", "mpicc.mpich")];

/// `nagare testbed run` with the time limited; ends with everything in it.
fn run(arguments: &[&str], command: &[&str]) -> Output {
    let testbed = nagare(&[&["testbed", "run"], arguments, &["--"], command].concat());
    let mut limited = Command::new("timeout");
    limited.args(["--kill-after=10", "600"]).arg(testbed.get_program()).args(testbed.get_args());
    for (name, value) in testbed.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited.env_remove("NAGARE_TOPOLOGY").output().unwrap()
}

/// Whether there is such a launcher; if not, that is printed.
fn has(compiler: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", r#"command -v "$1""#, "sh", compiler]).output().unwrap().status.success();
    if !found {
        eprintln!("skipped: no {compiler}");
    }
    found
}

/// The host of every rank, as the ranks tell; `None` if testbeds are not allowed.
fn hosts_of_ranks(fabric: &str, mpi: &str, options: &[&str]) -> Option<Vec<String>> {
    let tell = r#"echo "rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(uname -n) $NAGARE_TOPOLOGY""#;
    let output = run(&[&[fabric, "--stock", "--mpi", mpi], options].concat(), &["sh", "-c", tell]);
    if skipped(&output) {
        return None;
    }
    assert!(output.status.success(), "{mpi} {options:?}: {}", stderr(&output));
    let text = stdout(&output);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut ranks: Vec<(usize, String)> = lines
        .map(|words| {
            assert_eq!((words[0], words[3]), ("rank", format!("shipped:{fabric}").as_str()), "{text}");
            (words[1].parse().unwrap(), words[2].to_owned())
        })
        .collect();
    ranks.sort();
    assert!(ranks.iter().enumerate().all(|(index, (rank, _))| index == *rank), "{text}");
    Some(ranks.into_iter().map(|(_, host)| host).collect())
}

#[test]
fn ranks_sit_where_they_should() {
    let bed = Bed::prepared("tree8", "placement");
    let names = |placement: Placement| -> Vec<String> {
        placement.hosts().iter().map(|&host| bed.fabric.node_name(host).to_owned()).collect()
    };
    let hostfile = bed.path("hosts");
    std::fs::write(&hostfile, "n6\nn1:2\nn6 slots=2\n# n0\nn0\n").unwrap();
    for (mpi, compiler) in MPIS {
        if !has(compiler) {
            continue;
        }
        let on_tree8 = |options: &[&str]| hosts_of_ranks("tree8", mpi, options);
        let Some(listed) = on_tree8(&["--map", hostfile.to_str().unwrap()]) else { return };
        assert_eq!(listed, ["n6", "n1", "n1", "n6", "n6", "n0"], "{mpi}");
        let by_node = names(Placement::by_node(&bed.fabric, 10, 2).unwrap());
        assert_eq!(on_tree8(&["--np", "10", "--ppn", "2", "--map", "node"]).unwrap(), by_node, "{mpi}");
        let by_slot = names(Placement::by_slot(&bed.fabric, 9, 2).unwrap());
        assert_eq!(on_tree8(&["--np", "9", "--ppn", "2"]).unwrap(), by_slot, "{mpi}");
        // 8 + 8 + 8 + 8 of 9 + 9 + 9 + 9: the last host of each group stays free.
        let balanced: Vec<String> = (0..36).filter(|host| host % 9 != 8).map(|host| format!("n{host}")).collect();
        let options = ["--np", "32", "--map", "balanced"];
        assert_eq!(hosts_of_ranks("mlfm36", mpi, &options).unwrap(), balanced, "{mpi}");
    }
}

/// A program in C of this project, built.
fn compiled(bed: &Bed, source: &str, mpi: &str, compiler: &str) -> PathBuf {
    let program = bed.path(&format!("program.{mpi}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(source);
    let built = Command::new(compiler).args(["-std=c11", "-O2", "-o"]).arg(&program).arg(source).status();
    assert!(built.unwrap().success());
    program
}

#[test]
fn nagare_in_the_ranks_finds_the_fabric_and_all_traffic_takes_its_links() {
    let Some(bed) = Bed::up("tree8", "report") else { return };
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let sent = || -> u64 {
        // All that the left leaf sends upwards.
        bed.on("l0", &["cat", "/sys/class/net/p4/statistics/tx_bytes"]).trim().parse().unwrap()
    };
    for (mpi, compiler) in MPIS {
        let built = libraries.join(mpi).join("release/libnagare.so").is_file();
        if !has(compiler) || !built {
            eprintln!("skipped: {mpi} or its target/{mpi}/release/libnagare.so is missing (`make` builds it)");
            continue;
        }
        let program = compiled(&bed, "examples/hello.c", mpi, compiler);
        let report = bed.path(&format!("{mpi}.json"));
        let before = sent();
        let file = bed.file();
        let options = ["testbed", "run", &file, "--lib", libraries.to_str().unwrap(), "--"];
        let mut job = nagare(&[&options[..], &[program.to_str().unwrap()]].concat());
        job.env("NAGARE_REPORT", &report).env_remove("NAGARE_TOPOLOGY").stdout(Stdio::piped());
        let mut job = job.spawn().unwrap();
        // Debian's MPICH 4.0 may hang in MPI_Finalize over TCP, whatever it runs on (docs/testbed.md): the report comes
        // before.
        let report: serde_json::Value = until("report", || serde_json::from_slice(&std::fs::read(&report).ok()?).ok());
        if mpi == "mpich" {
            assert!(Command::new("kill").arg(job.id().to_string()).status().unwrap().success());
            job.wait().unwrap();
        } else {
            let output = job.wait_with_output().unwrap();
            assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "OK\n"));
        }
        assert_eq!((&report["ranks"], &report["nodes"]), (&8.into(), &8.into()), "{report:#}");
        assert_eq!(report["levels"], serde_json::json!(["leaf", "node"]));
        assert_eq!(report["topology_from"], file);
        // The Alltoall alone sends 4 x 4 blocks of 256 KiB from the left leaf to the right one.
        assert!(sent() - before > 16 << 18, "{mpi}: {} bytes", sent() - before);
    }
}

/// A rounded sum between hosts is combined in one order in all calls and all runs, whatever they take, and nothing is
/// measured for it.
#[test]
fn bits_do_not_depend_on_times() {
    let Some(bed) = Bed::up("tree8", "bits") else { return };
    let (mpi, compiler) = ("openmpi", "mpicc.openmpi");
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    if !has(compiler) || !libraries.join(mpi).join("release/libnagare.so").is_file() {
        eprintln!("skipped: {mpi} or its target/{mpi}/release/libnagare.so is missing (`make` builds it)");
        return;
    }
    let program = compiled(&bed, "tests/programs/learning.c", mpi, compiler);
    let file = bed.file();
    let options = ["testbed", "run", &file, "--lib", libraries.to_str().unwrap(), "--np", "4", "--"];
    let words = [program.to_str().unwrap(), "collective=allreduce", "kind=double", "bytes=262144", "calls=30"];
    let mut bits = Vec::new();
    for busy in [0, 3] {
        let is_running = AtomicBool::new(true);
        let report = bed.path(&format!("{busy}.json"));
        let output = std::thread::scope(|scope| {
            for _ in 0..busy {
                scope.spawn(|| {
                    while is_running.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let mut job = nagare(&[&options[..], &words].concat());
            job.env("NAGARE_REPORT", &report).env("NAGARE_LEARN", "on").env_remove("NAGARE_TOPOLOGY");
            let output = job.output().unwrap();
            is_running.store(false, Ordering::Relaxed);
            output
        });
        assert!(output.status.success(), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
        let rows = report["rows"].as_array().unwrap();
        let ran: Vec<_> = rows.iter().filter(|row| row["collective"] == "allreduce").collect();
        assert!(ran.len() == 1 && ran[0]["algorithm"] != "stock" && ran[0]["calls"] == 30, "{report:#}");
        assert_eq!(report.get("learned"), None);
        let line = stdout(&output).lines().find(|line| line.starts_with("learning bits=")).map(str::to_owned);
        bits.push(line.expect("a line with the bits"));
    }
    assert_eq!(bits[0], bits[1]);
}

/// Waits until something is there.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "no {what} within five minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A job of four sleeping ranks is hit by `signal`; afterwards nothing of it is left.
fn ends_completely(mpi: &str, signal: &str, status: Option<i32>) -> bool {
    let bed = Bed::prepared("tree8", &format!("ends-{mpi}-{signal}"));
    let (stamp, file) = (bed.path("started"), bed.file());
    let line = format!("echo . >> {}; sleep 1000", stamp.display());
    let arguments = ["testbed", "run", &file, "--stock", "--mpi", mpi, "--np", "4", "--", "sh", "-c", &line];
    let mut job = nagare(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let started = || std::fs::read_to_string(&stamp).unwrap_or_default().lines().count();
    let up = until("job", || match (started(), job.try_wait().unwrap()) {
        (4, _) => Some(true),
        (_, Some(_)) => Some(false),
        _ => None,
    });
    if !up {
        // The other tests of this file tell why.
        return false;
    }
    let name = format!("{}.{}", bed.name, job.id());
    // The holder, the launcher, and on each of four hosts its daemon, a shell and what that runs.
    let own = namespaces(&holder(&name));
    let inside = until("sleeping ranks", || Some(processes_in(&own)).filter(|inside| inside.len() >= 14));
    let id = job.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    assert_eq!(job.wait().unwrap().code(), status, "{mpi} {signal}");
    if status.is_none() {
        let down = nagare(&["testbed", "down", &name]).output().unwrap();
        assert!(down.status.success(), "{}", stderr(&down));
    }
    assert_eq!(survivors(&inside), Vec::<&String>::new(), "{mpi} {signal}");
    assert!(!records().join(&name).exists());
    true
}

#[test]
fn a_job_that_is_killed_leaves_nothing() {
    for (mpi, compiler) in MPIS {
        let signals = [("-KILL", None), ("-TERM", Some(143)), ("-INT", Some(130))];
        if has(compiler) && !signals.iter().all(|&(signal, status)| ends_completely(mpi, signal, status)) {
            return;
        }
    }
}

#[test]
fn the_status_is_the_launchers() {
    let Some(bed) = Bed::up("star16", "status") else { return };
    if has("mpicc.openmpi") {
        let options = [&bed.file(), "--stock", "--mpi", "openmpi", "--np", "2"];
        assert_eq!(run(&options, &["sh", "-c", "exit 3"]).status.code(), Some(3));
        // What is up stays up.
        assert_eq!(bed.on("n0", &["uname", "-n"]), "n0\n");
    }
}
