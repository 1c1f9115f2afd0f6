//! `nagare algorithms` and `nagare fabrics`.

use crate::machine::{load_fabric, load_with_levels};
use crate::output::{print, print_json, table, tell};
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::fabric::{self, Fabric, LevelChoice, SHIPPED, shipped};
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
    /// Those that count.
    levels: Vec<Level>,
    /// Those that could count as well.
    further_levels: Vec<Level>,
    what: String,
}

#[derive(Serialize)]
struct Level {
    name: String,
    groups: usize,
}

impl Network {
    fn new(name: &str, fabric: &Fabric, what: String) -> Self {
        let counting = fabric.levels();
        let mut further = fabric.levels_by(&LevelChoice::All);
        further.retain(|level| !counting.contains(level));
        let shown = |level: fabric::Level| Level { groups: level.group_count(), name: level.name };
        let shown = |levels: Vec<fabric::Level>| levels.into_iter().map(shown).collect();
        let [hosts, switches, links] = [fabric.host_count(), fabric.switch_count(), fabric.links().len()];
        let (levels, further_levels) = (shown(counting), shown(further));
        Self { fabric: name.to_owned(), hosts, switches, links, levels, further_levels, what }
    }
}

/// Prints the networks that come with Nagare, or those of the files named. A file that is wrong is one line; the others
/// are shown, and the status is 1.
pub fn fabrics(files: &[String], levels: Option<&LevelChoice>, json: bool) -> anyhow::Result<ExitCode> {
    let mut networks = Vec::new();
    for (name, text) in SHIPPED.iter().filter(|_| files.is_empty()) {
        networks.push(Network::new(name, &load_fabric(name)?, first_comment(text)));
    }
    for file in files {
        match load_with_levels(file, levels) {
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
        let mut table = table(["fabric", "hosts", "switches", "links", "levels", "further levels", "what it is"]);
        for Network { fabric, hosts, switches, links, levels, further_levels, what } in &networks {
            let [levels, further] = [levels, further_levels].map(|levels| {
                let levels: Vec<String> = levels.iter().map(|l| format!("{} {}", l.name, l.groups)).collect();
                if levels.is_empty() { "none".to_owned() } else { levels.join(", ") }
            });
            let [hosts, switches, links] = [hosts, switches, links].map(ToString::to_string);
            table.add_row([fabric.clone(), hosts, switches, links, levels, further, what.clone()]);
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
