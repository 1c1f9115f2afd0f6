//! The report: which algorithm ran for which calls, or why the library's own did, over all ranks.

use super::by_communicator::{CommunicatorRow, communicators};
use super::learned::Learned;
use super::rows::{CollectiveRow, OtherRow, Ranks, ReportRow, SizeRow, all, collectives, hosts, others, rows, sizes};
use super::snapshot::Snapshot;
use nagare_plan::fabric::MessageCost;
use nagare_plan::topology::{Costs, Topology};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Most hosts that are listed.
const HOSTS: usize = 1024;

/// The report as data; `schema` grows when a field changes its meaning.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    pub(super) nagare: &'static str,
    pub(super) mpi: String,
    /// File of the program that rank 0 runs, and what the batch system calls the job.
    pub(super) program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    /// Host of the first rank; all hosts in the order of their first ranks, of thousands the first; how many there are.
    pub(super) host: String,
    pub(super) hosts: Vec<String>,
    pub(super) host_count: usize,
    pub(super) ranks: usize,
    pub(super) nodes: Option<u32>,
    /// Names of the topology levels, outermost first.
    pub(super) levels: Vec<String>,
    pub(super) topology_from: String,
    /// Files of what was measured before, where they fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) profiles: Vec<String>,
    /// What the job's own test of the network has found, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) self_test: Option<SelfTest>,
    /// What is wrong with the configuration, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<String>,
    /// From MPI_Init to MPI_Finalize, of the rank that began first. Before that end there is none: who asks for the
    /// length of a report first finds the same report then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    /// Which part of that all ranks together were in collectives, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<f64>,
    /// All calls together, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) all: Option<Ranks>,
    /// By collective.
    pub(super) collectives: Vec<CollectiveRow>,
    /// By collective and outcome.
    pub(super) rows: Vec<ReportRow>,
    /// The same calls by size.
    sizes: Vec<SizeRow>,
    /// The same calls by communicator.
    pub(super) communicators: Vec<CommunicatorRow>,
    /// Collectives that Nagare does not carry out.
    pub(super) others: Vec<OtherRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) learned: Vec<Learned>,
}

/// A test of the network in the job (docs/decisions/0022): how long it took, and what it found, if it had time enough.
#[derive(Clone, Debug, Serialize)]
pub struct SelfTest {
    pub(super) seconds: f64,
    /// Microseconds that a message costs beyond its bytes, and between those of a host; Mbit/s of data of a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_goodput: Option<f64>,
    #[serde(skip)]
    pub(super) found: Costs,
}

impl SelfTest {
    /// One that took so long.
    pub fn new(took: Duration, found: Costs) -> Self {
        let Costs { message: MessageCost { latency_us, gap_us }, host_goodput, .. } = found;
        Self { seconds: took.as_secs_f64(), latency_us, gap_us, host_goodput, found }
    }
}

/// What is known of a world.
pub struct Known<'t> {
    /// Its topology, if there is one, and where that comes from.
    pub topology: Option<&'t Topology>,
    pub topology_from: String,
    /// Files of what was measured before, where they fit.
    pub profiles: Vec<String>,
    /// What the job's own test of the network has found, if there was one.
    pub self_test: Option<SelfTest>,
    /// What is wrong with the configuration.
    pub problems: Vec<String>,
    /// What the batch system calls the job.
    pub job: Option<String>,
    /// Whether it has come to its end.
    pub has_ended: bool,
}

/// File of the program, without directories.
pub fn program() -> String {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Report {
    /// From the snapshots of some ranks, one after another. `mpi`: what the library calls itself; `learned`:
    /// what calls have taught.
    pub fn new(mpi: String, known: Known, snapshots: &[u64], learned: Vec<Learned>) -> Self {
        let Known { topology, topology_from, profiles, self_test, problems, job, has_ended } = known;
        let ranks: Vec<Snapshot> = Snapshot::each(snapshots).collect();
        let elapsed = || ranks.iter().map(|rank| rank.elapsed() as f64 * 1e-9);
        let (all, run): (_, f64) = (all(&ranks), elapsed().sum());
        let within = all.as_ref().map_or(0.0, |all| all.total_seconds);
        let mut hosts = hosts(&ranks);
        let host_count = hosts.len();
        hosts.truncate(HOSTS);
        Self {
            schema: 1,
            nagare: env!("CARGO_PKG_VERSION"),
            mpi,
            program: program(),
            job,
            host: hosts.first().cloned().unwrap_or_default(),
            hosts,
            host_count,
            ranks: ranks.len(),
            nodes: topology.map(Topology::node_count),
            levels: topology.map(|t| t.level_names().to_vec()).unwrap_or_default(),
            topology_from,
            profiles,
            self_test,
            problems,
            seconds: has_ended.then(|| elapsed().fold(0.0, f64::max)),
            share: (has_ended && run > 0.0).then(|| within / run),
            all,
            collectives: collectives(&ranks),
            rows: rows(&ranks),
            sizes: sizes(&ranks),
            communicators: communicators(&ranks),
            others: others(&ranks),
            learned,
        }
    }

    /// As JSON, with a final newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
