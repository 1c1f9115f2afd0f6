//! Finds out whether every rank of a communicator has this library, before any call that the calls of ranks without it
//! could match.
//!
//! Ranks without the library are in the program, and its collectives on the communicator would match ours: both would
//! get wrong data. Libraries tell messages of different collectives apart, so all ranks first meet in one that programs
//! hardly ever call on a whole communicator, `MPI_Alltoallw`, the library's own. If some rank does not come, the others
//! wait and one line says for which. On Open MPI ranks know before which others have the library (`real/pmix.rs`), or
//! at least which ranks of their host: nobody sends to a rank that it knows or has heard to lack it, or waits for it.
//!
//! ```text
//!   round of distance 1, 2, 4, …      r − d ──► r ──► r + d     after the last round everybody has heard of everybody
//!   without the library               r − d     r ──► r + d     r passes on that r − d lacks it
//! ```

use super::disagreement::Disagreement;
use super::setup::host_name;
use crate::boundary::{say, threads};
use crate::real::Real;
use mpi::ffi::{MPI_Comm, MPI_Datatype};
use nagare_config::Config;
use parking_lot::{Condvar, Mutex};
use std::ffi::c_int;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a rank waits before it prints for which rank it waits. All ranks of the world are in `MPI_Init`. The job
/// ends after `NAGARE_MEETING_TIMEOUT`, with `NAGARE_STRICT=1` at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// By how much longer in later rounds: who waits for a rank without the library in the first round, if anybody does,
/// says so before those who wait for it.
const LATER: Duration = Duration::from_secs(5);

/// Message of a round: fixed for all versions. Bytes 0-7 and 8-15 are the least and the largest build heard of, 16 to
/// 18 whether some rank has Nagare switched on, wants a report, and wants the job to end if a rank lacks the library, 20
/// to 23 the first rank known to lack it plus one, and zero if none is.
const MESSAGE: usize = 64;

/// The number that `build.rs` writes in hexadecimal digits: of all sources that ranks decide by.
fn number(build: &str) -> u64 {
    u64::from_str_radix(build, 16).unwrap_or(0)
}

/// Waits until all `size` ranks of `comm` are in this function; this one is `rank`. `NAGARE_STRICT=1`: a rank that does
/// not come is fatal.
///
/// # Errors
/// If ranks lack the library, builds do not understand each other, or Nagare is off on all ranks, the same on all; or
/// if the MPI library fails.
pub fn meet(real: &Real, comm: MPI_Comm, rank: c_int, size: c_int, config: &Config) -> Result<(), Disagreement> {
    #[cfg(mpi_family = "openmpi")]
    let mut peers = crate::real::pmix::Peers::new();
    #[cfg(mpi_family = "openmpi")]
    let mut has = |rank: c_int| !peers.as_mut().is_some_and(|peers| peers.lacks(rank as u32));
    #[cfg(mpi_family = "mpich")]
    let mut has = |_: c_int| true;
    let heard = rounds(real, comm, (rank, size), config, &mut has).map_err(Disagreement::Exchange)?;
    match heard {
        Heard { missing: Some(heard), strict, .. } => {
            let (with, without): (Vec<c_int>, Vec<c_int>) = (0..size).partition(|&rank| rank != heard && has(rank));
            let [speaker, first] = [&with, &without].map(|ranks| ranks.first().map_or(0, |&rank| rank as u32));
            Err(Disagreement::Missing { first, missing: without.len(), ranks: size, speaker, strict })
        }
        _ if !heard.one() => Err(Disagreement::Build),
        Heard { on: false, report, .. } => Err(Disagreement::Off { report }),
        _ => Ok(()),
    }
}

/// What a rank knows of the others so far.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// Builds.
    least: u64,
    largest: u64,
    /// Whether some rank has Nagare switched on, and whether some rank wants a report.
    on: bool,
    report: bool,
    /// Whether some rank has `NAGARE_STRICT=1`.
    strict: bool,
    /// The first rank that somebody knows to lack the library: not everybody need know what one does.
    missing: Option<c_int>,
}

impl Heard {
    fn own(build: u64, on: bool, report: bool, strict: bool) -> Self {
        Self { least: build, largest: build, on, report, strict, missing: None }
    }

    fn message(self) -> [u8; MESSAGE] {
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&self.least.to_le_bytes());
        message[8..16].copy_from_slice(&self.largest.to_le_bytes());
        message[16..19].copy_from_slice(&[self.on, self.report, self.strict].map(u8::from));
        message[20..24].copy_from_slice(&self.missing.map_or(0, |rank| rank + 1).to_le_bytes());
        message
    }

    fn hear(&mut self, message: &[u8; MESSAGE]) {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| message[at + i]));
        self.least = self.least.min(number(0));
        self.largest = self.largest.max(number(8));
        self.on |= message[16] != 0;
        self.report |= message[17] != 0;
        self.strict |= message[18] != 0;
        let missing = i32::from_le_bytes(std::array::from_fn(|i| message[20 + i]));
        if missing > 0 {
            self.lacks(missing - 1);
        }
    }

    /// That rank lacks the library.
    fn lacks(&mut self, rank: c_int) {
        self.missing = Some(self.missing.map_or(rank, |first| first.min(rank)));
    }

    /// Whether to send to `to`, and to wait for `from`, in a round; `has`: whether a rank has the library, for all that
    /// this rank knows by itself.
    fn meets(&mut self, [to, from]: [c_int; 2], mut has: impl FnMut(c_int) -> bool) -> [bool; 2] {
        let heard = self.missing;
        [to, from].map(|rank| {
            let has = heard != Some(rank) && has(rank);
            if !has {
                self.lacks(rank);
            }
            has
        })
    }

    /// Whether a rank that waits in the round of that distance is to say so if it takes long: the one after a rank
    /// without the library waits for that in the first round, the others later for ranks that wait. Only where somebody
    /// knew, and went on, may a rank meet one without the library later.
    fn speaks(self, distance: c_int) -> bool {
        distance == 1 || self.missing.is_some()
    }

    fn one(self) -> bool {
        self.least == self.largest
    }
}

/// How far messages go, round by round.
fn distances(size: c_int) -> impl Iterator<Item = c_int> {
    (0..c_int::BITS - 1).map(|round| 1 << round).take_while(move |&distance| distance < size)
}

/// What all ranks say. This one is the first of the pair, which has their number too; `has`: whether a rank has the
/// library, for all that is known.
fn rounds(
    real: &Real,
    comm: MPI_Comm,
    (rank, size): (c_int, c_int),
    config: &Config,
    has: &mut impl FnMut(c_int) -> bool,
) -> Result<Heard, c_int> {
    let build = number(env!("NAGARE_BUILD"));
    let mut heard = Heard::own(build, config.enable, config.report.is_some(), config.strict);
    let nothing = vec![0 as c_int; size as usize];
    let (mut sent, mut received) = (nothing.clone(), nothing.clone());
    let bytes: Vec<MPI_Datatype> = vec![real.handles.byte; size as usize];
    for distance in distances(size) {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let [sends, receives] = heard.meets([to, from], &mut *has);
        let message = heard.message();
        let mut answer = [0u8; MESSAGE];
        sent[to as usize] = if sends { MESSAGE as c_int } else { 0 };
        received[from as usize] = if receives { MESSAGE as c_int } else { 0 };
        let patience = if distance == 1 { PATIENCE } else { PATIENCE + LATER };
        let watch = (receives && heard.speaks(distance)).then(|| Watch::start((rank, size), from, patience, config));
        // SAFETY: all arrays have an entry per rank; the one block sent and the one received lie in the two messages.
        let code = unsafe {
            (real.mpi.alltoallw)(
                message.as_ptr().cast(),
                sent.as_ptr(),
                nothing.as_ptr(),
                bytes.as_ptr(),
                answer.as_mut_ptr().cast(),
                received.as_ptr(),
                nothing.as_ptr(),
                bytes.as_ptr(),
                comm.into(),
            )
        };
        drop(watch);
        if code != 0 {
            return Err(code);
        }
        sent[to as usize] = 0;
        received[from as usize] = 0;
        if receives {
            heard.hear(&answer);
        }
    }
    Ok(heard)
}

/// A thread that says what is waited for if it takes long; dropped, it ends.
struct Watch {
    /// Whether there is nothing to wait for any more, and that this has changed.
    done: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Of a rank of so many that waits for `from`.
    fn start((rank, size): (c_int, c_int), from: c_int, patience: Duration, config: &Config) -> Self {
        let strict = config.strict;
        let limit = if strict { Some(patience) } else { config.meeting_timeout.map(Duration::from_secs) };
        let done = Arc::new((Mutex::new(false), Condvar::new()));
        let waiting = Arc::clone(&done);
        let thread = threads::spawn("nagare", move || {
            let (done, changed) = &*waiting;
            let mut done = done.lock();
            let mut is_over_after = |time: Duration| {
                changed.wait_while_for(&mut done, |done| !*done, time);
                *done
            };
            if is_over_after(patience) {
                return;
            }
            let (host, seconds) = (host_name(), patience.as_secs());
            let then = match limit {
                _ if strict => "; the job ends (NAGARE_STRICT=1)".to_owned(),
                Some(limit) => format!("; the job ends after {} s (NAGARE_MEETING_TIMEOUT)", limit.as_secs()),
                None => String::new(),
            };
            say(&format!(
                "nagare: rank {rank} of {size} on {host} has waited {seconds} s for rank {from} or one before \
                 it, which does not answer; expected libnagare.so in all ranks, as `nagare run` ensures, or in \
                 none{then}\n"
            ));
            let Some(limit) = limit else { return };
            if !is_over_after(limit.saturating_sub(patience)) {
                if !strict {
                    let seconds = limit.as_secs();
                    say(&format!("nagare: rank {rank} of {size} on {host} has waited {seconds} s; the job ends\n"));
                }
                // SAFETY: nothing of this process is used any more. Another thread is inside the MPI library: the
                // launcher ends a job of which a rank ends like this.
                unsafe { libc::_exit(1) };
            }
        });
        Self { done, thread: thread.ok() }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let (done, changed) = &*self.done;
        *done.lock() = true;
        changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It only ends; a panic in it has been reported.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
