//! `nagare run`: starts a job with the fitting library preloaded into its ranks.

use crate::args::RunArgs;
use crate::env::variables;
use crate::mpi::elf::Dynamic;
use crate::mpi::launcher::{Launcher, family_of_programs, is_launcher_name, resolve};
use crate::mpi::preload::Preload;
use crate::mpi::{Family, library, program};
use crate::output::{print, tell};
use anyhow::{Context, anyhow, bail};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// A command and what it is.
struct Prepared {
    words: Vec<String>,
    /// LD_PRELOAD of the command itself, for a program without a launcher.
    preload: Option<String>,
    /// What was found, for -v.
    found: String,
    /// Programs that the library does not get into, one line each.
    obstacles: Vec<String>,
}

/// Replaces this process by the command, with the library preloaded into its ranks.
pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let Some(mut command) = command(args)? else { return Ok(ExitCode::SUCCESS) };
    let error = command.exec();
    Err(anyhow!("{}: {error}", command.get_program().to_string_lossy()))
}

/// The command, with the library preloaded into its ranks; `None` if it was only to be shown.
///
/// # Errors
/// If it is no launcher and no MPI program, or there is no library for it.
pub fn command(args: &RunArgs) -> anyhow::Result<Option<Command>> {
    let prepared = prepare(args)?;
    let line = prepared.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let assignment = prepared.preload.as_ref().map_or_else(String::new, |value| format!("LD_PRELOAD={value} "));
    if args.verbose {
        tell!("{}\nnagare: {assignment}{line}", prepared.found);
    }
    for obstacle in &prepared.obstacles {
        tell!("{obstacle}; it is started, and runs as without Nagare");
    }
    if args.dry_run {
        print(&format!("{assignment}{line}\n"))?;
        return Ok(None);
    }
    let mut command = Command::new(&prepared.words[0]);
    command.args(&prepared.words[1..]);
    command.envs(prepared.preload.map(|value| ("LD_PRELOAD", value)));
    command.envs(args.environment.iter().map(|(name, value)| (name, value)));
    Ok(Some(command))
}

fn prepare(args: &RunArgs) -> anyhow::Result<Prepared> {
    let (name, arguments) = args.command.split_first().context("the command is missing")?;
    let environment = utf8_variable("LD_PRELOAD")?;
    let slurm_export = utf8_variable("SLURM_EXPORT_ENV")?;
    let mut names: Vec<String> = variables().into_iter().map(|(name, _)| name).collect();
    for (name, _) in &args.environment {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let path = resolve(name)?;
    let launcher = if is_launcher_name(name) { Some(Launcher::identify(&path)?) } else { None };
    let (family, what) = match &launcher {
        Some(launcher) => (family_of_launcher(launcher, arguments, args.mpi)?, launcher.version.clone()),
        None => {
            let family = family_of_program(&path, args.mpi)?;
            (family, format!("a program of {}", family.name()))
        }
    };
    let library = library::to_preload(family, args.lib.as_deref())?;
    let library = library.to_string_lossy();
    let found = format!("{} is {what}; preloading {library}", path.display());
    let (environment, slurm_export) = (environment.as_deref(), slurm_export.as_deref());
    let preload = Preload { library: &library, environment, slurm_export, variables: &names };
    let mut words = vec![name.clone()];
    match launcher {
        Some(launcher) => {
            words.extend(preload.arguments(launcher.kind, arguments)?);
            let obstacles = program::obstacles(launcher.kind, arguments, family);
            Ok(Prepared { words, preload: None, found, obstacles })
        }
        None => {
            words.extend(arguments.iter().cloned());
            let obstacle = Dynamic::read(&path)?.and_then(|dynamic| program::obstacle(&path, &dynamic));
            let obstacles = obstacle.map(|obstacle| format!("{name} {obstacle}")).into_iter().collect();
            Ok(Prepared { words, preload: Some(preload.value(environment)), found, obstacles })
        }
    }
}

/// A launcher tells the family, srun's programs do, or the user.
fn family_of_launcher(launcher: &Launcher, arguments: &[String], asked: Option<Family>) -> anyhow::Result<Family> {
    if let Some(family) = launcher.family() {
        if let Some(asked) = asked.filter(|&asked| asked != family) {
            bail!("--mpi {}: {} is {}", asked.directory(), launcher.path.display(), launcher.version);
        }
        return Ok(family);
    }
    asked.or_else(|| family_of_programs(arguments)).with_context(|| {
        format!(
            "{} starts programs of any MPI, and none of its arguments is a program linked to one; \
             say --mpi openmpi or --mpi mpich",
            launcher.path.display()
        )
    })
}

/// A program tells the family by the library it is linked to.
fn family_of_program(path: &Path, asked: Option<Family>) -> anyhow::Result<Family> {
    let shown = path.display();
    let dynamic = Dynamic::read(path)?;
    // What the system cannot execute, execvp(3) gives to a shell to read.
    if let Some(foreign) = dynamic.as_ref().and_then(program::foreign) {
        bail!("{shown} {foreign}");
    }
    let linked = dynamic.as_ref().and_then(Dynamic::family);
    match (linked, asked) {
        (Some(linked), Some(asked)) if linked != asked => {
            bail!("--mpi {}: {shown} is linked to {}", asked.directory(), linked.name())
        }
        (Some(family), _) | (None, Some(family)) => Ok(family),
        (None, None) => {
            if let Some(obstacle) = dynamic.as_ref().and_then(|dynamic| program::obstacle(path, dynamic)) {
                bail!("{shown} {obstacle}");
            }
            let what = match dynamic {
                None => "a script or other file without an ELF header".to_owned(),
                Some(dynamic) if dynamic.needed.is_empty() => "linked to no library".to_owned(),
                Some(dynamic) => format!("linked to {}", dynamic.needed.join(", ")),
            };
            bail!(
                "{shown} is neither a launcher (mpirun, mpiexec, srun) nor a program linked to MPI: it is {what}; \
                 put `nagare run --` before the launcher, or say --mpi openmpi or --mpi mpich"
            )
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn utf8_variable(name: &str) -> anyhow::Result<Option<String>> {
    let value = std::env::var_os(name).map(OsString::into_string).transpose();
    value.map_err(|value| anyhow!("{name}={}: not UTF-8", value.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_for_the_shell() {
        assert_eq!(quoted("LD_PRELOAD=/a/b.so:c.so"), "LD_PRELOAD=/a/b.so:c.so");
        assert_eq!((quoted(""), quoted("a b"), quoted("it's")), ("''".into(), "'a b'".into(), r"'it'\''s'".into()));
    }
}
