//! How each MPI's launcher is told to start ranks across a testbed.

use crate::layout::{DATA_DEVICE, DATA_NETWORK, MANAGEMENT_DEVICE, MANAGEMENT_NETWORK};
use std::path::Path;

/// Launchers that understand the same options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Open MPI up to 4.1.
    OpenMpi4,
    /// Open MPI 5, with the launcher of PRRTE.
    OpenMpi5,
    /// Hydra, of MPICH 4 and 5.
    Hydra,
}

/// What is to be started where.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The remote-shell agent.
    pub agent: &'a Path,
    /// A directory for the launcher's temporary files.
    pub temporary: &'a Path,
    /// The host of every rank.
    pub hosts: &'a [String],
    /// A file that will hold [`Launch::hostfile`].
    pub hostfile: &'a Path,
}

/// What makes a launcher do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Options, before the program.
    pub options: Vec<String>,
    /// Variables of the launcher's environment.
    pub environment: Vec<(String, String)>,
    /// Contents of the host file.
    pub hostfile: String,
}

/// Options for a launcher of that kind.
pub fn launch(kind: Kind, job: &Job) -> Launch {
    match kind {
        Kind::OpenMpi4 => open_mpi_4(job),
        Kind::OpenMpi5 => open_mpi_5(job),
        Kind::Hydra => hydra(job),
    }
}

/// Parameters of the ranks that both versions share: TCP over the emulated links, shared memory on a host.
/// Waiting ranks give their core away, for an emulation has far fewer cores than ranks.
fn parameters(shared_memory: &str) -> Vec<(String, String)> {
    let single_copy = format!("btl_{shared_memory}_single_copy_mechanism");
    let pairs = [
        ("pml", "ob1"),
        ("btl", &format!("self,{shared_memory},tcp")),
        ("btl_tcp_if_include", DATA_NETWORK),
        // Copying out of another process needs privileges that ranks in a user namespace lack.
        (&single_copy, "none"),
        ("mpi_yield_when_idle", "1"),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn with_option(option: &str, parameters: Vec<(String, String)>) -> impl Iterator<Item = String> {
    parameters.into_iter().flat_map(move |(name, value)| [option.to_owned(), name, value])
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn open_mpi_4(job: &Job) -> Launch {
    let mut own = parameters("vader");
    own.extend([
        ("plm_rsh_agent".to_owned(), job.agent.display().to_string()),
        ("plm_rsh_no_tree_spawn".to_owned(), "1".to_owned()),
        ("oob_tcp_if_include".to_owned(), MANAGEMENT_NETWORK.to_owned()),
        ("orte_tmpdir_base".to_owned(), job.temporary.display().to_string()),
    ]);
    let mut options: Vec<String> = with_option("--mca", own).collect();
    options.extend(words("--bind-to none --oversubscribe --map-by seq --hostfile"));
    options.extend([job.hostfile.display().to_string(), "-np".to_owned(), job.hosts.len().to_string()]);
    Launch { options, environment: as_root(), hostfile: one_per_line(job.hosts) }
}

fn open_mpi_5(job: &Job) -> Launch {
    let own = vec![
        ("plm_ssh_agent".to_owned(), job.agent.display().to_string()),
        ("plm_ssh_no_tree_spawn".to_owned(), "1".to_owned()),
        ("prte_if_include".to_owned(), MANAGEMENT_NETWORK.to_owned()),
        ("prte_tmpdir_base".to_owned(), job.temporary.display().to_string()),
    ];
    let mut options: Vec<String> = with_option("--prtemca", own).collect();
    options.extend(with_option("--mca", parameters("sm")));
    options.extend(words("--bind-to none --map-by seq:OVERSUBSCRIBE --hostfile"));
    options.extend([job.hostfile.display().to_string(), "-np".to_owned(), job.hosts.len().to_string()]);
    Launch { options, environment: as_root(), hostfile: one_per_line(job.hosts) }
}

/// An ordinary user is root inside a user namespace.
fn as_root() -> Vec<(String, String)> {
    let both = ["", "_CONFIRM"].map(|end| ["OMPI", "PRTE"].map(|of| format!("{of}_ALLOW_RUN_AS_ROOT{end}")));
    both.into_iter().flatten().map(|name| (name, "1".to_owned())).collect()
}

fn one_per_line(hosts: &[String]) -> String {
    hosts.iter().map(|host| format!("{host}\n")).collect()
}

fn hydra(job: &Job) -> Launch {
    let mut options = words("-launcher ssh -launcher-exec");
    options.push(job.agent.display().to_string());
    options.extend(words(&format!("-iface {MANAGEMENT_DEVICE} -bind-to none -f")));
    options.extend([job.hostfile.display().to_string(), "-n".to_owned(), job.hosts.len().to_string()]);
    let device = format!("{DATA_DEVICE}0");
    // For the two transports MPICH is built with, UCX and libfabric.
    for (name, value) in [
        ("UCX_NET_DEVICES", device.as_str()),
        ("UCX_TLS", "tcp,sm,self"),
        ("FI_PROVIDER", "tcp"),
        ("FI_TCP_IFACE", &device),
    ] {
        options.extend(["-genv", name, value].map(str::to_owned));
    }
    Launch { options, environment: Vec::new(), hostfile: runs(job.hosts) }
}

/// `HOST:N` for every run of N consecutive ranks.
fn runs(hosts: &[String]) -> String {
    hosts.chunk_by(|a, b| a == b).map(|run| format!("{}:{}\n", run[0], run.len())).collect()
}
