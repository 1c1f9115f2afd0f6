//! What the library reads, writes, executes and asks for in a process, compared with the same program without it; that
//! it says so in docs/security.md; and that a program with more rights than its user does not get it.

use nagare_harness::{Ended, Job, MACHINE, Mpi, Program, compile, root_directory, run_limited, scratch_directory};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const MPIS: [Mpi; 2] = [Mpi::OpenMpi4, Mpi::Mpich4];

/// What the ranks of a job did, with every run of digits as `#`.
#[derive(Debug, Default)]
struct Deeds {
    /// Files and directories opened for reading.
    read: BTreeSet<String>,
    /// Files and directories opened for writing, created, renamed, removed; how often.
    written: BTreeMap<String, usize>,
    /// Programs executed, processes and threads started.
    executed: BTreeMap<String, usize>,
    /// Sockets made and connected.
    sockets: BTreeMap<String, usize>,
}

const CALLS: &str = "trace=open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,\
    link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,chown,mknod,mknodat,execve,execveat,fork,vfork,clone,clone3,\
    socket,connect,bind,listen,memfd_create,ptrace";

/// Runs `program` on two ranks, each under strace, with the library in its ranks or without.
fn deeds(program: &Program, library: bool, variables: &[(&str, &str)]) -> Deeds {
    traced(program, library, |program| {
        // There seems to be a display, which nothing may connect to.
        let mut job = Job::stock(program, 2).set("DISPLAY", ":0");
        for (name, value) in variables {
            job = job.set(name, value);
        }
        job.run().passed();
    })
}

/// What `run` does with the program under strace, with the library in it or without.
fn traced(program: &Program, library: bool, run: impl FnOnce(&Program)) -> Deeds {
    let scratch = scratch_directory();
    let trace = scratch.path().join("trace").display().to_string();
    let mut words =
        ["strace", "-ff", "-qq", "-s", "4096", "-e", CALLS, "-e", "signal=none", "-o", &trace].map(Into::into).to_vec();
    if library {
        words.extend(["-E".into(), format!("LD_PRELOAD={}", program.mpi.family().library().display()).into()]);
    }
    words.extend(program.words.iter().cloned());
    run(&Program { words, ..program.clone() });
    let mut deeds = Deeds::default();
    for entry in fs::read_dir(scratch.path()).expect("traces").flatten() {
        let text = fs::read(entry.path()).expect("a trace");
        String::from_utf8_lossy(&text).lines().for_each(|line| deeds.note(line));
    }
    assert!(!deeds.read.is_empty() && !deeds.executed.is_empty(), "{deeds:?}");
    deeds
}

impl Deeds {
    fn note(&mut self, line: &str) {
        let (Some((call, rest)), Some((_, result))) = (line.split_once('('), line.rsplit_once(" = ")) else { return };
        // What did not work out touched nothing.
        if result.starts_with('-') {
            return;
        }
        let path = generic(rest.split('"').nth(1).unwrap_or_default());
        let (deeds, deed) = match call {
            "open" | "openat" | "openat2"
                if ["O_WRONLY", "O_RDWR", "O_CREAT"].iter().all(|flag| !rest.contains(flag)) =>
            {
                self.read.insert(path);
                return;
            }
            "clone" | "clone3" if rest.contains("CLONE_THREAD") => (&mut self.executed, "a thread".to_owned()),
            "clone" | "clone3" | "fork" | "vfork" | "execve" | "execveat" | "ptrace" => {
                (&mut self.executed, format!("{call} {path}"))
            }
            "socket" | "connect" | "bind" | "listen" => (&mut self.sockets, generic(&format!("{call}({rest}"))),
            _ => (&mut self.written, format!("{call} {path}")),
        };
        *deeds.entry(deed).or_default() += 1;
    }

    /// What is here and not in `other`, and how much more often.
    fn beyond(self, other: &Self) -> Self {
        let more = |own: BTreeMap<String, usize>, other: &BTreeMap<String, usize>| {
            let difference = |(deed, times): (String, usize)| {
                let more = times.saturating_sub(other.get(&deed).copied().unwrap_or(0));
                (more > 0).then_some((deed, more))
            };
            own.into_iter().filter_map(difference).collect()
        };
        Self {
            read: self.read.difference(&other.read).cloned().collect(),
            written: more(self.written, &other.written),
            executed: more(self.executed, &other.executed),
            sockets: more(self.sockets, &other.sockets),
        }
    }
}

/// Numbers of jobs, processes, ports and random names differ from run to run.
fn generic(text: &str) -> String {
    // Shared memory of MPICH, six random letters at the end, and of UCX, a random hexadecimal number of any length.
    for shared_memory in ["/dev/shm/mpich_shar_tmp", "/dev/shm/ucx_shm_posix_"] {
        if text
            .strip_prefix(shared_memory)
            .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'))
        {
            return format!("{shared_memory}#");
        }
    }
    let mut result = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let (word, end) = word.split_at(word.trim_end_matches(|c: char| !c.is_ascii_hexdigit()).len());
        let number = word.starts_with(|c: char| c.is_ascii_digit())
            || word.len() >= 6 && word.contains(|c: char| c.is_ascii_digit());
        result += if number { "#" } else { word };
        result += end;
    }
    result
}

/// The first column of the table in a section of docs/security.md.
fn documented(section: &str) -> Vec<String> {
    let text = fs::read_to_string(root_directory().join("docs/security.md")).expect("docs/security.md");
    let start = text.find(&format!("\n## {section}\n")).unwrap_or_else(|| panic!("no section '{section}'"));
    let lines = text[start..].lines().skip(2).take_while(|line| !line.starts_with("## "));
    let cells = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next().map(str::to_owned));
    let cells: Vec<String> = cells.collect();
    assert!(!cells.is_empty(), "no table in '{section}'");
    cells
}

/// Whether `text` fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| fits(rest, &text[at..]))
        }),
    }
}

fn strace_works() -> bool {
    let ended = run_limited(Command::new("sh").args(["-c", "strace -o /dev/null true"]), Duration::from_secs(300));
    if !ended.success() {
        eprintln!("skipped: strace is missing, or this system does not let it trace: {}", ended.output());
    }
    ended.success()
}

#[test]
fn ranks_read_write_and_execute_what_the_documentation_says() {
    if !strace_works() {
        return;
    }
    let scratch = scratch_directory();
    let (fabric, report) = (scratch.path().join("fabric.toml"), scratch.path().join("report.json"));
    let host = run_limited(&mut Command::new("hostname"), Duration::from_secs(300)).stdout;
    fs::write(
        &fabric,
        format!(
            "hosts = ['{}', 'other']\nswitches = ['s']\nbandwidth = 1\nlink = [{{ from = ['{0}', \
        'other'], to = 's' }}]",
            host.trim()
        ),
    )
    .expect("a file");
    let (fabric, report) = (fabric.display().to_string(), report.display().to_string());
    let tables: Vec<String> = documented("What it reads").iter().map(|pattern| generic(pattern)).collect();
    let forced = ("NAGARE_ALGORITHM", "all=two_tree");
    for mpi in MPIS {
        let program = compile(mpi, "examples/hello.c");
        let stock = deeds(&program, false, &[]);
        for (variables, file, written) in [
            (vec![], None, None),
            (vec![("NAGARE_ENABLE", "0")], None, None),
            (vec![("NAGARE_TOPOLOGY", MACHINE), forced], None, None),
            (vec![("NAGARE_WATCH", "1h")], None, None),
            (vec![("NAGARE_TOPOLOGY", &*fabric), forced, ("NAGARE_REPORT", &*report)], Some(&fabric), Some(&report)),
        ] {
            // A report that is there would stay.
            let _ = fs::remove_file(&report);
            let more = deeds(&program, true, &variables).beyond(&stock);
            let expected = file.map(|file| generic(file));
            let known =
                |path: &&String| Some(*path) == expected.as_ref() || tables.iter().any(|pattern| fits(pattern, path));
            let unknown: Vec<&String> = more.read.iter().filter(|path| !known(path)).collect();
            assert!(unknown.is_empty(), "{} reads {unknown:#?}, which docs/security.md does not say", mpi.name());
            assert!(expected.iter().all(|file| more.read.contains(file)), "{}: {file:?} was not read", mpi.name());
            assert!(more.read.iter().any(|path| path.ends_with("/libnagare.so")), "{more:?}");
            let written: BTreeMap<String, usize> =
                written.iter().map(|file| (format!("openat {}", generic(file)), 1)).collect();
            assert_eq!(more.written, written, "{}", mpi.name());
            // Each rank waits for the one before it with a clock at its side; another thread watches calls.
            let watched = variables.iter().any(|(name, _)| *name == "NAGARE_WATCH");
            let threads = BTreeMap::from([("a thread".to_owned(), if watched { 4 } else { 2 })]);
            assert_eq!(more.executed, threads, "{}: {more:?}", mpi.name());
            // Of other ranks and of `nagare ps`; those by which the C library looks up the host's addresses.
            let own = ["bind(", "socket(AF_INET, SOCK_DGRAM", "listen(", "socket(AF_UNIX, SOCK_STREAM"];
            let kinds = own.into_iter().chain(["socket(AF_NETLINK", "socket(AF_UNIX, SOCK_DGRAM"]).collect::<Vec<_>>();
            let is_known = |deed: &&String| watched && kinds.iter().any(|kind| deed.contains(kind));
            let unknown: Vec<&String> = more.sockets.keys().filter(|deed| !is_known(deed)).collect();
            assert!(unknown.is_empty(), "{}: {more:?}", mpi.name());
            let udp = |deed: &&String| deed.starts_with("socket(AF_INET, SOCK_DGRAM");
            let opened: usize = more.sockets.iter().filter(|(deed, _)| udp(deed)).map(|(_, times)| times).sum();
            assert_eq!(opened, if watched { 2 } else { 0 }, "{}: {more:?}", mpi.name());
        }
    }
}

#[test]
fn ranks_ask_for_the_variables_that_the_documentation_names() {
    let scratch = scratch_directory();
    let counter = scratch.path().join("libasked.so");
    let source = root_directory().join("tests/programs/asked.c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o"]).arg(&counter).arg(source).arg("-ldl");
    let ended = run_limited(&mut compiler, Duration::from_secs(300));
    assert!(ended.success(), "{}", ended.output());
    let documented: BTreeSet<String> = documented("What it asks the environment").into_iter().collect();
    for mpi in MPIS {
        let program = compile(mpi, "examples/hello.c");
        let asked = scratch.path().join(mpi.name()).display().to_string();
        let libraries = format!("LD_PRELOAD={}:{}", counter.display(), mpi.family().library().display());
        let words = ["env".into(), libraries.into(), format!("ASKED_FILE={asked}").into()];
        let words = words.into_iter().chain(program.words.iter().cloned()).collect();
        let job = Job::stock(&Program { words, variables: Vec::new(), mpi }, 2)
            .set("NAGARE_ALGORITHM", "all=two_tree")
            .set("NAGARE_REPORT", "stderr");
        job.run().passed();
        let files = fs::read_dir(scratch.path()).expect("a directory").flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.display().to_string().starts_with(&format!("{asked}.")));
        let lines: Vec<String> = files
            .flat_map(|path| {
                fs::read_to_string(path).expect("what was asked").lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let by = |object: &str| {
            lines
                .iter()
                .filter_map(|line| line.strip_prefix(object)?.strip_prefix(' ').map(str::to_owned))
                .collect::<BTreeSet<_>>()
        };
        let own = by("libnagare.so");
        assert!(own.contains("SLURM_TOPOLOGY_ADDR"), "{lines:?}");
        assert!(own.is_subset(&documented), "{:?}", own.difference(&documented));

        // Where there is no MPI, it asks for nothing.
        let asked = scratch.path().join(format!("{}-alone", mpi.name()));
        let mut alone = Command::new("env");
        alone.arg(format!("LD_PRELOAD={}:{}", counter.display(), mpi.family().library().display()));
        alone.arg(format!("ASKED_FILE={}", asked.display())).args(["sort", "/dev/null"]);
        assert!(run_limited(&mut alone, Duration::from_secs(300)).success());
        let files = fs::read_dir(scratch.path()).expect("a directory").flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.display().to_string().starts_with(&format!("{}.", asked.display())));
        let lines: Vec<String> = files.map(|path| fs::read_to_string(path).expect("what was asked")).collect();
        assert!(!lines.is_empty() && !lines.concat().contains("libnagare.so "), "{lines:?}");
    }
}

/// A shell that loads nothing more and waits, with the library or without: what its memory is, in KiB.
fn memory_of_its_own(library: Option<&Path>) -> u64 {
    let mut command = Command::new("sh");
    command.args(["-c", "echo; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(library) = library {
        command.env("LD_PRELOAD", library);
    }
    let mut shell = command.spawn().expect("a shell");
    // It runs: all is loaded.
    let said = shell.stdout.take().map(|mut out| out.read_exact(&mut [0]));
    let memory = fs::read_to_string(format!("/proc/{}/smaps_rollup", shell.id())).expect("its memory");
    drop(shell.stdin.take());
    shell.wait().expect("its end");
    assert!(said.is_some_and(|said| said.is_ok()));
    let dirty = memory.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).expect("memory of its own");
    dirty.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// What docs/administrators.md says about modules: a process that calls no MPI.
#[test]
fn a_process_without_mpi_costs_some_memory_and_the_loader_s_files() {
    for mpi in MPIS {
        let library = mpi.family().library();
        let median = |library| {
            let mut values: Vec<u64> = (0..9).map(|_| memory_of_its_own(library)).collect();
            values.sort_unstable();
            values[4]
        };
        let (with, without) = (median(Some(library.as_path())), median(None));
        assert!(with > without && with - without < 200, "{}: {without} KiB, then {with}", mpi.name());
        if strace_works() {
            let alone = Program { words: vec!["sh".into(), "-c".into(), ":".into()], variables: Vec::new(), mpi };
            let traced = |is_with| {
                traced(&alone, is_with, |program| {
                    let mut command = Command::new(&program.words[0]);
                    command.args(&program.words[1..]);
                    assert!(run_limited(&mut command, Duration::from_secs(300)).success());
                })
            };
            let more = traced(true).beyond(&traced(false));
            let loaded = ["/libnagare.so", "/libgcc_s.so.#", "/libm.so.#", "/etc/ld.so.cache"];
            let unknown = more.read.iter().filter(|path| !loaded.iter().any(|end| path.ends_with(end)));
            assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new(), "{}", mpi.name());
            assert!(more.read.iter().any(|path| path.ends_with("/libnagare.so")), "{more:?}");
            let others = more.written.len() + more.executed.len() + more.sockets.len();
            assert_eq!(others, 0, "{}: {more:?}", mpi.name());
        }
    }
}

/// Runs a copy of a program as nobody, with the library preloaded.
fn as_nobody(program: &Path, library: &Path) -> Ended {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", "env"]);
    command.arg(format!("LD_PRELOAD={}", library.display())).arg(program);
    run_limited(&mut command, Duration::from_secs(300))
}

fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("permissions");
}

#[test]
fn programs_with_more_rights_than_their_user_do_not_get_the_library() {
    // SAFETY: no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: only root can make a program that has more rights than its user");
        return;
    }
    let scratch = scratch_directory();
    mode(scratch.path(), 0o755);
    for mpi in MPIS {
        let directory = scratch.path().join(mpi.name());
        fs::create_dir(&directory).expect("a directory");
        mode(&directory, 0o755);
        let (library, program) = (directory.join("libnagare.so"), directory.join("program"));
        fs::copy(mpi.family().library(), &library).expect("a copy of the library");
        fs::copy(&compile(mpi, "tests/programs/privileged.c").words[0], &program).expect("a copy of the program");
        mode(&library, 0o755);
        mode(&program, 0o755);
        let said = |ended: Ended| ended.stdout.trim().to_owned();
        assert_eq!(said(as_nobody(&program, &library)), "secure=0 loaded=1", "{}", mpi.name());

        mode(&program, 0o4755);
        let ended = as_nobody(&program, &library);
        assert!(ended.success(), "{}", ended.output());
        if said(ended) == "secure=0 loaded=1" {
            eprintln!("skipped: {} is on a file system that takes no notice of set-user-ID", directory.display());
            continue;
        }
        assert_eq!(said(as_nobody(&program, &library)), "secure=1 loaded=0", "{}", mpi.name());

        // A file capability is a right as well; not every file system keeps them.
        mode(&program, 0o755);
        let mut capability = Command::new("sh");
        capability.args(["-c", "PATH=$PATH:/sbin:/usr/sbin setcap cap_net_raw+ep \"$1\"", "sh"]).arg(&program);
        if run_limited(&mut capability, Duration::from_secs(300)).success() {
            assert_eq!(said(as_nobody(&program, &library)), "secure=1 loaded=0", "{}", mpi.name());
        } else {
            eprintln!("skipped: no file capabilities here");
        }
    }
}
