//! The holder: process 1 of a testbed. It makes everything, then waits; when it ends, everything ends.
//!
//! It talks to its maker in lines:
//!
//! ```text
//!   holder                                   maker
//!   here     I end when you end
//!                                            start    you are recorded
//!   ready    (or what is wrong)
//!                                            keep     outlive me (or: stay, and end with me)
//!   kept
//! ```

use crate::commands::{Commands, Hash, NodeCommands};
use crate::congestion::SETTING;
use crate::delay::room;
use crate::error::Error;
use crate::layout::{LAUNCHER, LAUNCHER_NAME, Layout, Node};
use crate::namespaces::{
    current_network, enter_network, enter_network_file, mount_file, mount_memory, mount_view, new_network,
};
use crate::record::{fabric_file, private, read};
use crate::tap;
use nagare_plan::fabric::{DirectedLink, Fabric};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, wait};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, Write, stdin, stdout};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What errors of the holder itself are about.
const SELF: &str = "the holder of a testbed";

/// Settings of network namespaces, below `/proc/sys/net`.
const HASH_FIELDS: &str = "ipv4/fib_multipath_hash_fields";
const HASH_SEED: &str = "ipv4/fib_multipath_hash_seed";

/// Whether this kernel can hash connections over several routes: Linux 5.13 with CONFIG_IP_ROUTE_MULTIPATH.
pub(crate) fn has_multipath() -> bool {
    Path::new("/proc/sys/net").join(HASH_FIELDS).exists()
}

/// Where the network namespaces of the nodes are.
pub fn networks(directory: &Path) -> PathBuf {
    private(directory).join("netns")
}

/// The remote-shell agent for launchers.
pub fn agent(directory: &Path) -> PathBuf {
    private(directory).join("agent")
}

/// For files that vanish with the testbed.
pub fn temporary(directory: &Path) -> PathBuf {
    private(directory).join("tmp")
}

/// `/etc/hosts` of the nodes.
pub fn hosts_file(directory: &Path) -> PathBuf {
    private(directory).join("hosts")
}

/// What delay lines have said, line by line.
fn said_file(directory: &Path) -> PathBuf {
    private(directory).join("said")
}

/// What delay lines have said so far, to a process that is inside the testbed.
pub fn said(directory: &Path) -> Vec<String> {
    let said = fs::read_to_string(said_file(directory)).unwrap_or_default();
    said.lines().map(|line| line.strip_prefix("nagare: ").unwrap_or(line).to_owned()).collect()
}

/// The process that [`crate::bed::create`] starts, in namespaces of its own. Ends with its maker unless told to `keep`.
///
/// # Errors
/// If its maker has ended.
pub fn run(directory: &Path, program: &Path) -> Result<(), Error> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(Error::system(SELF))?;
    let mut lines = stdin().lock().lines();
    let mut next = || lines.next().and_then(Result::ok).unwrap_or_default();
    let tell = |line: &str| writeln!(stdout(), "{line}").map_err(Error::system(SELF));
    tell("here")?;
    if next() != "start" {
        return Ok(());
    }
    let lines = match make(directory, program) {
        Ok(lines) => lines,
        Err(error) => return tell(&error.to_string().replace('\n', " ")),
    };
    tell("ready")?;
    if next() == "keep" {
        set_parent_process_death_signal(None).map_err(Error::system(SELF))?;
        tell("kept")?;
    }
    // Process 1 inherits every orphan and has to bury it.
    let mut signals = Signals::new([SIGCHLD]).map_err(Error::system(SELF))?;
    loop {
        while let Ok(Some((process, _))) = wait(WaitOptions::NOHANG) {
            // What is left is not the fabric any more.
            if lines.contains(&process) {
                // Standard error is nobody's; the maker reads this.
                let said = OpenOptions::new().create(true).append(true).open(said_file(directory));
                let _ = said.and_then(|mut said| writeln!(said, "{}", Error::DelayLineGone));
                return Err(Error::DelayLineGone);
            }
        }
        signals.wait();
    }
}

/// Makes everything; returns the delay lines.
fn make(directory: &Path, program: &Path) -> Result<Vec<Pid>, Error> {
    let file = fabric_file(directory);
    let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
    let fabric = Fabric::from_toml(&text, &file.to_string_lossy()).map_err(|error| Error::Holder(error.to_string()))?;
    let layout = Layout::new(&fabric)?;
    let record = read(directory).ok_or_else(|| Error::Holder("the testbed's record cannot be read".to_owned()))?;
    let given = record.given;
    let layout = if given.delays { layout } else { layout.undelayed() };
    mount_view("proc", "/proc");
    mount_memory(&private(directory))?;
    write_files(&layout, directory, program)?;
    rustix::system::sethostname(LAUNCHER_NAME.as_bytes()).map_err(Error::system("the launcher's host name"))?;
    let taps = make_networks(&layout, directory, given.congestion.as_deref())?;
    start_delay_lines(&layout, taps, directory, program)
}

/// Returns the devices of delayed links, by the direction that starts there.
fn make_networks(
    layout: &Layout,
    directory: &Path,
    congestion: Option<&str>,
) -> Result<HashMap<DirectedLink, OwnedFd>, Error> {
    let networks = networks(directory);
    fs::create_dir(&networks).map_err(Error::file(&networks))?;
    let commands = Commands::new(layout, &networks);
    let launcher = current_network()?;
    configure(false, congestion, None)?;
    for node in &commands.nodes {
        new_network(&networks.join(&node.name))?;
        configure(node.forward, congestion, node.hash)?;
    }
    enter_network(&launcher)?;
    let batch = private(directory).join("batch");
    batch_of("ip", &commands.links, LAUNCHER_NAME, &batch)?;
    let mut taps = HashMap::new();
    for (node, NodeCommands { name, ip, tc, .. }) in layout.nodes.iter().zip(&commands.nodes) {
        enter_network_file(&networks.join(name))?;
        for port in node.ports.iter().filter(|port| port.delay.is_some()) {
            taps.insert(port.link, tap::create(&port.device)?);
        }
        batch_of("ip", ip, name, &batch)?;
        batch_of("tc", tc, name, &batch)?;
    }
    enter_network(&launcher)?;
    Ok(taps)
}

/// One process for each delayed link: `nagare testbed delay LINK MICROSECONDS BYTES`, between the link's two devices.
fn start_delay_lines(
    layout: &Layout,
    mut taps: HashMap<DirectedLink, OwnedFd>,
    directory: &Path,
    program: &Path,
) -> Result<Vec<Pid>, Error> {
    let said = said_file(directory);
    let mut lines = Vec::new();
    for [(node, port), (neighbour, peer)] in layout.links() {
        let (Some(delay), Some(one), Some(other)) = (port.delay, taps.remove(&port.link), taps.remove(&peer.link))
        else {
            continue;
        };
        let to_said = OpenOptions::new().create(true).append(true).open(&said).map_err(Error::file(&said))?;
        let mut command = Command::new(program);
        command.args(["testbed", "delay"]).arg(format!("{} - {}", node.name, neighbour.name));
        command.args([delay.as_micros().to_string(), room(port.bits_per_second, delay).to_string()]);
        command.stdin(one).stdout(other).stderr(to_said);
        let line = command.spawn().map_err(Error::file(program))?;
        lines.extend(Pid::from_raw(line.id() as i32));
    }
    Ok(lines)
}

/// Kernel settings of the network namespace this thread is in.
fn configure(forward: bool, congestion: Option<&str>, hash: Option<Hash>) -> Result<(), Error> {
    let set = |name: &str, value: &str| {
        let path = Path::new("/proc/sys/net").join(name);
        fs::write(&path, value).map_err(Error::file(path))
    };
    set("ipv4/ip_forward", if forward { "1" } else { "0" })?;
    if let Some(name) = congestion {
        set(SETTING, name)?;
    }
    if let Some(Hash { fields, seed }) = hash {
        set("ipv4/fib_multipath_hash_policy", "3")?;
        set(HASH_FIELDS, &fields.to_string())?;
        if Path::new("/proc/sys/net").join(HASH_SEED).exists() {
            set(HASH_SEED, &seed.to_string())?;
        }
    }
    for scope in ["all", "default"] {
        // Routes of the two directions differ, which reverse-path filters take for spoofing.
        set(&format!("ipv4/conf/{scope}/rp_filter"), "0")?;
        // Its neighbour discovery would use the limited links; some kernels have no IPv6.
        if Path::new("/proc/sys/net/ipv6").exists() {
            set(&format!("ipv6/conf/{scope}/disable_ipv6"), "1")?;
        }
    }
    Ok(())
}

/// Runs `ip` or `tc` once for all `commands`, in this thread's network namespace.
fn batch_of(tool: &'static str, commands: &str, node: &str, file: &Path) -> Result<(), Error> {
    fs::write(file, commands).map_err(Error::file(file))?;
    let failed = |message: String| Error::Tool { tool, node: node.to_owned(), message };
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(tool);
    // Ordinary users often lack the directories of these tools.
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).arg("-batch").arg(file).stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(format!("{error}; expected the package iproute2")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(failed(text.lines().next().unwrap_or("no message").to_owned()))
}

/// `/etc/hosts` for the launcher and for hosts, and the agent.
fn write_files(layout: &Layout, directory: &Path, program: &Path) -> Result<(), Error> {
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(Error::file(path));
    let names = |address: fn(&Node) -> Option<Ipv4Addr>| {
        let mut text = format!("127.0.0.1 localhost\n{LAUNCHER} {LAUNCHER_NAME}\n");
        for node in &layout.nodes {
            if let Some(address) = address(node) {
                let _ = writeln!(text, "{address} {}", node.name);
            }
        }
        text
    };
    write(&hosts_file(directory), &names(|node| Some(node.address)))?;
    let of_launcher = private(directory).join("hosts.launcher");
    write(&of_launcher, &names(|node| node.management))?;
    mount_file(&of_launcher, "/etc/hosts")?;
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let script = format!("#!/bin/sh\nexec {} testbed agent {} \"$@\"\n", quoted(program), quoted(directory));
    let agent = agent(directory);
    write(&agent, &script)?;
    fs::set_permissions(&agent, PermissionsExt::from_mode(0o700)).map_err(Error::file(&agent))?;
    let temporary = temporary(directory);
    fs::create_dir(&temporary).map_err(Error::file(&temporary))
}
