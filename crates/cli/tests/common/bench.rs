//! Benchmarks on a part of a fabric for tests, and readers of what they write.

use crate::common::bed::{Bed, records, skipped};
use crate::common::{limited, nagare, stderr};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Where `make` puts what is built for an MPI, seen from this build.
fn built(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_nagare")).ancestors().nth(2).unwrap();
    target.join("openmpi/release").join(name)
}

/// Whether there is nothing to measure with; the reason is printed.
pub fn missing() -> bool {
    let found = Command::new("sh").args(["-c", "command -v mpicc.openmpi"]).output().unwrap().status.success();
    let lacks = !found || ["nagare-bench", "libnagare.so"].iter().any(|name| !built(name).is_file());
    if lacks {
        eprintln!("skipped: no mpicc.openmpi, or nothing built in {} (`make` does it)", built("").display());
    }
    lacks
}

/// Four ranks, two on each leaf of tree8, and where results go.
pub struct Bench {
    pub bed: Bed,
}

impl Bench {
    pub fn new(test: &str) -> Self {
        let bed = Bed::prepared("tree8", test);
        std::fs::write(bed.path("hosts"), "n0\nn1\nn4\nn5\n").unwrap();
        Self { bed }
    }

    /// `None` where the system allows no testbed.
    pub fn run(&self, options: &[&str]) -> Option<Output> {
        self.run_with(options, &[])
    }

    /// The same with variables of the ranks' environment.
    pub fn run_with(&self, options: &[&str], variables: &[(&str, &str)]) -> Option<Output> {
        let (fabric, hosts) = (self.bed.file(), self.bed.path("hosts"));
        let out = self.bed.path("");
        let common = ["bench", "--fabric", &fabric, "--map", hosts.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let mut command = nagare(&[&common, options].concat());
        command.envs(variables.iter().copied());
        let output = limited(&command);
        if skipped(&output) {
            return None;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        Some(output)
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.bed.path(name)).unwrap()).unwrap()
    }

    /// Nothing is recorded and no process runs that has the testbed's name.
    pub fn assert_nothing_stays(&self) {
        let name = &self.bed.name;
        let entries = |path: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let recorded = entries(&records()).into_iter().filter(|entry| entry.starts_with(name.as_str()));
        assert_eq!(recorded.collect::<Vec<_>>(), Vec::<String>::new());
        let line = |pid: &String| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let ours = |pid: &String| String::from_utf8_lossy(&line(pid)).contains(name.as_str());
        assert_eq!(entries(Path::new("/proc")).into_iter().filter(ours).collect::<Vec<_>>(), Vec::<String>::new());
        assert!(!self.bed.path(&format!("{name}.jsonl")).exists());
    }
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} is no text in {value}"))
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list in {value}"))
}

pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {value}"))
}

/// Every element of an SVG is closed by its own name, and nothing is outside the first.
pub fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!open.is_empty() || before.trim().is_empty(), "text outside: {before}");
        assert!(!before.contains('>'), "{before}");
        let (tag, after) = after.split_once('>').unwrap_or_else(|| panic!("no end of <{after}"));
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    assert!(svg.starts_with("<svg ") && !svg.contains("NaN"));
}
