//! Where the report of a world goes. Nagare decides it in `MPI_Init`: the program may change its directory later, and
//! may disconnect from the processes that spawned it.
//!
//! ```text
//!   NAGARE_REPORT=out/r.json    launched world   <directory at MPI_Init>/out/r.json
//!                               spawned world    <directory at MPI_Init>/out/r.spawned-HOST-PROCESS.json
//! ```
//!
//! Spawned processes inherit the variable: with one name for all worlds only the report of the last to end would
//! remain.

use super::content::Report;
use nagare_config::ReportTarget;
use std::fs::File;
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where rank 0 of a world writes its report.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard error.
    Stderr,
    /// A file.
    File(PathBuf),
}

impl Destination {
    /// Called by rank 0 while its world begins; `spawned_on`: its host, if another world has spawned its own.
    pub fn new(target: &ReportTarget, spawned_on: Option<&str>) -> Self {
        match target {
            ReportTarget::Stderr => Self::Stderr,
            ReportTarget::File(name) => {
                let written = Path::new(name);
                // Without a current directory it stays as it is written, and opening it says what is wrong.
                let path = std::path::absolute(written).unwrap_or_else(|_| written.to_owned());
                Self::File(match spawned_on {
                    Some(host) => of_spawned(&path, host, std::process::id()),
                    None => path,
                })
            }
        }
    }

    /// Writes the report; prints one line if it cannot be written.
    pub fn write(&self, report: &Report) {
        match self {
            Self::Stderr => crate::boundary::say(&report.text()),
            Self::File(path) => {
                let json = path.as_os_str().as_encoded_bytes().ends_with(b".json");
                let text = if json { report.json() } else { report.text() };
                if let Err(error) = write(path, &text) {
                    let path = nagare_plan::quoted(&path.to_string_lossy());
                    log::warn!(
                        "NAGARE_REPORT={path}: {error}; the report is lost, expected a file that can be written"
                    );
                }
            }
        }
    }
}

/// The name for a spawned world whose rank 0 is this process on this host. What is no file, such as `/dev/null`, takes
/// all reports.
fn of_spawned(path: &Path, host: &str, process: u32) -> PathBuf {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return path.to_owned();
    }
    let mut extension = format!("spawned-{host}-{process}");
    if let Some(own) = path.extension().and_then(|own| own.to_str()) {
        extension = format!("{extension}.{own}");
    }
    path.with_extension(extension)
}

/// Writes a file without ever waiting: a pipe that nobody reads is an error.
fn write(path: &Path, text: &str) -> Result<()> {
    let file = File::options().write(true).create(true).truncate(true).custom_flags(libc::O_NONBLOCK).open(path);
    file?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_spawned_worlds_have_names_of_their_own() {
        let name = |path: &str| of_spawned(Path::new(path), "node7", 4711).display().to_string();
        assert_eq!(name("/no/such/r.json"), "/no/such/r.spawned-node7-4711.json");
        assert_eq!(name("/no/such.d/report"), "/no/such.d/report.spawned-node7-4711");
        assert_eq!(name("/dev/null"), "/dev/null");
    }

    #[test]
    fn a_relative_name_is_one_in_the_directory_at_the_start() {
        let here = std::env::current_dir().expect("a directory");
        let target = ReportTarget::File("out/r.json".to_owned());
        assert_eq!(Destination::new(&target, None), Destination::File(here.join("out/r.json")));
    }
}
