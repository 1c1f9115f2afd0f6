//! One collective and size: all configurations by turns, until their medians are stable or the time is used up.

use crate::buffers::{Buffers, block};
use crate::nagare::{Calls, Nagare};
use crate::together::Together;
use mpi::traits::AsRaw;
use nagare_bench::record::{Cell, DEFAULT, STOCK, Timing};
use nagare_bench::statistics::{LEAST, MOST, is_stable, median, quantile};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::collective::Collective;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A way to run the collective.
struct Configuration {
    name: &'static str,
    /// For `nagare_set_algorithm`.
    rules: Option<String>,
    times: Vec<f64>,
    /// What Nagare's report counted for its calls.
    ran: BTreeSet<String>,
}

impl Configuration {
    fn new(name: &'static str, rules: Option<String>) -> Self {
        Self { name, rules, times: Vec::new(), ran: BTreeSet::new() }
    }
}

/// Stock, Nagare's choice, and every algorithm that implements the collective.
fn configurations(nagare: Option<&Nagare>, collective: Collective) -> Vec<Configuration> {
    let stock = Configuration::new(STOCK, Some("all=stock".to_owned()));
    if nagare.is_none() {
        return vec![stock];
    }
    let able = ALGORITHMS.iter().filter(|spec| spec.algorithm.implements(collective));
    let forced = able.map(|spec| Configuration::new(spec.name, Some(format!("{collective}={}", spec.name))));
    [stock, Configuration::new(DEFAULT, None)].into_iter().chain(forced).collect()
}

/// Measures; all ranks do so together. The first round warms up. At least three follow, whatever the time.
///
/// # Errors
/// If a result is wrong or Nagare does not take a configuration.
pub fn cell(
    together: &Together,
    nagare: Option<&Nagare>,
    collective: Collective,
    bytes: u64,
    budget: Duration,
) -> Result<Cell, String> {
    let block = block(collective, bytes, together.size).unwrap_or(bytes);
    let mut buffers = Buffers::new(collective, block, together.rank, together.size);
    let mut configurations = configurations(nagare, collective);
    let start = Instant::now();
    for round in 0..=MOST {
        for configuration in &mut configurations {
            let time = once(together, nagare, collective, configuration, &mut buffers)?;
            if round > 0 {
                configuration.times.push(time);
            }
        }
        // The same at every rank: the times are, and the clock that is furthest ahead decides.
        let elapsed = together.largest(start.elapsed().as_secs_f64());
        let stable = configurations.iter().all(|configuration| is_stable(&configuration.times));
        if round >= LEAST && (stable || elapsed >= budget.as_secs_f64()) {
            break;
        }
    }
    let timings = configurations.into_iter().map(|configuration| Timing {
        configuration: configuration.name.to_owned(),
        ran: configuration.ran.into_iter().collect::<Vec<_>>().join(" + "),
        iterations: configuration.times.len(),
        median: median(&configuration.times),
        quartile1: quantile(&configuration.times, 0.25),
        quartile3: quantile(&configuration.times, 0.75),
        fastest: quantile(&configuration.times, 0.0),
    });
    Ok(Cell { collective, bytes, block, timings: timings.collect(), limit: None, cpu_bound: false })
}

/// One call: the time of the slowest rank, at every rank.
fn once(
    together: &Together,
    nagare: Option<&Nagare>,
    collective: Collective,
    configuration: &mut Configuration,
    buffers: &mut Buffers,
) -> Result<f64, String> {
    // The counters of one rank tell what all ran: the choice is the same everywhere.
    let counters = nagare.filter(|_| together.rank == 0);
    let before = counters.map(|nagare| nagare.calls(collective)).transpose()?;
    if let Some(nagare) = nagare {
        nagare.set_algorithm(together.world.as_raw(), configuration.rules.as_deref())?;
    }
    buffers.prepare();
    together.barrier();
    let start = Instant::now();
    buffers.call(together.world);
    let time = together.largest(start.elapsed().as_secs_f64());
    buffers.verify().map_err(|error| format!("{}: {error}", configuration.name))?;
    let after = counters.map(|nagare| nagare.calls(collective)).transpose()?;
    match (before, after) {
        (Some(before), Some(after)) => configuration.ran.extend(grown(&before, after)),
        _ => configuration.ran.extend([STOCK.to_owned()]),
    }
    Ok(time)
}

/// What was counted since.
fn grown(before: &Calls, after: Calls) -> impl Iterator<Item = String> {
    let counted = |name: &String| before.get(name).copied().unwrap_or(0);
    after.into_iter().filter(move |(name, calls)| *calls > counted(name)).map(|(name, _)| name)
}
