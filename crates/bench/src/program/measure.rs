//! One collective and size: all configurations by turns, until their medians are stable or the time is used up.

use crate::buffers::{block, data};
use crate::data::Data;
use crate::nagare::{Calls, Nagare};
use crate::sweep::{Library, Ready, Sweep};
use crate::together::Together;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator};
use nagare_bench::operation::Operation;
use nagare_bench::race::{goes_on, least};
use nagare_bench::record::{Cell, DEFAULT, Numbers, STOCK, Timing, forced_stock};
use nagare_bench::statistics::{LEAST, LONG, MOST, interval, is_stable, median, quantile};
use nagare_bench::turns::turns;
use nagare_plan::algorithm::ALGORITHMS;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Rules by which Nagare leaves everything to the library.
const ALL_STOCK: &str = "all=stock";

/// Seconds from which on a call does not notice that one rank has just read the report. That takes some 300 us, and
/// where ranks share processors the kernel then lets the others run for as long before that rank goes on: a Reduce of
/// 1 KiB among four hosts on two processors took 400 us that takes 110.
const UNDISTURBED: f64 = 0.01;

/// With what is measured.
pub struct Setup<'a> {
    /// The ranks.
    pub together: &'a Together<'a>,
    /// Nagare, if it is preloaded.
    pub nagare: Option<&'a Nagare>,
    /// What tells the library what to run, if that is asked for.
    pub library: Option<&'a Library<'a>>,
    /// Names of the configurations that are measured; `None`: all.
    pub algorithms: Option<&'a [String]>,
    /// Root of the collectives that have one.
    pub root: i32,
    /// What elements are.
    pub numbers: Numbers,
    /// Time for one cell without what the library is told.
    pub budget: Duration,
    /// Calls of one iteration; more than one are made on a communicator of their own.
    pub series: u32,
    /// Calls that ranks make one after another without waiting for each other.
    pub back_to_back: u32,
    /// Whether calls of Nagare's choice may run on one thing after another.
    pub learns: bool,
    /// Whether configurations that fall behind are measured no further.
    pub race: bool,
}

/// A way to run the collective.
struct Configuration {
    name: String,
    /// For `nagare_set_algorithm`.
    rules: Option<String>,
    /// What the library is told.
    told: Option<Rc<Ready>>,
    times: Vec<f64>,
    /// Whether it has fallen behind.
    is_out: bool,
    /// What Nagare's report counted for its calls.
    ran: BTreeSet<String>,
}

impl Configuration {
    fn new(name: impl Into<String>, rules: Option<String>) -> Self {
        Self { name: name.into(), rules, told: None, times: Vec::new(), is_out: false, ran: BTreeSet::new() }
    }

    fn told(ready: Rc<Ready>) -> Self {
        Self { told: Some(Rc::clone(&ready)), ..Self::new(forced_stock(&ready.name), Some(ALL_STOCK.to_owned())) }
    }

    /// Whether its last call was so long that a look into the report disturbs neither it nor one after it as long.
    fn is_long(&self) -> bool {
        self.times.last().is_some_and(|&time| time >= UNDISTURBED)
    }

    fn timing(mut self) -> Timing {
        if self.ran.is_empty() {
            // What Nagare does not handle it does not count.
            self.ran.insert(STOCK.to_owned());
        }
        Timing {
            configuration: self.name,
            ran: self.ran.into_iter().collect::<Vec<_>>().join(" + "),
            iterations: self.times.len(),
            median: median(&self.times),
            quartile1: quantile(&self.times, 0.25),
            quartile3: quantile(&self.times, 0.75),
            interval: interval(&self.times),
            fastest: quantile(&self.times, 0.0),
        }
    }
}

/// Stock, Nagare's choice, and every algorithm of Nagare's that implements the operation, or those of them that are
/// asked for.
fn configurations(setup: &Setup, operation: Operation) -> Vec<Configuration> {
    let mut all = vec![Configuration::new(STOCK, Some(ALL_STOCK.to_owned()))];
    if let Some(collective) = operation.planned().filter(|_| setup.nagare.is_some()) {
        let able = ALGORITHMS.iter().filter(|spec| spec.algorithm.implements(collective));
        let forced = able.map(|spec| Configuration::new(spec.name, Some(format!("{collective}={}", spec.name))));
        all.push(Configuration::new(DEFAULT, None));
        all.extend(forced);
    }
    all.retain(|configuration| setup.algorithms.is_none_or(|named| named.contains(&configuration.name)));
    all
}

/// Whether there is anything to measure.
pub fn has_configurations(setup: &Setup, operation: Operation) -> bool {
    setup.library.is_some() || !configurations(setup, operation).is_empty()
}

/// Measures; all ranks do so together. The first round warms up, unless every call of it was [`LONG`]. At least three
/// count, whatever the time, of what has not fallen behind.
///
/// # Errors
/// If a result is wrong or Nagare does not take a configuration.
pub fn cell(setup: &Setup, operation: Operation, bytes: u64, sweep: Option<&mut Sweep>) -> Result<Cell, String> {
    let together = setup.together;
    let block = block(operation, bytes, together.size).unwrap_or(bytes);
    let mut buffers = data(operation, setup.numbers, block, together, setup.root);
    let mut configurations = configurations(setup, operation);
    let mut cell = Cell::new(operation, bytes, block);
    if let Some(sweep) = sweep {
        // Where the library's variables hold for every communicator, nothing of Nagare's must run in their place.
        if let Some(nagare) = setup.nagare {
            nagare.set_algorithm(together.world.as_raw(), Some(ALL_STOCK))?;
        }
        let (fastest, oracle) = sweep.fastest(bytes, block, &mut *buffers)?;
        configurations.extend(fastest.into_iter().map(Configuration::told));
        cell.oracle = Some(oracle);
    }
    // The counters of one rank tell what all ran: the choice is the same everywhere.
    let calls = || setup.nagare.filter(|_| together.rank == 0).map(|nagare| nagare.calls(operation)).transpose();
    let start = Instant::now();
    let mut counted = 0;
    for round in 0..=MOST {
        // In the first round, which warms up, and wherever that disturbs nothing, what calls run on is looked up. Later
        // ones run on the same, but for the default's where it learns.
        let mut running = configurations.iter().filter(|configuration| !configuration.is_out);
        let are_read = round == 0 || setup.series > 1 || running.all(Configuration::is_long);
        let running: Vec<usize> = (0..configurations.len()).filter(|&at| !configurations[at].is_out).collect();
        for turn in turns(running.len(), round) {
            let configuration = &mut configurations[running[turn]];
            let is_read = are_read || setup.learns && configuration.name == DEFAULT;
            let before = if is_read { calls()? } else { None };
            let time = iteration(setup, configuration, &mut *buffers)?;
            configuration.times.push(time);
            if let Some(before) = before {
                configuration.ran.extend(grown(&before, calls()?.unwrap_or_default()));
            }
        }
        // The same at every rank: the times are, and the clock that is furthest ahead decides.
        let is_late = together.largest(start.elapsed().as_secs_f64()) >= setup.budget.as_secs_f64();
        let is_warm = configurations.iter().flat_map(|configuration| &configuration.times).all(|&time| time >= LONG);
        counted += usize::from(round > 0 || is_warm);
        if setup.race {
            race(&mut configurations, counted, is_late);
        }
        if counted == 0 {
            let running = configurations.iter_mut().filter(|configuration| !configuration.is_out);
            running.for_each(|configuration| configuration.times.clear());
        }
        let mut running = configurations.iter().filter(|configuration| !configuration.is_out);
        let stable = running.all(|configuration| is_stable(&configuration.times));
        if counted >= LEAST && (stable || is_late) {
            break;
        }
    }
    cell.timings = configurations.into_iter().map(Configuration::timing).collect();
    Ok(cell)
}

/// Takes out what has fallen behind after so many calls that `counted`. `is_late`: the time of the cell is used up.
fn race(configurations: &mut [Configuration], counted: usize, is_late: bool) {
    let running = configurations.iter().filter(|configuration| !configuration.is_out);
    let least = least(running.map(|configuration| configuration.times.as_slice()));
    for configuration in configurations {
        let is_stock = configuration.name == STOCK;
        let fastest = quantile(&configuration.times, 0.0);
        configuration.is_out |= !goes_on([fastest, least], counted, is_stock, is_late);
    }
}

/// The time of one call by the slowest rank, at every rank; of several calls the mean.
fn iteration(setup: &Setup, configuration: &Configuration, buffers: &mut dyn Data) -> Result<f64, String> {
    let Setup { together, nagare, library, series, back_to_back, .. } = *setup;
    // What calls teach belongs to their communicator: a series is what a program sees of one from its first call on.
    let own = (series > 1).then(|| together.world.duplicate());
    // A new communicator has no rules, and Nagare finds its nodes in its first call.
    let rules = configuration.rules.as_deref();
    if let Some(nagare) = nagare.filter(|_| own.is_none() || rules.is_some()) {
        let communicator = own.as_ref().unwrap_or(together.world);
        nagare.set_algorithm(communicator.as_raw(), rules)?;
    }
    let rows = series.div_ceil(back_to_back);
    let mut sum = 0.0;
    for _ in 0..rows {
        let communicator = own.as_ref().unwrap_or(together.world);
        sum += match configuration.told.as_ref().zip(library) {
            Some((ready, library)) => ready.with(library, |told| row(together, buffers, told, back_to_back))?,
            None => row(together, buffers, communicator, back_to_back),
        };
        buffers.verify().map_err(|error| format!("{}: {error}", configuration.name))?;
    }
    Ok(sum / f64::from(rows * back_to_back))
}

/// Calls one after another, the first begun by all ranks together. Each gives the same result.
fn row(together: &Together, buffers: &mut dyn Data, communicator: &SimpleCommunicator, calls: u32) -> f64 {
    buffers.prepare();
    together.barrier();
    let start = Instant::now();
    (0..calls).for_each(|_| buffers.call(communicator));
    together.largest(start.elapsed().as_secs_f64())
}

/// What was counted since.
fn grown(before: &Calls, after: Calls) -> impl Iterator<Item = String> {
    let counted = |name: &String| before.get(name).copied().unwrap_or(0);
    after.into_iter().filter(move |(name, calls)| *calls > counted(name)).map(|(name, _)| name)
}
