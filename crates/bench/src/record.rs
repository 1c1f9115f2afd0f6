//! Results as data.
//!
//! The program writes one [`Line`] of JSON after the other, so that what was measured survives a job that ends early;
//! `nagare bench` makes one [`Results`] of them.

use nagare_plan::collective::Collective;
use serde::{Deserialize, Serialize};

/// Version of this form; grows when a field changes its meaning.
pub const SCHEMA: u32 = 1;
/// The configuration in which the library's own algorithms run.
pub const STOCK: &str = "stock";
/// The configuration in which Nagare chooses.
pub const DEFAULT: &str = "default";

/// What the program writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// First.
    Job(Job),
    /// A measurement of the network itself.
    Goodput(Goodput),
    /// One collective and size.
    Cell(Cell),
    /// Last, if all went well.
    End,
}

/// What ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Version of Nagare; `None` if it was not preloaded or not active.
    pub nagare: Option<String>,
    /// First line of what the MPI library says of itself.
    pub mpi: String,
    /// The host of every rank.
    pub hosts: Vec<String>,
}

/// Messages sent at the same time, all of the same size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// `pair`: the first host to one half way across; `across`: every host to the one half way on; `next`: every host to
    /// the next.
    pub test: String,
    /// Senders and receivers, as ranks.
    pub flows: Vec<(u32, u32)>,
    /// Bytes of every message.
    pub bytes: u64,
    /// Until the last has arrived: median over the iterations.
    pub seconds: f64,
    /// The least time by the fabric's rates; `None` where the program does not know the fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// One collective and size, in all configurations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The collective; the root, if it has one, is rank 0.
    pub collective: Collective,
    /// Bytes of the vector of a rank; for Alltoall of the blocks for all ranks together.
    pub bytes: u64,
    /// Bytes per rank pair for Alltoall, otherwise as `bytes`.
    pub block: u64,
    /// In the order in which they took turns.
    pub timings: Vec<Timing>,
    /// The least time by the fabric's rates, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Whether this machine could not have carried the traffic at the links' rates.
    #[serde(default)]
    pub cpu_bound: bool,
}

/// One configuration. Times are those of the slowest rank, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// [`STOCK`], [`DEFAULT`] or the name of an algorithm.
    pub configuration: String,
    /// What ran by Nagare's own report, with the reason where that was the library's own; several joined by ` + `.
    pub ran: String,
    /// Number of iterations.
    pub iterations: usize,
    /// Middle of all iterations.
    pub median: f64,
    /// Lower quartile.
    pub quartile1: f64,
    /// Upper quartile.
    pub quartile3: f64,
    /// The fastest iteration.
    pub fastest: f64,
}

/// Everything about one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What the files of this run are called.
    pub name: String,
    /// The fabric.
    pub fabric: String,
    /// How ranks were put on hosts.
    pub map: String,
    /// Command that made it.
    pub command: String,
    /// The machine and its kernel.
    pub machine: String,
    /// Processes that wanted a processor just before, as the kernel averages over a minute.
    #[serde(default)]
    pub load: Option<f64>,
    /// Whether the program came to its end.
    pub complete: bool,
    /// What ran.
    pub job: Job,
    /// The network itself.
    pub goodput: Vec<Goodput>,
    /// Collectives and sizes in the order measured.
    pub cells: Vec<Cell>,
}

impl Cell {
    /// The timing of a configuration.
    pub fn timing(&self, configuration: &str) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.configuration == configuration)
    }
}

impl Results {
    /// The cell of a collective and size.
    pub fn cell(&self, collective: Collective, bytes: u64) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.collective == collective && cell.bytes == bytes)
    }
}

/// The lines of a file the program wrote; a last line that was cut off is left out.
///
/// # Errors
/// The number of the first line, counted from 1, that is none of the program's.
pub fn read_lines(text: &str) -> Result<Vec<Line>, usize> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(_) if !line.ends_with('\n') => {}
            Err(_) => return Err(number),
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cut_off_is_left_out_and_a_foreign_one_is_named() {
        let job = serde_json::to_string(&Line::Job(Job::default())).unwrap_or_default();
        assert_eq!(read_lines(&format!("{job}\n{{\"line\":\"en")), Ok(vec![Line::Job(Job::default())]));
        assert_eq!(read_lines(&format!("{job}\nhello\n{job}\n")), Err(2));
    }
}
