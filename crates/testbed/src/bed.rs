//! A testbed from outside: up, enter, down.

use crate::error::Error;
use crate::holder::has_multipath;
use crate::layout::Layout;
use crate::namespaces::{enter as enter_namespaces, open_process, separate};
use crate::record::{Given, Process, Record, Records, private, write};
use crate::supervise::{Event, Supervisor};
use nagare_plan::fabric::Fabric;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Signal, pidfd_send_signal};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A testbed that this process makes.
pub struct Bed {
    records: Records,
    record: Record,
    directory: PathBuf,
    holder: Child,
    process: OwnedFd,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Brings a fabric up. This process, which must have one thread only, is inside the testbed afterwards: in its mounts
/// and in the launcher's network, and programs it starts are among the testbed's processes. It can start no threads any
/// more.
///
/// `program` is the `nagare` command; it is started as `nagare testbed hold DIRECTORY`.
///
/// # Errors
/// If it is up already, the fabric is too large, or the system does not allow it. Nothing stays behind.
pub fn create(
    records: &Records,
    name: &str,
    fabric: &Fabric,
    given: Given,
    program: &Path,
    supervisor: &mut Supervisor,
    stays: bool,
) -> Result<Bed, Error> {
    if Layout::new(fabric)?.has_several_ways() && !has_multipath() {
        return Err(Error::Multipath { fabric: fabric.name().to_owned() });
    }
    let me = Process::of(std::process::id() as i32);
    let maker = me.ok_or_else(|| Error::Holder("/proc/self/stat cannot be read".to_owned()))?;
    let (hosts, switches) = (fabric.host_count(), fabric.switch_count());
    let record = Record { name: name.to_owned(), hosts, switches, given, stays, maker, holder: None };
    let directory = records.create(&record, fabric)?;
    let bed = start(records, record.clone(), directory, program);
    let made = bed.and_then(|mut bed| match bed.make(supervisor) {
        Ok(()) => Ok(bed),
        Err(error) => bed.end().and(Err(error)),
    });
    if made.is_err() {
        forget(records, &record)?;
    }
    made
}

/// The holder, recorded, but with nothing made.
fn start(records: &Records, mut record: Record, directory: PathBuf, program: &Path) -> Result<Bed, Error> {
    separate()?;
    let mut command = Command::new(program);
    command.args(["testbed", "hold"]).arg(&directory).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C is for its maker.
    command.process_group(0);
    let mut holder = command.spawn().map_err(Error::file(program))?;
    let (Some(input), Some(output)) = (holder.stdin.take(), holder.stdout.take()) else {
        return Err(Error::Holder("the holder has no pipes".to_owned()));
    };
    let pid = holder.id() as i32;
    let process = open_process(pid)?;
    record.holder = Process::of(pid);
    write(&directory, &record)?;
    Ok(Bed { records: records.clone(), record, directory, holder, process, input, output: BufReader::new(output) })
}

impl Bed {
    fn make(&mut self, supervisor: &mut Supervisor) -> Result<(), Error> {
        // From its first line on, the holder ends with this process; so it never starts for a maker that has ended.
        if self.answer(supervisor)? != "here" {
            return Err(Error::HolderGone);
        }
        match self.ask("start", supervisor)?.as_str() {
            "ready" => {
                if !self.record.stays {
                    // Only then does the holder look after its processes. One that has ended needs no answer.
                    let _ = writeln!(self.input, "stay");
                }
                Ok(())
            }
            "" => Err(Error::HolderGone),
            message => Err(Error::Holder(message.to_owned())),
        }
    }

    /// Sends one line and waits for the answer.
    fn ask(&mut self, line: &str, supervisor: &mut Supervisor) -> Result<String, Error> {
        // A holder that has ended answers nothing.
        let _ = writeln!(self.input, "{line}");
        self.answer(supervisor)
    }

    /// The holder's next line; empty if it has ended.
    fn answer(&mut self, supervisor: &mut Supervisor) -> Result<String, Error> {
        if supervisor.wait(self.output.get_ref(), None)? == Event::Signal {
            return Err(Error::Interrupted(supervisor.signal().unwrap_or_default()));
        }
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(Error::system("the holder of the testbed"))?;
        Ok(answer.trim_end().to_owned())
    }

    fn end(&mut self) -> Result<(), Error> {
        let ended = self.holder.kill().and_then(|()| self.holder.wait());
        ended.map(drop).map_err(Error::system("ending the holder"))
    }

    /// Lets the testbed outlive this process.
    ///
    /// # Errors
    /// If the holder has ended.
    pub fn keep(mut self, supervisor: &mut Supervisor) -> Result<(), Error> {
        match self.ask("keep", supervisor) {
            Ok(answer) if answer == "kept" => Ok(()),
            answer => {
                self.down()?;
                Err(answer.err().unwrap_or(Error::HolderGone))
            }
        }
    }

    /// The holder: when it is killed, everything in the testbed ends.
    pub fn holder(&self) -> &OwnedFd {
        &self.process
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes the testbed down, with all processes in it.
    ///
    /// # Errors
    /// If its directory cannot be removed.
    pub fn down(mut self) -> Result<(), Error> {
        self.end()?;
        forget(&self.records, &self.record)
    }
}

/// Removes the directory of a testbed this process has made and whose holder has ended.
fn forget(records: &Records, record: &Record) -> Result<(), Error> {
    // This process is the last to see the holder's mount, if that came so far.
    let _ = unmount(private(&records.path(&record.name)), UnmountFlags::DETACH);
    records.forget(record)
}

/// Enters a testbed that is up. This process must have one thread only.
///
/// # Errors
/// [`Error::NotUp`], or if the kernel refuses.
pub fn enter(records: &Records, record: &Record) -> Result<PathBuf, Error> {
    let holder = record.holder.as_ref().filter(|holder| holder.is_alive());
    let holder = holder.ok_or_else(|| Error::NotUp(record.name.clone()))?;
    // Whoever enters is at the root, and relative paths on the command line would name something else.
    let here = std::env::current_dir();
    enter_namespaces(holder.pid)?;
    if let Ok(here) = here {
        std::env::set_current_dir(&here).map_err(Error::system(here.display().to_string()))?;
    }
    Ok(records.path(&record.name))
}

/// Takes a testbed down, whoever made it, with all processes in it; also what a crash has left of one.
///
/// # Errors
/// If processes cannot be ended or the directory not be removed.
pub fn down(records: &Records, record: &Record) -> Result<(), Error> {
    if let Some(holder) = &record.holder {
        // The handle first, then the look whether it is still the recorded process.
        if let Ok(process) = open_process(holder.pid)
            && holder.is_alive()
        {
            let failed = || Error::system(format!("ending process {}", holder.pid));
            pidfd_send_signal(&process, Signal::KILL).map_err(failed())?;
            // It ends after every process inside has been buried, by its parent or by the machine's process 1. Where
            // that one forgets to, all are dead nevertheless.
            let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
            poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).map_err(failed())?;
        }
    }
    records.forget(record)
}
