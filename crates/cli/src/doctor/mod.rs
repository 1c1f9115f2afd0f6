//! `nagare doctor`: which MPI is installed, which library fits it, what is configured, and what two ranks see.

mod probe;
mod rank;
mod report;

use crate::args::DoctorArgs;
use crate::mpi::launcher::{Kind, Launcher, find_in_path};
use crate::mpi::{Family, library};
use crate::output::{print, print_json};
use crate::own;
use report::Health;
use std::path::PathBuf;
use std::process::ExitCode;

/// Commands that may be launchers, the plain ones first.
const LAUNCHERS: &[&str] = &[
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "orterun",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpiexec.hydra",
    "srun",
];

/// A launcher under all its names.
struct Found {
    /// The first is the one PATH finds first; it is started by this name, as users do.
    names: Vec<&'static str>,
    /// The file with links followed.
    file: PathBuf,
    launcher: anyhow::Result<Launcher>,
}

/// Prints what can be found out; exit status 1 if something is broken.
pub fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    if let Some(family) = args.rank {
        return rank::run(family, &args.mpi_library);
    }
    let mut health = Health::default();
    let say = |text: &str| if args.json { Ok(()) } else { print(text) };
    let program = own::file().map_or_else(|error| error.to_string(), |p| p.display().to_string());
    say(&format!("Nagare {} ({program})\n", env!("CARGO_PKG_VERSION")))?;

    let launchers = find_launchers();
    let libraries = Family::ALL.map(|family| (family, library::find(family, args.lib.as_deref())));
    say(&report::launchers(&launchers, &libraries))?;
    say(&report::libraries(&launchers, &libraries, &mut health))?;
    say(&report::configuration(&mut health))?;
    say(&report::slurm())?;

    say("\nprobes\n")?;
    for found in &launchers {
        let (Ok(launcher), Some(name)) = (&found.launcher, found.names.first()) else { continue };
        let library = launcher.family().and_then(|family| libraries.iter().find(|(f, _)| *f == family));
        let text = match library {
            _ if args.no_probe => continue,
            None => "    not probed: it starts programs of any MPI\n".to_owned(),
            Some((_, Err(_))) => "    not probed: there is no library for it\n".to_owned(),
            Some((family, Ok(library))) => {
                let start = probe::Start { name, kind: launcher.kind, file: &found.file, family: *family, library };
                probe::run(&start, args, &mut health)
            }
        };
        say(&format!("  {name} ({})\n", launcher.version))?;
        say(&text)?;
    }
    if args.no_probe {
        say("  none: --no-probe\n")?;
    } else if launchers.is_empty() {
        say("  none: there is no launcher\n")?;
    }
    say(&health.summary())?;
    if args.json {
        print_json(&report::as_data(&launchers, &libraries, &health))?;
    }
    Ok(if health.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The launchers in PATH, one entry for all names of a file, and for files of one installation.
fn find_launchers() -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for &name in LAUNCHERS {
        let Some(path) = find_in_path(name) else { continue };
        let file = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(found) = all.iter_mut().find(|found| found.file == file) {
            found.names.push(name);
            continue;
        }
        let launcher = Launcher::identify(&path);
        let twin = |found: &&mut Found| match (&found.launcher, &launcher) {
            (Ok(a), Ok(b)) => a.version == b.version && found.file.parent() == file.parent(),
            _ => false,
        };
        match all.iter_mut().find(twin) {
            Some(found) => found.names.push(name),
            None => all.push(Found { names: vec![name], file, launcher }),
        }
    }
    all
}

/// Whether the launcher runs as root only if told so, and has not been.
fn refuses_root(kind: Kind) -> bool {
    let allowed = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    let is_allowed = allowed.iter().all(|name| std::env::var_os(name).is_some_and(|value| value == "1"));
    kind == Kind::OpenMpi && rustix::process::geteuid().is_root() && !is_allowed
}
