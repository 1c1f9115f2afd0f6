//! A job's report, as `NAGARE_REPORT=NAME.json` writes it.

use anyhow::ensure;
use nagare_plan::quoted;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The form of a report that this understands.
const SCHEMA: u32 = 1;
/// Longest report that is read, bytes: some hundred thousand rows.
const MOST: usize = 64 << 20;

/// What a file says.
#[derive(Deserialize)]
pub struct Report {
    pub schema: u32,
    pub nagare: String,
    /// The MPI library.
    pub mpi: String,
    /// File of the program, and what the batch system calls the job.
    #[serde(default)]
    pub program: String,
    pub job: Option<String>,
    /// Host of rank 0.
    #[serde(default)]
    pub host: String,
    /// Ranks of the job.
    pub ranks: u64,
    /// Its nodes, where they are known.
    pub nodes: Option<u32>,
    pub levels: Vec<String>,
    pub topology_from: String,
    #[serde(default)]
    pub profiles: Vec<String>,
    #[serde(default)]
    pub problems: Vec<String>,
    /// From MPI_Init to MPI_Finalize, and which part of that ranks were in collectives.
    #[serde(default)]
    pub seconds: f64,
    #[serde(default)]
    pub share: f64,
    /// What ran.
    pub rows: Vec<Row>,
    /// The same by size.
    #[serde(default)]
    pub sizes: Vec<Size>,
    /// The same by the communicators' ranks.
    #[serde(default)]
    pub communicators: Vec<Communicators>,
    /// What was passed on.
    #[serde(default)]
    pub others: Vec<Other>,
    /// What was measured in calls.
    #[serde(default)]
    pub learned: Vec<Learned>,
}

/// One outcome of one collective.
#[derive(Clone, Deserialize, Serialize)]
pub struct Row {
    /// Its name.
    pub collective: String,
    /// What it ran on.
    pub algorithm: String,
    /// Why on the MPI library.
    pub reason: Option<String>,
    /// Its smallest and largest vectors, bytes.
    pub min_bytes: u64,
    /// The largest.
    pub max_bytes: u64,
    /// Calls of the rank that made most.
    pub calls: u64,
    /// Seconds in the calls, over all ranks.
    #[serde(default)]
    pub total_seconds: f64,
    /// Of the rank that was longest in them.
    pub max_seconds: f64,
    /// Of the rank that was shortest in them.
    #[serde(default)]
    pub min_seconds: f64,
}

/// Timed calls of one collective in one class of sizes.
#[derive(Clone, Deserialize)]
pub struct Size {
    pub collective: String,
    /// At least so many bytes, and less than four times as many.
    pub min_bytes: u64,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    pub calls: u64,
    pub max_seconds: f64,
}

/// Timed calls of one collective on communicators with so many ranks.
#[derive(Clone, Deserialize)]
pub struct Communicators {
    /// None for all that the report does not tell apart.
    pub communicator_ranks: Option<u64>,
    pub collective: String,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    pub calls: u64,
    pub max_seconds: f64,
}

/// Calls of a collective that Nagare does not carry out.
#[derive(Clone, Deserialize)]
pub struct Other {
    pub collective: String,
    pub calls: u64,
    pub max_seconds: f64,
    pub min_seconds: f64,
}

/// What was measured of one collective and size.
#[derive(Deserialize)]
pub struct Learned {
    pub collective: String,
    pub min_bytes: u64,
    pub ranks: u32,
    pub nodes: u32,
    pub communicators: u64,
    pub runs: Option<String>,
    /// Seconds saved by it.
    pub saved_seconds: f64,
    pub ways: Vec<Way>,
}

#[derive(Deserialize)]
pub struct Way {
    pub algorithm: String,
    pub samples: u32,
    pub typical_us: Option<f64>,
    pub longest_us: Option<f64>,
}

/// Reads a report.
pub fn read(path: &Path) -> anyhow::Result<Report> {
    let name = quoted(&path.display().to_string());
    let text = nagare_config::read_text(path, MOST, "a report (JSON)").map_err(anyhow::Error::msg)?;
    let expected = "expected a report that NAGARE_REPORT=NAME.json has written";
    let report: Report = serde_json::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{name}: {}; {expected}", quoted(&error.to_string())))?;
    ensure!(report.schema == SCHEMA, "{name}: schema {}; expected {SCHEMA}", report.schema);
    Ok(report)
}
