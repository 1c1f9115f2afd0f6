//! `nagare check`: plays a schedule on a network, and shows rounds, bytes per link, conflicts and wrong results.

use crate::args::CheckArgs;
use crate::certificate;
use crate::machine::Machine;
use crate::output::{bytes, print, print_json, table, width};
use crate::plan::{header, label, planner, whole};
use crate::settings::configuration;

use anyhow::Context;
use nagare_plan::collective::Collective;
use nagare_plan::counted;
use nagare_plan::execute::{Pacing, play};
use nagare_plan::fabric::{
    CheckReport, Conflict, Fabric, LinkTime, LinkUse, Overload, Placement, Round, Routing, Timeline, Transfer,
    bytes_of, check, steps, timeline,
};
use nagare_plan::schedule::Schedule;
use nagare_plan::text::wrapped;
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
    /// Of an exchange: the whole of it in time.
    timeline: Option<&'a Timeline>,
    /// Of an exchange: time of its steps relative to what they take without head-of-line blocking, the largest and the
    /// mean.
    head_of_line: Option<[f64; 2]>,
}

/// Transfers of the largest exchange that is played in time.
const MOST_PLAYED: usize = 1 << 17;

/// Plays the schedule and prints what was found.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    if args.certificate {
        return certificate::run(args);
    }
    let config = configuration();
    let machine = Machine::new(&config, &args.schedule.ranks, None)?;
    machine.check_root(args.schedule.root)?;
    let network = machine.network.as_ref();
    let (fabric, placement) = network.context("--fabric is missing: a schedule is checked on a network")?;
    let (algorithm, bytes) = (args.schedule.algorithm, args.schedule.bytes);
    let planner = planner(config, &machine, &args.schedule);
    let schedule = whole(&planner, &args.schedule)?;
    let rounds = rounds(&schedule, algorithm.spec().round, bytes);
    let report = check(fabric, placement, &rounds)?;
    // Units are per pair of ranks where there are blocks: of many ranks one each is enough, and all that memory holds.
    let units = if has_blocks(schedule.collective) && schedule.plans.len() > 256 { 1 } else { 15 };
    let wrong = play(&schedule, units, PACING, true).err().map(|error| error.to_string());
    let exchange = has_blocks(schedule.collective) && wrong.is_none();
    let played = exchange && report.transfers <= MOST_PLAYED;
    let flow = planner.exchange_pacing(algorithm, bytes).and_then(|pacing| pacing.flow);
    let behind = flow.map(|flow| flow.behind);
    let in_time = played.then(|| timeline(&schedule, fabric, &placement.adapters(fabric), bytes, behind));
    let in_time = in_time.transpose()?;
    let head_of_line = exchange.then(|| head_of_line(&schedule, placement));
    // Rounds of an exchange do not wait for one another: what meets is seen in time only.
    let conflicts = in_time.as_ref().map_or(report.conflicts.len(), |t| t.conflicts().len());
    let hashed = worst(fabric, &report);

    if args.schedule.json {
        print_json(&Document {
            schema: 1,
            collective: schedule.collective,
            algorithm: &schedule.algorithm,
            root: schedule.root,
            ranks: machine.topology.ranks(),
            machine: &machine.description,
            bytes,
            right: wrong.is_none(),
            wrong: wrong.clone(),
            network: &report,
            timeline: in_time.as_ref(),
            head_of_line,
        })?;
    } else {
        let proof = match &wrong {
            None => {
                "right: it ends even if every send waits for its receive, and every contribution arrives exactly once"
            }
            Some(error) => &format!("WRONG: {error}"),
        };
        let mut text = header(&machine, &planner, &schedule);
        let _ = writeln!(text, "\n{}", told(proof));
        write_summary(&mut text, &report, bytes);
        if let Some(link) = hashed {
            let line = format!(
                "routing = \"ecmp\": bytes are those to be expected; a hash may bring {} transfers of a round together \
                 on {} → {}, where {:.2} are to be expected",
                link.most_at_once, link.from, link.to, link.expected_at_once
            );
            let _ = writeln!(text, "{}", told(&line));
        }
        if let Some([most, mean]) = head_of_line {
            let line =
                format!("head of line: blocking makes the steps {most:.3} times as long at most, {mean:.3} on average");
            let _ = writeln!(text, "{}", told(&line));
        }
        if args.links {
            write_links(&mut text, fabric, &report);
        }
        match &in_time {
            Some(timeline) => write_timeline(&mut text, timeline, fabric, args.limit),
            None => write_conflicts(&mut text, &report.conflicts, hashed.is_some(), args.limit),
        }
        print(&text)?;
    }
    let conflicts = conflicts + usize::from(in_time.is_none() && hashed.is_some());
    let failed = wrong.is_some() || (args.deny_conflicts && conflicts > 0);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The schedule as rounds of messages, for vectors (Alltoall, Gather, Scatter, Allgather, Reduce_scatter: blocks) of
/// `bytes` bytes.
fn rounds(schedule: &Schedule, word: &str, bytes: u64) -> Vec<Round> {
    let mut rounds: BTreeMap<_, Round> = BTreeMap::new();
    let slices = schedule.slices();
    for m in schedule.moves() {
        let label = label(&schedule.stages, word, m.round);
        let round = rounds.entry(m.round).or_insert(Round { label, transfers: Vec::new() });
        round.transfers.push(Transfer { from: m.from, to: m.to, bytes: bytes_of(m.parts, m.of, slices, bytes) });
    }
    rounds.into_values().collect()
}

/// Whether steps of whole messages follow one another, where the other collectives are pipelines.
fn has_blocks(collective: Collective) -> bool {
    !matches!(collective, Collective::Reduce | Collective::Bcast | Collective::Allreduce)
}

/// The largest and the mean time of all steps in which something passes a switch; 1 each where nothing does.
fn head_of_line(schedule: &Schedule, placement: &Placement) -> [f64; 2] {
    let nodes: Vec<u32> = placement.hosts().iter().map(|host| host.0).collect();
    let of_step = steps(&schedule.moves(), &nodes).into_iter().filter(|step| !step.sent.is_empty());
    let times: Vec<f64> = of_step.map(|step| step.relative_time()).collect();
    let most = times.iter().copied().fold(1.0, f64::max);
    let mean = if times.is_empty() { 1.0 } else { times.iter().sum::<f64>() / times.len() as f64 };
    [most, mean]
}

/// A line, which goes on below where a terminal ends.
fn told(line: &str) -> String {
    wrapped(line, width(), 2).trim_end().to_owned()
}

fn write_summary(text: &mut String, report: &CheckReport, vector: u64) {
    let (rounds, transfers) = (counted(report.rounds, "round"), counted(report.transfers, "transfer"));
    let _ = writeln!(text, "{rounds}, {transfers} between hosts, {} each", bytes(vector));
    let seconds = |used: &LinkUse| used.bytes as f64 * 8.0 / (used.mbit * 1e6);
    if let Some(busiest) = report.links.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b))) {
        let line = format!(
            "busiest link: {} → {}, {} ({:.2} × {}), at least {:.6} s at {} Mbit/s",
            busiest.from,
            busiest.to,
            bytes(busiest.bytes),
            busiest.bytes as f64 / vector as f64,
            bytes(vector),
            seconds(busiest),
            busiest.mbit
        );
        let _ = writeln!(text, "{}", told(&line));
    }
}

/// The link where a hash may bring most transfers of a round together for each cable.
fn worst<'r>(fabric: &Fabric, report: &'r CheckReport) -> Option<&'r LinkUse> {
    let per_cable = |used: &LinkUse| used.most_at_once as f64 / f64::from(fabric.parallel(used.link));
    let links = report.links.iter().filter(|used| used.may_meet(fabric));
    // Of equal ones the first.
    links.rev().max_by(|a, b| per_cable(a).total_cmp(&per_cable(b)))
}

fn write_links(text: &mut String, fabric: &Fabric, report: &CheckReport) {
    if report.links.is_empty() {
        return;
    }
    let mut both: BTreeMap<usize, [Option<&LinkUse>; 2]> = BTreeMap::new();
    for used in &report.links {
        both.entry(used.link.link()).or_default()[used.link.index() % 2] = Some(used);
    }
    let mut links = table(["link", "Mbit/s", "bytes there", "and back", "transfers at once there", "and back"]);
    for (link, directions) in both {
        let link = &fabric.links()[link];
        let moved = directions.map(|d| d.map_or_else(|| "0".to_owned(), |u| bytes(u.bytes)));
        let most = directions.map(|d| match d {
            Some(used) if used.expected_at_once < used.most_at_once as f64 => {
                format!("{:.2}, up to {}", used.expected_at_once, used.most_at_once)
            }
            used => used.map_or(0, |used| used.most_at_once).to_string(),
        });
        let name = format!("{} — {}", fabric.node_name(link.a), fabric.node_name(link.b));
        let rate = (link.mbit * f64::from(link.parallel)).to_string();
        let ([forth, back], [most_forth, most_back]) = (moved, most);
        links.add_row([name, rate, forth, back, most_forth, most_back]);
    }
    let _ = writeln!(text, "\n{links}");
}

fn write_conflicts(text: &mut String, conflicts: &[Conflict], hashed: bool, limit: usize) {
    if conflicts.is_empty() {
        text.push_str(if hashed { "\nno conflict for certain\n" } else { "\nno conflicts\n" });
        return;
    }
    let shown = if limit == 0 { conflicts.len() } else { limit.min(conflicts.len()) };
    let count = counted(conflicts.len(), "conflict");
    let _ = writeln!(text, "\n{count}: transfers of one round that share a link");
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

fn write_timeline(text: &mut String, timeline: &Timeline, fabric: &Fabric, limit: usize) {
    let tokens = match timeline.tokens {
        0 => String::new(),
        1 => " and one token".to_owned(),
        tokens => format!(" and {tokens} tokens"),
    };
    let drawn = if fabric.routing() == Routing::Ecmp { " on ways drawn by a hash" } else { "" };
    let line = format!(
        "in time: {}{tokens}{drawn} take {:.6} s, {:.2} times what the busiest link needs at least",
        counted(timeline.messages, "message"),
        timeline.finish,
        timeline.ratio()
    );
    let _ = writeln!(text, "{}", told(&line));
    let conflicts = timeline.conflicts();
    if conflicts.is_empty() {
        text.push_str("\nno conflicts\n");
        return;
    }
    let shown = if limit == 0 { conflicts.len() } else { limit.min(conflicts.len()) };
    let links = if conflicts.len() == 1 { "one link gets" } else { &format!("{} links get", conflicts.len()) };
    let _ = writeln!(text, "\nconflicts: {links} more than can pass, longest first");
    let mut table = table(["link", "of the time", "first from s", "to s", "most in ÷ out", "messages"]);
    for link in &conflicts[..shown] {
        let most = |of: fn(&Overload) -> f64| link.overloads.iter().map(of).fold(0.0, f64::max);
        let first = link.overloads[0];
        table.add_row([
            format!("{} → {}", link.from, link.to),
            percent(link, timeline),
            format!("{:.6}", first.start),
            format!("{:.6}", first.end),
            format!("{:.2}", most(|o| o.demand)),
            most(|o| o.messages as f64).to_string(),
        ]);
    }
    let _ = writeln!(text, "{table}");
    if shown < conflicts.len() {
        let _ = writeln!(text, "… and {} more; --limit 0 prints all", conflicts.len() - shown);
    }
}

fn percent(link: &LinkTime, timeline: &Timeline) -> String {
    format!("{:.1} %", 100.0 * link.overloaded() / timeline.finish)
}
