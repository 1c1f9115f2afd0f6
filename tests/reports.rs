//! Where reports are written: by programs that change their directory, by worlds that others spawned, and where none
//! can be.

use nagare_harness::{Job, Mpi, Report, compile, scratch_directory};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;

const DEBIAN: [(Mpi, u32); 2] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 3)];

fn files(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_relative_name_is_one_in_the_directory_at_init() {
    for (mpi, ranks) in DEBIAN {
        let scratch = scratch_directory();
        let [start, later] = ["start", "later"].map(|name| scratch.path().join(name));
        for directory in [&start, &later] {
            std::fs::create_dir(directory).expect("a directory");
        }
        let job = Job::forced(&compile(mpi, "tests/programs/worlds.c"), ranks).set("NAGARE_REPORT", "report.json");
        let job = job.directory(start.to_str().expect("UTF-8")).arguments(&[&format!("chdir={}", later.display())]);
        let outcome = job.run().verified("worlds");
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
        assert_eq!((files(&start), files(&later)), (vec!["report.json".to_owned()], vec![]), "{}", mpi.name());
        let report = Report::read(&start.join("report.json")).expect("a report");
        assert_eq!(report.ours("allreduce"), 1, "{report:?}");
    }
}

/// A job of one rank that spawns two worlds. Spawned ranks inherit the launcher's environment, and of `mpirun -x` and
/// `-env` nothing.
fn spawning(mpi: Mpi, report: &str) -> Job {
    let job = Job::stock(&compile(mpi, "tests/programs/worlds.c"), 1).arguments(&["spawn=2"]);
    let job = job.set("LD_PRELOAD", mpi.family().library().to_str().expect("UTF-8"));
    let job = job.set("NAGARE_ALGORITHM", nagare_harness::FORCED).set("NAGARE_TOPOLOGY", nagare_harness::MACHINE);
    job.set("NAGARE_REPORT", report)
}

/// Debian's MPICH cannot spawn, and Open MPI 4.1.4 hangs now and then when it does.
#[test]
fn every_spawned_world_has_a_report_of_its_own() {
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let scratch = scratch_directory();
        // A job that is run once more after a known fault finds the reports of the first.
        let target = format!("replace:{}", scratch.path().join("report.json").display());
        let outcome = spawning(mpi, &target).run().verified("worlds");
        assert_eq!(outcome.ended.stdout.matches("PASS worlds").count(), 3, "{}", outcome.ended.output());
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
        let names = files(scratch.path());
        let (parent, spawned): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name == "report.json");
        // More where a known fault made the job run once more.
        assert!(parent.len() == 1 && spawned.len() >= 2, "{parent:?} {spawned:?}");
        assert!(spawned.iter().all(|n| n.starts_with("report.spawned-") && n.ends_with(".json")), "{spawned:?}");
        let read = |name: &String| Report::read(&scratch.path().join(name)).expect("a report");
        assert_eq!(read(&parent[0]).0["ranks"], 1);
        for report in spawned.iter().map(read) {
            assert_eq!((report.0["ranks"].as_u64(), report.ours("allreduce")), (Some(2), 1), "{report:?}");
        }
        // What is no file has no neighbours.
        let outcome = spawning(mpi, "/dev/null").run().verified("worlds");
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
        assert!(!files(Path::new("/dev")).iter().any(|name| name.starts_with("null.")));
    }
}

/// By the ranks of communicators: the world, and lines and planes of a grid cut from it.
#[test]
fn calls_are_told_apart_by_the_ranks_of_communicators() {
    for mpi in [Mpi::OpenMpi4, Mpi::Mpich4] {
        let outcome = Job::forced(&compile(mpi, "tests/programs/cartesian.c"), 6).arguments(&["grid=2,3"]).run();
        let report = outcome.verified("cartesian").report().clone();
        let rows = report.0["communicators"].as_array().expect("rows");
        let calls = |ranks: Option<u64>| -> u64 {
            let of = rows.iter().filter(|row| row["communicator_ranks"].as_u64() == ranks);
            of.map(|row| row["total_calls"].as_u64().expect("a number")).sum()
        };
        let sizes = report.0["sizes"].as_array().expect("rows");
        let all: u64 = sizes.iter().map(|row| row["total_calls"].as_u64().expect("a number")).sum();
        // Ranks along each direction, and all; every rank makes as many calls on each.
        assert_eq!([2, 3, 6].map(|ranks| calls(Some(ranks)) > 0), [true; 3], "{rows:?}");
        assert_eq!([1, 2, 3, 6].map(|ranks| calls(Some(ranks))).iter().sum::<u64>(), all, "{rows:?}");
        assert_eq!(calls(None), 0, "{rows:?}");
        // Of one collective, and of all of them with those that are passed on.
        let list = |name: &str| report.0[name].as_array().expect("a list").clone();
        let calls = |rows: &[Value]| rows.iter().map(|row| row["total_calls"].as_u64().expect("a number")).sum::<u64>();
        for row in list("collectives") {
            let same: Vec<_> = list("rows").into_iter().filter(|r| r["collective"] == row["collective"]).collect();
            assert_eq!(row["total_calls"], calls(&same), "{row}");
        }
        assert_eq!(report.0["all"]["total_calls"], calls(&list("collectives")) + calls(&list("others")));
        assert_eq!((report.0["hosts"].as_array().map(Vec::len), &report.0["host_count"]), (Some(1), &1.into()));
    }
}

/// By the names of communicators of equal size; those that the library makes up are none.
#[test]
fn calls_are_told_apart_by_the_names_of_communicators() {
    for mpi in Mpi::ALL {
        let program = compile(mpi, "tests/programs/named.c");
        let job = Job::forced(&program, 4).arguments(&["temporary=70"]);
        let report = job.run().verified("named").report().clone();
        let rows = report.0["communicators"].as_array().expect("rows");
        let calls = |name: Option<&str>, ranks: Option<u64>| -> u64 {
            let is = |row: &&Value| (row["name"].as_str(), row["communicator_ranks"].as_u64()) == (name, ranks);
            rows.iter().filter(is).map(|row| row["total_calls"].as_u64().expect("a number")).sum()
        };
        let of = [(Some("rows"), Some(2)), (Some("columns, of the grid"), Some(2)), (Some("MPI_COMM_WORLD"), Some(4))];
        assert_eq!(of.map(|(name, ranks)| calls(name, ranks)), [3, 5, 7].map(|calls| 4 * calls), "{rows:?}");
        assert_eq!((calls(None, Some(4)), calls(None, Some(2))), (4 * 11, 0), "{rows:?}");
        // Of many names those with the most time, and the others together.
        let named = rows.iter().filter(|row| row["name"].as_str().is_some_and(|name| name.starts_with("temporary")));
        let named: u64 = named.map(|row| row["total_calls"].as_u64().expect("a number")).sum();
        assert!(named <= 4 * 32 && named + calls(None, None) == 4 * 70, "{rows:?}");

        let text = scratch_directory();
        let file = text.path().join("report");
        let job = Job::forced(&program, 4).set("NAGARE_REPORT", file.to_str().expect("UTF-8"));
        job.run().verified("named");
        let text = std::fs::read_to_string(file).expect("a report");
        let words = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}\n{text}"));
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("rows ")[1..5], ["2", "allreduce", "Nagare", "3"]);
        assert_eq!(words("columns, of the grid ")[4..8], ["2", "allreduce", "Nagare", "5"]);
    }
}

/// A report of a job before stays, and names tell jobs apart.
#[test]
fn reports_that_are_there_stay() {
    let scratch = scratch_directory();
    let job = |name: &str, id: &str| {
        let target = scratch.path().join(name);
        let job = Job::forced(&compile(Mpi::OpenMpi4, "examples/hello.c"), 2).set("SLURM_JOB_ID", id);
        job.set("NAGARE_REPORT", target.to_str().expect("UTF-8")).run().passed()
    };
    assert!(job("r-%j.json", "17").messages().is_empty());
    assert!(job("r-%j.json", "18").messages().is_empty());
    let again = job("r-%j.json", "17");
    assert!(matches!(again.messages()[..], [line] if line.contains("r-17.2.json")), "{}", again.ended.output());
    assert_eq!(files(scratch.path()), ["r-17.2.json", "r-17.json", "r-18.json"]);
}

#[test]
fn reports_that_cannot_be_written() {
    let scratch = scratch_directory();
    let path = |name: &str| scratch.path().join(name).to_str().expect("UTF-8").to_owned();
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(pipe.expect("mkfifo").success());
    symlink(path("loop"), path("loop")).expect("a link");
    let cases = [
        ("/dev/full".to_owned(), "No space left"),
        (path(""), "Is a directory"),
        (path("pipe"), "No such device"),
        (path("loop"), "symbolic links"),
        (path("missing/report.json"), "No such file"),
    ];
    for (number, (target, why)) in cases.into_iter().enumerate() {
        let (mpi, ranks) = DEBIAN[number % 2];
        let outcome =
            Job::forced(&compile(mpi, "examples/hello.c"), ranks).set("NAGARE_REPORT", &target).run().passed();
        let messages = outcome.messages();
        assert_eq!(messages.len(), 1, "{}", outcome.ended.output());
        assert!(messages[0].contains("NAGARE_REPORT") && messages[0].contains(why), "{}", messages[0]);
    }
}
