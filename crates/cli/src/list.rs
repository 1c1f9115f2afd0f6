//! `nagare algorithms` and `nagare fabrics`.

use crate::machine::load_fabric;
use crate::output::{print, table};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::fabric::SHIPPED;
use std::process::ExitCode;

/// Prints the table of algorithms.
pub fn algorithms() -> anyhow::Result<ExitCode> {
    let mut table = table(["algorithm", "implements", "what it is"]);
    for spec in ALGORITHMS {
        let collectives: Vec<&str> = spec.collectives.iter().map(|c| c.name()).collect();
        table.add_row([spec.name, &collectives.join(", "), spec.summary]);
    }
    table.add_row(["stock", "everything", "the MPI library's own (in NAGARE_ALGORITHM)"]);
    print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the networks that come with Nagare.
pub fn fabrics() -> anyhow::Result<ExitCode> {
    let mut table = table(["fabric", "hosts", "switches", "links", "levels", "what it is"]);
    for (name, text) in SHIPPED {
        let fabric = load_fabric(name)?;
        let levels = fabric.levels();
        let levels = levels.iter().map(|l| format!("{} {}", l.name, l.group_count())).collect::<Vec<_>>().join(", ");
        let counts = [fabric.host_count(), fabric.switch_count(), fabric.links().len()].map(|n| n.to_string());
        let [hosts, switches, links] = counts;
        let levels = if levels.is_empty() { "none".to_owned() } else { levels };
        table.add_row([(*name).to_owned(), hosts, switches, links, levels, first_comment(text)]);
    }
    print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The comment a fabric file begins with, its first line.
fn first_comment(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix('#').map_or("", str::trim).to_owned()
}
