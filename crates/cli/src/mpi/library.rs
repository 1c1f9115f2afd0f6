//! The libnagare.so that fits an MPI family: where it is, and whether it keeps what it promises.

use super::{Family, elf::Dynamic};
use crate::own;
use anyhow::{Context, bail, ensure};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// File name of the library.
pub const FILE_NAME: &str = "libnagare.so";

/// What every build of it exports.
const DESCRIBE: &str = "nagare_describe";

/// What the build for Open MPI exports besides: by these keys ranks know who has the library.
const KEYS: [&str; 2] = ["PMIx_Commit", "PMIx_Put"];

/// Most symbols that a line names.
const MOST_NAMED: usize = 10;

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
/// Also if what was given is some other file, or a library for the other family.
pub fn to_preload(family: Family, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let found = find(family, given)?;
    if given.is_some() {
        let dynamic = Dynamic::read(&found)?;
        let built = dynamic.as_ref().and_then(built_for);
        let is_ours = dynamic.is_some_and(|dynamic| dynamic.exported.iter().any(|name| name == DESCRIBE));
        ensure!(is_ours, "--lib {}: exports no {DESCRIBE}; expected a {FILE_NAME}", found.display());
        if let Some(other) = built.filter(|&built| built != family) {
            bail!("--lib {}: built for {}, expected one for {}", found.display(), other.name(), family.name());
        }
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
    let is_key = |name: &str| family == Family::Openmpi && KEYS.contains(&name);
    let is_ours = |name: &String| is_key(name) || counts.iter().any(|(prefix, _)| name.starts_with(prefix));
    let mut faults = Vec::new();
    for needed in dynamic.needed.iter().filter(|n| n.starts_with("libmpi") || n.starts_with("libhwloc")) {
        faults.push(format!("it needs {needed}, which would pull a second copy into the process"));
    }
    let strays: Vec<&str> = dynamic.exported.iter().filter(|s| !is_ours(s)).map(String::as_str).collect();
    if !strays.is_empty() {
        let mut named = strays[..strays.len().min(MOST_NAMED)].join(", ");
        if strays.len() > MOST_NAMED {
            let _ = write!(named, " and {} more", strays.len() - MOST_NAMED);
        }
        let keys = if family == Family::Openmpi { &format!(", {}", KEYS.join(", ")) } else { "" };
        faults.push(format!("it exports {named}; expected only MPI_*, PMPI_*, nagare_*{keys}"));
    }
    for (prefix, _) in counts.iter().filter(|(_, count)| *count == 0) {
        faults.push(format!("it exports no {prefix}*"));
    }
    if let Some(other) = built_for(&dynamic).filter(|&built| built != family) {
        faults.push(format!("it was built for {}", other.name()));
    }
    let large_count = has_large_count(&dynamic);
    Ok(Inspection { needed: dynamic.needed, counts, large_count, faults })
}

/// The family that a library was built for, where its symbols tell.
fn built_for(dynamic: &Dynamic) -> Option<Family> {
    if dynamic.exported.iter().any(|name| KEYS.contains(&name.as_str())) {
        return Some(Family::Openmpi);
    }
    // Which only MPICH's builds may have.
    has_large_count(dynamic).then_some(Family::Mpich)
}

fn has_large_count(dynamic: &Dynamic) -> bool {
    dynamic.exported.iter().any(|name| name.starts_with("MPI_") && name.ends_with("_c"))
}

/// Places in a directory the user names.
fn inside(directory: &Path, family: Family) -> Vec<PathBuf> {
    let family = directory.join(family.directory());
    [directory.to_owned(), family.clone(), family.join("release")].map(|d| d.join(FILE_NAME)).into()
}
