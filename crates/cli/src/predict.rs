//! `nagare predict`: what each algorithm is predicted to take on a network, and which runs where no call is measured.

use crate::args::PredictArgs;
use crate::machine::{Machine, levels};
use crate::output::{bytes, print, print_json, table, width};
use crate::settings::configuration;
use anyhow::bail;
use comfy_table::{CellAlignment, Table};
use nagare_bench::limit::limit;
use nagare_bench::operation::Operation;
use nagare_config::Config;
use nagare_plan::Planner;
use nagare_plan::algorithm::{ALGORITHMS, Algorithm, Candidacy, Spec};
use nagare_plan::by_size::{BySize, by_size};
use nagare_plan::choice::Rule;
use nagare_plan::cost::Segments;
use nagare_plan::counted;
use nagare_plan::fabric::Fabric;
use nagare_plan::profile::Measured;
use nagare_plan::stock::{Library, Stock};
use nagare_plan::text::wrapped;
use nagare_plan::topology::{Costs, Transport};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// A line, where predictions take the link of some host to be slower than the fabric's file says.
fn software(planner: &Planner) -> String {
    let most = planner.context().most_sent();
    let is_faster =
        |fabric: &Fabric| fabric.hosts().any(|host| fabric.links_of(host).iter().any(|&link| fabric.mbit(link) > most));
    let tells = planner.topology().network().is_some_and(|network| is_faster(network.fabric()));
    if tells { format!("a rank sends at most {most:.0} Mbit/s, as over TCP\n") } else { String::new() }
}

/// What Open MPI sends over TCP without asking, bytes: 64 KiB with its header.
const EAGER: u64 = 65280;

/// The JSON form.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    collective: &'static str,
    ranks: u32,
    nodes: u32,
    machine: &'a str,
    sizes: &'a [Size],
}

/// One size.
#[derive(Serialize)]
struct Size {
    /// What runs where no call is measured.
    #[serde(flatten)]
    unmeasured: BySize,
    /// Predicted, of the algorithms that have a prediction.
    algorithms_ms: BTreeMap<&'static str, f64>,
    /// Predicted of the MPI library's own, unless there are too many ranks.
    stock_ms: Option<f64>,
    /// The least that the links allow, on a fabric.
    limit_ms: Option<f64>,
}

/// Prints the predicted time of every algorithm and of the MPI library by size, and the choice.
pub fn run(args: &PredictArgs) -> anyhow::Result<ExitCode> {
    let config = configuration();
    let mut machine = Machine::new(&config, &args.ranks, args.topology.as_deref())?;
    let rules = match &args.profile {
        Some(path) => config.rules.before(&measured(&mut machine, path)?),
        None => config.rules.clone(),
    };
    let library: Library = args.library.into();
    let (transport, carried) = match library {
        _ if args.ranks.lossless => (Some(Transport::Rdma), args.segment),
        Library::Mpich | Library::Other => (Some(Transport::Tcp), args.segment),
        // The limit of segments tells Open MPI's own TCP from others, which carry longer ones.
        _ => (Some(Transport::OpenMpiTcp).filter(|_| args.segment <= EAGER), EAGER),
    };
    let stock = Stock::new(library, transport, carried);
    let options = config.options(args.ranks.lossless);
    let planner = Planner::with_options(machine.topology.clone(), options).with_stock(stock);
    let unmeasured = by_size(&planner, &rules, &config.limits(args.segment), args.collective, &args.sizes);
    let sizes: Vec<Size> =
        unmeasured.into_iter().map(|unmeasured| size(args, &config, &machine, &planner, unmeasured)).collect();
    let (ranks, nodes) = (machine.topology.ranks(), machine.topology.node_count());
    if args.json {
        let collective = args.collective.name();
        print_json(&Document { schema: 1, collective, ranks, nodes, machine: &machine.description, sizes: &sizes })?;
        return Ok(ExitCode::SUCCESS);
    }
    let message = planner.message();
    let able = ALGORITHMS.iter().find(|spec| spec.collectives.contains(&args.collective));
    let mut text = format!(
        "{}, {}\n{}\nlevels: {}\nmessage latency {} microseconds, gap to the next message {}\n{}\n{}\n",
        args.collective,
        counted(ranks, "rank"),
        machine.description,
        levels(able.map_or_else(|| planner.context(), |spec| planner.context_of(spec.algorithm))),
        message.latency / 1e3,
        message.gap / 1e3,
        software(&planner),
        shown(args, &sizes)
    );
    text += "milliseconds; * is what runs where no call is measured\n";
    for reason in sizes.iter().filter_map(|size| size.unmeasured.reason).collect::<BTreeSet<_>>() {
        let of: Vec<String> =
            sizes.iter().filter(|s| s.unmeasured.reason == Some(reason)).map(|s| bytes(s.unmeasured.bytes)).collect();
        let _ = writeln!(text, "stock at {}: {reason}", of.join(", "));
    }
    text += &untold(args, &sizes, &planner);
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What the profile at `path` knows of the machine: costs, which become the machine's, and what was the fastest. A job
/// also looks whether it was measured with its library over its transport.
fn measured(machine: &mut Machine, path: &Path) -> anyhow::Result<Vec<Rule>> {
    let profile = crate::profile::read(path)?;
    let Measured { mpi, transport, .. } = &profile.measured;
    let topology = &machine.topology;
    if let Some(misfit) = profile.misfit(mpi, transport, &topology.network_name()) {
        bail!("{}: {misfit}", path.display());
    }
    let rules = profile.rules(topology.ranks(), topology.node_count(), &topology.arrangement());
    machine.topology = topology.clone().with_costs(profile.costs.or_else(topology.costs()));
    let cells = match (profile.cells.is_empty(), rules.is_empty()) {
        (true, _) => "; it says of no size what is the fastest",
        (false, true) => "; its sizes were measured on other ranks, nodes or places",
        (false, false) => "",
    };
    let costs = if profile.costs == Costs::default() { "; it knows no costs" } else { "" };
    machine.description += &format!("\nprofile {}{cells}{costs}", path.display());
    Ok(rules)
}

/// What is not chosen by predicted time, and why rows have no times.
fn untold(args: &PredictArgs, sizes: &[Size], planner: &Planner) -> String {
    let collective = args.collective;
    let is_untold = |spec: &&Spec| sizes.iter().all(|size| !size.algorithms_ms.contains_key(spec.name));
    let rows = || ALGORITHMS.iter().filter(|spec| spec.collectives.contains(&collective));
    let fits = |spec: &&Spec| {
        let fitting = |bytes| planner.fitting(collective, bytes, Segments::AtMost(args.segment));
        let bytes = || sizes.iter().map(|size| size.unmeasured.bytes);
        bytes().any(|bytes| planner.suits(spec, collective, bytes) || fitting(bytes) == Some(spec.algorithm))
    };
    let is_compared = |spec: &&Spec| spec.algorithm == Algorithm::Relay && fits(spec);
    let by_the_network = if rows().any(|spec| is_compared(&spec)) {
        "chosen by the network, unless the library is predicted to be as fast"
    } else {
        "chosen by the network, not by predicted time"
    };
    let exchanges = rows().filter(|spec| spec.candidacy != Candidacy::Default);
    let (by_network, others): (Vec<&Spec>, Vec<&Spec>) = exchanges.partition(fits);
    let (tried, forced): (Vec<&Spec>, Vec<&Spec>) =
        others.into_iter().partition(|spec| spec.candidacy == Candidacy::Trial);
    let mut text = String::new();
    for (specs, why) in [
        (by_network, by_the_network),
        (
            tried,
            "may be tried in calls that are measured, by what is predicted \
             (docs/algorithms.md, \"What runs by default\")",
        ),
        (forced, "run where NAGARE_ALGORITHM says so"),
        (rows().filter(is_untold).collect(), "not predicted here: the same as another row, or too much to look at"),
    ] {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        if !names.is_empty() {
            // Writing to a String cannot fail.
            text += &wrapped(&format!("{}: {why}", names.join(", ")), width(), 2);
        }
    }
    if sizes.iter().all(|size| size.stock_ms.is_none()) {
        text += "stock: not predicted on so many ranks\n";
    }
    text
}

fn size(args: &PredictArgs, config: &Config, machine: &Machine, planner: &Planner, unmeasured: BySize) -> Size {
    let (collective, bytes) = (args.collective, unmeasured.bytes);
    let segments = config.segment.map_or(Segments::AtMost(args.segment), Segments::Exactly);
    let milliseconds = |nanoseconds: f64| nanoseconds / 1e6;
    let candidates = planner.demands(collective).into_iter().map(|(algorithm, _)| algorithm);
    let predicted = candidates.filter_map(|algorithm| {
        let time = planner.predicted(collective, algorithm, bytes, segments)?.time;
        Some((algorithm.name(), milliseconds(time)))
    });
    let operation = Operation::usual().find(|operation| operation.planned() == Some(collective));
    let network = operation.zip(machine.network.as_ref());
    let least = network.map(|(operation, (fabric, placement))| limit(fabric, placement, operation, 0, bytes).seconds);
    Size {
        unmeasured,
        algorithms_ms: predicted.collect(),
        stock_ms: planner.stock_time(collective, bytes).map(milliseconds),
        limit_ms: least.map(|seconds| seconds * 1e3),
    }
}

/// A row for every algorithm, a column for every size.
fn shown(args: &PredictArgs, sizes: &[Size]) -> Table {
    let mut rows = table([String::new()].into_iter().chain(sizes.iter().map(|size| bytes(size.unmeasured.bytes))));
    let cell = |time: Option<f64>, runs: bool| {
        let time = time.map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"));
        if runs { format!("{time} *") } else { time }
    };
    for name in Algorithm::names(Some(args.collective)) {
        let cells =
            sizes.iter().map(|size| cell(size.algorithms_ms.get(name).copied(), size.unmeasured.runs == Some(name)));
        rows.add_row([name.to_owned()].into_iter().chain(cells));
    }
    let stock = sizes.iter().map(|size| cell(size.stock_ms, size.unmeasured.reason.is_some()));
    rows.add_row(["stock".to_owned()].into_iter().chain(stock));
    if sizes.iter().any(|size| size.limit_ms.is_some()) {
        let least = sizes.iter().map(|size| cell(size.limit_ms, false));
        rows.add_row(["limit of the links".to_owned()].into_iter().chain(least));
    }
    if sizes.iter().any(|size| size.unmeasured.segment.is_some()) {
        let segments = sizes.iter().map(|size| size.unmeasured.segment.map_or_else(|| "-".to_owned(), bytes));
        rows.add_row(["segment, bytes".to_owned()].into_iter().chain(segments));
    }
    rows.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    rows
}
