//! `nagare check`.

use crate::args::CheckArgs;
use crate::machine::Machine;
use crate::output::{bytes, print, print_json, table};
use crate::plan::{header, whole};

use anyhow::Context;
use nagare_plan::algorithm::Planner;
use nagare_plan::collective::Collective;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::{CheckReport, Conflict, Fabric, LinkUse, Round, Transfer, check};
use nagare_plan::schedule::{Move, Schedule};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

/// How the proof cuts vectors up: small enough that streams have several segments and run out of window.
const PACING: Pacing = Pacing { segment: 3, window: 2, flow: None };

/// The JSON form.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    collective: Collective,
    algorithm: &'a str,
    root: u32,
    ranks: u32,
    machine: &'a str,
    bytes: u64,
    /// Whether the schedule ends and every result is right.
    right: bool,
    /// What is wrong.
    wrong: Option<String>,
    network: &'a CheckReport,
}

/// Plays the schedule and prints what was found.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let machine = Machine::new(&args.schedule.ranks, None)?;
    machine.check_root(args.schedule.root)?;
    let network = machine.network.as_ref();
    let (fabric, placement) = network.context("--fabric is missing: a schedule is checked on a network")?;
    let planner = Planner::new(machine.topology.clone());
    let schedule = whole(&planner, &args.schedule)?;
    let rounds = rounds(&schedule, args.schedule.algorithm.spec().round, args.bytes);
    let report = check(fabric, placement, &rounds)?;
    // Alltoall's units are per pair of ranks: of many ranks one each is enough, and all that memory holds.
    let units = if schedule.collective == Collective::Alltoall && schedule.plans.len() > 256 { 1 } else { 15 };
    let wrong = play(&schedule, units, PACING, true).err().map(|error| error.to_string());

    if args.schedule.json {
        print_json(&Document {
            schema: 1,
            collective: schedule.collective,
            algorithm: &schedule.algorithm,
            root: schedule.root,
            ranks: machine.topology.ranks(),
            machine: &machine.description,
            bytes: args.bytes,
            right: wrong.is_none(),
            wrong: wrong.clone(),
            network: &report,
        })?;
    } else {
        let proof = match &wrong {
            None => {
                "right: it ends though every send waits for its receive, and every contribution arrives exactly once"
            }
            Some(error) => &format!("WRONG: {error}"),
        };
        let mut text = header(&machine, &schedule);
        let _ = writeln!(text, "{proof}\n");
        write_links(&mut text, fabric, &report, args.bytes);
        write_conflicts(&mut text, &report.conflicts, args.limit);
        print(&text)?;
    }
    let failed = wrong.is_some() || (args.deny_conflicts && !report.conflicts.is_empty());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The schedule as rounds of messages, for vectors (Alltoall: blocks) of `bytes` bytes.
fn rounds(schedule: &Schedule, word: &str, bytes: u64) -> Vec<Round> {
    let mut rounds: BTreeMap<_, Round> = BTreeMap::new();
    for m in schedule.moves() {
        let stage = schedule.stages.get(usize::from(m.round.stage)).map_or("", String::as_str);
        let label = if stage == word {
            format!("{word} {}", m.round.step)
        } else {
            format!("{stage}, {word} {}", m.round.step)
        };
        let round = rounds.entry(m.round).or_insert(Round { label, transfers: Vec::new() });
        round.transfers.push(Transfer { from: m.from, to: m.to, bytes: size(schedule.collective, &m, bytes) });
    }
    rounds.into_values().collect()
}

/// Bytes of one transfer. Part i of k begins at byte ⌊i·bytes/k⌋, as everywhere.
fn size(collective: Collective, m: &Move, bytes: u64) -> u64 {
    if collective == Collective::Alltoall {
        return bytes * u64::from(m.parts.count);
    }
    let bound = |part: u32| (u128::from(bytes) * u128::from(part) / u128::from(m.of.max(1))) as u64;
    bound(m.parts.end()) - bound(m.parts.first)
}

fn write_links(text: &mut String, fabric: &Fabric, report: &CheckReport, vector: u64) {
    let _ = writeln!(
        text,
        "{} rounds, {} transfers between hosts, {} each",
        report.rounds,
        report.transfers,
        bytes(vector)
    );
    let mut both: BTreeMap<usize, [Option<&LinkUse>; 2]> = BTreeMap::new();
    for used in &report.links {
        both.entry(used.link.link()).or_default()[used.link.index() % 2] = Some(used);
    }
    let mut links = table(["link a — b", "Mbit/s", "bytes a → b", "bytes b → a", "most at once →", "←"]);
    for (link, directions) in both {
        let link = &fabric.links()[link];
        let moved = directions.map(|d| d.map_or_else(|| "0".to_owned(), |u| bytes(u.bytes)));
        let most = directions.map(|d| d.map_or(0, |u| u.most_at_once).to_string());
        let name = format!("{} — {}", fabric.node_name(link.a), fabric.node_name(link.b));
        let rate = (link.mbit * f64::from(link.parallel)).to_string();
        let ([forth, back], [most_forth, most_back]) = (moved, most);
        links.add_row([name, rate, forth, back, most_forth, most_back]);
    }
    if report.links.is_empty() {
        return;
    }
    let _ = writeln!(text, "{links}");
    let seconds = |used: &LinkUse| used.bytes as f64 * 8.0 / (used.mbit * 1e6);
    if let Some(busiest) = report.links.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))) {
        let _ = writeln!(
            text,
            "busiest: {} → {}, {} ({:.2} × {}), at least {:.6} s at {} Mbit/s",
            busiest.from,
            busiest.to,
            bytes(busiest.bytes),
            busiest.bytes as f64 / vector as f64,
            bytes(vector),
            seconds(busiest),
            busiest.mbit
        );
    }
}

fn write_conflicts(text: &mut String, conflicts: &[Conflict], limit: usize) {
    if conflicts.is_empty() {
        text.push_str("\nno conflicts\n");
        return;
    }
    let shown = if limit == 0 { conflicts.len() } else { limit.min(conflicts.len()) };
    let _ = writeln!(text, "\n{} conflicts: transfers of one round that share a link", conflicts.len());
    let mut table = table(["round", "transfer", "and", "share"]);
    for c in &conflicts[..shown] {
        let transfer = |t: Transfer| format!("{}→{}", t.from, t.to);
        let links: Vec<String> = c.links.iter().map(|l| l.replace("->", "→")).collect();
        table.add_row([c.label.clone(), transfer(c.first), transfer(c.second), links.join(", ")]);
    }
    let _ = writeln!(text, "{table}");
    if shown < conflicts.len() {
        let _ = writeln!(text, "… and {} more; --limit 0 prints all", conflicts.len() - shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_plan::schedule::{self, Parts, Space};

    #[test]
    fn parts_of_a_vector_add_up_to_it() {
        let part = |first, space| Move {
            round: schedule::Round { stage: 0, step: 0 },
            from: 0,
            to: 1,
            parts: Parts { space, first, count: 1 },
            of: 2,
        };
        let half = |first| size(Collective::Bcast, &part(first, Space::Vector), 1001);
        assert_eq!((half(0), half(1)), (500, 501));
        assert_eq!(size(Collective::Alltoall, &part(1, Space::Input), 1001), 1001);
    }
}
