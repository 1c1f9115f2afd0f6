//! What a process loads at its start, and what Nagare learns there: no shared object that the MPI library alone does
//! not load, and the values of control variables that the tool interface would tell.

use nagare_harness::{Family, Job, Mpi, Outcome, Program, compile, run_limited, scratch_directory};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Open MPI binds two ranks to a core each, so that all that is asked about cores is asked.
const RANKS: u32 = 2;

/// Words that `startup` wrote after `start`, one line each.
fn lines<'o>(outcome: &'o Outcome, start: &str) -> BTreeSet<&'o str> {
    outcome.ended.stdout.lines().filter_map(|line| line.strip_prefix(start)).collect()
}

/// Names of the files that the loader takes for the library: itself and what it was linked with.
fn declared(library: &Path) -> BTreeSet<String> {
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
const REMOTE: [&str; 1] = ["btl_tcp_eager_limit"];
const MTL: [&str; 2] = ["mtl_ofi_priority", "mtl_psm2_priority"];
const YIELDS: &str = "mpi_yield_when_idle";

/// The values that the tool interface tells the program, and the messages of Nagare that contain `texts`.
fn told<const N: usize>(job: Job, texts: [&str; N]) -> (BTreeMap<String, u64>, [String; N]) {
    let names = [&LOCAL[..], &REMOTE, &MTL, &[YIELDS]].concat();
    let outcome = job.arguments(&[&["cvar"], &names[..]].concat()).set("NAGARE_LOG", "debug").run().passed();
    let values = lines(&outcome, "cvar ").into_iter().map(|line| {
        let (name, value) = line.split_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    let messages = texts.map(|text| {
        let message = outcome.messages().into_iter().find(|line| line.contains(text));
        message.unwrap_or_else(|| panic!("no {text}: {}", outcome.ended.output())).to_owned()
    });
    (values.collect(), messages)
}

/// Bytes of user data in an eager message: the limit less 256 for the header, at least 512.
fn limit(values: &BTreeMap<String, u64>, names: &[&str]) -> u64 {
    let told = names.iter().filter_map(|name| values.get(*name).copied()).find(|&value| value > 0);
    (told.expect("a limit") - 256).max(512)
}

/// Runs a job and compares what Nagare has learnt with what the tool interface tells, which must include `expected`.
fn learns(job: Job, mpi: Mpi, expected: &[(&str, u64)]) {
    let (values, [message]) = told(job, ["eager messages"]);
    for (name, value) in expected {
        assert_eq!(values.get(*name), Some(value), "{values:?}");
    }
    let expected = match mpi {
        // Of what goes over UCX or libfabric, MPI knows nothing; with Debian's MPICH that is all.
        Mpi::Mpich4 => "not known".to_owned(),
        Mpi::Mpich5 => format!("up to {} bytes within a node, not known between nodes", limit(&values, &LOCAL)),
        _ => {
            let (local, remote) = (limit(&values, &LOCAL), limit(&values, &REMOTE));
            format!("up to {local} bytes within a node, {remote} between nodes")
        }
    };
    let expected = format!("eager messages: {expected}");
    assert!(message.ends_with(&expected), "{expected}, {values:?} but {message}");
}

#[test]
fn limits_of_messages_are_those_of_the_tool_interface() {
    for mpi in Mpi::ALL {
        let program = compile(mpi, "tests/programs/startup.c");
        let job = || Job::nagare(&program, RANKS);
        if mpi.family() == Family::Mpich {
            let name = LOCAL[2];
            learns(job(), mpi, &[]);
            learns(job().set(name, "16384"), mpi, &[(name, 16384)]);
            continue;
        }
        let (local, remote) = (if mpi == Mpi::OpenMpi4 { LOCAL[1] } else { LOCAL[0] }, REMOTE[0]);
        learns(job(), mpi, &[(local, 4096), (remote, 65536)]);
        let of_environment =
            job().set(&format!("OMPI_MCA_{local}"), "6000").set(&format!("OMPI_MCA_{remote}"), "30000");
        learns(of_environment, mpi, &[(local, 6000), (remote, 30000)]);
        let home = scratch_directory();
        fs::create_dir(home.path().join(".openmpi")).expect("a directory");
        let lines = format!("{remote} = 20000\n{local} = 5000\n");
        fs::write(home.path().join(".openmpi/mca-params.conf"), lines).expect("a file");
        let of_file = job().set("HOME", &home.path().display().to_string());
        learns(of_file, mpi, &[(local, 5000), (remote, 20000)]);
    }
}

#[test]
fn a_component_that_drives_no_adapter_carries_no_message() {
    if Path::new("/sys/class/infiniband").exists() {
        return;
    }
    // Open MPI 5 has the variables of all four in a job without options, where TCP carries what leaves a node.
    let program = compile(Mpi::OpenMpi5, "tests/programs/startup.c");
    let words = [&["env".into(), "OMPI_MCA_btl=self,sm,tcp,uct".into()], &program.words[..]].concat();
    learns(Job::nagare(&Program { words, ..program.clone() }, RANKS), Mpi::OpenMpi5, &[(REMOTE[0], 65536)]);
}

/// A tool that opens MPI_T before MPI_Init has Open MPI list the variables of all that is installed. Those of `mtl`
/// (libfabric, PSM2) stay although the job's messages go over Open MPI's own TCP.
#[test]
fn what_a_tool_has_listed_is_not_in_use() {
    for (mpi, local) in [(Mpi::OpenMpi4, LOCAL[1]), (Mpi::OpenMpi5, LOCAL[0])] {
        let program = compile(mpi, "tests/programs/startup.c");
        let job = || Job::nagare(&program, RANKS).set("STARTUP_TOOL", "1");
        let (values, []) = told(job(), []);
        if !MTL.iter().any(|name| values.contains_key(*name)) {
            eprintln!("skipped: {} has neither libfabric nor PSM2", mpi.name());
            continue;
        }
        learns(job().set("OMPI_MCA_pml", "ob1"), mpi, &[(local, 4096), (REMOTE[0], 65536)]);
        if !Path::new("/sys/class/infiniband").exists() {
            learns(job(), mpi, &[(local, 4096), (REMOTE[0], 65536)]);
        }
    }
}

/// Those that the test may run on.
fn processors() -> usize {
    std::thread::available_parallelism().expect("a number of processors").get()
}

#[test]
fn ranks_wait_as_the_tool_interface_says_that_the_library_does() {
    for mpi in [Mpi::OpenMpi4, Mpi::OpenMpi5] {
        let program = compile(mpi, "tests/programs/startup.c");
        // Of ranks that share one processor, more than that yield whatever the library does.
        let keeps = if processors() > 1 { "looks again at once" } else { "yields, as ranks outnumber processors," };
        for (value, says) in [("0", keeps), ("1", "yields, and sleeps after a second,")] {
            // The launcher's options name the variable as well: the rank's own environment is nearer.
            let words = [&["env".into(), format!("OMPI_MCA_{YIELDS}={value}").into()], &program.words[..]].concat();
            let (values, [message]) =
                told(Job::nagare(&Program { words, ..program.clone() }, RANKS), ["while it waits"]);
            assert_eq!(values.get(YIELDS).map(u64::to_string).as_deref(), Some(value), "{values:?}");
            assert!(message.contains(says), "{YIELDS}={value}: {message}");
        }
    }
}

/// Two ranks on one processor, whatever the launcher has bound them to, and then on all that there are.
#[test]
fn ranks_that_outnumber_their_processors_yield_and_know_what_messages_cost() {
    let status = fs::read_to_string("/proc/self/status").expect("the process");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    let first = allowed.trim().split([',', '-']).next().expect("a processor");
    for mpi in [Mpi::Mpich4, Mpi::OpenMpi4] {
        let program = compile(mpi, "tests/programs/startup.c");
        let on = |processors: &str| {
            let bind = ["taskset", "-c", processors].map(Into::into);
            let yields = format!("OMPI_MCA_{YIELDS}=0");
            let words = [&["env".into(), yields.into()], &bind[..], &program.words[..]].concat();
            let texts = ["while it waits", "messages between nodes"];
            told(Job::nagare(&Program { words, ..program.clone() }, RANKS), texts).1
        };
        let expect = |processors: &str, waits: &str, costs: &str| {
            for (message, expected) in on(processors).iter().zip([waits, costs]) {
                assert!(message.contains(expected), "{}: {message}", mpi.name());
            }
        };
        // Predictions take a message to cost as many times as much as ranks share a processor.
        expect(first, "yields, as ranks outnumber processors,", "latency 2.0 (assumed) us, gap 4.0 (assumed) us");
        if processors() > 1 {
            expect(allowed.trim(), "looks again at once", "latency 1.0 (assumed) us, gap 2.0 (assumed) us");
        }
    }
}
