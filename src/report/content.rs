//! The report: which algorithm ran for which calls, or why the library's own did, over all ranks.

use super::learned::{self, Learned};
use super::statistics::{CLASSES, Counted, OUTCOMES, Snapshot, outcome_name};
use crate::real::OTHERS;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use nagare_plan::collective::Collective;
use nagare_plan::quoted;
use nagare_plan::topology::Topology;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The report as data; `schema` grows when a field changes its meaning.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    nagare: &'static str,
    mpi: String,
    /// File of the program that rank 0 runs, what the batch system calls the job, and rank 0's host.
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    host: String,
    ranks: usize,
    nodes: Option<u32>,
    /// Names of the topology levels, outermost first.
    levels: Vec<String>,
    topology_from: String,
    /// Files of what was measured before, where they fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<String>,
    /// What is wrong with the configuration, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<String>,
    /// From MPI_Init to MPI_Finalize, of the rank that began first. Before that end there is none: who asks for the
    /// length of a report first finds the same report then.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// Which part of that all ranks together were in collectives, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    rows: Vec<ReportRow>,
    /// The same calls by size.
    sizes: Vec<SizeRow>,
    /// Collectives that Nagare does not carry out.
    others: Vec<OtherRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learned: Vec<Learned>,
}

/// What is known of a world.
pub struct Known<'t> {
    /// Its topology, if there is one, and where that comes from.
    pub topology: Option<&'t Topology>,
    pub topology_from: String,
    /// Files of what was measured before, where they fit.
    pub profiles: Vec<String>,
    /// What is wrong with the configuration.
    pub problems: Vec<String>,
    /// What the batch system calls the job, and this host.
    pub job: Option<String>,
    pub host: String,
    /// Whether it has come to its end.
    pub has_ended: bool,
}

/// Calls, bytes and time of one kind of calls on several ranks.
#[derive(Debug, Serialize)]
struct Ranks {
    /// Calls of the rank that called most often, and of all.
    calls: u64,
    total_calls: u64,
    /// Time in the calls: of the rank that was longest in them, of the one that was shortest, of all. What the first
    /// two differ by was mostly spent waiting for ranks that came late.
    max_seconds: f64,
    min_seconds: f64,
    total_seconds: f64,
}

/// One outcome of one collective.
#[derive(Debug, Serialize)]
struct ReportRow {
    collective: &'static str,
    /// Name of the algorithm, `stock` for the library's own.
    algorithm: &'static str,
    /// Why the library's own ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Size of the vector; for Alltoall of the data per rank pair, for Alltoallv of all that a rank sends, for what
    /// else has blocks of one of them, for Reduce_scatter of their mean; bytes.
    min_bytes: u64,
    max_bytes: u64,
    /// Bytes over all calls of the rank that had most, and of all ranks.
    rank_bytes: u64,
    bytes: u64,
    #[serde(flatten)]
    ranks: Ranks,
}

/// The timed calls of one collective in one class of sizes.
#[derive(Debug, Serialize)]
struct SizeRow {
    collective: &'static str,
    /// At least so many bytes, and less than four times as many; the first class begins at 0, the last has no end.
    min_bytes: u64,
    /// Whether they ran on Nagare.
    nagare: bool,
    #[serde(flatten)]
    ranks: Ranks,
}

/// Calls of a collective that was passed on; of a nonblocking one the time of its start.
#[derive(Debug, Serialize)]
struct OtherRow {
    collective: &'static str,
    #[serde(flatten)]
    ranks: Ranks,
}

impl Ranks {
    /// Over the ranks that made such calls; `None` if there are none.
    fn over(counted: impl Iterator<Item = Counted>) -> Option<Self> {
        let counted: Vec<Counted> = counted.filter(|counted| counted.calls > 0).collect();
        let seconds = || counted.iter().map(|counted| counted.nanoseconds as f64 * 1e-9);
        Some(Self {
            calls: counted.iter().map(|counted| counted.calls).max()?,
            total_calls: counted.iter().map(|counted| counted.calls).sum(),
            max_seconds: seconds().fold(0.0, f64::max),
            min_seconds: seconds().fold(f64::INFINITY, f64::min),
            total_seconds: seconds().sum(),
        })
    }
}

/// File of the program, without directories.
pub fn program() -> String {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Every outcome of every collective that there was on some rank.
fn rows(ranks: &[Snapshot]) -> Vec<ReportRow> {
    let all = (0..Collective::ALL.len()).flat_map(|c| (0..OUTCOMES).map(move |outcome| (c, outcome)));
    let row = |(c, outcome): (usize, usize)| {
        let each = || ranks.iter().map(|rank| rank.row(c, outcome)).filter(|counted| counted.calls > 0);
        let (algorithm, reason) = outcome_name(outcome);
        Some(ReportRow {
            collective: Collective::ALL[c].name(),
            algorithm,
            reason: reason.map(|r| r.name()),
            min_bytes: each().map(|counted| counted.least).min()?,
            max_bytes: each().map(|counted| counted.most).max()?,
            rank_bytes: each().map(|counted| counted.bytes).max()?,
            bytes: each().map(|counted| counted.bytes).sum(),
            ranks: Ranks::over(each())?,
        })
    };
    all.filter_map(row).collect()
}

/// The same by classes of sizes.
fn sizes(ranks: &[Snapshot]) -> Vec<SizeRow> {
    let mut rows = Vec::new();
    for (c, collective) in Collective::ALL.iter().enumerate() {
        for (class, nagare) in (0..CLASSES).flat_map(|class| [(class, false), (class, true)]) {
            if let Some(ranks) = Ranks::over(ranks.iter().map(|rank| rank.size(c, class, nagare))) {
                let min_bytes = if class == 0 { 0 } else { 1 << (2 * class) };
                rows.push(SizeRow { collective: collective.name(), min_bytes, nagare, ranks });
            }
        }
    }
    rows
}

/// What was passed on.
fn others(ranks: &[Snapshot]) -> Vec<OtherRow> {
    let row = |(index, &collective)| {
        Some(OtherRow { collective, ranks: Ranks::over(ranks.iter().map(|rank: &Snapshot| rank.other(index)))? })
    };
    OTHERS.iter().enumerate().filter_map(row).collect()
}

impl Report {
    /// From the snapshots of some ranks, one after another. `mpi`: what the library calls itself; `learned`:
    /// what calls have taught.
    pub fn new(mpi: String, known: Known, snapshots: &[u64], learned: Vec<Learned>) -> Self {
        let Known { topology, topology_from, profiles, problems, job, host, has_ended } = known;
        let ranks: Vec<Snapshot> = Snapshot::each(snapshots).collect();
        let elapsed = || ranks.iter().map(|rank| rank.elapsed() as f64 * 1e-9);
        let (rows, others) = (rows(&ranks), others(&ranks));
        let within: f64 =
            rows.iter().map(|row| &row.ranks).chain(others.iter().map(|o| &o.ranks)).map(|r| r.total_seconds).sum();
        let all: f64 = elapsed().sum();
        Self {
            schema: 1,
            nagare: env!("CARGO_PKG_VERSION"),
            mpi,
            program: program(),
            job,
            host,
            ranks: ranks.len(),
            nodes: topology.map(Topology::node_count),
            levels: topology.map(|t| t.level_names().to_vec()).unwrap_or_default(),
            topology_from,
            profiles,
            problems,
            seconds: has_ended.then(|| elapsed().fold(0.0, f64::max)),
            share: (has_ended && all > 0.0).then(|| within / all),
            rows,
            sizes: sizes(&ranks),
            others,
            learned,
        }
    }

    /// As JSON, with a final newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// As a table with header lines.
    pub fn text(&self) -> String {
        let mut text = format!("Nagare {} · {}\n", self.nagare, self.mpi);
        let job = self.job.as_ref().map_or_else(String::new, |job| format!(", job {}", quoted(job)));
        let _ = writeln!(text, "{}{job}, rank 0 on {}", quoted(&self.program), quoted(&self.host));
        let nodes = self.nodes.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
        let _ = writeln!(
            text,
            "{} ranks, {nodes} nodes, levels: {} (from {})",
            self.ranks,
            if self.levels.is_empty() { "none".to_owned() } else { self.levels.join(" > ") },
            self.topology_from
        );
        for profile in &self.profiles {
            let _ = writeln!(text, "profile: {}", quoted(profile));
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        if self.rows.is_empty() && self.others.is_empty() {
            text += "no collective was called\n";
            return text;
        }
        if let Some((seconds, share)) = self.seconds.zip(self.share) {
            let _ = writeln!(text, "{seconds:.3} s, {:.0} % of it in collectives", 100.0 * share);
        }
        let mut table = Table::new();
        table.load_preset(NOTHING);
        table.set_header(["collective", "ran", "reason", "size", "calls", "bytes", "s", "s least"]);
        for row in &self.rows {
            let range = if row.min_bytes == row.max_bytes {
                row.min_bytes.to_string()
            } else {
                format!("{}-{}", row.min_bytes, row.max_bytes)
            };
            let reason = row.reason.unwrap_or("");
            table.add_row(line(
                [row.collective, row.algorithm, reason],
                [range, row.rank_bytes.to_string()],
                &row.ranks,
            ));
        }
        for row in &self.others {
            table.add_row(line([row.collective, "stock", "passed on"], Default::default(), &row.ranks));
        }
        for column in 3..8 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            let _ = writeln!(text, "{}", line.trim());
        }
        text += "calls, bytes, s: of the rank with the most; s least: of the rank with the least, the others waited\n";
        text + &learned::text(&self.learned)
    }
}

/// A line of the table.
fn line([collective, ran, reason]: [&str; 3], [size, bytes]: [String; 2], ranks: &Ranks) -> [String; 8] {
    let [collective, ran, reason] = [collective, ran, reason].map(str::to_owned);
    let [longest, shortest] = [ranks.max_seconds, ranks.min_seconds].map(|seconds| format!("{seconds:.6}"));
    [collective, ran, reason, size, ranks.calls.to_string(), bytes, longest, shortest]
}
