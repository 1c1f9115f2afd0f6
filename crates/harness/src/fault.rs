//! Faults of third-party libraries that fail a job now and then, with Nagare or without: the library's own message
//! identifies each, or that nothing with Nagare in it is left, or that the launcher crashes.
//!
//! A job that fails with such a message runs once more, and the summary of the tests counts the fault. A row of the
//! table has the message and where it was seen; a message of Nagare's is never among them.

use super::launcher::Ended;
use super::mpi::{Family, Mpi};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;

/// The variable that names the file in which faults are noted, one a line; they are only shown where it is not set.
pub const FAULTS: &str = "TEST_FAULTS";

/// How a job ends that meets a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It fails.
    Fails,
    /// It does not end.
    Hangs,
    /// The launcher does not end, although every process that it had started has.
    HangsAlone,
    /// One of these signals ends the launcher, in which Nagare is not.
    Signal(&'static [i32]),
    /// One of these signals ends the launcher before anything was written.
    SilentSignal(&'static [i32]),
}

/// A known fault.
#[derive(Debug)]
pub struct Fault {
    /// The MPIs that use the library.
    family: Family,
    /// How the job ends.
    end: End,
    /// What stands in one line of a job's output, in this order.
    words: &'static [&'static str],
    /// What stands in another line, where that one is not the library's.
    besides: &'static str,
    /// The library, and what goes wrong in it.
    what: &'static str,
    /// Where it was seen.
    seen: &'static str,
}

const KNOWN: [Fault; 9] = [
    Fault {
        family: Family::Mpich,
        end: End::Fails,
        words: &["UCX", "ERROR", "shmat(shmid=", "failed"],
        besides: "",
        what: "UCX attaches System V shared memory that its owner has removed already",
        seen: "MPICH 5.0.2 at the start of spawned worlds, while other programs ran; openucx/ucx#8511",
    },
    Fault {
        family: Family::Mpich,
        end: End::Fails,
        words: &["MPIDI_UCX_insert_upid", "Endpoint timeout"],
        besides: "",
        what: "a spawned world asks UCX for memory of a parent that has not answered yet, and gives up",
        seen: "MPI_Init of spawned worlds of MPICH 5.0.2, while other programs ran; the launcher ends with 0",
    },
    Fault {
        family: Family::Mpich,
        end: End::Fails,
        words: &["UCX", "ERROR", "failed to unpack address, invalid bandwidth"],
        besides: "",
        what: "UCX measures no bandwidth of a device and refuses the address that says so",
        seen: "MPI_Init_thread of MPICH with mpi4py; pmodels/mpich#7417",
    },
    Fault {
        family: Family::Mpich,
        end: End::Fails,
        words: &["FAIL errors: rank=1", "has not ended the job"],
        besides: "Fatal error in internal_",
        what: "MPICH's launcher does not end the other ranks within 20 s after an error has ended one",
        seen: "an error in a call on rank 0 alone, which MPICH 5.0.2 had told, while other programs ran",
    },
    Fault {
        family: Family::OpenMpi,
        end: End::Hangs,
        words: &["process rank", "with PID 0", "exited on signal"],
        besides: "",
        what: "Open MPI's launcher loses count of a process that dies while others end, and waits for it",
        seen: "a rank killed beside MPI_Finalize, Open MPI 4.1.4 without Nagare, while other programs ran",
    },
    Fault {
        family: Family::OpenMpi,
        end: End::HangsAlone,
        words: &[],
        besides: "",
        what: "Open MPI's launcher waits in PMIx_server_finalize for a thread of its own that waits for a lock",
        seen: "a rank killed beside MPI_Finalize, Open MPI 4.1.4, while other programs ran: the stacks of its threads",
    },
    Fault {
        family: Family::OpenMpi,
        end: End::Fails,
        words: &["ORTE_ERROR_LOG", "util/session_dir.c"],
        besides: "Error:     File exists",
        what: "two of Open MPI's launchers that start at once create one directory, and the second gives up",
        seen: "once in 3600 starts of Open MPI 4.1.4 without Nagare, six at a time: `mkdir`, `File exists`",
    },
    Fault {
        family: Family::Mpich,
        end: End::SilentSignal(&[libc::SIGPIPE]),
        words: &[],
        besides: "",
        what: "MPICH's launcher writes to the part of it that started the processes, which has ended with them",
        seen: "once with MPICH 4.0.2 and two processes that end at once, while other programs ran; not in 600 more",
    },
    Fault {
        family: Family::OpenMpi,
        end: End::Signal(&[libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGPIPE]),
        words: &[],
        besides: "",
        what: "Open MPI's launcher crashes",
        seen: "once, by a signal that was not written down: a rank killed beside MPI_Finalize, Open MPI 4.1.4, while \
            other programs ran; not in 3000 more; of newer launchers openpmix/prrte#631, openpmix/openpmix#1122",
    },
];

/// The fault that a failed job met, if it is known. `is_preloaded`: Nagare is in the launcher too. A rank that a signal
/// ended is no such fault, though the others say the same of it. A job has failed too where a call of MPI aborted a
/// spawned world: MPICH's launcher hides its code.
pub(crate) fn met(mpi: Mpi, ended: &Ended, is_preloaded: bool) -> Option<&'static Fault> {
    let lines = || ended.stderr.lines().chain(ended.stdout.lines());
    let died = lines().any(|line| line.contains("WITH THE EXIT STRING"));
    let failed = !ended.success() || lines().any(|line| line.starts_with("Abort(") && line.contains("Fatal error"));
    let signal = ended.status.and_then(|status| status.signal());
    let ends_by = |any: &[i32]| !is_preloaded && signal.is_some_and(|signal| any.contains(&signal));
    let ends = |end: End| match end {
        End::Fails => ended.status.is_some(),
        End::Hangs => ended.status.is_none(),
        End::HangsAlone => ended.status.is_none() && ended.alone,
        End::Signal(any) => ends_by(any),
        End::SilentSignal(any) => ends_by(any) && lines().next().is_none(),
    };
    let says = |fault: &Fault| {
        let besides = || lines().any(|line| line.contains(fault.besides));
        fault.words.is_empty() || lines().any(|line| fault.says(line)) && besides()
    };
    let fits = |fault: &&Fault| fault.family == mpi.family() && ends(fault.end) && says(fault);
    KNOWN.iter().find(|fault| failed && !died && fits(fault))
}

impl Fault {
    fn says(&self, line: &str) -> bool {
        self.words.iter().try_fold(line, |rest, word| rest.split_once(word).map(|(_, after)| after)).is_some()
    }

    /// Shows it and notes it for the summary.
    pub(crate) fn note(&self, job: &str, ended: &Ended) {
        let line = format!("known fault: {} ({}); {}; job run once more: {job}\n", self.what, self.seen, ended.end());
        eprint!("{line}");
        let Some(path) = std::env::var_os(FAULTS) else { return };
        // One call: lines of several test programs do not mix.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file that TEST_FAULTS names");
    }
}

#[cfg(test)]
mod tests {
    use super::{met as met_by, *};
    use std::process::ExitStatus;

    /// UCX writes to standard output.
    fn ended(code: i32, stdout: &str) -> Ended {
        let status = Some(ExitStatus::from_raw(code << 8));
        Ended { status, stdout: stdout.to_owned(), stderr: String::new(), alone: false }
    }

    fn met(mpi: Mpi, ended: &Ended) -> Option<&'static Fault> {
        met_by(mpi, ended, false)
    }

    const SHMAT: &str = "[1665173472.252802] [host:44314:0]  mm_sysv.c:56   UCX  ERROR   shmat(shmid=655360) failed: \
        Invalid argument\n";

    #[test]
    fn a_fault_is_known_by_its_words_in_one_line_of_a_job_that_failed() {
        assert!(met(Mpi::Mpich5, &ended(1, SHMAT)).is_some_and(|fault| fault.what.contains("System V")));
        assert!(met(Mpi::Mpich5, &ended(0, SHMAT)).is_none(), "it did no harm");
        assert!(met(Mpi::OpenMpi5, &ended(1, SHMAT)).is_none(), "another library");
        assert!(met(Mpi::Mpich5, &ended(1, &SHMAT.replace("ERROR", "ERROR\n"))).is_none(), "two lines");
        assert!(met(Mpi::Mpich5, &ended(1, "shmat(shmid=1) failed: UCX ERROR\n")).is_none(), "another order");
        assert!(met(Mpi::Mpich5, &Ended { status: None, ..ended(1, SHMAT) }).is_none(), "it did not end");
        let upid = "MPIDI_UCX_insert_upid(277): ucx function returned with failed status(Endpoint timeout)\n";
        let abort = "Abort(741491727) on node 1: Fatal error in internal_Init: Other MPI error, error stack:\n";
        assert!(met(Mpi::Mpich5, &ended(0, &format!("{abort}{upid}"))).is_some(), "its code is hidden");
        assert!(met(Mpi::Mpich5, &ended(0, upid)).is_none(), "nothing aborted");
        let lost = "mpirun noticed that process rank 3 with PID 0 on node host exited on signal 9 (Killed).\n";
        assert!(met(Mpi::OpenMpi4, &Ended { status: None, ..ended(137, lost) }).is_some());
        assert!(met(Mpi::OpenMpi4, &ended(137, lost)).is_none(), "it ended as it should");
        let hangs = |alone| Ended { status: None, alone, ..ended(137, "") };
        assert!(met(Mpi::OpenMpi4, &hangs(true)).is_some_and(|fault| fault.what.contains("PMIx_server_finalize")));
        assert!(met(Mpi::OpenMpi4, &hangs(false)).is_none(), "a rank is still there");
        assert!(met(Mpi::Mpich4, &hangs(true)).is_none(), "another launcher");
        let pipe = |stdout: &str| Ended { status: Some(ExitStatus::from_raw(libc::SIGPIPE)), ..ended(0, stdout) };
        assert!(met(Mpi::Mpich4, &pipe("")).is_some_and(|fault| fault.what.contains("launcher")));
        assert!(met(Mpi::Mpich4, &pipe("2 ranks\n")).is_none(), "the program had begun");
        let by_signal = |signal| Ended { status: Some(ExitStatus::from_raw(signal)), ..ended(0, lost) };
        let crashes = |mpi, signal| met(mpi, &by_signal(signal));
        assert!(crashes(Mpi::OpenMpi4, libc::SIGSEGV).is_some_and(|fault| fault.what.contains("crashes")));
        assert!(met_by(Mpi::OpenMpi4, &by_signal(libc::SIGSEGV), true).is_none(), "Nagare may have crashed it");
        assert!(crashes(Mpi::OpenMpi4, libc::SIGKILL).is_none(), "somebody ended it");
        assert!(crashes(Mpi::Mpich4, libc::SIGSEGV).is_none(), "another launcher");
        let directory = "  Error:     File exists\n[host:1328] [[27086,0],0] ORTE_ERROR_LOG: Error in file \
            ../../../orte/util/session_dir.c at line 107\n";
        assert!(met(Mpi::OpenMpi4, &ended(1, directory)).is_some_and(|fault| fault.what.contains("directory")));
        let full = directory.replace("File exists", "No space left on device");
        assert!(met(Mpi::OpenMpi4, &ended(1, &full)).is_none(), "what the machine lacks");
        let died = format!("{SHMAT}YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n");
        assert!(met(Mpi::Mpich5, &ended(11, &died)).is_none(), "its owner has died");
    }
}
