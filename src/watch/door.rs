//! Where `nagare ps` asks: a socket without a file (unix(7), "Abstract sockets"), which anybody on the host may connect
//! to, and which answers this user and root.

use super::kept::Kept;
use super::peers::{AT_ONCE, Peers};
use nagare_plan::schedule::Rank;
use nagare_watch::Job;
use std::ffi::c_int;
use std::io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
use std::io::{Result, Write};
use std::mem::size_of;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long whoever asks may take to read.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long nobody is let in where the program has all descriptors that there are.
const REST: Duration = Duration::from_secs(1);

/// The socket, and what is told there.
pub struct Door {
    listener: Kept<UnixListener>,
    job: Job,
    rests: Option<Instant>,
}

impl Door {
    /// That of one rank of the job.
    ///
    /// # Errors
    /// Where a network namespace lets nobody have one.
    pub fn open(job: Job) -> Result<Self> {
        let name = SocketAddr::from_abstract_name(nagare_watch::door(job.world, job.rank))?;
        let listener = UnixListener::bind_addr(&name)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener: Kept::new(listener)?, job, rests: None })
    }

    /// What can be waited for by poll(2), unless it rests, or the program has closed it.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.listener().map(AsRawFd::as_raw_fd)
    }

    fn listener(&self) -> Option<&UnixListener> {
        let rests = self.rests.is_some_and(|since| since.elapsed() < REST);
        self.listener.get().filter(|_| !rests)
    }

    /// Tells whoever asks, if somebody does now, what all ranks are in: one line of the job, one of each rank.
    pub fn serve(&mut self, peers: &mut Peers) {
        let Some(caller) = self.caller() else { return };
        let tell = |line: serde_json::Result<Vec<u8>>| match (line, caller.get()) {
            (Ok(mut line), Some(mut caller)) => {
                line.push(b'\n');
                // Who does not read any more has gone.
                caller.write_all(&line).is_ok()
            }
            (Err(_), Some(_)) => true,
            (_, None) => false,
        };
        if !tell(serde_json::to_vec(&self.job)) {
            return;
        }
        let all: Vec<Rank> = (0..peers.size()).collect();
        for some in all.chunks(AT_ONCE) {
            let answers = peers.ask(some, None, |_| false, |_| ());
            if !answers.iter().all(|answer| tell(serde_json::to_vec(answer))) {
                return;
            }
        }
    }

    /// Somebody who may ask, and does.
    fn caller(&mut self) -> Option<Kept<UnixStream>> {
        let accepted = accept(self.listener()?);
        accepted.unwrap_or_else(|_| {
            self.rests = Some(Instant::now());
            None
        })
    }
}

/// Somebody who may ask, and does; `None` if nobody is there.
fn accept(listener: &UnixListener) -> Result<Option<Kept<UnixStream>>> {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) if [WouldBlock, Interrupted, ConnectionAborted].contains(&error.kind()) => return Ok(None),
        Err(error) => return Err(error),
    };
    // SAFETY: no preconditions.
    let own = unsafe { libc::geteuid() };
    let is_allowed = user(&stream).is_some_and(|user| user == own || user == 0);
    // Who accepts a connection does not inherit that it must not block.
    stream.set_write_timeout(Some(PATIENCE))?;
    if is_allowed { Kept::new(stream).map(Some) } else { Ok(None) }
}

/// Who is at the other end.
fn user(stream: &UnixStream) -> Option<libc::uid_t> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: an open socket; SO_PEERCRED writes at most `length` bytes into `who`, and says how many.
    let code: c_int = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &raw mut length,
        )
    };
    (code == 0 && length as usize == size_of::<libc::ucred>()).then_some(who.uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There may be descriptors again.
    #[test]
    fn a_door_that_lets_nobody_in_rests() {
        let world = 0xd00d_0000_0000_0000 | u64::from(std::process::id());
        let job = Job { world, program: String::new(), job: None, ranks: 1, rank: 0 };
        let mut door = Door::open(job).expect("a name that nobody has");
        let listener = door.listener().expect("open");
        listener.set_nonblocking(false).expect("a socket");
        // SAFETY: shuts an open socket down, as accept(2) then says, but for one that does not block.
        assert_eq!(unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) }, 0);
        assert!(door.caller().is_none() && door.rests.is_some());
        while door.descriptor().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
