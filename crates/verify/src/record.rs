//! What was run, as data: `docs/compatibility/<command>.json`, one list of rows for each command.

use anyhow::{Context, Result};
use nagare_harness::root_directory;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The MPI library with its version, such as `Open MPI 4.1.4`.
    pub mpi: String,
    /// The language binding, such as `C` or `Python (mpi4py 4.1.2)`.
    pub binding: String,
    /// What was run, in a few words: programs, numbers of processes, with what settings.
    pub what: String,
    /// How many (tests, cases, cycles) were run, with their unit, such as `4685 tests`.
    pub ran: String,
    /// What came out: `as without Nagare`, or what differs.
    pub result: String,
}

/// A line and the product it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The line.
    #[serde(flatten)]
    pub row: Row,
    /// The last commit that changed what is preloaded, with `+` where changes were not committed; empty where nobody
    /// knows.
    #[serde(default)]
    pub product: String,
}

/// What the preloaded library is made from.
const SOURCES: [&str; 9] = [
    "src",
    "crates/plan/src",
    "crates/plan/Cargo.toml",
    "crates/config/src",
    "crates/config/Cargo.toml",
    "build.rs",
    "Cargo.toml",
    "Cargo.lock",
    ":(exclude)*/tests.rs",
];

/// [`Recorded::product`] of this checkout, from the first time it is asked for: later commits are not what is being
/// run.
pub fn product() -> &'static str {
    static PRODUCT: LazyLock<String> = LazyLock::new(|| look_up().unwrap_or_default());
    &PRODUCT
}

fn look_up() -> Option<String> {
    let git = |words: &[&str]| {
        let ran =
            Command::new("git").current_dir(root_directory()).args(words).arg("--").args(SOURCES).output().ok()?;
        ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    };
    let commit = git(&["log", "-1", "--format=%h", "--abbrev=7"])?;
    Some(if git(&["status", "--porcelain"])?.is_empty() { commit } else { commit + "+" })
}

fn of_this_product(rows: &[Row]) -> Vec<Recorded> {
    rows.iter().map(|row| Recorded { row: row.clone(), product: product().to_owned() }).collect()
}

fn directory() -> PathBuf {
    root_directory().join("docs/compatibility")
}

/// Replaces the rows of `command`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(command: &str, rows: &[Row]) -> Result<()> {
    write_down(command, &of_this_product(rows))
}

fn write_down(command: &str, rows: &[Recorded]) -> Result<()> {
    let path = directory().join(format!("{command}.json"));
    let text = serde_json::to_string_pretty(rows).context("rows as JSON")? + "\n";
    fs::create_dir_all(directory()).and_then(|()| fs::write(&path, text)).with_context(|| path.display().to_string())
}

/// Replaces the rows of `command` that say what was run in the same words as one of these, and adds the others.
///
/// # Errors
/// If the file cannot be read or written.
pub fn update(command: &str, rows: &[Row]) -> Result<()> {
    merge(command, rows, |old, new| (&old.mpi, &old.binding, &old.what) == (&new.mpi, &new.binding, &new.what))
}

/// Replaces the rows of `command` about the MPIs that these are about.
///
/// # Errors
/// If the file cannot be read or written.
pub fn replace_mpis(command: &str, rows: &[Row]) -> Result<()> {
    merge(command, rows, |old, new| old.mpi == new.mpi)
}

/// Adds rows to those of `command`, in place of the old ones that one of them `replaces`.
///
/// # Errors
/// If the file cannot be read or written.
pub fn merge(command: &str, rows: &[Row], replaces: impl Fn(&Row, &Row) -> bool) -> Result<()> {
    let stays = |old: &Row| !rows.iter().any(|new| replaces(old, new));
    let kept = read()?.into_iter().filter(|(of, old)| of == command && stays(&old.row)).map(|(_, old)| old);
    let mut all: Vec<Recorded> = kept.chain(of_this_product(rows)).collect();
    all.sort_by(|a, b| (&a.row.mpi, &a.row.what).cmp(&(&b.row.mpi, &b.row.what)));
    write_down(command, &all)
}

/// All rows with the command that wrote them, by command in alphabetical order; none if nothing was recorded yet.
///
/// # Errors
/// If a file cannot be read or holds something else.
pub fn read() -> Result<Vec<(String, Recorded)>> {
    if !directory().exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(directory()).with_context(|| directory().display().to_string())?;
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let of_file: Vec<Recorded> = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let command = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        rows.extend(of_file.into_iter().map(|row| (command.clone(), row)));
    }
    Ok(rows)
}
