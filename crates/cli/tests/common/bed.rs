//! Testbeds for tests: brought up by the command, taken down whatever happens.

use crate::common::{copy_of_nagare, nagare, stderr, stdout};
use nagare_plan::fabric::{Fabric, shipped};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fabric that is up, with a name that no other test has.
pub struct Bed {
    pub name: String,
    pub fabric: Fabric,
    directory: tempfile::TempDir,
}

impl Bed {
    /// Brings a shipped fabric up; `None`, with the reason printed, where the system allows no testbed.
    pub fn up(shipped_name: &str, test: &str) -> Option<Self> {
        Self::prepared(shipped_name, test).brought_up()
    }

    /// The same with these lines before those of its file.
    pub fn up_with(lines: &str, shipped_name: &str, test: &str) -> Option<Self> {
        let text = format!("{lines}{}", shipped(shipped_name).unwrap());
        Self::of(&text, &format!("{shipped_name}-{test}")).brought_up()
    }

    /// Brings it up; `None`, with the reason printed, where the system allows no testbed.
    pub fn brought_up(self) -> Option<Self> {
        let output = nagare(&["testbed", "up", &self.file()]).output().unwrap();
        if skipped(&output) {
            return None;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        Some(self)
    }

    /// Only the file.
    pub fn prepared(shipped_name: &str, test: &str) -> Self {
        Self::of(shipped(shipped_name).unwrap(), &format!("{shipped_name}-{test}"))
    }

    /// Only the file, with this text.
    pub fn of(text: &str, name: &str) -> Self {
        let fabric = Fabric::from_toml(text, name).unwrap();
        let name = format!("{name}-{}", std::process::id());
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(format!("{name}.toml")), text).unwrap();
        Self { name, fabric, directory }
    }

    /// Path of the fabric file.
    pub fn file(&self) -> String {
        self.path(&format!("{}.toml", self.name)).to_str().unwrap().to_owned()
    }

    /// A file in the test's own directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Standard output of a command on a node.
    pub fn on(&self, node: &str, command: &[&str]) -> String {
        let output = self.try_on(node, command);
        assert!(output.status.success(), "{node}: {command:?}: {}", stderr(&output));
        stdout(&output)
    }

    pub fn try_on(&self, node: &str, command: &[&str]) -> Output {
        nagare(&[&["testbed", "exec", &self.name, "--on", node, "--"], command].concat()).output().unwrap()
    }
}

/// The command as an ordinary user runs it.
pub struct OrdinaryUser {
    program: PathBuf,
}

impl OrdinaryUser {
    /// With a copy of the command beside the fabric's file, which everybody may read from then on.
    pub fn new(bed: &Bed) -> Self {
        let program = bed.path("nagare");
        copy_of_nagare(&program);
        let directory = program.parent().unwrap();
        assert!(Command::new("chmod").args(["-R", "a+rX"]).arg(directory).status().unwrap().success());
        Self { program }
    }

    /// With its testbeds recorded below `runtime`, else where that user's are without XDG_RUNTIME_DIR.
    pub fn run(&self, runtime: Option<&Path>, arguments: &[&str]) -> Output {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&self.program).args(arguments);
        match runtime {
            Some(runtime) => command.env("XDG_RUNTIME_DIR", runtime),
            None => command.env_remove("XDG_RUNTIME_DIR"),
        };
        command.output().unwrap()
    }
}

/// Whether this test cannot run as an ordinary user, or that user may have no testbed; the reason is printed.
pub fn refused(output: &Output) -> bool {
    let is_not_root = stderr(output).contains("setpriv: ");
    if is_not_root {
        eprintln!("skipped: not root, so this test cannot become another user");
    }
    is_not_root || skipped(output)
}

impl Drop for Bed {
    fn drop(&mut self) {
        // A test may have taken it down.
        let _ = nagare(&["testbed", "down", &self.name]).output();
    }
}

/// Whether a testbed could not be brought up because the system does not allow it; the reason is printed.
pub fn skipped(output: &Output) -> bool {
    let error = stderr(output);
    let skipped = !output.status.success() && error.contains("no namespaces");
    if skipped {
        eprintln!("skipped: {error}");
    }
    skipped
}

/// The namespaces that process `pid` is in, of the kinds a testbed has for itself.
pub fn namespaces(pid: &str) -> BTreeSet<PathBuf> {
    let kinds = ["net", "mnt", "pid"].map(|kind| Path::new("/proc").join(pid).join("ns").join(kind));
    kinds.iter().filter_map(|path| fs::read_link(path).ok()).collect()
}

/// Processes in any of `namespaces`: number and start time.
pub fn processes_in(namespaces: &BTreeSet<PathBuf>) -> Vec<(String, String)> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let pids = entries.filter(|name| name.bytes().all(|c| c.is_ascii_digit()));
    let inside = pids.filter(|pid| !self::namespaces(pid).is_disjoint(namespaces));
    inside.filter_map(|pid| start_time(&pid).map(|start| (pid, start))).collect()
}

/// Those of `processes` that still run. Namespaces do not tell, for the kernel gives their numbers to new ones at once.
pub fn survivors(processes: &[(String, String)]) -> Vec<&String> {
    let runs = |(pid, start): &&(String, String)| start_time(pid).as_ref() == Some(start);
    processes.iter().filter(runs).map(|(pid, _)| pid).collect()
}

/// `None` for a process that has ended, also if its parent has not looked at its status yet.
fn start_time(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    fields.nth(18).filter(|_| state != "Z" && state != "X").map(str::to_owned)
}

/// Where this user's testbeds are recorded.
pub fn records() -> PathBuf {
    let uid = stdout(&Command::new("id").arg("-u").output().unwrap());
    match (uid.trim(), std::env::var_os("XDG_RUNTIME_DIR")) {
        ("0", _) => PathBuf::from("/run/nagare-testbed"),
        (_, Some(runtime)) => PathBuf::from(runtime).join("nagare-testbed"),
        (uid, None) => PathBuf::from(format!("/tmp/nagare-testbed-{uid}")),
    }
}

/// Number of the process that keeps a testbed.
pub fn holder(name: &str) -> String {
    let record = fs::read(records().join(name).join("record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    record["holder"]["pid"].to_string()
}
