//! Files that a job's configuration names: regular ones of acceptable size, which nobody else could have changed.

use nagare_plan::quoted;
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use std::fs::File;
use std::io::{Error, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The text of the file, at most `limit` bytes; `expected`: what it should be, such as `a fabric file (TOML)`.
///
/// # Errors
/// One line: the file, what is wrong, what was expected.
pub fn read_text(path: &Path, limit: usize, expected: &str) -> Result<String, String> {
    let name = quoted(&path.to_string_lossy());
    let with_name = |error: Error| format!("{name}: {error}, expected {expected}");
    // A pipe or device could block or never end.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(with_name)?;
    let metadata = file.metadata().map_err(with_name)?;
    if !metadata.is_file() {
        return Err(format!("{name}: not a regular file, expected {expected}"));
    }
    let (user, owner) = (geteuid().as_raw(), metadata.uid());
    if ![0, user].contains(&owner) && !owners_of_what_runs().contains(&owner) {
        return Err(format!(
            "{name}: owned by user {owner}, expected a file of root, of user {user}, or of whom the program or \
             libnagare.so belongs to"
        ));
    }
    if metadata.mode() & Mode::WOTH.bits() != 0 {
        return Err(format!(
            "{name}: everybody may write to it, expected a file that only its owner and group may change"
        ));
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(with_name)?;
    if bytes.len() > limit {
        return Err(format!("{name}: larger than {limit} bytes, expected {expected}"));
    }
    String::from_utf8(bytes).map_err(|_| format!("{name}: not UTF-8 text, expected {expected}"))
}

/// Whom the program and this library belong to: they could change what runs anyway. A site installs as a user of its
/// own; in a user namespace root's files are those of a number that stands for everybody who is not known there.
fn owners_of_what_runs() -> Vec<u32> {
    let mapped = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let is_library = |path: &&str| Path::new(path).file_name().is_some_and(|name| name == "libnagare.so");
    let library = mapped.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(is_library);
    let files = [Some("/proc/self/exe"), library];
    files.into_iter().flatten().filter_map(|path| Some(std::fs::metadata(path).ok()?.uid())).collect()
}
