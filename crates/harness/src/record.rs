//! What jobs have verified, written down as they go for the table of docs/compatibility.md.

use super::mpi::Mpi;
use super::program::Program;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The variable that names the file; nothing is written where it is not set.
pub const RECORD: &str = "VERIFY_RECORD";

/// One job with Nagare whose program found every result right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Short name of the MPI installation.
    pub mpi: String,
    /// File name of the program, without what compiling adds.
    pub program: String,
    /// The language, and for Fortran the binding.
    pub binding: &'static str,
    /// Calls that the program has compared.
    pub cases: u64,
}

/// Notes a job; a file that cannot be written is a mistake of whoever asked for it.
pub(crate) fn note(program: &Program, ranks: u32, cases: u64) {
    let Some(file) = std::env::var_os(RECORD) else { return };
    let last =
        program.words.last().map(|word| Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned());
    let line = json!({ "mpi": program.mpi.name(), "program": last, "ranks": ranks, "cases": cases }).to_string() + "\n";
    let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the file that VERIFY_RECORD names");
    // One call: lines of several test programs do not mix.
    file.write_all(line.as_bytes()).expect("the file that VERIFY_RECORD names");
}

/// The jobs noted in `file`, none if there is no file.
pub fn verified(file: &Path) -> Vec<Verified> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let jobs = text.lines().map(|line| {
        let job: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}: {line}", file.display()));
        let program = job["program"].as_str().expect("a program").to_owned();
        let (program, binding) = match program.rsplit_once(['_', '.']) {
            Some((name, "py")) => (name, "Python"),
            Some((name, "f90")) if name.ends_with("f08") => (name, "Fortran (use mpi_f08)"),
            Some((name, "f90")) if name.ends_with("use_mpi") => (name, "Fortran (use mpi)"),
            Some((name, "f90")) => (name, "Fortran (mpif.h)"),
            Some((name, "c")) => (name, "C"),
            _ => (program.as_str(), "C"),
        };
        let (program, mpi) = (program.to_owned(), job["mpi"].as_str().expect("an MPI").to_owned());
        Verified { mpi, program, binding, cases: job["cases"].as_u64().expect("cases") }
    });
    jobs.collect()
}

impl Mpi {
    /// What the launcher says of itself, such as `Open MPI 4.1.4`.
    pub fn version(self) -> String {
        let mut launcher = std::process::Command::new(self.launcher().0);
        let ended = super::run_limited(launcher.arg("--version"), std::time::Duration::from_secs(300));
        let number = |mark: &str| ended.stdout.split_once(mark).and_then(|(_, rest)| rest.split_whitespace().next());
        let versions = [("Open MPI", "(Open MPI)"), ("Open MPI", "(OpenRTE)"), ("MPICH", "Version:")];
        let version = versions.iter().find_map(|(name, mark)| number(mark).map(|number| format!("{name} {number}")));
        version.unwrap_or_else(|| panic!("{} --version says something else\n{}", self.name(), ended.output()))
    }
}
