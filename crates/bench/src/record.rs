//! Results as data.
//!
//! The program writes one [`Line`] of JSON after the other, so that what was measured survives a job that ends early;
//! `nagare bench` makes one [`Results`] of them.

mod cell;
mod job;
mod network;
mod results;

pub use cell::{Cell, DEFAULT, NO_EMULATION, Oracle, STOCK, Timing, Tried, algorithms, forced_stock};
pub use job::{Job, Numbers};
pub use network::{GAP, Goodput, LATENCY, Message};
pub use results::{Results, SCHEMA};

use crate::pairs::{Pair, Reduction};
use serde::{Deserialize, Serialize};

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
