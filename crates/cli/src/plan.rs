//! `nagare plan`: the schedule of a collective, of all ranks or of one.

use crate::args::{PlanArgs, ScheduleArgs};
use crate::machine::{Machine, dimensions, levels};
use crate::output::{fitted, print, print_json};
use crate::settings::configuration;
use crate::tables::rank_tables;
use anyhow::{Context, ensure};
use nagare_config::Config;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::counted;
use nagare_plan::pattern::{Partners, Steps};
use nagare_plan::schedule::{Round, Schedule, send_tables};
use nagare_plan::topology::Topology;
use serde::Serialize;
use std::fmt::Write;
use std::process::ExitCode;

/// Transfers of the largest schedule that is made as a whole, about 1 GiB.
const MOST_TRANSFERS: u64 = 1 << 23;

/// The JSON form.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    ranks: u32,
    machine: &'a str,
    topology: &'a Topology,
    #[serde(flatten)]
    schedule: &'a Schedule,
}

/// Prints the schedule, or one rank's part of it.
pub fn run(args: &PlanArgs) -> anyhow::Result<ExitCode> {
    let config = configuration();
    let machine = Machine::new(&config, &args.schedule.ranks, args.topology.as_deref())?;
    machine.check_root(args.schedule.root)?;
    let planner = planner(config, &machine, &args.schedule);
    let schedule = match args.rank {
        Some(rank) => of_one_rank(&planner, &args.schedule, rank)?,
        None => whole(&planner, &args.schedule)?,
    };
    if args.schedule.json {
        let Machine { topology, description, .. } = &machine;
        let ranks = topology.ranks();
        let document = Document { schema: 1, ranks, machine: description, topology, schedule: &schedule };
        print_json(&document)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = header(&machine, &planner, &schedule);
    if args.rank.is_none() {
        text.push('\n');
        for table in send_tables(&schedule) {
            text += &fitted(&table.to_string());
        }
    }
    if args.rank.is_some() || args.tables {
        for (stage, table) in rank_tables(&schedule.stages, &schedule.plans, args.schedule.algorithm) {
            let _ = write!(text, "\n{stage}\n{table}\n");
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What the schedule is and where its ranks are.
pub fn header(machine: &Machine, planner: &Planner, schedule: &Schedule) -> String {
    let root = if schedule.collective.is_rooted() { format!(", root {}", schedule.root) } else { String::new() };
    let ranks = counted(machine.topology.ranks(), "rank");
    let (collective, algorithm) = (schedule.collective, &schedule.algorithm);
    let description = &machine.description;
    let known = Algorithm::from_name(algorithm);
    let levels = levels(known.map_or_else(|| planner.context(), |algorithm| planner.context_of(algorithm)));
    // What has lanes goes along dimensions.
    let along = known.is_some_and(|algorithm| algorithm.spec().chunks.is_some());
    let dimensions = if along { format!("dimensions: {}\n", dimensions(planner)) } else { String::new() };
    format!("{collective} by {algorithm}, {ranks}{root}\n{description}\nlevels: {levels}\n{dimensions}")
}

/// What makes the plans asked for, as the ranks of a job would but for what is typed.
pub fn planner(mut config: Config, machine: &Machine, args: &ScheduleArgs) -> Planner {
    config.steps = args.steps.or(config.steps);
    config.rails.aggregators = args.aggregators.or(config.rails.aggregators);
    match args.partners {
        Some(1) => config.partners = Partners::One,
        Some(_) => config.partners = Partners::Two,
        None => {}
    }
    Planner::with_options(machine.topology.clone(), config.options(args.ranks.lossless))
}

/// The plans of all ranks.
pub fn whole(planner: &Planner, args: &ScheduleArgs) -> anyhow::Result<Schedule> {
    let ranks = u64::from(planner.topology().ranks());
    let pairs = !args.collective.is_rooted() && args.collective != Collective::Allreduce;
    let transfers = if pairs { ranks * (ranks - 1) } else { 4 * (ranks - 1) };
    // Tokens of a stage are as many as blocks, up to four times as many where virtual ranks are missing.
    let together = pairs && planner.context_of(args.algorithm).steps() == Some(Steps::Together);
    let stages = if together { planner.stages(args.collective, args.algorithm).len() as u64 } else { 1 };
    let transfers = stages * transfers;
    ensure!(
        transfers <= MOST_TRANSFERS,
        "{} of {ranks} ranks has {transfers} transfers, more than the {MOST_TRANSFERS} a whole schedule may have here; \
         `nagare plan --rank R` shows one rank",
        args.collective
    );
    let chunks = planner.chunks(args.collective, args.algorithm, args.bytes);
    planner.schedule_cut(args.collective, args.algorithm, args.root, chunks).with_context(|| cannot(args))
}

/// The plan of one rank, made alone.
fn of_one_rank(planner: &Planner, args: &ScheduleArgs, rank: u32) -> anyhow::Result<Schedule> {
    let ranks = planner.topology().ranks();
    ensure!(rank < ranks, "--rank {rank}: there are {ranks} ranks, expected 0 to {}", ranks - 1);
    let chunks = planner.chunks(args.collective, args.algorithm, args.bytes);
    let plan = planner.plan_cut(args.collective, args.algorithm, args.root, rank, chunks);
    let plan = plan.with_context(|| cannot(args))?;
    let stages = planner.stages(args.collective, args.algorithm);
    let algorithm = args.algorithm.name().to_owned();
    Ok(Schedule { collective: args.collective, algorithm, root: args.root, stages, plans: vec![plan] })
}

/// What a round is called, of a schedule with these stages whose rounds are called `word`.
pub fn label(stages: &[String], word: &str, round: Round) -> String {
    let stage = stages.get(usize::from(round.stage)).map_or("", String::as_str);
    if stage == word { format!("{word} {}", round.step) } else { format!("{stage}, {word} {}", round.step) }
}

/// What is wrong where an algorithm does not implement a collective.
pub fn cannot(args: &ScheduleArgs) -> String {
    let able = Algorithm::names(Some(args.collective)).join(" or ");
    format!("{} does not implement {}; expected {able}", args.algorithm, args.collective)
}
