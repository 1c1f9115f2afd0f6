//! The report: which algorithm ran for which calls, or why the library's own did, over all ranks.

use super::learned::{self, Learned};
use super::rows::{CommunicatorRow, OtherRow, Ranks, ReportRow, SizeRow, communicators, others, rows, sizes};
use super::snapshot::Snapshot;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use nagare_plan::topology::Topology;
use nagare_plan::{counted, quoted};
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
    /// The same calls by the communicators' numbers of ranks.
    communicators: Vec<CommunicatorRow>,
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

/// File of the program, without directories.
pub fn program() -> String {
    let program = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
            communicators: communicators(&ranks),
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
        let nodes = self.nodes.map_or_else(|| "unknown nodes".to_owned(), |nodes| counted(nodes, "node"));
        let _ = writeln!(
            text,
            "{}, {nodes}, levels: {} (from {})",
            counted(self.ranks, "rank"),
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
