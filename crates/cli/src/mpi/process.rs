//! Running a program for what it prints, for a limited time.

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(5);
/// How long a program may take to end once asked to, and its output to arrive once it has ended.
const GRACE: Duration = Duration::from_secs(3);

/// What a program did.
pub struct Outcome {
    /// `None`: it did not end in time and was ended.
    pub status: Option<ExitStatus>,
    /// What it printed on standard output.
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
}

/// Runs `command` without input. After `timeout` it is asked to end (a launcher then ends its ranks), and a little
/// later made to; nothing but the program itself is signalled.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn watch(mut command: Command, timeout: Duration) -> anyhow::Result<Outcome> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| name.clone())?;
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status = wait(&mut child, timeout)?;
    if status.is_none() {
        end(&mut child).with_context(|| format!("ending {name}"))?;
    }
    Ok(Outcome { status, stdout: text(stdout), stderr: text(stderr) })
}

fn end(child: &mut Child) -> anyhow::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("no process id")?;
    kill_process(pid, Signal::TERM)?;
    if wait(child, GRACE)?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

/// The child's status, or `None` if it still runs after `patience`.
fn wait(child: &mut Child, patience: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("waiting for a program")? {
            return Ok(Some(status));
        }
        if start.elapsed() > patience {
            return Ok(None);
        }
        sleep(TICK);
    }
}

/// Reads a stream beside everything else, so that the writer never blocks.
fn collect(mut stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    spawn(move || {
        let mut buffer = [0; 4096];
        // Ends with the stream, or when nobody wants to know any more.
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// What arrives until the stream ends. A process that outlives its parent may hold it open: that one is not waited for.
fn text(chunks: Option<Receiver<Vec<u8>>>) -> String {
    let mut bytes = Vec::new();
    if let Some(chunks) = chunks {
        let deadline = Instant::now() + GRACE;
        while let Ok(chunk) = chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            bytes.extend(chunk);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
