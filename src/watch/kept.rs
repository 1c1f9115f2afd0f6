//! Sockets of ours in a process whose program may close every descriptor: the numbers are then those of files that the
//! program opens. Also a child that it forks has them, and would keep them open when this process has ended.

use std::io::{Error, Result};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, Once, PoisonError};

/// Which socket it is, whatever its descriptor: device and number.
type Identity = (libc::dev_t, libc::ino_t);

/// Those of this process. The standard library's lock is a word in memory: a child may try it whatever other threads
/// did when it was forked.
static HELD: Mutex<Vec<(RawFd, Identity)>> = Mutex::new(Vec::new());

/// A socket, as long as the program leaves it alone.
pub struct Kept<T: AsRawFd> {
    socket: ManuallyDrop<T>,
    identity: Identity,
}

impl<T: AsRawFd> Kept<T> {
    /// A socket that is open, which children that the program forks from now on are without.
    ///
    /// # Errors
    /// If the system does not say which it is.
    pub fn new(socket: T) -> Result<Self> {
        static HANDLED: Once = Once::new();
        // SAFETY: a function that lives as long as this library, for which glibc forgets it.
        // Where there is no memory for it, a child keeps the sockets.
        HANDLED.call_once(|| unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        });
        let fd = socket.as_raw_fd();
        let identity = identity(fd).ok_or_else(Error::last_os_error)?;
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push((fd, identity));
        Ok(Self { socket: ManuallyDrop::new(socket), identity })
    }

    /// The socket; `None` if its descriptor is closed, or another file's. To be asked before every use: between the two
    /// the program has no time to speak of.
    pub fn get(&self) -> Option<&T> {
        (identity(self.socket.as_raw_fd()) == Some(self.identity)).then_some(&*self.socket)
    }
}

impl<T: AsRawFd> Drop for Kept<T> {
    fn drop(&mut self) {
        let held = (self.socket.as_raw_fd(), self.identity);
        HELD.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != held);
        if self.get().is_some() {
            // SAFETY: dropped once, here, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.socket) };
        }
    }
}

fn identity(fd: RawFd) -> Option<Identity> {
    // SAFETY: plain data, which fstat fills in for whatever descriptor, or fails.
    let (code, status) = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(fd, &raw mut status), status)
    };
    (code == 0).then_some((status.st_dev, status.st_ino))
}

/// Closes what a child has of these, after fork(2). Takes no memory: another thread may have been taking some.
extern "C" fn in_child() {
    // Where another thread was at it, the child keeps them.
    let Ok(mut held) = HELD.try_lock() else { return };
    for (fd, of) in held.drain(..) {
        if identity(fd) == Some(of) {
            // SAFETY: a descriptor of ours, which nobody in this process uses: its thread is the program's.
            unsafe { libc::close(fd) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").expect("a socket")
    }

    #[test]
    fn a_file_of_the_program_is_left_alone() {
        let kept = Kept::new(socket()).expect("open");
        let (fd, theirs) = (kept.get().expect("ours").as_raw_fd(), socket());
        // SAFETY: both descriptors are open; the first becomes another's, which is the case at hand.
        assert_eq!(unsafe { libc::dup2(theirs.as_raw_fd(), fd) }, fd);
        assert!(kept.get().is_none());
        drop(kept);
        assert_eq!(identity(fd), identity(theirs.as_raw_fd()), "still open");
        // SAFETY: the duplicate of above, which nobody else closes.
        assert_eq!(unsafe { libc::close(fd) }, 0);
    }

    #[test]
    fn what_is_ours_is_closed_with_it() {
        let kept = Kept::new(socket()).expect("open");
        let (fd, of) = (kept.get().expect("ours").as_raw_fd(), kept.identity);
        drop(kept);
        assert_ne!(identity(fd), Some(of), "another test may have the number by now");
    }

    #[test]
    fn a_child_is_without_it() {
        let kept = Kept::new(socket()).expect("open");
        let (fd, of) = (kept.get().expect("ours").as_raw_fd(), kept.identity);
        // Another test may be at the list for a moment.
        let closed = (0..100).any(|_| {
            // SAFETY: the child of this process of many threads calls nothing but fstat and _exit.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: as above.
                unsafe { libc::_exit((identity(fd) == Some(of)).into()) };
            }
            let mut status = -1;
            // SAFETY: a child of ours, waited for once.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            status == 0
        });
        assert!(closed);
        assert!(kept.get().is_some(), "only in the child");
    }
}
