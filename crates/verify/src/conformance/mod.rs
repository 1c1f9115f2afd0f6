//! `nagare-verify conformance`: mpi4py's own tests with Nagare and without, compared test by test and rank by rank.
//!
//! ```text
//!   (MPI, processes) ──► stock, default, forced ──► records of ranks ──► same status? ──► if not: again, three times
//! ```

mod cell;
mod collect;
mod compare;
mod events;

use crate::record::{self, Row};
use anyhow::Result;
use cell::{Cell, Mode};
use clap::{Args, ValueEnum};
use collect::{Run, Selection, collect};
use compare::{Tally, compare};
use nagare_harness::Mpi;
use nagare_plan::counted;
use std::time::Instant;

/// The collectives that Nagare has algorithms for.
const COLLECTIVES: [&str; 14] = [
    "reduce",
    "bcast",
    "allreduce",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "reduce_scatter_block",
    "reduce_scatter",
];

/// What to run.
#[derive(Args, Debug)]
pub struct Options {
    /// The subset that runs before every change lands: on one MPI of each family, on the others what calls every
    /// collective
    #[arg(long)]
    pub quick: bool,
    /// Only these MPIs (default: all four)
    #[arg(long, value_delimiter = ',')]
    mpi: Vec<Name>,
    /// Only these numbers of processes (default: 1,2,3,4,5)
    #[arg(long, value_delimiter = ',')]
    processes: Vec<u32>,
    /// Only tests whose name matches; without a * one whose name contains it
    #[arg(long, value_delimiter = ',')]
    tests: Vec<String>,
    /// Seconds that a test may take
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// An MPI installation on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Openmpi4,
    Openmpi5,
    Mpich4,
    Mpich5,
}

impl Name {
    const fn mpi(self) -> Mpi {
        match self {
            Self::Openmpi4 => Mpi::OpenMpi4,
            Self::Openmpi5 => Mpi::OpenMpi5,
            Self::Mpich4 => Mpi::Mpich4,
            Self::Mpich5 => Mpi::Mpich5,
        }
    }
}

/// What came of cells of one MPI.
#[derive(Default)]
struct Total {
    /// As it names itself.
    library: String,
    /// Of the cell with the most.
    tests: usize,
    tally: Tally,
    /// Patterns of tests that were not run.
    left_out: String,
    /// Cells that did not run to the end, and collectives that forcing did not bring onto Nagare's algorithms.
    failures: Vec<String>,
}

impl Total {
    fn add(&mut self, cell: Self) {
        if !cell.library.is_empty() {
            self.library = cell.library;
        }
        self.tests = self.tests.max(cell.tests);
        self.tally.add(cell.tally);
        self.failures.extend(cell.failures);
    }
}

/// Whether all tests came out as without Nagare.
///
/// # Errors
/// If ranks cannot be started, or a file cannot be written or read.
pub fn run(options: &Options) -> Result<bool> {
    let started = Instant::now();
    let mpis = if options.mpi.is_empty() { Name::value_variants() } else { &options.mpi };
    let mut totals: Vec<Total> = mpis.iter().map(|_| Total::default()).collect();
    for processes in options.processes() {
        for (name, total) in mpis.iter().zip(&mut totals) {
            let cell = Cell { mpi: name.mpi(), processes };
            let selection = Selection { patterns: options.patterns(cell.mpi), seconds: options.seconds };
            let mut own = Total::default();
            if let Err(error) = run_cell(cell, options, &selection, &mut own, started) {
                // The other cells are still worth running.
                println!("FAILED  {cell}: {error:#}");
                own.failures.push(format!("{cell}: did not run to the end"));
            }
            // Cell by cell: the whole matrix takes long.
            if options.is_full() && !own.library.is_empty() {
                // An earlier run may have said otherwise how each was run.
                let number = |row: &Row| row.what.split_once(',').map(|(number, _)| number.to_owned());
                let replaces = |old: &Row, new: &Row| old.mpi == new.mpi && number(old) == number(new);
                record::merge("conformance", &[row(&own, processes)], replaces)?;
            }
            total.add(own);
        }
    }
    let good = print(&totals, started);
    Ok(good)
}

impl Options {
    fn processes(&self) -> Vec<u32> {
        match (self.processes.is_empty(), self.quick) {
            (false, _) => self.processes.clone(),
            (true, true) => vec![2],
            (true, false) => vec![1, 2, 3, 4, 5],
        }
    }

    fn patterns(&self, mpi: Mpi) -> Vec<String> {
        let whole = |name: &String| if name.contains('*') { name.clone() } else { format!("*{name}*") };
        let modules = if Mpi::in_turn(0).contains(&mpi) { &QUICK[..] } else { &QUICK_OF_EVERY_MPI };
        let quick = || modules.iter().map(|module| format!("test_{module}.*")).collect();
        match (self.tests.is_empty(), self.quick) {
            (false, _) => self.tests.iter().map(whole).collect(),
            (true, true) => quick(),
            (true, false) => vec!["*".to_owned()],
        }
    }

    fn modes(&self) -> &'static [Mode] {
        if self.quick { &[Mode::Forced] } else { &[Mode::Default, Mode::Forced] }
    }

    /// Whether all tests run in all ways, which is written down.
    fn is_full(&self) -> bool {
        !self.quick && self.tests.is_empty()
    }
}

/// Modules of the quick run of one MPI of each family: collectives, and what Nagare's records of communicators hang on.
const QUICK: [&str; 12] = [
    "attributes",
    "cco_buf",
    "cco_buf_inter",
    "cco_obj",
    "cco_vec",
    "cco_vec_inter",
    "comm",
    "comm_topo",
    "datatype",
    "errhandler",
    "objmodel",
    "op",
];

/// Those of the other MPIs: each of [`COLLECTIVES`].
const QUICK_OF_EVERY_MPI: [&str; 2] = ["cco_buf", "cco_vec"];

fn run_cell(cell: Cell, options: &Options, selection: &Selection, total: &mut Total, started: Instant) -> Result<()> {
    if !cell.left_out().is_empty() {
        println!("             {cell}: without {}, which hangs at random on stock too", cell.left_out().join(", "));
    }
    total.left_out = cell.left_out().join(", ");
    let mut stock = if options.quick { Run::default() } else { collect(cell, Mode::Stock, selection)? };
    for &mode in options.modes() {
        let nagare = collect(cell, mode, selection)?;
        if options.quick {
            // A test that passes needs no comparison.
            let doubtful = nagare.not_passed();
            let selection = Selection { patterns: doubtful, ..selection.clone() };
            if !selection.patterns.is_empty() {
                stock = collect(cell, Mode::Stock, &selection)?;
            }
            stock.assume_passed(&nagare);
        }
        total.library.clone_from(&nagare.library);
        total.tests = total.tests.max(nagare.outcomes.len());
        let tally = compare(cell, mode, selection, &stock, &nagare)?;
        let elapsed = started.elapsed().as_secs();
        println!(
            "{elapsed:6} s     {cell}, {mode}: {} tests, {} outcomes equal ({}), {} different, {} flaky, {} broken in \
             both",
            nagare.outcomes.len(),
            tally.equal(),
            nagare.statuses(),
            tally.different,
            tally.flaky,
            tally.broken,
        );
        println!("             on Nagare: {}", ours(&nagare));
        if mode == Mode::Forced {
            println!("             NAGARE_ALGORITHM='{}'", cell.algorithms());
        }
        total.tally.add(tally);
        if mode == Mode::Forced && cell.processes > 1 && options.tests.is_empty() {
            let absent = COLLECTIVES.iter().filter(|c| nagare.ours.get(**c).is_none_or(|calls| *calls == 0));
            total.failures.extend(absent.map(|c| format!("{cell}: no {c} ran on Nagare")));
        }
    }
    Ok(())
}

/// Calls of each collective on Nagare's algorithms.
fn ours(run: &Run) -> String {
    let calls: Vec<String> = run.ours.iter().map(|(collective, calls)| format!("{collective} {calls}")).collect();
    if calls.is_empty() { "nothing".to_owned() } else { calls.join(", ") }
}

/// Prints the table; whether nothing differs.
fn print(totals: &[Total], started: Instant) -> bool {
    println!();
    println!(
        "{:44} {:>6} {:>9} {:>9} {:>9} {:>6} {:>7}",
        "MPI", "tests", "outcomes", "equal", "different", "flaky", "broken"
    );
    for Total { library, tests, tally, .. } in totals {
        let name = version(library);
        println!(
            "{name:44} {tests:6} {:9} {:9} {:9} {:6} {:7}",
            tally.compared,
            tally.equal(),
            tally.different,
            tally.flaky,
            tally.broken
        );
    }
    println!("outcomes: tests x ranks x ways of running; broken: crashed or hung the job, with Nagare and without");
    for line in totals.iter().flat_map(|t| &t.failures) {
        println!("{line}");
    }
    println!("{} s", started.elapsed().as_secs());
    totals.iter().all(|t| t.tally.different == 0 && t.failures.is_empty())
}

/// `Open MPI 4.1.4` of what MPI_Get_library_version says.
fn version(library: &str) -> String {
    let words: Vec<&str> = library.split([' ', ',']).filter(|w| !w.is_empty()).collect();
    match words[..] {
        ["Open", "MPI", version, ..] => format!("Open MPI {}", version.trim_start_matches('v')),
        ["MPICH", "Version:", version, ..] => format!("MPICH {version}"),
        _ => library.to_owned(),
    }
}

fn row(total: &Total, processes: u32) -> Row {
    let result = match (total.tally.different, total.tally.flaky) {
        _ if !total.failures.is_empty() => total.failures.join("; "),
        (0, 0) => "as without Nagare, test by test".to_owned(),
        (0, 1) => "as without Nagare; 1 outcome varies without Nagare too".to_owned(),
        (0, flaky) => format!("as without Nagare; {flaky} outcomes vary without Nagare too"),
        (1, _) => "1 outcome differs".to_owned(),
        (different, _) => format!("{different} outcomes differ"),
    };
    let left_out = if total.left_out.is_empty() { String::new() } else { format!("; without {}", total.left_out) };
    Row {
        mpi: version(&total.library),
        binding: "Python (mpi4py 4.1.2)".to_owned(),
        what: format!(
            "mpi4py's own tests with {}, default choice and an algorithm forced for every collective, in \
             turn{left_out}",
            counted(processes, "process")
        ),
        ran: format!("{}, {}", counted(total.tests, "test"), counted(total.tally.compared, "outcome")),
        result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_one_of_is_singular() {
        let words = |processes, outcomes, [different, flaky]: [usize; 2]| {
            let tally = Tally { compared: outcomes, different, flaky, ..Tally::default() };
            let row = row(&Total { tests: outcomes, tally, ..Total::default() }, processes);
            let what = row.what.split_once(',').map_or("", |(what, _)| what);
            [what.trim_start_matches("mpi4py's own tests with ").to_owned(), row.ran, row.result]
        };
        assert_eq!(
            words(1, 1, [0, 1]),
            ["1 process", "1 test, 1 outcome", "as without Nagare; 1 outcome varies without Nagare too"]
        );
        assert_eq!(
            words(2, 8, [0, 2]),
            ["2 processes", "8 tests, 8 outcomes", "as without Nagare; 2 outcomes vary without Nagare too"]
        );
        assert_eq!(words(1, 8, [1, 2]), ["1 process", "8 tests, 8 outcomes", "1 outcome differs"]);
        assert_eq!(words(2, 8, [2, 0]), ["2 processes", "8 tests, 8 outcomes", "2 outcomes differ"]);
    }
}
