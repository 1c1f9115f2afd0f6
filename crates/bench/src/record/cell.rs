//! One collective and size, in all configurations.

use crate::operation::Operation;
use nagare_plan::algorithm::{ALGORITHMS, FORMER};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configuration in which the library's own algorithms run.
pub const STOCK: &str = "stock";
/// What the fabric of a run is called that was started by a launcher.
pub const NO_EMULATION: &str = "no emulation";
/// The configuration in which Nagare chooses.
pub const DEFAULT: &str = "default";
/// What the names of configurations begin with in which the library is told what to run.
const FORCED_STOCK: &str = "stock: ";

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
    /// The 95 % interval of the median ([`crate::statistics::interval`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The fastest iteration.
    pub fastest: f64,
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
        Self {
            configuration,
            ran,
            iterations: 3,
            median,
            quartile1: median,
            quartile3: median,
            interval: None,
            fastest: median,
        }
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

    /// The fastest of the library's own choice and of all it was told; `None` if it was told nothing.
    pub fn best_stock(&self) -> Option<&Timing> {
        let forced = self.timings.iter().filter(|timing| timing.forced_stock().is_some());
        let forced = forced.min_by(|a, b| a.median.total_cmp(&b.median))?;
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
}
