//! Where `nagare ps` asks: a socket without a file (unix(7), "Abstract sockets"), which anybody on the host may connect
//! to, and which answers this user and root.

use nagare_plan::schedule::Rank;
use std::ffi::c_int;
use std::io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
use std::io::Result;
use std::mem::size_of;
use std::os::fd::{AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long whoever asks may take to read.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket.
pub struct Door(UnixListener);

impl Door {
    /// That of `rank` of the job with that number.
    ///
    /// # Errors
    /// Where a network namespace lets nobody have one.
    pub fn open(world: u64, rank: Rank) -> Result<Self> {
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(nagare_watch::door(world, rank))?)?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    /// What can be waited for by poll(2).
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Somebody who may ask, and does; `None` if nobody is there.
    ///
    /// # Errors
    /// If nobody can be let in.
    pub fn caller(&self) -> Result<Option<UnixStream>> {
        let stream = match self.0.accept() {
            Ok((stream, _)) => stream,
            Err(error) if [WouldBlock, Interrupted, ConnectionAborted].contains(&error.kind()) => return Ok(None),
            Err(error) => return Err(error),
        };
        // SAFETY: no preconditions.
        let own = unsafe { libc::geteuid() };
        let is_allowed = user(&stream).is_some_and(|user| user == own || user == 0);
        // Who accepts a connection does not inherit that it must not block.
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(is_allowed.then_some(stream))
    }
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
