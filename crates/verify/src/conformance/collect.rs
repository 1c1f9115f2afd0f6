//! Runs tests until each has an outcome: the next job leaves out a test that has crashed or hung a job.

use super::cell::{Cell, Mode};
use super::events::{Outcome, Record, Status};
use anyhow::{Context, Result, bail};
use nagare_harness::{Ended, Job, Program, root_directory, scratch_directory};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A cell with more tests than this that end their job has something wrong with it.
const MOST_JOBS: u32 = 60;

/// How all tests ended on all ranks.
#[derive(Debug, Default)]
pub struct Run {
    /// First line of MPI_Get_library_version.
    pub library: String,
    /// By test, a list by rank.
    pub outcomes: BTreeMap<String, Vec<Outcome>>,
    /// Calls of each collective that ran on an algorithm of Nagare, on rank 0.
    pub ours: BTreeMap<String, u64>,
}

/// What to run and how long a test may take.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Patterns of names of tests.
    pub patterns: Vec<String>,
    /// Seconds for a test.
    pub seconds: u64,
}

/// Runs the selected tests.
///
/// # Errors
/// If ranks cannot be started, or a file cannot be written or read.
pub fn collect(cell: Cell, mode: Mode, selection: &Selection) -> Result<Run> {
    let mut run = Run::default();
    for _ in 0..MOST_JOBS {
        let (records, ended) = job(cell, mode, selection, run.outcomes.keys())?;
        run.take(&records);
        if records.iter().all(Record::is_complete) {
            return Ok(run);
        }
        let Some((test, status)) = culprit(&records, &ended) else {
            bail!("{cell} {mode}: no test began\n{}", ended.output());
        };
        println!("             {mode}: {test} {status}; the tests after it run in another job");
        for line in explanation(&records, &ended) {
            println!("               | {line}");
        }
        let last = test == "finalize";
        run.outcomes.insert(test, vec![Outcome { status, message: String::new() }; records.len()]);
        if last {
            return Ok(run);
        }
    }
    bail!("{cell} {mode}: {MOST_JOBS} jobs in which a test crashed or hung")
}

impl Run {
    /// How many outcomes of each status there are, in words.
    pub fn statuses(&self) -> String {
        let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
        for outcome in self.outcomes.values().flatten() {
            *counts.entry(outcome.status).or_default() += 1;
        }
        let words: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        words.join(", ")
    }

    /// Patterns for the tests that did not pass on every rank: of one that failed its whole module, since a test may
    /// depend on what ran before it.
    pub fn not_passed(&self) -> Vec<String> {
        let all = |by_rank: &[Outcome], status| by_rank.iter().all(|outcome| outcome.status == status);
        let pattern = |(test, by_rank): (&String, &Vec<Outcome>)| match test.split_once('.') {
            Some((module, _)) if !all(by_rank, Status::Skip) => format!("{module}.*"),
            _ => test.clone(),
        };
        let doubtful = self.outcomes.iter().filter(|(_, by_rank)| !passed(by_rank));
        doubtful.map(pattern).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Adds the tests of `other` that passed there and did not run here.
    pub fn assume_passed(&mut self, other: &Self) {
        for (test, by_rank) in other.outcomes.iter().filter(|(_, by_rank)| passed(by_rank)) {
            self.outcomes.entry(test.clone()).or_insert_with(|| by_rank.clone());
        }
    }

    /// Adds what ended on all ranks: what some did not end is run again.
    fn take(&mut self, records: &[Record]) {
        let mut outcomes: BTreeMap<String, Vec<Outcome>> = BTreeMap::new();
        for record in records {
            for (test, outcome) in &record.ended {
                outcomes.entry(test.clone()).or_default().push(outcome.clone());
            }
        }
        outcomes.retain(|_, by_rank| by_rank.len() == records.len());
        self.outcomes.extend(outcomes);
        let Some(first) = records.first() else { return };
        self.library.clone_from(&first.library);
        for (collective, calls) in &first.ours {
            *self.ours.entry(collective.clone()).or_default() += calls;
        }
    }
}

/// Whether a test passed on every rank.
fn passed(by_rank: &[Outcome]) -> bool {
    by_rank.iter().all(|outcome| outcome.status == Status::Ok)
}

/// One job with all selected tests but `except`.
fn job<'a>(
    cell: Cell,
    mode: Mode,
    selection: &Selection,
    except: impl Iterator<Item = &'a String>,
) -> Result<(Vec<Record>, Ended)> {
    let scratch = scratch_directory();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let lines = |words: Vec<&str>| words.join("\n");
    fs::create_dir(path("records")).context("a directory for records")?;
    fs::write(path("only"), lines(selection.patterns.iter().map(String::as_str).collect()))?;
    fs::write(path("except"), lines(except.map(String::as_str).chain(cell.left_out().iter().copied()).collect()))?;
    let tests = root_directory().join("target/venv/mpi4py/tests").display().to_string();
    let program = Program::python(cell.mpi, "crates/verify/src/conformance/runner.py");
    let job = match mode {
        Mode::Stock => Job::stock(&program, cell.processes),
        Mode::Default => Job::nagare(&program, cell.processes),
        Mode::Forced => {
            let job = Job::nagare(&program, cell.processes).set("NAGARE_TOPOLOGY", cell.machine());
            job.set("NAGARE_ALGORITHM", &cell.algorithms())
        }
    };
    // Spawned worlds would replace the file of a report; the runner asks for the counts instead.
    let job = job.set("NAGARE_REPORT", "").limit(100 * selection.seconds);
    let (records, seconds) = (path("records"), selection.seconds.to_string());
    let outcome = job.arguments(&[&tests, &records, &seconds, &path("only"), &path("except")]).run();
    let directory = scratch.path().join("records");
    let records: Result<Vec<Record>> = (0..cell.processes).map(|rank| Record::read(&directory, rank)).collect();
    Ok((records?, outcome.ended))
}

/// Which test ended the job, and how.
///
/// A rank that crashed says so in its stacks. Otherwise it is the first, in the order in which they run, of those that
/// did not end: ranks in a later one wait for the rank in it.
fn culprit(records: &[Record], ended: &Ended) -> Option<(String, Status)> {
    if let Some(test) = records.iter().filter(|r| r.stacks.starts_with("Fatal")).find_map(|r| r.open.clone()) {
        return Some((test, Status::Crashed));
    }
    let behind = records.iter().filter(|r| r.open.is_some()).min_by_key(|r| r.ended.len())?;
    let hung = ended.status.is_none() || records.iter().any(|r| r.stacks.starts_with("Timeout"));
    Some((behind.open.clone()?, if hung { Status::Hung } else { Status::Crashed }))
}

/// A few lines that say where it happened.
fn explanation(records: &[Record], ended: &Ended) -> Vec<String> {
    let mut lines = Vec::new();
    for (rank, record) in records.iter().enumerate().filter(|(_, r)| !r.stacks.is_empty()) {
        let first = record.stacks.lines().next().unwrap_or_default();
        let at = record.stacks.lines().find(|l| l.trim_start().starts_with("File")).unwrap_or_default();
        let open = record.open.as_deref().unwrap_or("no test");
        lines.push(format!("rank {rank}, in {open}: {first} {}", at.trim()));
    }
    if lines.is_empty() {
        let stderr: Vec<&str> = ended.stderr.lines().filter(|l| !l.trim().is_empty()).collect();
        lines.extend(stderr.iter().take(8).map(|l| (*l).to_owned()));
    }
    lines
}
