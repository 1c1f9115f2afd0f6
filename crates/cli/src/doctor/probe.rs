//! Two ranks started with the library preloaded, seen from outside.

use super::{refuses_root, report::Health};
use crate::args::DoctorArgs;
use crate::env::variables;
use crate::mpi::Family;
use crate::mpi::launcher::Kind;
use crate::mpi::preload::{Preload, others};
use crate::mpi::process::{Outcome, watch};
use crate::own;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// What is started.
pub struct Start<'a> {
    /// The launcher, as found in PATH.
    pub name: &'a str,
    /// How it is talked to.
    pub kind: Kind,
    /// Its file.
    pub file: &'a Path,
    /// The MPI of its ranks.
    pub family: Family,
    /// The library to preload.
    pub library: &'a Path,
}

/// What rank 0 says that only a search for a fault in Nagare needs.
const VERBOSE: &str = "functions bound in it:";

/// Starts two ranks of this program with the library preloaded and returns what they found, indented.
pub fn run(start: &Start, args: &DoctorArgs, health: &mut Health) -> String {
    if refuses_root(start.kind) {
        return "    not probed: as root, Open MPI starts nothing unless OMPI_ALLOW_RUN_AS_ROOT=1 and \
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set\n"
            .to_owned();
    }
    let broken = |line: &str| format!("probe of {}: {line}", start.name);
    let environment = std::env::var("LD_PRELOAD").ok();
    let outcome = match ranks(start, args.timeout, environment.as_deref()) {
        Ok(outcome) => outcome,
        Err(error) => {
            health.broken(broken(&format!("{error:#}")));
            return format!("    WRONG: {error:#}\n");
        }
    };
    let lines = outcome.stdout.lines().filter(|line| args.verbose || !line.starts_with(VERBOSE));
    let mut text = indented(lines);
    if !outcome.stderr.trim().is_empty() {
        let _ = write!(text, "    standard error:\n{}", indented(outcome.stderr.lines()));
    }
    let problems: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix("problem: ")).collect();
    // What is wrong with the configuration is known already.
    for problem in problems.into_iter().filter(|problem| !health.knows(problem)).collect::<Vec<_>>() {
        health.broken(broken(problem));
    }
    if let Some(mut failure) = failure(start.kind, &outcome, args.timeout) {
        let tools: Vec<&str> = others(environment.as_deref()).collect();
        if !tools.is_empty() {
            let without = ranks(start, args.timeout, None);
            let is_well = without.is_ok_and(|o| self::failure(start.kind, &o, args.timeout).is_none());
            let and = if is_well { "without it all is well" } else { "without it they fail as well" };
            let _ = write!(failure, ", with LD_PRELOAD={}; {and}", tools.join(":"));
        }
        let _ = writeln!(text, "    WRONG: {failure}");
        health.broken(broken(&failure));
    }
    text
}

/// Starts the ranks; `environment`: what they preload besides the library.
fn ranks(start: &Start, timeout: Duration, environment: Option<&str>) -> anyhow::Result<Outcome> {
    watch(command(start, environment)?, timeout)
}

/// Why the ranks did not succeed.
fn failure(kind: Kind, outcome: &Outcome, timeout: Duration) -> Option<String> {
    match outcome.status {
        None => Some(format!("two ranks did not end within {} s", timeout.as_secs())),
        Some(status) if status.success() => None,
        Some(status) => {
            let name = signal(kind, status).map_or_else(String::new, |name| format!(" ({name})"));
            Some(format!("two ranks ended with {status}{name}"))
        }
    }
}

/// The signal behind an exit status: 128 + n as shells have it; Hydra also passes on a bare n, which is no exit status
/// of our ranks.
fn signal(kind: Kind, status: ExitStatus) -> Option<String> {
    let code = status.code()?;
    let named = |number: i32| SIGNALS.iter().find(|(n, _)| *n == number).map(|(n, name)| format!("signal {n}, {name}"));
    named(code - 128).or_else(|| named(code).filter(|_| kind == Kind::Hydra))
}

/// Signals that end a program which does something wrong, or that somebody sends to end it.
const SIGNALS: [(i32, &str); 8] = [
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

/// The launcher with two ranks of this program.
fn command(start: &Start, environment: Option<&str>) -> anyhow::Result<Command> {
    let program = own::file()?;
    let mut arguments: Vec<String> = match start.kind {
        Kind::OpenMpi => ["-np", "2", "--oversubscribe"].map(str::to_owned).into(),
        Kind::Hydra | Kind::Srun => ["-n", "2"].map(str::to_owned).into(),
    };
    arguments.push(program.to_string_lossy().into_owned());
    arguments.extend(["doctor", "--rank", start.family.directory()].map(str::to_owned));
    for candidate in mpi_libraries(start.file, start.family) {
        arguments.extend(["--mpi-library".to_owned(), candidate.to_string_lossy().into_owned()]);
    }
    // A report of the probe would overwrite that of a real run.
    let names: Vec<String> = variables().into_iter().map(|(name, _)| name).filter(|n| n != "NAGARE_REPORT").collect();
    let library = start.library.to_string_lossy();
    let preload = Preload { library: &library, environment, slurm_export: None, variables: &names };
    let arguments = preload.arguments(start.kind, &arguments)?;
    let mut command = Command::new(start.name);
    command.args(arguments).env_remove("NAGARE_REPORT");
    if environment.is_none() {
        command.env_remove("LD_PRELOAD");
    }
    Ok(command)
}

/// Where the launcher's own MPI library may be: files beside it first, then names for the dynamic linker to find.
fn mpi_libraries(launcher: &Path, family: Family) -> Vec<PathBuf> {
    let prefix = launcher.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    let multiarch = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    let directories = ["lib", "lib64", multiarch.as_str(), "lib/release"].map(|d| prefix.join(d));
    let names = family.c_libraries();
    let beside = directories.iter().flat_map(|d| names.iter().map(move |name| d.join(name))).filter(|p| p.is_file());
    beside.chain(names.iter().map(PathBuf::from)).collect()
}

fn indented<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("    {line}\n")).collect()
}
