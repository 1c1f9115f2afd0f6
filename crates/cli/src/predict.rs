//! `nagare predict`: what each algorithm is predicted to take on a network, and which one the default chooses.

use crate::args::PredictArgs;
use crate::machine::Machine;
use crate::output::{print, table};
use anyhow::ensure;
use nagare_plan::Planner;
use nagare_plan::choice::{Call, Rules};
use nagare_plan::cost::Segments;
use nagare_plan::decision::{Decision, Limits};
use nagare_plan::stock::Stock;
use std::process::ExitCode;

/// Prints the predicted time of every candidate and of the MPI library by size, and the choice.
pub fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let machine = Machine::new(&args.ranks, args.topology.as_deref())?;
    let planner = Planner::new(machine.topology.clone()).with_stock(Stock::new(args.library.into(), args.segment));
    let collective = args.collective;
    let demands = planner.demands(collective);
    let names: Vec<String> = demands.iter().map(|(a, _)| format!("{a} ms")).collect();
    ensure!(!names.is_empty(), "Nagare does not choose the algorithm for {collective} by predicted time");
    let ends = ["stock ms", "choice", "segment"].map(str::to_owned);
    let mut rows = table(["bytes".to_owned()].into_iter().chain(names).chain(ends));
    let segments = Segments::AtMost(args.segment);
    let limits = Limits { segment: None, window: None, message: args.segment };
    let (ranks, nodes) = (machine.topology.ranks(), machine.topology.node_count());
    for &bytes in &args.sizes {
        let milliseconds = |time: f64| format!("{:.3}", time / 1e6);
        let of = |algorithm| planner.predicted(collective, algorithm, bytes, segments).map_or(0.0, |p| p.time);
        let times = demands.iter().map(|&(algorithm, _)| milliseconds(of(algorithm)));
        let stock = planner.stock_time(collective, bytes).map_or_else(String::new, milliseconds);
        let call = Call { collective, bytes, ranks, nodes };
        let choice = match Decision::new(&planner, &Rules::default(), &call, &limits, false) {
            Ok(Decision { algorithm, prediction }) => {
                [algorithm.to_string(), prediction.map_or_else(String::new, |p| p.segment.to_string())]
            }
            Err(reason) => [format!("stock ({})", reason.name()), String::new()],
        };
        rows.add_row([bytes.to_string()].into_iter().chain(times).chain([stock]).chain(choice));
    }
    let message = planner.message();
    print(&format!(
        "{collective}, {ranks} ranks\n{}\nmessage latency {} microseconds, gap to the next message {}\n\n{rows}\n",
        machine.description,
        message.latency / 1e3,
        message.gap / 1e3
    ))?;
    Ok(ExitCode::SUCCESS)
}
