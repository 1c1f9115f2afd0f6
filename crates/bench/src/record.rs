//! Results as data.
//!
//! The program writes one [`Line`] of JSON after the other, so that what was measured survives a job that ends early;
//! `nagare bench` makes one [`Results`] of them.

use crate::operation::Operation;
use crate::pairs::{Pair, Reduction};
use nagare_plan::algorithm::{ALGORITHMS, FORMER};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this form; grows when a field changes its meaning.
pub const SCHEMA: u32 = 1;
/// The configuration in which the library's own algorithms run.
pub const STOCK: &str = "stock";
/// The configuration in which Nagare chooses.
pub const DEFAULT: &str = "default";
/// What the names of configurations begin with in which the library is told what to run.
const FORCED_STOCK: &str = "stock: ";

/// What the program writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// First.
    Job(Job),
    /// A measurement of the network itself.
    Goodput(Goodput),
    /// What a message costs whatever its size.
    Message(Message),
    /// What a pair of ranks can do.
    Pair(Pair),
    /// What a sum costs.
    Reduction(Reduction),
    /// What other programs did during the tests of the network.
    Others {
        /// [`Results::others`].
        processors: f64,
    },
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
    /// The file of that library at rank 0; `None` where it is in the program itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// What Nagare calls the network; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// What it says carries messages between nodes; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// In which order it says ranks are; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// Nodes that it knows; `None` without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// The host of every rank.
    pub hosts: Vec<String>,
    /// TCP's congestion control on the host of rank 0; `None` where the system does not tell.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Root of the collectives that have one.
    #[serde(default)]
    pub root: u32,
    /// What elements were: `int` before that was a choice.
    #[serde(default)]
    pub numbers: Numbers,
    /// Calls in a row on a communicator of their own, of which a time is the mean; 1 where calls took turns one by one.
    #[serde(default = "one")]
    pub series: u32,
}

/// What the elements of vectors are, four bytes each. It matters to reductions: calls that sum integers may be measured
/// and run on whatever is the fastest; floating-point sums keep one order, which predictions or a profile choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbers {
    /// Integers.
    #[default]
    Int,
    /// Floating-point numbers.
    Float,
}

impl Numbers {
    /// Ranks over which their sums are exact, so that results can be compared.
    pub const fn most_ranks(self) -> i32 {
        match self {
            Self::Int => 8192,
            Self::Float => 800,
        }
    }

    /// Its name, as an argument has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
        }
    }
}

const fn one() -> u32 {
    1
}

/// Messages sent at the same time, all of the same size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// `pair`: the first host to one half way across; `across`: every host to the one half way on; `next`: every host
    /// to the next.
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

/// What a message costs beside the time its bytes are on the links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// [`LATENCY`]: half the round trip between the first host and the one half way across, all others waiting;
    /// [`GAP`]: from one message to the next at a host, while every host streams to the next.
    pub test: String,
    /// Senders and receivers, as ranks.
    pub flows: Vec<(u32, u32)>,
    /// Bytes of a message.
    pub bytes: u64,
    /// Median over the repetitions.
    pub microseconds: f64,
    /// What of a [`LATENCY`] the links take, by the file of the fabric that Nagare was told; otherwise 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A test of [`Message`].
pub const LATENCY: &str = "latency";
/// A test of [`Message`].
pub const GAP: &str = "gap";

/// One collective and size, in all configurations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The collective.
    pub collective: Operation,
    /// Bytes of the vector of a rank; where there are blocks, of the blocks of all ranks together.
    pub bytes: u64,
    /// Bytes of a block ([`Operation::unit`]), in the mean where they differ; otherwise as `bytes`.
    pub block: u64,
    /// In the order in which they took turns.
    pub timings: Vec<Timing>,
    /// The least time by the fabric's rates, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Whether this machine could not have carried the traffic at the links' rates.
    #[serde(default)]
    pub cpu_bound: bool,
    /// Processors that other programs kept busy meanwhile, on the machine of rank 0; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// What the library was told to run, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<Oracle>,
}

/// The library's own algorithms and segment sizes: each once, then the fastest among the configurations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Oracle {
    /// How the library was told.
    pub how: String,
    /// In the order in which they were tried.
    pub tried: Vec<Tried>,
    /// The fastest settings: what is set to what, as the library calls it.
    pub fastest: BTreeMap<String, BTreeMap<String, String>>,
}

/// One setting of the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Short, such as `pipeline 16K`.
    pub setting: String,
    /// The time of one call by the slowest rank; `None` if it was left out.
    pub seconds: Option<f64>,
    /// Why it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// One configuration. Times are those of the slowest rank, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// [`STOCK`], [`DEFAULT`], the name of an algorithm, or a setting of the library ([`Timing::forced_stock`]).
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Processors that other programs kept busy during the tests of the network, on the machine of rank 0; rather too
    /// little than too much. `None` where that is not known.
    #[serde(default)]
    pub others: Option<f64>,
    /// Whether the program came to its end.
    pub complete: bool,
    /// What ran.
    pub job: Job,
    /// The network itself.
    pub goodput: Vec<Goodput>,
    /// What messages cost.
    #[serde(default)]
    pub messages: Vec<Message>,
    /// What pairs of ranks can do, where the network alone was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// What a sum costs, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reduction>,
    /// Collectives and sizes in the order measured.
    pub cells: Vec<Cell>,
}

/// Name of the configuration in which the library is told to run `setting`.
pub fn forced_stock(setting: &str) -> String {
    format!("{FORCED_STOCK}{setting}")
}

impl Timing {
    /// The setting of the library, if this is the configuration of one.
    pub fn forced_stock(&self) -> Option<&str> {
        self.configuration.strip_prefix(FORCED_STOCK)
    }
}

#[cfg(test)]
impl Timing {
    /// A timing whose iterations all took `median` seconds.
    pub(crate) fn without_spread(configuration: &str, median: f64) -> Self {
        let (configuration, ran) = (configuration.to_owned(), String::new());
        Self { configuration, ran, iterations: 3, median, quartile1: median, quartile3: median, fastest: median }
    }
}

impl Cell {
    /// A cell in which nothing is measured yet.
    pub fn new(collective: Operation, bytes: u64, block: u64) -> Self {
        Self {
            collective,
            bytes,
            block,
            timings: Vec::new(),
            limit: None,
            cpu_bound: false,
            others: None,
            oracle: None,
        }
    }

    /// The fastest setting that the library was told, by its median.
    pub fn best_forced_stock(&self) -> Option<&Timing> {
        let forced = self.timings.iter().filter(|timing| timing.forced_stock().is_some());
        forced.min_by(|a, b| a.median.total_cmp(&b.median))
    }

    /// The fastest of the library's own choice and of all it was told; `None` if it was told nothing.
    pub fn best_stock(&self) -> Option<&Timing> {
        let forced = self.best_forced_stock()?;
        let own = self.timing(STOCK).filter(|own| own.median <= forced.median);
        Some(own.unwrap_or(forced))
    }

    /// The timing of a configuration.
    pub fn timing(&self, configuration: &str) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.configuration == configuration)
    }
}

/// Names that results have for algorithms of ours: those of the table, then those that some were measured under before.
pub fn algorithms() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|spec| spec.name).chain(FORMER.iter().map(|&(name, _)| name))
}

impl Results {
    /// What a message costs by a test, microseconds, beyond what the links take: predictions add that. None where the
    /// links take longer by the file than messages did, so that it cannot be told.
    pub fn message(&self, test: &str) -> Option<f64> {
        let message = self.messages.iter().find(|message| message.test == test)?;
        Some(message.microseconds - message.links).filter(|&cost| cost > 0.0)
    }

    /// Number of cells during which other programs kept more than `processors` busy.
    pub fn disturbed(&self, processors: f64) -> usize {
        self.cells.iter().filter(|cell| cell.others.is_some_and(|others| others > processors)).count()
    }

    /// The cell of a collective and size.
    pub fn cell(&self, collective: Operation, bytes: u64) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.collective == collective && cell.bytes == bytes)
    }
}

impl Results {
    /// As JSON with one line per field, and per element where a field is a list.
    ///
    /// # Errors
    /// None that is known: every field can be written.
    pub fn to_lines(&self) -> serde_json::Result<String> {
        let value = serde_json::to_value(self)?;
        let fields = value.as_object().into_iter().flatten().map(|(name, value)| {
            let value = match value.as_array() {
                Some(list) if !list.is_empty() => {
                    let elements: Vec<String> = list.iter().map(|element| format!("    {element}")).collect();
                    format!("[\n{}\n  ]", elements.join(",\n"))
                }
                _ => value.to_string(),
            };
            format!("  \"{name}\": {value}")
        });
        Ok(format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n")))
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
    fn the_best_of_stock_is_told_only_where_it_was_searched() {
        let mut cell = Cell::new(Operation::Bcast, 8, 8);
        cell.timings = vec![Timing::without_spread(STOCK, 2.0), Timing::without_spread("chain", 0.5)];
        assert_eq!(cell.best_stock(), None);
        cell.timings.push(Timing::without_spread(&forced_stock("pipeline 8K"), 3.0));
        assert_eq!(cell.best_stock().map(|best| best.median), Some(2.0));
        cell.timings.push(Timing::without_spread(&forced_stock("chain 8K"), 1.0));
        assert_eq!(cell.best_stock().and_then(Timing::forced_stock), Some("chain 8K"));
    }

    #[test]
    fn lines_are_the_same_data() {
        let cells = vec![Cell::new(Operation::Gather, 64, 4), Cell::new(Operation::Bcast, 8, 8)];
        let results = Results { name: "a \"b\"".into(), cells, ..Results::default() };
        let text = results.to_lines().unwrap_or_default();
        assert_eq!(serde_json::from_str::<Results>(&text).ok(), Some(results), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("\"collective\"")).count(), 2, "{text}");
    }

    #[test]
    fn a_line_cut_off_is_left_out_and_a_foreign_one_is_named() {
        let job = serde_json::to_string(&Line::Job(Job::default())).unwrap_or_default();
        assert_eq!(read_lines(&format!("{job}\n{{\"line\":\"en")), Ok(vec![Line::Job(Job::default())]));
        assert_eq!(read_lines(&format!("{job}\nhello\n{job}\n")), Err(2));
    }
}
