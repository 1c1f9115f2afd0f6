//! Running a command with a time limit that ends it and everything it started.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// `None` if its time was over.
    pub status: Option<ExitStatus>,
    /// Everything it wrote to its standard output.
    pub stdout: String,
    /// Everything it wrote to its standard error.
    pub stderr: String,
    /// Whether its time was over although every process that it had started has ended.
    pub alone: bool,
}

impl Ended {
    /// Whether it ended in time with code 0.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|s| s.success())
    }

    /// How it ended, in words.
    pub fn end(&self) -> String {
        match self.status {
            None => "its time was over".to_owned(),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or(0)),
            },
        }
    }

    /// Everything, for messages.
    pub fn output(&self) -> String {
        format!("--- {}\n--- standard output\n{}--- standard error\n{}---", self.end(), self.stdout, self.stderr)
    }
}

/// Runs `command` for at most `limit`. When it ends, nothing that it started is left.
pub fn run_limited(command: &mut Command, limit: Duration) -> Ended {
    let started = Instant::now();
    run_watched(command, &mut |_| started.elapsed() <= limit)
}

/// A command that is running.
pub struct Running<'a> {
    child: &'a Child,
    stdout: &'a Output,
    stderr: &'a Output,
    started: Instant,
}

impl Running<'_> {
    /// How long it has been running.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// What it wrote to its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it wrote to its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The numbers of all processes below it.
    pub fn processes(&self) -> Vec<u32> {
        descendants(self.child.id()).into_iter().map(|(pid, _)| pid).collect()
    }
}

/// Runs `command` for as long as `keep_running`, asked again and again, says so. When it ends, nothing that it started
/// is left.
pub fn run_watched(command: &mut Command, keep_running: &mut dyn FnMut(&Running) -> bool) -> Ended {
    let (stdout, stderr) = (Output::new(), Output::new());
    command.stdin(Stdio::null()).stdout(stdout.writer()).stderr(stderr.writer()).process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let status = wait(&mut child, |child| keep_running(&Running { child, stdout: &stdout, stderr: &stderr, started }));
    let alone = status.is_none() && descendants(child.id()).into_iter().all(|(pid, _)| has_ended(pid));
    if status.is_none() {
        end(&mut child);
    }
    // It is no longer running in either case.
    let _ = child.wait();
    Ended { status, stdout: stdout.text(), stderr: stderr.text(), alone }
}

/// Where a command writes. A file, not a pipe: a process that outlives its launcher cannot keep us waiting for the end
/// of its output.
struct Output(tempfile::NamedTempFile);

impl Output {
    fn new() -> Self {
        Self(tempfile::NamedTempFile::new().expect("a file for the output"))
    }

    fn writer(&self) -> Stdio {
        File::options().append(true).open(self.0.path()).expect("the file for the output").into()
    }

    fn text(&self) -> String {
        let bytes = fs::read(self.0.path()).expect("the output");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How a child ended; `None` if it is still running when it is not to go on.
fn wait(child: &mut Child, mut keep_running: impl FnMut(&Child) -> bool) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        let status = child.try_wait().expect("the state of a child");
        if status.is_some() || !keep_running(child) {
            return status;
        }
        let young = started.elapsed() < Duration::from_millis(200);
        sleep(Duration::from_millis(if young { 5 } else { 25 }));
    }
}

/// Ends a launcher and all processes below it; launchers put ranks into process groups of their own.
fn end(child: &mut Child) {
    let below = descendants(child.id());
    // A launcher that is asked to end takes its ranks and its files with it.
    signal(child.id() as i32, libc::SIGTERM);
    let asked = Instant::now();
    wait(child, |_| asked.elapsed() <= Duration::from_secs(3));
    signal(-(child.id() as i32), libc::SIGKILL);
    for (pid, start) in below {
        // A number may have been given to another process meanwhile: its time of start tells.
        if start_of(pid).is_some_and(|(_, now)| now == start) {
            signal(pid as i32, libc::SIGKILL);
        }
    }
}

fn signal(pid: i32, number: i32) {
    // SAFETY: kill takes plain numbers; the pid (or, negative, process group) is that of a process this test started.
    unsafe { libc::kill(pid, number) };
}

/// All processes below `ancestor`, with their times of start.
fn descendants(ancestor: u32) -> Vec<(u32, u64)> {
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = numbers.filter_map(|e| e.file_name().to_str().and_then(|n| n.parse::<u32>().ok()));
    let parents: HashMap<u32, (u32, u64)> = numbers.filter_map(|pid| start_of(pid).map(|s| (pid, s))).collect();
    let is_below = |mut pid: u32| {
        while let Some(&(parent, _)) = parents.get(&pid) {
            if parent == ancestor {
                return true;
            }
            pid = parent;
        }
        false
    };
    parents.iter().filter(|(pid, _)| is_below(**pid)).map(|(&pid, &(_, start))| (pid, start)).collect()
}

/// Parent and time of start of a process (fields 4 and 22 of /proc/PID/stat).
fn start_of(pid: u32) -> Option<(u32, u64)> {
    let fields = fields_of(pid)?;
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

/// Whether nothing of a process is left but its number, for which its parent has not asked (field 3).
fn has_ended(pid: u32) -> bool {
    fields_of(pid).is_none_or(|fields| fields.first().is_some_and(|state| state == "Z"))
}

/// The fields of /proc/PID/stat from the third on.
fn fields_of(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces.
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
