//! A job's report, as `NAGARE_REPORT=NAME.json` writes it.

use anyhow::ensure;
use nagare_plan::fabric::MessageCost;
use nagare_plan::quoted;
use nagare_plan::topology::Costs;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The form of a report that this understands.
const SCHEMA: u32 = 1;
/// Longest report that is read, bytes: some hundred thousand rows.
const MOST: usize = 64 << 20;
/// Why calls ran on the MPI library that Nagare does not carry out.
const PASSED_ON: &str = "passed on";
/// Most hosts that are named.
const HOSTS: usize = 16;

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
    /// Host of rank 0; all hosts, of thousands the first; how many there are.
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub host_count: usize,
    /// Ranks of the job.
    pub ranks: u64,
    /// Its nodes, where they are known.
    pub nodes: Option<u32>,
    pub levels: Vec<String>,
    pub topology_from: String,
    #[serde(default)]
    pub profiles: Vec<String>,
    /// What the job's own test of the network has found.
    pub self_test: Option<SelfTest>,
    #[serde(default)]
    pub problems: Vec<String>,
    /// From MPI_Init to MPI_Finalize, and which part of that ranks were in collectives.
    #[serde(default)]
    pub seconds: f64,
    #[serde(default)]
    pub share: f64,
    /// Calls of all collectives, and of each; reports of earlier versions have neither.
    pub all: Option<All>,
    #[serde(default)]
    collectives: Vec<Calls>,
    /// What ran.
    pub rows: Vec<Row>,
    /// The same by size.
    #[serde(default)]
    pub sizes: Vec<Size>,
    /// The same by communicator.
    #[serde(default)]
    pub communicators: Vec<Communicators>,
    /// What was passed on.
    #[serde(default)]
    pub others: Vec<Calls>,
    /// What was measured in calls.
    #[serde(default)]
    pub learned: Vec<Learned>,
}

/// A test of the network in the job.
#[derive(Deserialize)]
pub struct SelfTest {
    seconds: f64,
    /// Microseconds, of a message beyond its bytes, and between those of a host.
    latency_us: Option<f64>,
    gap_us: Option<f64>,
    /// Mbit/s of data of a host.
    host_goodput: Option<f64>,
}

impl SelfTest {
    /// What it found, in words.
    pub fn explained(&self) -> String {
        let message = MessageCost { latency_us: self.latency_us, gap_us: self.gap_us };
        let found = Costs { message, host_goodput: self.host_goodput, ..Costs::default() };
        format!("network, tested by the job in {:.1} ms: {}", self.seconds * 1e3, found.found())
    }
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

/// Timed calls of one collective on communicators with the same name and number of ranks.
#[derive(Clone, Deserialize)]
pub struct Communicators {
    /// What the program or the standard calls them, if they do.
    pub name: Option<String>,
    /// None for all that the report does not tell apart.
    pub communicator_ranks: Option<u64>,
    pub collective: String,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    pub calls: u64,
    pub max_seconds: f64,
}

/// Seconds in all collectives, of the rank that was longest in them and the one that was shortest.
#[derive(Clone, Copy, Deserialize)]
pub struct All {
    pub max_seconds: f64,
    pub min_seconds: f64,
}

/// All calls of one collective: of the rank that made most, and seconds of the longest, the shortest and all ranks.
#[derive(Clone, Deserialize, Serialize)]
pub struct Calls {
    pub collective: String,
    pub calls: u64,
    pub max_seconds: f64,
    #[serde(default)]
    pub min_seconds: f64,
    #[serde(default)]
    pub total_seconds: f64,
}

impl Calls {
    /// Adds the calls of another job, or of another outcome.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.max_seconds += other.max_seconds;
        self.min_seconds += other.min_seconds;
        self.total_seconds += other.total_seconds;
    }
}

/// Adds to the calls of the same collective, if there are some.
pub fn add(all: &mut Vec<Calls>, calls: &Calls) {
    match all.iter_mut().find(|sum| sum.collective == calls.collective) {
        Some(sum) => sum.add(calls),
        None => all.push(calls.clone()),
    }
}

impl Report {
    /// Calls of each collective that Nagare handles. Reports of earlier versions have them by outcome only: the sum of
    /// these maxima is then the most that there can have been.
    pub fn handled(&self) -> Vec<Calls> {
        if !self.collectives.is_empty() {
            return self.collectives.clone();
        }
        let mut all = Vec::new();
        self.rows.iter().for_each(|row| add(&mut all, &row.of_all()));
        all
    }

    /// The same, and those that are passed on.
    pub fn called(&self) -> Vec<Calls> {
        self.handled().into_iter().chain(self.others.iter().cloned()).collect()
    }

    /// Seconds in collectives of the rank that was longest in them.
    pub fn longest(&self) -> f64 {
        // A sum of no floating-point numbers is -0.
        let sum = || self.called().iter().fold(0.0, |sum, calls| sum + calls.max_seconds);
        self.all.map_or_else(sum, |all| all.max_seconds)
    }

    /// The hosts, of many the first.
    pub fn place(&self) -> String {
        let named: Vec<String> = self.hosts.iter().take(HOSTS).map(|host| quoted(host)).collect();
        match self.host_count.saturating_sub(named.len()) {
            _ if named.is_empty() => format!("rank 0 on {}", quoted(&self.host)),
            0 if named.len() == 1 => format!("on {}", named[0]),
            0 => format!("on {} hosts: {}", named.len(), named.join(" ")),
            more => format!("on {} hosts: {} and {more} more", self.host_count, named.join(" ")),
        }
    }
}

impl Row {
    /// Calls that Nagare does not carry out, whatever their size.
    pub fn passed_on(calls: &Calls) -> Self {
        let Calls { calls, max_seconds, min_seconds, total_seconds, ref collective } = *calls;
        let [algorithm, reason] = ["stock", PASSED_ON].map(str::to_owned);
        let (collective, reason, min_bytes, max_bytes) = (collective.clone(), Some(reason), 0, 0);
        Self { collective, algorithm, reason, min_bytes, max_bytes, calls, total_seconds, max_seconds, min_seconds }
    }

    /// Whether it is of such calls.
    pub fn is_passed_on(&self) -> bool {
        self.reason.as_deref() == Some(PASSED_ON)
    }

    fn of_all(&self) -> Calls {
        let Self { calls, max_seconds, min_seconds, total_seconds, .. } = *self;
        Calls { collective: self.collective.clone(), calls, max_seconds, min_seconds, total_seconds }
    }
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
