//! Where profiles are looked for.

use crate::ProfileSource;
use nagare_plan::quoted;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Files of a directory that are looked at.
const MOST_FILES: usize = 64;

/// Where a site keeps its own.
const SYSTEM: &str = "/etc/nagare/profiles";

/// The files that a job reads, the user's before the site's, and one line for each directory with too many;
/// `variable`: the value of a variable of the environment.
pub fn profile_files(
    source: &ProfileSource,
    variable: impl Fn(&str) -> Option<OsString>,
) -> (Vec<PathBuf>, Vec<String>) {
    let mut problems = Vec::new();
    let paths = match source {
        ProfileSource::Off => Vec::new(),
        ProfileSource::File(name) => vec![PathBuf::from(name)],
        ProfileSource::Search => {
            let directories = profiles_at_home(variable).into_iter().chain([PathBuf::from(SYSTEM)]);
            directories.flat_map(|directory| files(&directory, &mut problems)).collect()
        }
    };
    (paths, problems)
}

/// The user's directory of profiles.
pub fn profiles_at_home(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    own.map(|own| own.join("nagare/profiles"))
}

/// The profiles in a directory, by name, without those that editors hide; none if there is no such directory.
fn files(directory: &Path, problems: &mut Vec<String>) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let is_profile = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden && path.extension().is_some_and(|e| e == "toml")
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_profile).collect();
    paths.sort();
    if paths.len() > MOST_FILES {
        let (name, all) = (quoted(&directory.to_string_lossy()), paths.len());
        problems.push(format!("{name}: {all} profiles, of which the first {MOST_FILES} by name are read"));
        paths.truncate(MOST_FILES);
    }
    paths
}
