//! Everything about one run, as its file has it.

use super::{Cell, Goodput, Job, Message};
use crate::operation::Operation;
use crate::pairs::{Pair, Reduction};
use serde::{Deserialize, Serialize};

/// Version of this form; grows when a field changes its meaning.
pub const SCHEMA: u32 = 1;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_data() {
        let cells = vec![Cell::new(Operation::Gather, 64, 4), Cell::new(Operation::Bcast, 8, 8)];
        let results = Results { name: "a \"b\"".into(), cells, ..Results::default() };
        let text = results.to_lines().unwrap_or_default();
        assert_eq!(serde_json::from_str::<Results>(&text).ok(), Some(results), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("\"collective\"")).count(), 2, "{text}");
    }
}
