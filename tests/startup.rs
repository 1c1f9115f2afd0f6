//! What a process loads at its start, and what Nagare learns there: no shared object that the MPI library alone does
//! not load, and the values of control variables that the tool interface would tell.

use nagare_harness::{Family, Job, Mpi, Outcome, Program, compile, run_limited, scratch_directory};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Open MPI binds two ranks to a core each, so that all that is asked about cores is asked.
const RANKS: u32 = 2;

/// Words that `startup` wrote after `start`, one line each.
fn lines<'o>(outcome: &'o Outcome, start: &str) -> BTreeSet<&'o str> {
    outcome.ended.stdout.lines().filter_map(|line| line.strip_prefix(start)).collect()
}

/// Names of the files that the loader takes for the library: itself and what it was linked with.
fn declared(library: &std::path::Path) -> BTreeSet<String> {
    let ended = run_limited(Command::new("ldd").arg(library), Duration::from_secs(300));
    let names = ended.stdout.lines().filter_map(|line| line.split_whitespace().next());
    let mut names: BTreeSet<String> = names.filter_map(|name| name.rsplit('/').next()).map(str::to_owned).collect();
    assert!(names.iter().any(|name| name.starts_with("libc.so")), "{}", ended.output());
    names.insert("libnagare.so".to_owned());
    names
}

#[test]
fn nothing_is_loaded_that_stock_does_not_load() {
    for mpi in Mpi::ALL {
        let program = compile(mpi, "tests/programs/startup.c");
        let job = |job: Job| job.arguments(&["mapped"]).run().passed();
        let stock = job(Job::stock(&program, RANKS));
        let own = declared(&mpi.family().library());
        let forced = job(Job::forced(&program, RANKS));
        assert_eq!(forced.report().ours("allreduce"), 1, "{:?}", forced.report());
        let off = job(Job::nagare(&program, RANKS).set("NAGARE_ENABLE", "0"));
        let by_default = job(Job::nagare(&program, RANKS));
        for (what, outcome) in [("by default", by_default), ("switched off", off), ("forced", forced)] {
            let mapped = lines(&outcome, "mapped ");
            assert!(mapped.iter().any(|path| path.ends_with("/libnagare.so")), "{}", outcome.ended.output());
            let known = lines(&stock, "mapped ");
            let more = mapped.difference(&known).filter(|path| !own.contains(path.rsplit('/').next().unwrap_or(path)));
            let more: Vec<_> = more.collect();
            assert!(more.is_empty(), "{} {what}: {more:#?}", mpi.name());
        }
    }
}

/// The names under which libraries keep a limit, in the order in which Nagare asks for them.
const LOCAL: [&str; 3] = ["btl_sm_eager_limit", "btl_vader_eager_limit", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"];
const REMOTE: [&str; 2] = ["btl_tcp_eager_limit", "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"];
const YIELDS: &str = "mpi_yield_when_idle";

/// The values that the tool interface tells the program, and the message of Nagare that contains `text`.
fn told(job: Job, text: &str) -> (BTreeMap<String, u64>, String) {
    let names = [&LOCAL[..], &REMOTE, &[YIELDS]].concat();
    let outcome = job.arguments(&[&["cvar"], &names[..]].concat()).set("NAGARE_LOG", "debug").run().passed();
    let values = lines(&outcome, "cvar ").into_iter().map(|line| {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    let message = outcome.messages().into_iter().find(|line| line.contains(text));
    (values.collect(), message.unwrap_or_else(|| panic!("{}", outcome.ended.output())).to_owned())
}

/// Bytes of user data in a message that is carried well: the limit less 256 for the header, at least 512; `otherwise`
/// where no limit is told.
fn limit(values: &BTreeMap<String, u64>, names: &[&str], otherwise: u64) -> u64 {
    let told = names.iter().filter_map(|name| values.get(*name).copied()).find(|&value| value > 0);
    told.map_or(otherwise, |told| (told - 256).max(512))
}

/// Runs a job and compares what Nagare has learnt with what the tool interface tells, which must include `expected`.
fn learns(job: Job, expected: &[(&str, u64)]) {
    let (values, message) = told(job, "messages up to");
    for (name, value) in expected {
        assert_eq!(values.get(*name), Some(value), "{values:?}");
    }
    // MPICH's messages between nodes go over a library below, which has no limit that matters; the variable is that of
    // an older device.
    let of_tcp = if values.contains_key(REMOTE[0]) { &REMOTE[..] } else { &[] };
    let (local, remote) = (limit(&values, &LOCAL, 8192), limit(&values, of_tcp, 1 << 20));
    let expected = format!("messages up to {local} bytes within a node, {remote} between nodes");
    assert!(message.contains(&expected), "{values:?} but {message}");
}

#[test]
fn limits_of_messages_are_those_of_the_tool_interface() {
    for mpi in Mpi::ALL {
        let program = compile(mpi, "tests/programs/startup.c");
        let job = || Job::nagare(&program, RANKS);
        if mpi.family() == Family::Mpich {
            let name = LOCAL[2];
            learns(job(), &[]);
            learns(job().set(name, "8192"), &[(name, 8192)]);
            continue;
        }
        let (local, remote) = (if mpi == Mpi::OpenMpi4 { LOCAL[1] } else { LOCAL[0] }, REMOTE[0]);
        learns(job(), &[(local, 4096), (remote, 65536)]);
        let of_environment =
            job().set(&format!("OMPI_MCA_{local}"), "6000").set(&format!("OMPI_MCA_{remote}"), "30000");
        learns(of_environment, &[(local, 6000), (remote, 30000)]);
        let home = scratch_directory();
        fs::create_dir(home.path().join(".openmpi")).expect("a directory");
        let lines = format!("{remote} = 20000\n{local} = 5000\n");
        fs::write(home.path().join(".openmpi/mca-params.conf"), lines).expect("a file");
        let of_file = job().set("HOME", &home.path().display().to_string());
        learns(of_file, &[(local, 5000), (remote, 20000)]);
    }
}

#[test]
fn ranks_wait_as_the_tool_interface_says_that_the_library_does() {
    for mpi in [Mpi::OpenMpi4, Mpi::OpenMpi5] {
        let program = compile(mpi, "tests/programs/startup.c");
        for (value, says) in [("0", "looks again at once"), ("1", "yields, and sleeps after a second,")] {
            // The launcher's options name the variable as well: the rank's own environment is nearer.
            let words = [&["env".into(), format!("OMPI_MCA_{YIELDS}={value}").into()], &program.words[..]].concat();
            let (values, message) = told(Job::nagare(&Program { words, ..program.clone() }, RANKS), "while it waits");
            assert_eq!(values.get(YIELDS).map(u64::to_string).as_deref(), Some(value), "{values:?}");
            assert!(message.contains(says), "{YIELDS}={value}: {message}");
        }
    }
}
