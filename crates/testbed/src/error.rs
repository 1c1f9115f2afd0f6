//! What can go wrong with a testbed, each as one line.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a testbed does not do what was asked.
#[derive(Debug, Error)]
pub enum Error {
    /// The fabric is too large to be emulated.
    #[error("fabric '{fabric}' has {count} hosts and switches; a testbed has room for {room}")]
    TooManyNodes {
        /// Its name.
        fabric: String,
        /// Hosts and switches.
        count: usize,
        /// How many there may be.
        room: usize,
    },
    /// A host with more adapters than its network has addresses for.
    #[error("host '{host}' has {count} links; a testbed has addresses for {most} of each host")]
    TooManyAdapters {
        /// Its name.
        host: String,
        /// Its links.
        count: u32,
        /// How many there may be.
        most: u32,
    },
    /// A node is called like the launcher's namespace.
    #[error("a host or switch is called '{0}', which is the launcher's name in a testbed; expected another name")]
    ReservedName(&'static str),
    /// A rate that cannot be emulated.
    #[error("the link {link} has {mbit} Mbit/s; a testbed emulates 0.001 to 1000000")]
    Rate {
        /// The link.
        link: String,
        /// Over all its cables.
        mbit: f64,
    },
    /// Hosts with so many adapters that their routes would not fit.
    #[error("fabric '{fabric}' needs {count} routes, to every adapter of a host; a testbed has at most {most}")]
    TooManyRoutes {
        /// Its name.
        fabric: String,
        /// Routes of all nodes.
        count: u64,
        /// How many there may be.
        most: u64,
    },
    /// A fabric with several ways, and a kernel without.
    #[error(
        "fabric '{fabric}' has routing = \"ecmp\", and this kernel has no multipath routes; expected Linux 5.13 or \
         later with CONFIG_IP_ROUTE_MULTIPATH, or another routing"
    )]
    Multipath {
        /// Its name.
        fabric: String,
    },
    /// A congestion control that the namespaces cannot have.
    #[error("TCP congestion control '{name}': {problem}")]
    Congestion {
        /// Its name.
        name: String,
        /// Why, and what is expected.
        problem: String,
    },
    /// A line of a host file.
    #[error("{file}:{line}: '{text}' is no line of a host file; expected HOST, HOST:N or HOST slots=N")]
    Hostfile {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A host file for more ranks than any machine has.
    #[error("{file}:{line}: more than {most} ranks with this line; expected fewer")]
    TooManyRanks {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// Ranks at most.
        most: usize,
    },
    /// A second testbed of the same name.
    #[error("testbed {0} is up already; `nagare testbed down {0}` ends it")]
    AlreadyUp(String),
    /// Another process is making a testbed of that name.
    #[error("testbed {0} is being made by another process (`nagare testbed down {0}` ends it)")]
    Busy(String),
    /// There is no testbed of that name.
    #[error("no testbed {0} is up; `nagare testbed list` shows those that are")]
    NotUp(String),
    /// A node that the testbed does not have.
    #[error("testbed {bed} has no host or switch '{node}'")]
    NoSuchNode {
        /// The testbed.
        bed: String,
        /// The name.
        node: String,
    },
    /// The kernel or the container's policy allows no namespaces.
    #[error(
        "no namespaces: {doing}: {error}; run as root, or allow user namespaces (sysctl user.max_user_namespaces, \
         kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; containers need \
         CAP_SYS_ADMIN)"
    )]
    Namespaces {
        /// What was tried.
        doing: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The holder could not make the testbed.
    #[error("{0}")]
    Holder(String),
    /// The holder ended by itself.
    #[error("the process that keeps the testbed has ended; it may have been killed")]
    HolderGone,
    /// A delay line ended by itself.
    #[error("a delay line has ended; it may have been killed")]
    DelayLineGone,
    /// A tool failed.
    #[error("{tool} in namespace {node}: {message}")]
    Tool {
        /// `ip` or `tc`.
        tool: &'static str,
        /// Where.
        node: String,
        /// Its first line on standard error.
        message: String,
    },
    /// Anything with a file.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Anything else the system refuses.
    #[error("{doing}: {error}")]
    System {
        /// What was tried.
        doing: String,
        /// What the system said.
        error: io::Error,
    },
    /// Ended by a signal before it was up.
    #[error("interrupted by signal {0}; the testbed is taken down")]
    Interrupted(i32),
}

impl Error {
    /// For `map_err` on a file.
    pub fn file<E: Into<io::Error>>(path: impl Into<PathBuf>) -> impl FnOnce(E) -> Self {
        |error| Error::File { path: path.into(), error: error.into() }
    }

    /// For `map_err` on a system call.
    pub fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        |error| Error::System { doing: doing.into(), error: error.into() }
    }
}
