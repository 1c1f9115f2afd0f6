//! The report: which algorithm ran for which calls, or why the library's own did, over all ranks.

use super::learned::{self, Learned};
use super::statistics::{OUTCOMES, VALUES, outcome_name};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use nagare_plan::collective::Collective;
use nagare_plan::quoted;
use nagare_plan::topology::Topology;
use serde::Serialize;
use std::fmt::Write as _;

/// The report as data; `schema` grows when a field changes its meaning.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: u32,
    nagare: &'static str,
    mpi: String,
    ranks: usize,
    nodes: Option<u32>,
    /// Names of the topology levels, outermost first.
    levels: Vec<String>,
    topology_from: String,
    /// Files of what was measured before, where they fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profiles: Vec<String>,
    rows: Vec<ReportRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learned: Vec<Learned>,
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
    /// Calls of the rank that called most often.
    calls: u64,
    /// Bytes over all calls of all ranks.
    bytes: u64,
    /// Time in the calls, over all ranks, and of the rank that was longest in them.
    total_seconds: f64,
    max_seconds: f64,
}

impl Report {
    /// From the snapshots of some ranks, one after another. `mpi`: what the library calls itself; `topology`: that of
    /// the world, if there is one, and where it comes from; `profiles`: files that were used; `learned`: what calls
    /// have taught.
    pub fn new(
        mpi: String,
        (topology, topology_from): (Option<&Topology>, String),
        profiles: Vec<String>,
        snapshots: &[u64],
        learned: Vec<Learned>,
    ) -> Self {
        let per_rank = Collective::ALL.len() * OUTCOMES * VALUES;
        let ranks: Vec<&[u64]> = snapshots.chunks_exact(per_rank).collect();
        let mut rows = Vec::new();
        for (c, collective) in Collective::ALL.iter().enumerate() {
            for outcome in 0..OUTCOMES {
                let at = (c * OUTCOMES + outcome) * VALUES;
                let values = || ranks.iter().map(|r| &r[at..at + VALUES]).filter(|v| v[0] > 0);
                if values().next().is_none() {
                    continue;
                }
                let (algorithm, reason) = outcome_name(outcome);
                rows.push(ReportRow {
                    collective: collective.name(),
                    algorithm,
                    reason: reason.map(|r| r.name()),
                    min_bytes: values().map(|v| v[2].saturating_sub(1)).min().unwrap_or(0),
                    max_bytes: values().map(|v| v[3]).max().unwrap_or(0),
                    calls: values().map(|v| v[0]).max().unwrap_or(0),
                    bytes: values().map(|v| v[1]).sum(),
                    total_seconds: values().map(|v| v[4] as f64 * 1e-9).sum(),
                    max_seconds: values().map(|v| v[4] as f64 * 1e-9).fold(0.0, f64::max),
                });
            }
        }
        Self {
            schema: 1,
            nagare: env!("CARGO_PKG_VERSION"),
            mpi,
            ranks: ranks.len(),
            nodes: topology.map(Topology::node_count),
            levels: topology.map(|t| t.level_names().to_vec()).unwrap_or_default(),
            topology_from,
            profiles,
            rows,
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
        if self.rows.is_empty() {
            text += "no collective of the kinds that Nagare handles was called\n";
            return text;
        }
        let mut table = Table::new();
        table.load_preset(NOTHING);
        table.set_header(["collective", "ran", "reason", "bytes", "calls", "total bytes", "total s", "max s"]);
        for row in &self.rows {
            let range = if row.min_bytes == row.max_bytes {
                row.min_bytes.to_string()
            } else {
                format!("{}-{}", row.min_bytes, row.max_bytes)
            };
            table.add_row([
                row.collective.to_owned(),
                row.algorithm.to_owned(),
                row.reason.unwrap_or("").to_owned(),
                range,
                row.calls.to_string(),
                row.bytes.to_string(),
                format!("{:.6}", row.total_seconds),
                format!("{:.6}", row.max_seconds),
            ]);
        }
        for column in 3..8 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            let _ = writeln!(text, "{}", line.trim());
        }
        text + &learned::text(&self.learned)
    }
}
