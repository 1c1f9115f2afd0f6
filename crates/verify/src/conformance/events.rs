//! What `runner.py` writes down on each rank, read.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

/// How a test ended on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Ok,
    Fail,
    Error,
    Skip,
    ExpectedFailure,
    UnexpectedSuccess,
    /// A rank ended while it ran.
    Crashed,
    /// It did not end in its time.
    Hung,
    /// It did not run.
    Missing,
}

impl Status {
    const ALL: [(Self, &str); 9] = [
        (Self::Ok, "ok"),
        (Self::Fail, "fail"),
        (Self::Error, "error"),
        (Self::Skip, "skip"),
        (Self::ExpectedFailure, "expected-failure"),
        (Self::UnexpectedSuccess, "unexpected-success"),
        (Self::Crashed, "crashed"),
        (Self::Hung, "hung"),
        (Self::Missing, "missing"),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(status, _)| *status)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let name = Self::ALL.iter().find(|(status, _)| status == self).map_or("", |(_, name)| name);
        formatter.write_str(name)
    }
}

/// How a test ended, and what its exception said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    pub message: String,
}

/// Everything that one rank wrote in one job.
#[derive(Debug, Default)]
pub struct Record {
    /// First line of MPI_Get_library_version.
    pub library: String,
    /// Tests that ended, in order.
    pub ended: Vec<(String, Outcome)>,
    /// The test that began and did not end.
    pub open: Option<String>,
    /// Stacks of all threads, from a crash or at the end of a test's time.
    pub stacks: String,
    /// Calls of each collective that ran on an algorithm of Nagare.
    pub ours: BTreeMap<String, u64>,
}

impl Record {
    /// The record of `rank` in `directory`; empty if the rank wrote none.
    ///
    /// # Errors
    /// If a line is not as `runner.py` writes it.
    pub fn read(directory: &Path, rank: u32) -> Result<Self> {
        let text = |name: String| {
            fs::read(directory.join(name)).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default()
        };
        let mut record = Self { stacks: text(format!("{rank}.stacks")), ..Self::default() };
        for line in text(rank.to_string()).lines() {
            record.add(line).with_context(|| format!("record of rank {rank}: `{line}`"))?;
        }
        Ok(record)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["library", version] => self.library = version.to_owned(),
            ["begin", test] => self.open = Some(test.to_owned()),
            ["end", test, status, message] => {
                let status = Status::parse(status).context("unknown status")?;
                self.ended.push((test.to_owned(), Outcome { status, message: message.to_owned() }));
                self.open = None;
            }
            ["counts", json] => self.ours = ours(&serde_json::from_str(json)?),
            // A rank that was killed may have begun a line.
            _ => {}
        }
        Ok(())
    }

    /// Whether the rank ran all tests and left MPI.
    pub fn is_complete(&self) -> bool {
        self.ended.last().is_some_and(|(test, _)| test == "finalize")
    }
}

fn ours(report: &Value) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for row in report["rows"].as_array().into_iter().flatten().filter(|row| row["algorithm"] != "stock") {
        let name = row["collective"].as_str().unwrap_or_default().to_owned();
        *calls.entry(name).or_default() += row["calls"].as_u64().unwrap_or(0);
    }
    calls
}
