//! What is up: one directory per testbed, written before anything is made.
//!
//! ```text
//!   /run/nagare-testbed            root;  $XDG_RUNTIME_DIR/nagare-testbed or /tmp/nagare-testbed-UID: others
//!     lock                         held while a directory is made or removed
//!     tree8/
//!       record.json                who made it, and the holder
//!       fabric.toml                the fabric
//!       private/                   the holder's own mount, not visible outside: netns/NODE, hosts files, agent, ...
//! ```

use crate::error::Error;
use nagare_plan::fabric::Fabric;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A process that can be told from another of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
    /// Of which boot.
    pub boot: String,
}

/// What a machine gives a testbed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// TCP's congestion control in all its namespaces; `None` if it is the machine's own (see [`crate::congestion`]).
    #[serde(default)]
    pub congestion: Option<String>,
    /// Delay lines, where the fabric asks for some.
    #[serde(default)]
    pub delays: bool,
}

/// A testbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the testbed and of its directory.
    pub name: String,
    /// Hosts it has.
    pub hosts: usize,
    /// Switches it has.
    pub switches: usize,
    /// What this machine gives it.
    #[serde(flatten)]
    pub given: Given,
    /// Whether it stays up without the process that made it.
    pub stays: bool,
    /// Who makes or made it.
    pub maker: Process,
    /// The process that keeps it; `None` until there is one.
    pub holder: Option<Process>,
}

impl Process {
    /// The process of this number; `None` if there is none.
    pub fn of(pid: i32) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may contain anything; the start time is the 20th field after it.
        let started = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
        // A zombie has ended.
        let ended = stat.rsplit_once(") ")?.1.starts_with(['Z', 'X']);
        (!ended).then(|| Self { pid, started, boot: boot.trim().to_owned() })
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The directories of one user's testbeds.
#[derive(Debug, Clone)]
pub struct Records {
    directory: PathBuf,
}

impl Records {
    /// The directory of this user, made if there is none.
    ///
    /// # Errors
    /// If it cannot be made, or belongs to somebody else.
    pub fn of_user() -> Result<Self, Error> {
        let uid = rustix::process::geteuid();
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        let directory = match runtime {
            _ if uid.is_root() => PathBuf::from("/run/nagare-testbed"),
            Some(runtime) => runtime.join("nagare-testbed"),
            None => PathBuf::from(format!("/tmp/nagare-testbed-{}", uid.as_raw())),
        };
        Self::in_directory(directory)
    }

    /// Testbeds in another directory, made if there is none.
    ///
    /// # Errors
    /// If it cannot be made, or belongs to somebody else.
    pub fn in_directory(directory: PathBuf) -> Result<Self, Error> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(Error::file(&directory))?;
        // In /tmp anybody may have made it first.
        let metadata = fs::symlink_metadata(&directory).map_err(Error::file(&directory))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || !metadata.is_dir() {
            let error = io::Error::new(io::ErrorKind::PermissionDenied, "expected a directory of this user");
            return Err(Error::file(&directory)(error));
        }
        Ok(Self { directory })
    }

    /// The directory of one testbed.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Keeps others from making or removing testbeds while the file is open.
    fn lock(&self) -> Result<File, Error> {
        let path = self.directory.join("lock");
        let file = File::create(&path).map_err(Error::file(&path))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(Error::file(&path))?;
        Ok(file)
    }

    /// Makes the directory of a new testbed, whole or not at all. What a crash left of an old one goes.
    ///
    /// # Errors
    /// [`Error::AlreadyUp`], [`Error::Busy`], or if files cannot be written.
    pub fn create(&self, record: &Record, fabric: &Fabric) -> Result<PathBuf, Error> {
        let _lock = self.lock()?;
        let directory = self.path(&record.name);
        if let Some(old) = read(&directory) {
            if old.is_up() {
                return Err(Error::AlreadyUp(record.name.clone()));
            }
            if old.maker.is_alive() {
                return Err(Error::Busy(record.name.clone()));
            }
        }
        // No testbed has this name. What is in it was being made when its maker was killed, since there is a lock.
        let new = self.directory.join(".new");
        remove(&new)?;
        DirBuilder::new().mode(0o700).create(&new).map_err(Error::file(&new))?;
        let private = private(&new);
        fs::create_dir(&private).map_err(Error::file(&private))?;
        let file = fabric_file(&new);
        fs::write(&file, fabric.to_toml()).map_err(Error::file(&file))?;
        write(&new, record)?;
        remove(&directory)?;
        fs::rename(&new, &directory).map_err(Error::file(&directory))?;
        Ok(directory)
    }

    /// The testbed of that name, up or not.
    pub fn find(&self, name: &str) -> Option<Record> {
        (is_name(name)).then(|| read(&self.path(name))).flatten()
    }

    /// All testbeds, also those that a crash has left, by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn all(&self) -> Result<Vec<Record>, Error> {
        let entries = fs::read_dir(&self.directory).map_err(Error::file(&self.directory))?;
        let mut records: Vec<Record> = entries.flatten().filter_map(|entry| read(&entry.path())).collect();
        records.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(records)
    }

    /// Removes the directory of a testbed that is down, unless another has taken its place.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn forget(&self, record: &Record) -> Result<(), Error> {
        let _lock = self.lock()?;
        let directory = self.path(&record.name);
        let same = read(&directory).is_none_or(|now| now.maker == record.maker);
        if same { remove(&directory) } else { Ok(()) }
    }
}

impl Record {
    /// Whether its holder runs.
    pub fn is_up(&self) -> bool {
        self.holder.as_ref().is_some_and(Process::is_alive)
    }
}

/// A name of a testbed from any text: what a directory can be called.
pub fn name_from(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = text.chars().map(|c| if fits(c) { c } else { '-' }).take(64).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() || name == "lock" { "fabric".to_owned() } else { name.to_owned() }
}

/// Whether a testbed can have that name.
fn is_name(name: &str) -> bool {
    name_from(name) == name
}

/// The holder's own mount in the directory of a testbed.
pub fn private(directory: &Path) -> PathBuf {
    directory.join("private")
}

/// The copy of the fabric.
pub fn fabric_file(directory: &Path) -> PathBuf {
    directory.join("fabric.toml")
}

/// Writes the record, whole or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write(directory: &Path, record: &Record) -> Result<(), Error> {
    let (new, path) = (directory.join("record.new"), directory.join("record.json"));
    let text = serde_json::to_vec_pretty(record).map_err(io::Error::from).map_err(Error::file(&path))?;
    fs::write(&new, text).map_err(Error::file(&new))?;
    fs::rename(&new, &path).map_err(Error::file(&path))
}

/// The record in the directory of a testbed; `None` if there is none.
pub fn read(directory: &Path) -> Option<Record> {
    let record: Record = serde_json::from_slice(&fs::read(directory.join("record.json")).ok()?).ok()?;
    // A directory that was moved or written by hand is not ours.
    (directory.file_name()? == record.name.as_str()).then_some(record)
}

fn remove(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::file(directory)(error)),
        _ => Ok(()),
    }
}
