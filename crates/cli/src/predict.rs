//! `nagare predict`: what each algorithm is predicted to take on a network, and which one the default chooses.

use crate::args::PredictArgs;
use crate::machine::Machine;
use crate::output::{print, table};
use anyhow::ensure;
use nagare_plan::Planner;
use nagare_plan::cost::Segments;
use std::process::ExitCode;

/// Prints the predicted time of every candidate by size, and the choice.
pub fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let machine = Machine::new(&args.ranks, args.topology.as_deref())?;
    let planner = Planner::new(machine.topology.clone());
    let collective = args.collective;
    let demands = planner.demands(collective);
    let names: Vec<String> = demands.iter().map(|(a, _)| format!("{a} ms")).collect();
    ensure!(!names.is_empty(), "Nagare does not choose the algorithm for {collective} by predicted time");
    let mut rows = table(["bytes".to_owned()].into_iter().chain(names).chain(["choice".into(), "segment".into()]));
    let segments = Segments::AtMost(args.segment);
    for &bytes in &args.sizes {
        let of = |algorithm| planner.predicted(collective, algorithm, bytes, segments).map_or(0.0, |p| p.time);
        let times = demands.iter().map(|&(algorithm, _)| format!("{:.3}", of(algorithm) / 1e6));
        let choice = planner.cheapest(collective, bytes, segments);
        let choice = choice.map(|(algorithm, p)| [algorithm.to_string(), p.segment.to_string()]).unwrap_or_default();
        rows.add_row([bytes.to_string()].into_iter().chain(times).chain(choice));
    }
    let message = planner.message();
    print(&format!(
        "{collective}, {} ranks\n{}\nmessage latency {} microseconds, gap to the next message {}\n\n{rows}\n",
        machine.topology.ranks(),
        machine.description,
        message.latency / 1e3,
        message.gap / 1e3
    ))?;
    Ok(ExitCode::SUCCESS)
}
