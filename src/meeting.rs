//! Finding out that every rank of a communicator has this library, before anything that calls of ranks without it could match.
//!
//! Ranks without the library are in the program, and its collectives on the communicator would be taken for ours: both would
//! get wrong data. Libraries tell messages of different collectives apart, so all ranks first meet in one that programs hardly
//! ever call on a whole communicator, `MPI_Alltoallw`. If some rank does not come, the others wait and one line says for what.
//!
//! ```text
//!   round of distance 1, 2, 4, …      r − d ──► r ──► r + d     after the last round everybody has heard of everybody
//! ```

use crate::facts::Disagreement;
use crate::real::Real;
use crate::shim::say;
use mpi::ffi::{MPI_Comm, MPI_Datatype};
use std::ffi::c_int;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long ranks are waited for before it is said. All have been in MPI_Init, or are in the same call.
const PATIENCE: Duration = Duration::from_secs(10);

/// Message of a round: fixed for all versions. Bytes 0-7 and 8-15 are the least and the largest build heard of.
const MESSAGE: usize = 64;

/// The number that `build.rs` writes in hexadecimal digits: of all sources that ranks decide by.
fn number(build: &str) -> u64 {
    u64::from_str_radix(build, 16).unwrap_or(0)
}

/// Waits until all `size` ranks of `comm` are in this function; this one is `rank`. `strict`: a rank that does not come is fatal.
///
/// # Errors
/// If builds do not understand each other, the same on all ranks, or the library fails.
pub fn meet(real: &Real, comm: MPI_Comm, rank: c_int, size: c_int, strict: bool) -> Result<(), Disagreement> {
    let (least, largest) = rounds(real, comm, rank, size, strict).map_err(Disagreement::Exchange)?;
    if least == largest { Ok(()) } else { Err(Disagreement::Build) }
}

/// The least and the largest build of all ranks.
fn rounds(real: &Real, comm: MPI_Comm, rank: c_int, size: c_int, strict: bool) -> Result<(u64, u64), c_int> {
    let own = number(env!("NAGARE_BUILD"));
    let (mut least, mut largest) = (own, own);
    let nothing = vec![0 as c_int; size as usize];
    let (mut sent, mut received) = (nothing.clone(), nothing.clone());
    let bytes: Vec<MPI_Datatype> = vec![real.handles.byte; size as usize];
    let mut distance = 1;
    while distance < size {
        let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
        let mut message = [0u8; MESSAGE];
        message[..8].copy_from_slice(&least.to_le_bytes());
        message[8..16].copy_from_slice(&largest.to_le_bytes());
        let mut answer = [0u8; MESSAGE];
        sent[to as usize] = MESSAGE as c_int;
        received[from as usize] = MESSAGE as c_int;
        // The rank before one without the library waits for it in the first round, all others for ranks that wait.
        let watch = (distance == 1).then(|| Watch::start(rank, size, strict));
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
                comm,
            )
        };
        drop(watch);
        if code != 0 {
            return Err(code);
        }
        sent[to as usize] = 0;
        received[from as usize] = 0;
        let build = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| answer[at + i]));
        least = least.min(build(0));
        largest = largest.max(build(8));
        distance *= 2;
    }
    Ok((least, largest))
}

/// A thread that says what is waited for if it takes long; dropped, it ends.
struct Watch {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn start(rank: c_int, size: c_int, strict: bool) -> Self {
        let (done, waiting) = channel();
        // The program's signals are not for this thread, which inherits the mask.
        // SAFETY: plain data, filled in and used as the functions demand; the mask of this thread is put back.
        let thread = unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let thread = std::thread::Builder::new().name("nagare".to_owned()).spawn(move || {
                if waiting.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let seconds = PATIENCE.as_secs();
                let before = (rank + size - 1) % size;
                let then = if strict { "; the job ends (NAGARE_STRICT=1)" } else { "" };
                say(&format!(
                    "nagare: rank {rank} of {size} has waited {seconds} s for rank {before} or one before it, which does not answer; expected \
                     libnagare.so in all ranks, as `nagare run` makes sure, or in none{then}\n"
                ));
                if strict {
                    // Another thread is inside the MPI library: the launcher ends a job of which a rank ends like this.
                    libc::_exit(1);
                }
            });
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            thread.ok()
        };
        Self { done: Some(done), thread }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            // It only ends; a panic in it has been told.
            let _ = thread.join();
        }
    }
}
