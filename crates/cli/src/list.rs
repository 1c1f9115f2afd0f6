//! `nagare algorithms` and `nagare fabrics`.

use crate::machine::load_fabric;
use crate::output::{print, print_json, table, tell};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::fabric::{Fabric, SHIPPED, shipped};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    implements: Vec<&'a str>,
    what: &'a str,
}

/// Prints the table of algorithms.
pub fn algorithms(json: bool) -> anyhow::Result<ExitCode> {
    let rows = ALGORITHMS.iter().map(|spec| Row {
        name: spec.name,
        implements: spec.collectives.iter().map(|c| c.name()).collect(),
        what: spec.summary,
    });
    if json {
        print_json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(["algorithm", "implements", "what it is"]);
    for row in rows {
        table.add_row([row.name, &row.implements.join(", "), row.what]);
    }
    table.add_row(["stock", "everything", "the MPI library's own (in NAGARE_ALGORITHM)"]);
    print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Network {
    /// Name, or file.
    fabric: String,
    hosts: usize,
    switches: usize,
    links: usize,
    levels: Vec<Level>,
    what: String,
}

#[derive(Serialize)]
struct Level {
    name: String,
    groups: usize,
}

impl Network {
    fn new(name: &str, fabric: &Fabric, what: String) -> Self {
        let levels = fabric.levels();
        let levels = levels.iter().map(|l| Level { name: l.name.clone(), groups: l.group_count() }).collect();
        let [hosts, switches, links] = [fabric.host_count(), fabric.switch_count(), fabric.links().len()];
        Self { fabric: name.to_owned(), hosts, switches, links, levels, what }
    }
}

/// Prints the networks that come with Nagare, or those of the files named. A file that is wrong is one line; the others
/// are shown, and the status is 1.
pub fn fabrics(files: &[String], json: bool) -> anyhow::Result<ExitCode> {
    let mut networks = Vec::new();
    for (name, text) in SHIPPED.iter().filter(|_| files.is_empty()) {
        networks.push(Network::new(name, &load_fabric(name)?, first_comment(text)));
    }
    for file in files {
        match load_fabric(file) {
            Ok(fabric) => {
                let text =
                    shipped(file).map_or_else(|| std::fs::read_to_string(file).unwrap_or_default(), str::to_owned);
                networks.push(Network::new(file, &fabric, first_comment(&text)));
            }
            Err(error) => tell!("{error:#}"),
        }
    }
    if json {
        print_json(&networks)?;
    } else if !networks.is_empty() {
        let mut table = table(["fabric", "hosts", "switches", "links", "levels", "what it is"]);
        for Network { fabric, hosts, switches, links, levels, what } in &networks {
            let levels: Vec<String> = levels.iter().map(|level| format!("{} {}", level.name, level.groups)).collect();
            let levels = if levels.is_empty() { "none".to_owned() } else { levels.join(", ") };
            let [hosts, switches, links] = [hosts, switches, links].map(ToString::to_string);
            table.add_row([fabric.clone(), hosts, switches, links, levels, what.clone()]);
        }
        print(&format!("{table}\n"))?;
    }
    Ok(if networks.len() >= files.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The comment a fabric file begins with, its first line.
fn first_comment(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix('#').map_or("", str::trim).to_owned()
}
