//! A program on a host or switch of a testbed this process is in.

use crate::error::Error;
use crate::holder::{hosts_file, networks};
use crate::namespaces::{enter_network_file, mount_file, mount_memory, mount_view, separate_host};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Moves this process to a node: its network, host name, `/etc/hosts`, the devices seen in `/sys`, and shared memory
/// that only its children see.
///
/// # Errors
/// If there is no such node, or the kernel refuses.
pub fn enter(directory: &Path, node: &str) -> Result<(), Error> {
    let network = networks(directory).join(node);
    if node.contains('/') || !network.exists() {
        let bed = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(Error::NoSuchNode { bed, node: node.to_owned() });
    }
    separate_host()?;
    enter_network_file(&network)?;
    rustix::system::sethostname(node.as_bytes()).map_err(Error::system("a host name"))?;
    mount_view("sysfs", "/sys");
    // Shared memory ends at the host: UCX takes processes with the same IPC namespace and boot for neighbours.
    mount_memory(Path::new("/dev/shm"))?;
    mount_file(&hosts_file(directory), "/etc/hosts")
}

/// What a launcher calls in place of a remote shell: `[OPTION]… HOST WORD…`. The words make one line for a shell, as
/// with ssh. Does not return if all goes well.
///
/// # Errors
/// If there is no such host or no shell.
pub fn agent(directory: &Path, words: &[String]) -> Result<(), Error> {
    let mut rest = words.iter().skip_while(|word| word.starts_with('-'));
    let host = rest.next().cloned().unwrap_or_default();
    let line = rest.cloned().collect::<Vec<_>>().join(" ");
    enter(directory, &host)?;
    let error: io::Error = Command::new("/bin/sh").args(["-c", &line]).exec();
    Err(Error::system("/bin/sh")(error))
}
