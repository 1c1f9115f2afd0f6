//! The file of this program, which it starts again, and what lies beside it.

use anyhow::Context;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Where this program is.
///
/// # Errors
/// If the system does not tell.
pub fn file() -> anyhow::Result<PathBuf> {
    Ok(current(std::env::current_exe().context("this program's own path is unknown")?))
}

/// Places of a file for an MPI family, relative to this program: the build tree (`target/release/nagare`) and an
/// installation (`bin/nagare`).
///
/// # Errors
/// If the system does not tell where this program is.
pub fn beside(family: &str, name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let program = file()?;
    let above = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let places = [above.join(family).join("release"), above.join("lib/nagare").join(family)];
    Ok(places.map(|directory| directory.join(name)).into())
}

/// An upgrade renames a new file into the place of a running program, whose own file the kernel then calls deleted.
fn current(path: PathBuf) -> PathBuf {
    match path.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(before) if !path.exists() => PathBuf::from(std::ffi::OsString::from_vec(before.to_vec())),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn a_program_that_was_replaced_is_at_its_old_place() {
        for (told, is) in [("/none/nagare (deleted)", "/none/nagare"), ("/none/nagare", "/none/nagare")] {
            assert_eq!(current(told.into()), std::path::Path::new(is));
        }
        let directory = tempfile::tempdir().unwrap();
        let odd = directory.path().join("nagare (deleted)");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(current(odd.clone()), odd);
    }
}
