//! What a run of `nagare bench` leaves: files, tables, and what disturbed it.

use crate::bench_table::{legend, network, numbers, root, series, suggestion, timings};
use crate::output::{print, tell};
use anyhow::Context;
use nagare_bench::operation::Operation;
use nagare_bench::plot::svg;
use nagare_bench::record::Results;
use std::fs;
use std::path::Path;

/// Processors kept busy by other programs above which figures cannot be trusted.
const BUSY: f64 = 0.25;

/// Processors and kernel.
pub fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = info.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cores} × {}, Linux {}", model.map_or("unknown processor", |(_, model)| model), kernel.trim())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// Writes the plots, one for each operation that was measured, into `out`; how many there are.
pub fn draw(results: &Results, out: &Path) -> anyhow::Result<usize> {
    let plots = Operation::ALL.into_iter().filter_map(|operation| Some((operation, svg(results, operation)?)));
    let mut count = 0;
    for (operation, text) in plots {
        write(&out.join(format!("{}-{operation}.svg", results.name)), &text)?;
        count += 1;
    }
    Ok(count)
}

/// Files and tables.
pub fn finish(results: &Results, out: &Path) -> anyhow::Result<()> {
    write(&out.join(format!("{}.json", results.name)), &results.to_lines()?)?;
    let plots = draw(results, out)?;
    let Results { fabric, map, machine, job, name, .. } = results;
    let nagare = job.nagare.as_deref().map_or("without Nagare".to_owned(), |version| format!("Nagare {version}"));
    let congestion = job.congestion.as_deref().unwrap_or("unknown");
    let suggestion = suggestion(results).map(|lines| format!("for the fabric's file:\n{lines}")).unwrap_or_default();
    let series = series(results);
    print(&format!(
        "{fabric}, {} ranks, map {map}{}{}{series}; {}, {nagare}; TCP congestion control {congestion}; \
         {machine}\n\n{}{suggestion}\n{}{}\n\
         written: {name}.json and {plots} plot(s) in {}\n",
        job.hosts.len(),
        root(results),
        numbers(results),
        job.mpi,
        network(results).boxed(),
        timings(results).boxed(),
        legend(results),
        out.display()
    ))?;
    if let Some(text) = disturbance(results) {
        tell!("{text}");
    }
    if !results.complete {
        tell!("the benchmark did not come to its end; what it measured until then is above");
    }
    Ok(())
}

/// What other programs did meanwhile, if that was much.
pub fn disturbance(results: &Results) -> Option<String> {
    let (cells, disturbed) = (results.cells.len(), results.disturbed(BUSY));
    let meanwhile =
        format!("other programs used more than {BUSY} of a processor during {disturbed} of {cells} measurements");
    let before = results.others.filter(|&others| others > BUSY);
    let before =
        before.map(|others| format!("other programs used {others:.1} processors during the test of the network"));
    let found: Vec<String> = before.into_iter().chain((disturbed > 0).then_some(meanwhile)).collect();
    (!found.is_empty()).then(|| format!("{}: not all times are those of the links", found.join(", ")))
}
