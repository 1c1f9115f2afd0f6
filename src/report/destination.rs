//! Where the report of a world goes. Nagare decides it in `MPI_Init`: the program may change its directory later, and
//! may disconnect from the processes that spawned it.
//!
//! ```text
//!   NAGARE_REPORT=out/r.json    launched world   <directory at MPI_Init>/out/r.json
//!                               spawned world    <directory at MPI_Init>/out/r.spawned-HOST-PROCESS.json
//! ```
//!
//! In names, `%j` and others are filled in, and a file that is there stays unless the user says otherwise:
//! `r.json` becomes `r.2.json`.
//!
//! Spawned processes inherit the variable: with one name for all worlds only the report of the last to end would
//! remain.

use super::content::Report;
use nagare_config::ReportTarget;
use std::fs::File;
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where rank 0 of a world writes its report.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// A file.
    File {
        /// Where.
        path: PathBuf,
        /// Whether one that is there is replaced.
        replaces: bool,
    },
}

impl Destination {
    /// Called by rank 0, on `host`, while its world begins; `is_spawned`: another world has spawned it.
    pub fn new(target: &ReportTarget, host: &str, is_spawned: bool) -> Self {
        match target {
            ReportTarget::Stderr => Self::Stderr,
            ReportTarget::Stdout => Self::Stdout,
            ReportTarget::File { name, replaces } => {
                let process = std::process::id();
                // Without a batch system this process tells jobs apart.
                let job = job().unwrap_or_else(|| process.to_string());
                let written = PathBuf::from(filled(name, host, &job, process, seconds()));
                // Without a current directory it stays as it is written, and opening it says what is wrong.
                let path = std::path::absolute(&written).unwrap_or(written);
                let path = if is_spawned { of_spawned(&path, host, std::process::id()) } else { path };
                Self::File { path, replaces: *replaces }
            }
        }
    }

    /// Writes the report; prints one line if it cannot be written.
    pub fn write(&self, report: &Report) {
        match self {
            Self::Stderr => crate::boundary::say(&report.text()),
            // A program that has closed it wants no report there.
            Self::Stdout => drop(std::io::stdout().write_all(report.text().as_bytes())),
            Self::File { path, replaces } => {
                let json = path.as_os_str().as_encoded_bytes().ends_with(b".json");
                let text = if json { report.json() } else { report.text() };
                let shown = |path: &Path| nagare_plan::quoted(&path.to_string_lossy());
                match write(path, *replaces, &text) {
                    Ok(written) if written != *path => {
                        log::warn!(
                            "NAGARE_REPORT={}: is there already; the report is {}",
                            shown(path),
                            shown(&written)
                        );
                    }
                    Ok(_) => {}
                    Err(error) => log::warn!(
                        "NAGARE_REPORT={}: {error}; the report is lost, expected a file that can be written",
                        shown(path)
                    ),
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

/// Numbers that are tried for a name that is taken.
const NUMBERS: std::ops::RangeInclusive<u32> = 2..=9999;

/// Writes a file without ever waiting: a pipe that nobody reads is an error. Where it is: a file that is there stays,
/// unless `replaces`.
fn write(path: &Path, replaces: bool, text: &str) -> Result<PathBuf> {
    let options = || File::options().write(true).custom_flags(libc::O_NONBLOCK).clone();
    // What is no file takes all reports, and a link that leads nowhere says so.
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    if replaces || !is_file && path.symlink_metadata().is_ok() {
        options().create(true).truncate(true).open(path)?.write_all(text.as_bytes())?;
        return Ok(path.to_owned());
    }
    for name in std::iter::once(path.to_owned()).chain(NUMBERS.map(|number| numbered(path, number))) {
        match options().create_new(true).open(&name) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(name);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// `r.2.json` for `r.json`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let own = path.extension().and_then(|own| own.to_str());
    path.with_extension(own.map_or_else(|| number.to_string(), |own| format!("{number}.{own}")))
}

/// The name with what the percent signs stand for, which has been checked.
fn filled(name: &str, host: &str, job: &str, process: u32, seconds: u64) -> String {
    let mut text = String::new();
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match (letter, if letter == '%' { letters.next() } else { None }) {
            ('%', Some('j')) => text += job,
            ('%', Some('h')) => text += host,
            ('%', Some('p')) => text += &process.to_string(),
            ('%', Some('t')) => text += &seconds.to_string(),
            ('%', _) => text.push('%'),
            _ => text.push(letter),
        }
    }
    text
}

/// What the batch system calls the job, as far as it can be part of a name.
pub fn job() -> Option<String> {
    let known = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"].iter().find_map(|name| std::env::var(name).ok());
    known.filter(|job| !job.is_empty() && !job.contains(['/', '\0']))
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
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
        let target = ReportTarget::File { name: "out/r.json".to_owned(), replaces: false };
        let expected = Destination::File { path: here.join("out/r.json"), replaces: false };
        assert_eq!(Destination::new(&target, "node7", false), expected);
    }

    #[test]
    fn percent_signs_are_filled_in() {
        let of = |name| filled(name, "node7", "12.server", 4711, 1_800_000_000);
        assert_eq!(of("r-%j-%h.%p.%t.json"), "r-12.server-node7.4711.1800000000.json");
        assert_eq!(of("100%%/流れ"), "100%/流れ");
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let directory = std::env::temp_dir().join(format!("nagare-destination-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("a directory");
        let (path, none) = (directory.join("r.json"), directory.join("report"));
        for expected in ["r.json", "r.2.json", "r.3.json"] {
            assert_eq!(write(&path, false, expected).expect("written"), directory.join(expected));
        }
        assert_eq!(write(&none, false, "").expect("written"), none);
        assert_eq!(write(&none, false, "").expect("written"), directory.join("report.2"));
        assert_eq!(write(&path, true, "new").expect("written"), path);
        let text = |name: &str| std::fs::read_to_string(directory.join(name)).expect("a report");
        assert_eq!(["r.json", "r.2.json", "r.3.json"].map(text), ["new", "r.2.json", "r.3.json"]);
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
