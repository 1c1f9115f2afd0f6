//! Namespaces: separate ones for a testbed, one network per node, and how to enter them.
//!
//! Everything here concerns the calling thread, which must be the only one of its process.

use crate::error::Error;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Pid, PidfdFlags, getegid, geteuid, pidfd_open};
use rustix::thread::{
    LinkNameSpaceType, ThreadNameSpaceType, UnshareFlags, move_into_link_name_space, move_into_thread_name_spaces,
    unshare_unsafe,
};
use std::fs;
use std::io;
use std::path::Path;

/// The calling thread's network namespace.
const NETWORK: &str = "/proc/self/ns/net";

fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    debug_assert!(!flags.contains(UnshareFlags::FILES));
    // SAFETY: the call is unsafe only with FILES, which separates tables of file descriptors; nobody here asks for
    // that.
    unsafe { unshare_unsafe(flags) }
}

/// Gives this process, and every process it starts from now on, namespaces of its own: network, mounts, host name, IPC
/// and process numbers; the first process started is number 1. An ordinary user becomes root inside a user namespace,
/// in which nobody else is known.
///
/// # Errors
/// [`Error::Namespaces`] if the system allows none.
pub fn separate() -> Result<(), Error> {
    use UnshareFlags as U;
    let all = U::NEWNET | U::NEWNS | U::NEWUTS | U::NEWIPC | U::NEWPID;
    let refused = |doing: &str| {
        let doing = doing.to_owned();
        |error: io::Error| Error::Namespaces { doing, error }
    };
    let (user, group) = (geteuid(), getegid());
    let as_root = if user.is_root() { unshare(all) } else { Err(Errno::PERM) };
    match as_root {
        Ok(()) => {}
        Err(Errno::PERM) => {
            unshare(all | U::NEWUSER).map_err(io::Error::from).map_err(refused("unshare"))?;
            let map = |file: &str, text: String| fs::write(file, text).map_err(refused(file));
            map("/proc/self/setgroups", "deny".to_owned())?;
            map("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
            map("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
        }
        Err(error) => return Err(refused("unshare")(error.into())),
    }
    // Nothing mounted from now on is seen by anybody else.
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(io::Error::from).map_err(refused("mounts of our own"))
}

/// Enters the namespaces of a holder; processes started from now on are among its processes.
///
/// # Errors
/// If it has ended or belongs to somebody else.
pub fn enter(holder: i32) -> Result<(), Error> {
    use ThreadNameSpaceType as T;
    let doing = || format!("entering the namespaces of process {holder}");
    let pidfd = open_process(holder)?;
    let user = |path: &str| fs::read_link(path).map_err(Error::system(doing()));
    let mut all =
        T::NETWORK | T::MOUNT | T::HOST_NAME_AND_NIS_DOMAIN_NAME | T::INTER_PROCESS_COMMUNICATION | T::PROCESS_ID;
    // The kernel refuses the user namespace one is in already.
    if user(&format!("/proc/{holder}/ns/user"))? != user("/proc/self/ns/user")? {
        all |= T::USER;
    }
    move_into_thread_name_spaces(pidfd.as_fd(), all).map_err(Error::system(doing()))
}

/// A handle on a process that stays with it, also when its number is used again.
///
/// # Errors
/// If there is no such process.
pub fn open_process(pid: i32) -> Result<OwnedFd, Error> {
    let number = Pid::from_raw(pid).ok_or(Errno::SRCH);
    number.and_then(|pid| pidfd_open(pid, PidfdFlags::empty())).map_err(Error::system(format!("process {pid}")))
}

/// The calling thread's network namespace, to come back to.
///
/// # Errors
/// If /proc is not there.
pub fn current_network() -> Result<OwnedFd, Error> {
    open_namespace(Path::new(NETWORK))
}

fn open_namespace(path: &Path) -> Result<OwnedFd, Error> {
    open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(Error::file(path))
}

/// Moves this thread into a network namespace.
///
/// # Errors
/// If the kernel refuses.
pub fn enter_network(network: impl AsFd) -> Result<(), Error> {
    let entered = move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network));
    entered.map_err(Error::system("entering a network namespace"))
}

/// Moves this thread into the network namespace kept in `file`.
///
/// # Errors
/// If there is none.
pub fn enter_network_file(file: &Path) -> Result<(), Error> {
    enter_network(open_namespace(file)?)
}

/// Moves this thread into a new network namespace and keeps that in `file`.
///
/// # Errors
/// If the kernel refuses.
pub fn new_network(file: &Path) -> Result<(), Error> {
    unshare(UnshareFlags::NEWNET).map_err(Error::system("a network namespace"))?;
    fs::write(file, "").map_err(Error::file(file))?;
    mount_bind(NETWORK, file).map_err(Error::file(file))
}

/// Mounts, host name and IPC of this process's own; mounts and name as copies of those it had.
///
/// # Errors
/// If the kernel refuses.
pub fn separate_host() -> Result<(), Error> {
    let separated = unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUTS | UnshareFlags::NEWIPC);
    separated.map_err(Error::system("namespaces of a host"))
}

/// Mounts an empty file system in memory.
///
/// # Errors
/// If the kernel refuses.
pub fn mount_memory(directory: &Path) -> Result<(), Error> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("nagare-testbed", directory, "tmpfs", flags, None).map_err(Error::file(directory))
}

/// Mounts the kernel's view of these namespaces, `proc` or `sysfs`. Containers may forbid it; whether that matters
/// shows later.
pub fn mount_view(kind: &str, directory: &str) -> bool {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(kind, directory, kind, flags, None).is_ok()
}

/// Puts `file` in the place of `target`, if there is such a file.
///
/// # Errors
/// If the kernel refuses.
pub fn mount_file(file: &Path, target: &str) -> Result<(), Error> {
    match mount_bind(file, target) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(Error::file(target)(error)),
    }
}
