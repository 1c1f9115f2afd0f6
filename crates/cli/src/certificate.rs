//! `nagare check --certificate`: whether messages of one round ever meet on a link, for as many ranks as a machine has.

use crate::args::CheckArgs;
use crate::machine::Machine;
use crate::output::{print, print_json};
use crate::plan::{cannot, header, label, planner};
use crate::settings::configuration;
use anyhow::{Context, ensure};
use nagare_plan::collective::Collective;
use nagare_plan::counted;
use nagare_plan::fabric::{Certificate, certify};
use nagare_plan::schedule::{Action, Round, Schedule};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Messages of the largest schedule that is looked at, eight bytes each.
const MOST_MESSAGES: usize = 1 << 27;

/// The JSON form.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    collective: Collective,
    algorithm: &'static str,
    root: u32,
    ranks: u32,
    machine: &'a str,
    #[serde(flatten)]
    certificate: &'a Certificate,
}

/// Prints whether every round is without conflict, or two messages that meet.
pub fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let schedule = &args.schedule;
    let config = configuration();
    let machine = Machine::new(&config, &schedule.ranks, None)?;
    machine.check_root(schedule.root)?;
    let network = machine.network.as_ref();
    let (fabric, placement) = network.context("--fabric is missing: a schedule is checked on a network")?;
    let planner = planner(config, &machine, schedule);
    let (collective, algorithm, root) = (schedule.collective, schedule.algorithm, schedule.root);
    let chunks = planner.chunks(collective, algorithm, schedule.bytes);
    let mut rounds: BTreeMap<Round, Vec<(u32, u32)>> = BTreeMap::new();
    let mut messages = 0;
    let ranks = machine.topology.ranks();
    // The plan of one rank at a time: all of them do not fit into memory where ranks are many.
    for rank in 0..ranks {
        let plan = planner.plan_cut(collective, algorithm, root, rank, chunks).with_context(|| cannot(schedule))?;
        let sends = plan.hops.iter().filter(|hop| hop.action == Action::Send);
        for hop in sends {
            rounds.entry(hop.round).or_default().push((rank, hop.peer));
            messages += 1;
        }
        ensure!(
            messages <= MOST_MESSAGES,
            "{collective} of {ranks} ranks by {algorithm} has more than the {MOST_MESSAGES} messages that are looked at"
        );
    }
    let stages = planner.stages(collective, algorithm);
    let labelled = rounds.iter().map(|(&round, sent)| (label(&stages, algorithm.spec().round, round), sent.as_slice()));
    let certificate = certify(fabric, placement, labelled)?;
    let name = algorithm.name();
    if schedule.json {
        let machine = &machine.description;
        print_json(&Document {
            schema: 1,
            collective,
            algorithm: name,
            root,
            ranks,
            machine,
            certificate: &certificate,
        })?;
    } else {
        let empty = Schedule { collective, algorithm: name.to_owned(), root, stages, plans: Vec::new() };
        print(&format!("{}\n{}", header(&machine, &planner, &empty), told(&certificate)))?;
    }
    let failed = args.deny_conflicts && certificate.counterexample.is_some();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Links of a counterexample that are named; those of two messages that are hashed may be many.
const SHOWN: usize = 4;

fn told(certificate: &Certificate) -> String {
    let rounds = counted(certificate.rounds, "round");
    let messages = counted(certificate.messages as usize, "message");
    let Some(example) = &certificate.counterexample else {
        return format!("every round without conflict: {rounds}, {messages} between hosts\n");
    };
    let mut links: Vec<String> = example.links.iter().map(|link| link.replace("->", "→")).collect();
    if links.len() > SHOWN {
        links.truncate(SHOWN);
        links.push("…".to_owned());
    }
    let [first, second] = [example.first, example.second].map(|(from, to)| format!("{from}→{to}"));
    let (label, links) = (&example.label, links.join(", "));
    match (certificate.in_conflict, certificate.may_conflict) {
        (0, may) => format!(
            "no promise: routing = \"ecmp\" leaves ways to a hash, which may bring messages together in {may} of \
             {rounds}, {messages} between hosts\nthe first: {label}, {first} and {second} may share {links}\n"
        ),
        (certain, may) => {
            let may = if may > 0 { format!(", {may} more where a hash may bring some") } else { String::new() };
            format!(
                "{certain} of {rounds} with conflicts{may}, {messages} between hosts\nthe first: {label}, {first} and \
                 {second} share {links}\n"
            )
        }
    }
}
