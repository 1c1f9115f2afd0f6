//! Runs a batch of cases in one job; if a case goes wrong it records the case, and another job runs the rest.

use super::case::Case;
use super::settings::Settings;
use anyhow::{Context, Result};
use nagare_harness::{Job, Report, Running, compile, scratch_directory};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Seconds after which the interpreter ends a case that hangs.
const WATCHDOG: u64 = 60;
/// Without an `ok` for that long, the stacks of all ranks are taken.
const LONG: Duration = Duration::from_secs(WATCHDOG - 15);
/// The job is ended from outside where not even the watchdog could.
const TOO_LONG: Duration = Duration::from_secs(WATCHDOG + 30);

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Ended {
    /// Cases that were right.
    pub right: u64,
    /// Cases that the library cannot run: no `MPI_THREAD_MULTIPLE`.
    pub skipped: u64,
    /// Cases that went wrong, and what was seen.
    pub wrong: Vec<(u64, String)>,
    /// Reports of the jobs.
    pub reports: Vec<Report>,
}

/// Runs `cases`, with Nagare or without.
///
/// # Errors
/// If the file of cases cannot be written.
pub fn batch(settings: &Settings, cases: &[Case], nagare: bool) -> Result<Ended> {
    let mut ended = Ended::default();
    let mut left: Vec<&Case> = cases.iter().collect();
    while !left.is_empty() {
        let job = one_job(settings, &left, nagare)?;
        let (done, skipped) = (job.numbers("ok "), job.numbers("SKIP "));
        ended.right += done.len() as u64;
        ended.skipped += skipped.len() as u64;
        ended.reports.extend(job.report);
        left.retain(|case| !done.contains(&case.id) && !skipped.contains(&case.id));
        if job.success && left.is_empty() {
            break;
        }
        let Some(&first) = left.first() else {
            // Everything was right, and then the job did not end as it should.
            ended.wrong.extend(cases.last().map(|case| (case.id, job.output)));
            break;
        };
        ended.wrong.push((first.id, job.output));
        left.remove(0);
    }
    Ok(ended)
}

struct OneJob {
    success: bool,
    stdout: String,
    output: String,
    report: Option<Report>,
}

impl OneJob {
    /// The numbers in lines that start with `word`.
    fn numbers(&self, word: &str) -> Vec<u64> {
        let lines = self.stdout.lines().filter_map(|l| l.strip_prefix(word));
        lines.filter_map(|l| l.split([' ', ':']).next()?.parse().ok()).collect()
    }
}

fn one_job(settings: &Settings, cases: &[&Case], nagare: bool) -> Result<OneJob> {
    let scratch = scratch_directory();
    let file = scratch.path().join("cases.txt");
    let text: String = cases.iter().map(ToString::to_string).collect();
    fs::write(&file, text).with_context(|| file.display().to_string())?;
    let program = compile(settings.mpi, "tests/programs/fuzz.c");
    let mut job = if nagare { Job::nagare(&program, settings.ranks) } else { Job::stock(&program, settings.ranks) };
    for (name, value) in settings.variables.iter().filter(|_| nagare) {
        job = job.set(name, value);
    }
    let arguments = [format!("file={}", file.display()), format!("watchdog={WATCHDOG}")];
    let mut watch = Watch { seen: 0, since: Instant::now(), stacks: String::new() };
    let job = job.arguments(&[&arguments[0], &arguments[1]]);
    let outcome = job.run_watched(&mut |running| watch.look(running));
    let (success, output) = (outcome.ended.success(), outcome.ended.output() + &watch.stacks);
    Ok(OneJob { success, output, stdout: outcome.ended.stdout, report: outcome.report })
}

/// Looks whether a job gets on.
struct Watch {
    /// Bytes of output so far.
    seen: usize,
    since: Instant,
    stacks: String,
}

impl Watch {
    /// Whether the job may go on.
    fn look(&mut self, running: &Running) -> bool {
        let seen = running.stdout().len();
        if seen > self.seen {
            (self.seen, self.since) = (seen, Instant::now());
        }
        if self.since.elapsed() > LONG && self.stacks.is_empty() {
            self.stacks = stacks(&running.processes());
        }
        self.since.elapsed() < TOO_LONG
    }
}

/// The stacks of all threads of the interpreter's processes, as far as there is a debugger.
fn stacks(processes: &[u32]) -> String {
    let mut text = String::from("\n");
    for pid in processes {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if !name.starts_with("fuzz") {
            continue;
        }
        let arguments = ["-batch", "-p", &pid.to_string(), "-ex", "thread apply all bt 40"];
        let output = Command::new("gdb").args(arguments).output();
        text += &match output {
            Ok(output) => format!("--- stacks of process {pid}\n{}", String::from_utf8_lossy(&output.stdout)),
            Err(error) => format!("--- no stacks of process {pid}: gdb: {error}\n"),
        };
    }
    text
}
