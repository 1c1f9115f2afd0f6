//! What keeps a preloaded library out of a program, as far as the program's file tells.

use super::Family;
use super::elf::{Dynamic, Machine};
use super::launcher::{Kind, resolve};
use super::library::FILE_NAME;
use super::options::candidates;
use rustix::process::{getegid, geteuid};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why nothing of this machine gets into the program, and it hardly runs here; words that follow its name.
pub fn foreign(dynamic: &Dynamic) -> Option<String> {
    let own = Machine::own().filter(|&own| own != dynamic.machine)?;
    Some(format!("is built for {}, expected {own}, as {FILE_NAME} is", dynamic.machine))
}

/// Why no library of ours gets into the program in this file; words that follow its name. `None` if nothing is in the
/// way.
pub fn obstacle(path: &Path, dynamic: &Dynamic) -> Option<String> {
    if let Some(foreign) = foreign(dynamic) {
        return Some(foreign);
    }
    if !dynamic.has_interpreter {
        return Some(format!(
            "is statically linked, so {FILE_NAME} cannot be preloaded into it; expected a program linked to an MPI \
             library"
        ));
    }
    let metadata = path.metadata().ok()?;
    let rights = |name, bit, differs| (metadata.mode() & bit == bit && differs).then_some(name);
    let user = rights("set-user-ID", 0o4000, metadata.uid() != geteuid().as_raw());
    let group = rights("set-group-ID", 0o2010, metadata.gid() != getegid().as_raw());
    let rights = user.or(group)?;
    Some(format!(
        "has more rights than its user ({rights}), so the dynamic linker preloads nothing; expected a program without"
    ))
}

/// One line for each application context of a launcher's arguments whose program will not get the library of `family`.
///
/// Which word is the program only the launcher knows. What comes behind a program of that family are its own arguments;
/// before it, values of options that we do not know are no executable files, or ordinary ones.
pub fn obstacles(kind: Kind, arguments: &[String], family: Family) -> Vec<String> {
    let contexts = arguments.split(|word| word == ":");
    contexts.filter_map(|words| candidates(kind, words).into_iter().find_map(|word| judge(word, family))?).collect()
}

/// `None`: nothing is known by this word; `Some(None)`: a program that gets the library.
fn judge(word: &str, family: Family) -> Option<Option<String>> {
    let path = resolve(word).ok()?;
    let dynamic = Dynamic::read(&path).ok()??;
    if let Some(obstacle) = obstacle(&path, &dynamic) {
        return Some(Some(format!("{word} {obstacle}")));
    }
    let linked = dynamic.family()?;
    let other = || format!("{word} is linked to {}, expected {}, as its launcher is", linked.name(), family.name());
    Some((linked != family).then(other))
}
