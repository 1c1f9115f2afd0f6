//! What goes wrong from outside: settings that differ, ranks without the library, files that are none.

use nagare_harness::{FORCED, Family, Job, MACHINE, Mpi, Outcome, Program, Report, compile, scratch_directory};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

const DEBIAN: [(Mpi, u32); 2] = [(Mpi::OpenMpi4, 4), (Mpi::Mpich4, 3)];

/// The user `nobody`.
const NOBODY: u32 = 65534;

/// Neither root nor nobody.
const SITE: u32 = 4242;

fn hello(mpi: Mpi) -> Program {
    compile(mpi, "examples/hello.c")
}

/// Asserts that the program was right on the MPI library's own collectives, and that one line has all of `words`.
#[track_caller]
fn one_line_and_stock(outcome: &Outcome, words: &[&str]) {
    assert!(outcome.ended.success(), "{}", outcome.ended.output());
    assert_eq!(outcome.ended.stdout, "OK\n", "{}", outcome.ended.output());
    let messages = outcome.messages();
    let naming = messages.iter().filter(|m| words.iter().all(|w| m.contains(w))).count();
    assert_eq!(naming, 1, "expected one line with {words:?}\n{}", outcome.ended.output());
    assert!(messages.len() <= 2, "{}", outcome.ended.output());
    if let Some(report) = &outcome.report {
        assert_eq!(report.ours(""), 0, "{report:?}");
    }
}

#[test]
fn every_shared_variable_that_differs_is_named() {
    let values = [
        ("NAGARE_ENABLE", "0"),
        ("NAGARE_ALGORITHM", "all=stock"),
        ("NAGARE_LEARN", "off"),
        ("NAGARE_PROFILE", "off"),
        ("NAGARE_TOPOLOGY", "synthetic:group:3 node:2 core:4"),
        ("NAGARE_SEGMENT", "1K"),
        ("NAGARE_WINDOW", "4"),
        ("NAGARE_STEPS", "1"),
        ("NAGARE_PARTNERS", "2"),
        ("NAGARE_TORUS", "1"),
        ("NAGARE_TORUS_ORDER", "given"),
        ("NAGARE_TORUS_PARTNERS", "bits"),
        ("NAGARE_AGGREGATORS", "1"),
        ("NAGARE_DEVICE_MEMORY", "never"),
    ];
    let shared = nagare_config::VARIABLES.iter().filter(|v| v.shared && v.name != "NAGARE_STRICT").map(|v| v.name);
    assert_eq!(shared.collect::<Vec<_>>(), values.map(|v| v.0));
    for (number, (name, value)) in values.into_iter().enumerate() {
        let (mpi, ranks) = DEBIAN[number % 2];
        let base = || Job::nagare(&hello(mpi), ranks - 1).set("NAGARE_TOPOLOGY", MACHINE);
        let last = format!("rank {} has other settings", ranks - 1);
        one_line_and_stock(
            &base().and_ranks(1, name, value).run(),
            &[&last, &format!("({name})"), "expected the same"],
        );
    }
    // These take the name of any file.
    let files = ["NAGARE_TOPOLOGY", "NAGARE_PROFILE"];
    for (name, value) in values.into_iter().filter(|(name, _)| !files.contains(name)).step_by(3) {
        let job = Job::nagare(&hello(Mpi::OpenMpi4), 2).set("NAGARE_TOPOLOGY", MACHINE).set(name, value);
        one_line_and_stock(&job.and_ranks(1, name, "?").run(), &["rank 2 on ", &format!("{name}=?")]);
    }
}

#[test]
fn what_need_not_be_the_same_may_differ() {
    for (name, value) in [("NAGARE_WAIT", "pause"), ("NAGARE_LOG", "error"), ("NAGARE_REPORT", "stderr")] {
        let outcome = Job::forced(&hello(Mpi::OpenMpi4), 3).and_ranks(1, name, value).run().passed();
        assert!(outcome.messages().is_empty(), "{}", outcome.ended.output());
        assert!(outcome.report().ours("") > 0, "{:?}", outcome.report());
    }
}

/// One rank is enough, and no rank is left behind in a call that the strict one does not make.
#[test]
fn strict_on_one_rank_ends_the_job() {
    for (mpi, ranks) in DEBIAN {
        let job = Job::forced(&hello(mpi), ranks - 1).and_ranks(1, "NAGARE_STRICT", "1");
        let outcome = job.run();
        let ended = &outcome.ended;
        assert!(ended.status.is_some_and(|s| !s.success()), "{}", ended.output());
        assert_eq!(outcome.messages().len(), 1, "{}", ended.output());
        assert!(outcome.messages()[0].contains("(NAGARE_STRICT)"), "{}", ended.output());
    }
}

/// Open MPI's launcher tells every rank who has the library: nobody waits.
#[test]
fn ranks_without_the_library() {
    for (mpi, ranks) in [(Mpi::OpenMpi4, 4), (Mpi::OpenMpi5, 3)] {
        let library = mpi.family().library().display().to_string();
        let line = |missing: u32, first: u32| {
            format!("{missing} of {ranks} ranks have no libnagare.so, the first is rank {first}; expected in all")
        };
        let last = Job::forced(&hello(mpi), ranks - 1).and_ranks(1, "LD_PRELOAD", "");
        let stock = "all calls run on the MPI library's own collectives";
        one_line_and_stock(&last.run(), &[&line(1, ranks - 1), "`nagare run`", stock]);
        let first = Job::stock(&hello(mpi), ranks - 1).set("LD_PRELOAD", "").and_ranks(1, "LD_PRELOAD", &library);
        one_line_and_stock(&first.run(), &[&line(ranks - 1, 0), stock]);
        let outcome =
            Job::forced(&hello(mpi), ranks - 1).set("NAGARE_STRICT", "1").and_ranks(1, "LD_PRELOAD", "").run();
        assert!(outcome.ended.status.is_some_and(|s| !s.success()), "{}", outcome.ended.output());
        assert!(outcome.messages().len() == 1, "{}", outcome.ended.output());
        assert!(outcome.messages()[0].contains("the job ends (NAGARE_STRICT=1)"), "{}", outcome.ended.output());
    }
}

/// Even where Open MPI leaves the keys of ranks where they were put: those of one host are there.
#[test]
fn ranks_without_the_library_whose_keys_nobody_collects() {
    for (name, value) in [("PMIX_MCA_gds", "hash"), ("OMPI_MCA_pmix_base_collect_data", "0")] {
        let outcome = Job::forced(&hello(Mpi::OpenMpi4), 3).set(name, value).and_ranks(1, "LD_PRELOAD", "").run();
        one_line_and_stock(&outcome, &["1 of 4 ranks have no libnagare.so, the first is rank 3;"]);
    }
}

/// A job whose last rank lacks the library, which no rank can know: MPICH keeps its keys to itself.
fn without_the_library_unknown(mpi: Mpi, ranks: u32) -> Job {
    Job::forced(&hello(mpi), ranks - 1).and_ranks(1, "LD_PRELOAD", "")
}

/// Nothing can be agreed then: nobody gets a wrong result, and it is said what is missing.
#[test]
fn ranks_that_are_not_known_to_lack_the_library() {
    for (mpi, ranks) in [(Mpi::Mpich4, 3), (Mpi::Mpich5, 3)] {
        let outcome = without_the_library_unknown(mpi, ranks).set("NAGARE_STRICT", "1").run();
        let ended = &outcome.ended;
        assert!(ended.status.is_some_and(|s| !s.success()), "{}", ended.output());
        assert!(!ended.stdout.contains("OK"), "{}", ended.output());
        assert_eq!(outcome.messages().len(), 1, "{}", ended.output());
        let line = outcome.messages()[0];
        assert!(
            ["rank 0 of ", "expected libnagare.so in all", "nagare run"].iter().all(|w| line.contains(w)),
            "{line}"
        );
    }
}

/// Without NAGARE_STRICT the job ends too, after a while that the user can set, and the last line says so.
#[test]
fn ranks_that_are_waited_for_end_the_job_in_the_end() {
    for (mpi, ranks) in [(Mpi::Mpich4, 3), (Mpi::Mpich5, 3)] {
        let outcome = without_the_library_unknown(mpi, ranks).set("NAGARE_MEETING_TIMEOUT", "11").run();
        let ended = &outcome.ended;
        assert!(ended.status.is_some_and(|s| !s.success()), "{}", ended.output());
        assert!(!ended.stdout.contains("OK"), "{}", ended.output());
        let messages = outcome.messages();
        assert_eq!(messages.len(), 2, "{}", ended.output());
        assert!(messages[0].contains("the job ends after 11 s (NAGARE_MEETING_TIMEOUT)"), "{}", ended.output());
        assert!(messages[1].contains("has waited 11 s; the job ends"), "{}", ended.output());
    }
}

/// Runs with this fabric file on all ranks.
fn with_fabric(mpi: Mpi, all: &Path) -> Outcome {
    let job = Job::nagare(&hello(mpi), 2).set("NAGARE_ALGORITHM", FORCED);
    job.set("NAGARE_TOPOLOGY", all.to_str().expect("UTF-8")).run()
}

#[test]
fn fabric_files_that_are_none() {
    let scratch = scratch_directory();
    let path = |name: &str| scratch.path().join(name);
    let write = |name: &str, content: &[u8]| std::fs::write(path(name), content).expect("a file");
    write("empty", b"");
    write("binary", b"\x7fELF\0\0\xff\xfe");
    write(
        "fewer",
        b"hosts = [\"elsewhere-1\", \"elsewhere-2\"]\nswitches = [\"s\"]\nbandwidth = 1\n\
          [[link]]\nfrom = \"elsewhere-[1-2]\"\nto = \"s\"\n",
    );
    write("foreign", b"");
    std::fs::File::create(path("huge")).and_then(|f| f.set_len(1 << 30)).expect("a sparse file");
    symlink(path("loop"), path("loop")).expect("a link");
    std::fs::create_dir(path("directory")).expect("a directory");
    let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(pipe.expect("mkfifo").success());
    let mut cases = vec![
        ("empty", "expected"),
        ("binary", "not UTF-8 text"),
        ("fewer", "is not in fabric"),
        ("huge", "larger than 16777216 bytes"),
        ("loop", "symbolic links"),
        ("directory", "not a regular file"),
        ("pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("/dev/null", "not a regular file"),
    ];
    // Giving files away takes a privilege.
    if chown(path("foreign"), Some(4242), None).is_ok() {
        cases.push(("foreign", "owned by user 4242"));
    }
    for (number, (name, what)) in cases.into_iter().enumerate() {
        let outcome = with_fabric(DEBIAN[number % 2].0, &path(name));
        one_line_and_stock(&outcome, &["NAGARE_TOPOLOGY", name, what]);
    }
}

/// Ranks of another user than root, for whom every file can be read.
#[test]
fn fabric_files_that_may_not_be_read_or_may_be_written() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can run jobs of another user");
        return;
    }
    for (mpi, ranks) in DEBIAN {
        let scratch = scratch_directory();
        let path = |name: &str| scratch.path().join(name).to_str().expect("UTF-8").to_owned();
        let mode = |name: &str, bits: u32| {
            std::fs::set_permissions(path(name), Permissions::from_mode(bits)).expect("permissions");
        };
        // Nobody may be kept from where the project is built: what the ranks need is copied.
        mode("", 0o755);
        std::fs::copy(mpi.family().library(), path("libnagare.so")).expect("a copy of the library");
        std::fs::copy(&hello(mpi).words[0], path("hello")).expect("a copy of the program");
        std::fs::create_dir(path("home")).expect("a directory");
        chown(path("home"), Some(NOBODY), Some(NOBODY)).expect("a directory of nobody");
        let fabric = here_and_elsewhere();
        for (name, bits) in [("fit", 0o644), ("site", 0o644), ("foreign", 0o644), ("secret", 0o600), ("open", 0o666)] {
            std::fs::write(path(name), &fabric).expect("a file");
            mode(name, bits);
        }
        // A site installs as a user of its own.
        for (name, owner) in [("libnagare.so", SITE), ("site", SITE), ("foreign", SITE + 1)] {
            chown(path(name), Some(owner), Some(owner)).expect("a file of another user");
        }
        let run =
            |name: &str| as_nobody(Job::stock(&Program::executable(mpi, path("hello")), ranks), scratch.path(), name);
        for name in ["fit", "site"] {
            let fit = run(name);
            assert!(fit.ended.success() && fit.messages().is_empty(), "{}", fit.ended.output());
            assert!(fit.report().ours("") > 0, "{:?}", fit.report());
        }
        let refused = [
            ("secret", "Permission denied"),
            ("open", "everybody may write to it"),
            ("foreign", "or of whom the program or libnagare.so belongs to"),
        ];
        for (name, what) in refused {
            let outcome = run(name);
            assert!(outcome.report.is_some(), "{}", outcome.ended.output());
            one_line_and_stock(&outcome, &["NAGARE_TOPOLOGY", name, what, "expected"]);
        }
    }
}

/// Runs a job as nobody with the library and the fabric file in `directory`, and home in its `home`.
fn as_nobody(job: Job, directory: &Path, fabric: &str) -> Outcome {
    let path = |name: &str| directory.join(name).to_str().expect("UTF-8").to_owned();
    let job = job.user(NOBODY).set("HOME", &path("home")).set("TMPDIR", &path("home"));
    let report = path(&format!("home/{fabric}.json"));
    let job = job.set("LD_PRELOAD", &path("libnagare.so")).set("NAGARE_ALGORITHM", FORCED);
    let job = job.set("NAGARE_TOPOLOGY", &path(fabric)).set("NAGARE_REPORT", &report);
    let mut outcome = job.directory(&path("home")).run();
    outcome.report = Report::read(Path::new(&report));
    outcome
}

/// Where all files of root and others show as those of user 65534: the fabric file is read where the library shows so
/// too, and not where it is the user's own.
#[test]
fn fabric_files_in_a_user_namespace() {
    let mut trial = std::process::Command::new("setpriv");
    trial.args("--reuid=65534 --regid=65534 --clear-groups -- unshare --map-root-user true".split(' '));
    if !trial.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: only root can run jobs of another user, and this system must let users make namespaces");
        return;
    }
    for (mpi, ranks) in DEBIAN {
        let scratch = scratch_directory();
        std::fs::set_permissions(scratch.path(), Permissions::from_mode(0o755)).expect("permissions");
        let path = |name: &str| scratch.path().join(name);
        std::fs::copy(mpi.family().library(), path("libnagare.so")).expect("a copy of the library");
        std::fs::copy(&hello(mpi).words[0], path("hello")).expect("a copy of the program");
        std::fs::create_dir(path("home")).expect("a directory");
        chown(path("home"), Some(NOBODY), Some(NOBODY)).expect("a directory of nobody");
        for fabric in ["site", "foreign"] {
            std::fs::write(path(fabric), here_and_elsewhere()).expect("a file");
        }
        let program = Program::executable(mpi, path("hello").to_str().expect("UTF-8").to_owned());
        let run = |fabric: &str| as_nobody(Job::stock(&program, ranks).in_namespace(), scratch.path(), fabric);

        let site = run("site");
        assert!(site.ended.success() && site.messages().is_empty(), "{}", site.ended.output());
        assert!(site.report().ours("") > 0, "{:?}", site.report());

        for name in ["libnagare.so", "hello"] {
            chown(path(name), Some(NOBODY), Some(NOBODY)).expect("a file of nobody");
        }
        one_line_and_stock(&run("foreign"), &["NAGARE_TOPOLOGY", "foreign", "owned by user 65534"]);
    }
}

/// A fabric of this host and another.
fn here_and_elsewhere() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
    format!(
        "hosts = [\"{0}\", \"another\"]\nswitches = [\"s\"]\nbandwidth = 1\n[[link]]\nfrom = \
         [\"{0}\", \"another\"]\nto = \"s\"\n",
        host.trim()
    )
}

#[test]
fn fabric_files_that_differ_between_ranks() {
    let fabric = here_and_elsewhere();
    for (mpi, ranks) in DEBIAN {
        // One relative name in two directories: as on hosts with files of their own.
        let scratch = scratch_directory();
        let run = |directory: &str, content: Option<&str>| {
            for (directory, content) in [("first", Some(fabric.as_str())), (directory, content)] {
                let directory = scratch.path().join(directory);
                std::fs::create_dir_all(&directory).expect("a directory");
                if let Some(content) = content {
                    std::fs::write(directory.join("fabric.toml"), content).expect("a file");
                }
            }
            let path = |name: &str| scratch.path().join(name).to_str().expect("UTF-8").to_owned();
            let job = Job::nagare(&hello(mpi), ranks - 1).set("NAGARE_TOPOLOGY", "fabric.toml");
            job.directory(&path("first")).and_ranks(1, "--chdir", &path(directory)).run()
        };
        let last = ranks - 1;
        let missing = run("missing", None);
        one_line_and_stock(&missing, &[&format!("rank {last} on "), "fabric.toml", "No such file"]);
        let changed = run("changed", Some(&format!("levels = \"none\"\n{fabric}")));
        one_line_and_stock(&changed, &[&format!("rank {last} reads another topology file")]);
    }
}

/// A library of the other family is as good as none.
#[test]
fn the_wrong_library_on_one_rank() {
    let library = Family::OpenMpi.library();
    let job = Job::forced(&hello(Mpi::Mpich4), 2).set("NAGARE_STRICT", "1");
    let outcome = job.and_ranks(1, "LD_PRELOAD", library.to_str().expect("UTF-8")).run();
    assert!(!outcome.ended.success() && !outcome.ended.stdout.contains("OK"), "{}", outcome.ended.output());
    let waiting = outcome.messages().iter().filter(|m| m.contains("expected libnagare.so in all")).count();
    assert_eq!(waiting, 1, "{}", outcome.ended.output());
}
