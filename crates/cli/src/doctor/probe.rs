//! Two ranks started with the library preloaded, seen from outside.

use super::{refuses_root, report::Health};
use crate::env::variables;
use crate::mpi::Family;
use crate::mpi::launcher::Kind;
use crate::mpi::preload::Preload;
use crate::mpi::process::watch;
use crate::own;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// Starts two ranks of this program with the library preloaded and returns what they found, indented.
pub fn run(start: &Start, timeout: Duration, health: &mut Health) -> String {
    if refuses_root(start.kind) {
        return "    not probed: as root, Open MPI starts nothing unless OMPI_ALLOW_RUN_AS_ROOT=1 and \
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set\n"
            .to_owned();
    }
    let mut broken = |line: String| health.broken(format!("probe of {}: {line}", start.name));
    let outcome = match command(start).and_then(|command| watch(command, timeout)) {
        Ok(outcome) => outcome,
        Err(error) => {
            broken(format!("{error:#}"));
            return format!("    WRONG: {error:#}\n");
        }
    };
    let mut text = indented(&outcome.stdout);
    let failure = match outcome.status {
        None => Some(format!("two ranks did not end within {} s", timeout.as_secs())),
        Some(status) if !status.success() => Some(format!("two ranks ended with {status}")),
        Some(_) => None,
    };
    if !outcome.stderr.trim().is_empty() {
        let _ = write!(text, "    standard error:\n{}", indented(&outcome.stderr));
    }
    if let Some(failure) = failure {
        let _ = writeln!(text, "    WRONG: {failure}");
        broken(failure);
    }
    text
}

/// The launcher with two ranks of this program.
fn command(start: &Start) -> anyhow::Result<Command> {
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
    let environment = std::env::var("LD_PRELOAD").ok();
    // A report of the probe would overwrite that of a real run.
    let names: Vec<String> = variables().into_iter().map(|(name, _)| name).filter(|n| n != "NAGARE_REPORT").collect();
    let library = start.library.to_string_lossy();
    let preload =
        Preload { library: &library, environment: environment.as_deref(), slurm_export: None, variables: &names };
    let arguments = preload.arguments(start.kind, &arguments)?;
    let mut command = Command::new(start.name);
    command.args(arguments).env_remove("NAGARE_REPORT");
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

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
