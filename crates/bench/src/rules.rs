//! Rules for an MPI library's own choice, from what it was told in a benchmark (`--oracle`): a better stock for calls
//! that Nagare leaves to it.
//!
//! ```text
//!   results ──► by_size: from which size on what was clearly faster ──┬─► open_mpi: a file of coll/tuned
//!                                                                     └─► mpich: its own selections, with ours in them
//!                                       selections: what the library holds ──────────┘
//! ```

mod mpich;
mod open_mpi;
mod selections;

pub use mpich::{Selected, mpich};
pub use open_mpi::{Rules, open_mpi};
pub use selections::{Selections, Tree};

use crate::operation::Operation;
use crate::record::{Cell, Results, STOCK};
use std::collections::BTreeMap;

/// A setting must be so much faster than the library's own choice to be told.
const FASTER: f64 = 0.95;

/// What the library is told for one collective and size.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The collective.
    pub collective: Operation,
    /// Bytes, as the benchmark counts them: of the vector, or of all blocks together.
    pub bytes: u64,
    /// The setting, as the benchmark names it.
    pub setting: String,
    /// How many times as fast as the library's own choice it was.
    pub gain: f64,
}

/// What was set to what in a setting.
type Variables = BTreeMap<String, String>;

/// The fastest setting of a cell that a rule can `say`, if it is clearly faster than the library's own choice.
fn best<R>(cell: &Cell, say: impl Fn(&Variables) -> Option<R>) -> Option<(R, Told)> {
    let (stock, oracle) = (cell.timing(STOCK)?, cell.oracle.as_ref()?);
    let said = cell.timings.iter().filter_map(|timing| {
        let setting = timing.forced_stock()?;
        Some((timing.median, setting, say(oracle.fastest.get(setting)?)?))
    });
    let (median, setting, rule) = said.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let told = Told {
        collective: cell.collective,
        bytes: cell.bytes,
        setting: setting.to_owned(),
        gain: stock.median / median,
    };
    (median <= FASTER * stock.median).then_some((rule, told))
}

/// What holds from which size on (none: the library's own choice), beginning with size 0: for sizes between two that
/// were measured the nearer one's, by their ratio, and far outside of them the library's own choice. Sizes are what
/// `size` says of a cell.
fn by_size<R: Clone + PartialEq>(
    results: &Results,
    collective: Operation,
    size: impl Fn(&Cell) -> u64,
    say: impl Fn(&Variables) -> Option<R>,
) -> (Vec<(u64, Option<R>)>, Vec<Told>) {
    let mut told = Vec::new();
    let mut cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.collective == collective).collect();
    cells.sort_by_key(|cell| size(cell));
    // Vectors of several sizes have one block size where ranks are many: the first.
    cells.dedup_by_key(|cell| size(cell));
    let between = |a: u64, b: u64| (a as f64 * b as f64).sqrt().ceil() as u64;
    let mut rules = vec![(0, None)];
    for (at, cell) in cells.iter().enumerate() {
        let before = if at > 0 { size(cells[at - 1]) } else { size(cell) / 2 };
        let (rule, setting) = best(cell, &say).unzip();
        told.extend(setting);
        rules.push((between(before, size(cell)), rule));
    }
    if let Some(last) = cells.last() {
        rules.push((between(size(last), 2 * size(last)), None));
    }
    // A rule holds up to the next that says something else.
    rules.dedup_by(|next, rule| next.1 == rule.1);
    (rules, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Oracle, Timing, forced_stock};

    /// A forced setting: its name, seconds, and its variables with their values.
    pub(super) type Forced<'a> = (&'a str, f64, &'a [(&'a str, &'a str)]);

    /// A cell in which the library's own choice takes a second; `variable`: the whole name of a variable.
    pub(super) fn forced(
        collective: Operation,
        bytes: u64,
        block: u64,
        settings: &[Forced],
        variable: impl Fn(&str) -> String,
    ) -> Cell {
        let mut cell = Cell::new(collective, bytes, block);
        cell.timings.push(Timing::without_spread(STOCK, 1.0));
        let mut oracle = Oracle::default();
        for (name, seconds, variables) in settings {
            cell.timings.push(Timing::without_spread(&forced_stock(name), *seconds));
            let variables = variables.iter().map(|(name, value)| (variable(name), (*value).to_owned())).collect();
            oracle.fastest.insert((*name).to_owned(), variables);
        }
        cell.oracle = Some(oracle);
        cell
    }

    /// What was measured on 16 ranks, two on each host.
    pub(super) fn results(mpi: &str, cells: Vec<Cell>) -> Results {
        let mut results = Results { cells, ..Results::default() };
        results.job.hosts = (0..16).map(|rank| format!("n{}", rank / 2)).collect();
        results.job.mpi = mpi.to_owned();
        results
    }

    #[test]
    fn a_block_that_several_vectors_have_counts_once() {
        let cell = |bytes, seconds| {
            forced(Operation::Alltoall, bytes, 64, &[("pairwise", seconds, &[("x", "y")])], str::to_owned)
        };
        let measured = results("MPICH", vec![cell(1024, 0.5), cell(1030, 2.0)]);
        let (rules, told) = by_size(&measured, Operation::Alltoall, |cell| cell.block, |v| v.get("x").cloned());
        assert_eq!(rules, [(0, None), (46, Some("y".to_owned())), (91, None)]);
        assert_eq!(told.iter().map(|told| told.bytes).collect::<Vec<_>>(), [1024]);
    }
}
