//! Launchers: found in PATH, recognised by what `--version` prints.

use super::{Family, elf::Dynamic, process::watch};
use anyhow::{Context, bail, ensure};
use nagare_plan::quoted;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longest time `--version` may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a launcher is told about its ranks' environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mpirun` of Open MPI: `-x NAME=VALUE` in every application context.
    OpenMpi,
    /// Hydra, the launcher of MPICH, MVAPICH and Intel MPI: `-genv NAME VALUE`.
    Hydra,
    /// Slurm's `srun`: `--export=ALL,NAME=VALUE`; it starts programs of any MPI.
    Srun,
}

/// A launcher and what it told about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The file, as found.
    pub path: PathBuf,
    /// How to talk to it.
    pub kind: Kind,
    /// Product and version, such as `Open MPI 4.1.4`.
    pub version: String,
}

impl Launcher {
    /// The MPI its ranks use, where the launcher decides it.
    pub fn family(&self) -> Option<Family> {
        match self.kind {
            Kind::OpenMpi => Some(Family::Openmpi),
            Kind::Hydra => Some(Family::Mpich),
            Kind::Srun => None,
        }
    }

    /// Asks the launcher at `path` for its version.
    ///
    /// # Errors
    /// If it does not answer in time, or with something unknown.
    pub fn identify(path: &Path) -> anyhow::Result<Self> {
        let text = version_text(path)?;
        let Some((kind, version)) = recognise(&text).map(|(kind, version)| (kind, quoted(&version))) else {
            let first = quoted(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing"));
            // Without a configuration it does not even tell its version.
            ensure!(!first.starts_with("srun: "), "Slurm, which has no configuration here: {first}");
            ensure!(
                !first.starts_with("nagare "),
                "{} is no launcher; on an emulated network use --fabric FILE, which starts it and the ranks",
                path.display()
            );
            bail!(
                "{} --version printed '{first}'; expected Open MPI, MPICH (Hydra), Intel MPI, MVAPICH or Slurm",
                path.display()
            );
        };
        Ok(Self { path: path.to_owned(), kind, version })
    }
}

/// Whether a command is meant as a launcher, by its name.
pub fn is_launcher_name(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command);
    ["mpirun", "mpiexec", "orterun", "prterun", "srun"].iter().any(|known| name.starts_with(known))
}

/// The file `command` stands for: itself if it has a slash, otherwise the first executable of that name in PATH.
///
/// # Errors
/// If there is none.
pub fn resolve(command: &str) -> anyhow::Result<PathBuf> {
    if command.contains('/') {
        let path = Path::new(command);
        ensure!(path.exists(), "{command}: no such file");
        ensure!(is_executable(path), "{command}: not an executable file");
        return Ok(path.to_owned());
    }
    find_in_path(command).with_context(|| format!("{command}: no such command in PATH"))
}

/// The first executable of that name in PATH.
pub fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| is_executable(file))
}

/// The MPI family of the first program among `arguments`, for launchers that do not decide it.
pub fn family_of_programs(arguments: &[String]) -> Option<Family> {
    let files = arguments.iter().filter(|a| !a.starts_with('-')).filter_map(|a| resolve(a).ok());
    files.filter_map(|file| Dynamic::read(&file).ok().flatten()).find_map(|dynamic| dynamic.family())
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// What `path --version` prints on either stream.
fn version_text(path: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(path);
    command.arg("--version");
    let outcome = watch(command, PATIENCE)?;
    ensure!(outcome.status.is_some(), "{} --version did not end within {} s", path.display(), PATIENCE.as_secs());
    Ok(outcome.stdout + &outcome.stderr)
}

/// Kind and product of a launcher by its version text.
pub(super) fn recognise(text: &str) -> Option<(Kind, String)> {
    let number = |rest: &str| rest.split_whitespace().next().unwrap_or_default().trim_end_matches(',').to_owned();
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| number(rest));
    let product = |kind, name: &str, version: String| Some((kind, format!("{name} {version}").trim_end().to_owned()));
    for mark in ["(Open MPI)", "(OpenRTE)"] {
        if let Some(version) = after(mark) {
            return product(Kind::OpenMpi, "Open MPI", version);
        }
    }
    if let Some(version) = after("(PRRTE)") {
        return product(Kind::OpenMpi, "Open MPI with PRRTE", version);
    }
    if text.contains("Intel(R) MPI Library") {
        return product(Kind::Hydra, "Intel MPI", after("Version ").unwrap_or_default());
    }
    if text.contains("HYDRA build details") {
        let lower = text.to_ascii_lowercase();
        let name = if lower.contains("mvapich") { "MVAPICH (Hydra)" } else { "MPICH (Hydra)" };
        return product(Kind::Hydra, name, after("Version:").unwrap_or_default());
    }
    if text.trim_start().starts_with("slurm") {
        return product(Kind::Srun, "Slurm", after("slurm").unwrap_or_default());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_texts() {
        let cases = [
            ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to …\n", Kind::OpenMpi, "Open MPI 4.1.4"),
            ("mpirun (Open MPI) 5.0.11\n\nReport bugs to …\n", Kind::OpenMpi, "Open MPI 5.0.11"),
            ("HYDRA build details:\n    Version:      4.0.2\n    CC: gcc\n", Kind::Hydra, "MPICH (Hydra) 4.0.2"),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307 (id: d82b3071db)\n",
                Kind::Hydra,
                "Intel MPI 2021.9",
            ),
            ("slurm 23.11.4\n", Kind::Srun, "Slurm 23.11.4"),
        ];
        for (text, kind, version) in cases {
            assert_eq!(recognise(text), Some((kind, version.to_owned())));
        }
        assert_eq!(recognise("mpiexec_mpt 2.25\n"), None);
    }

    #[test]
    fn launchers_by_name() {
        assert!(["mpirun", "mpiexec.hydra", "/opt/ompi/bin/mpirun", "srun"].iter().all(|n| is_launcher_name(n)));
        assert!(["./app", "python3", "env", "/opt/mpirun/app"].iter().all(|n| !is_launcher_name(n)));
    }
}
