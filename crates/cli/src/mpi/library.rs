//! The libnagare.so that fits an MPI family: where it is, and whether it keeps what it promises.

use super::{Family, elf::Dynamic};
use crate::own;
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};

/// File name of the library.
pub const FILE_NAME: &str = "libnagare.so";

/// What every build of it exports.
const DESCRIBE: &str = "nagare_describe";

/// What a built library says about itself.
pub struct Inspection {
    /// Libraries it needs.
    pub needed: Vec<String>,
    /// Exported names by prefix: `MPI_`, `PMPI_`, `nagare_`.
    pub counts: [(&'static str, usize); 3],
    /// Large-count functions, which only MPICH's build may have.
    pub large_count: bool,
    /// Broken promises, one line each.
    pub faults: Vec<String>,
}

/// The library for `family`: what `given` points to, or one found beside this program.
///
/// # Errors
/// If there is none; names every place that was looked at.
pub fn find(family: Family, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let places = match given {
        Some(path) if path.is_file() => vec![path.to_owned()],
        Some(path) => inside(path, family),
        None => own::beside(family.directory(), FILE_NAME).context("--lib PATH names the library")?,
    };
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        bail!(
            "no {FILE_NAME} for {}; looked for {} (--lib PATH names another place)",
            family.name(),
            places.join(", ")
        );
    };
    let found = found.canonicalize().with_context(|| found.display().to_string())?;
    let text = found.to_str().with_context(|| format!("{}: not UTF-8", found.display()))?;
    ensure!(
        !text.contains([' ', ':', ',', '\n']),
        "{text}: LD_PRELOAD cannot name a path with a space, a colon or a comma; install the library elsewhere"
    );
    Ok(found)
}

/// The same, to be preloaded.
///
/// # Errors
/// Also if what was given is some other file.
pub fn to_preload(family: Family, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let found = find(family, given)?;
    if given.is_some() {
        let dynamic = Dynamic::read(&found)?;
        let is_ours = dynamic.is_some_and(|dynamic| dynamic.exported.iter().any(|name| name == DESCRIBE));
        ensure!(is_ours, "--lib {}: exports no {DESCRIBE}; expected a {FILE_NAME}", found.display());
    }
    Ok(found)
}

/// Looks into a built library.
///
/// # Errors
/// If it cannot be read or is no ELF file.
pub fn inspect(path: &Path, family: Family) -> anyhow::Result<Inspection> {
    let dynamic = Dynamic::read(path)?.with_context(|| format!("{}: not an ELF file", path.display()))?;
    let count = |prefix: &'static str| (prefix, dynamic.exported.iter().filter(|s| s.starts_with(prefix)).count());
    let counts = ["MPI_", "PMPI_", "nagare_"].map(count);
    // By which ranks of Open MPI know who has the library.
    let is_key = |name: &str| family == Family::Openmpi && ["PMIx_Commit", "PMIx_Put"].contains(&name);
    let is_ours = |name: &String| is_key(name) || counts.iter().any(|(prefix, _)| name.starts_with(prefix));
    let large_count = dynamic.exported.iter().any(|s| s.starts_with("MPI_") && s.ends_with("_c"));
    let mut faults = Vec::new();
    for needed in dynamic.needed.iter().filter(|n| n.starts_with("libmpi") || n.starts_with("libhwloc")) {
        faults.push(format!("it needs {needed}, which would pull a second copy into the process"));
    }
    let strays: Vec<&str> = dynamic.exported.iter().filter(|s| !is_ours(s)).map(String::as_str).collect();
    if !strays.is_empty() {
        faults.push(format!("it exports {}; expected only MPI_*, PMPI_* and nagare_*", strays.join(", ")));
    }
    for (prefix, _) in counts.iter().filter(|(_, count)| *count == 0) {
        faults.push(format!("it exports no {prefix}*"));
    }
    if large_count && family == Family::Openmpi {
        faults.push("it exports large-count functions (MPI_*_c), so it was built for MPICH".to_owned());
    }
    Ok(Inspection { needed: dynamic.needed, counts, large_count, faults })
}

/// Places in a directory the user names.
fn inside(directory: &Path, family: Family) -> Vec<PathBuf> {
    let family = directory.join(family.directory());
    [directory.to_owned(), family.clone(), family.join("release")].map(|d| d.join(FILE_NAME)).into()
}
