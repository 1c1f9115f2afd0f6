//! Signals to the process that makes a testbed or runs a program in it: nothing may stay behind.
//!
//! All in one thread: a process that has left its process namespace can start processes, but no threads.

use crate::error::Error;
use crate::namespaces::open_process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe::register;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How long a program may take to end once asked to.
const GRACE: Duration = Duration::from_secs(5);

/// Catches SIGINT, SIGTERM and SIGHUP from the moment it is made.
#[derive(Debug)]
pub struct Supervisor {
    /// One pipe for each signal.
    pipes: Vec<(i32, UnixStream)>,
    /// The first signal that came.
    signal: Option<i32>,
}

/// What was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The file can be read, or the process has ended.
    Ready,
    /// A signal came.
    Signal,
    /// Neither, in time.
    Timeout,
}

impl Supervisor {
    /// From now on signals wait to be looked at.
    ///
    /// # Errors
    /// If handlers cannot be installed.
    pub fn new() -> Result<Self, Error> {
        let pipes = [SIGINT, SIGTERM, SIGHUP].map(|signal| {
            let (read, write) = UnixStream::pair()?;
            register(signal, write)?;
            Ok((signal, read))
        });
        let pipes: Result<Vec<_>, std::io::Error> = pipes.into_iter().collect();
        Ok(Self { pipes: pipes.map_err(Error::system("signal handlers"))?, signal: None })
    }

    /// The first signal that came.
    pub fn signal(&self) -> Option<i32> {
        self.signal
    }

    /// Waits until `file` can be read or a signal comes, which is then taken.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(&mut self, file: impl AsFd, timeout: Option<Duration>) -> Result<Event, Error> {
        let failed = "waiting for a process";
        let mut files = vec![PollFd::new(&file, PollFlags::IN)];
        files.extend(self.pipes.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN)));
        let timeout = timeout.map(Timespec::try_from).transpose();
        let timeout = timeout.map_err(|_| Error::system(failed)(Errno::INVAL))?;
        let count = loop {
            // The handler of a signal interrupts once; then its pipe can be read.
            match poll(&mut files, timeout.as_ref()) {
                Err(Errno::INTR) => {}
                other => break other.map_err(Error::system(failed))?,
            }
        };
        let came = files[1..].iter().position(|pipe| !pipe.revents().is_empty());
        drop(files);
        if let Some((signal, pipe)) = came.and_then(|index| self.pipes.get_mut(index)) {
            // Empty before the next look.
            let _ = pipe.read(&mut [0; 64]).map_err(Error::system(failed))?;
            self.signal.get_or_insert(*signal);
            return Ok(Event::Signal);
        }
        Ok(if count == 0 { Event::Timeout } else { Event::Ready })
    }

    /// Runs a program to its end. A signal asks it to end; a second one, or patience running out, ends it and `all`.
    /// Returns its status; after a signal 128 + the signal's number, as shells count.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(&mut self, mut command: Command, all: Option<&OwnedFd>) -> Result<u8, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = || Error::system(name.clone());
        let mut child = command.spawn().map_err(failed())?;
        let process = open_process(child.id() as i32)?;
        if self.wait(&process, None)? == Event::Signal {
            // A process that has ended meanwhile needs no signal.
            let _ = pidfd_send_signal(&process, Signal::TERM);
            if self.wait(&process, Some(GRACE))? != Event::Ready {
                let _ = pidfd_send_signal(all.unwrap_or(&process), Signal::KILL);
            }
        }
        let status = child.wait().map_err(failed())?;
        Ok(code(self.signal, status))
    }
}

fn code(signal: Option<i32>, status: ExitStatus) -> u8 {
    let code = match signal.or(status.signal()) {
        Some(signal) => 128 + signal,
        None => status.code().unwrap_or(1),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}
