//! The `nagare` command: what a user asks of Nagare outside a job. It needs no MPI to be built or run.
//!
//! ```text
//!   command, args ─┬─► plan, check, predict, list, env         fabrics and schedules (nagare_plan)
//!                  ├─► run, doctor ──► mpi, machine            launchers and libraries of this machine
//!                  ├─► testbed, bench                          fabrics emulated here, and what was measured on them
//!                  ├─► tune ──► bench::place, profile          what is the fastest where the user is
//!                  ├─► report                                  what a job's report says
//!                  └─► pages                                   manual pages and completions, for `make install`
//! ```
//!
//! `command` and `args` are what can be typed; `plan`, `check`, `predict`, `list`, `env`, `run`, `doctor`, `testbed`,
//! `bench`, `tune`, `profile`, `report` and `pages` are the subcommands; `machine` is where ranks are, `settings` what
//! the environment says of plans, `own` where this program is; `mpi` knows launchers, libraries and how to preload;
//! only `doctor::rank` calls into foreign code.

mod args;
mod bench;
mod bench_compare;
mod bench_table;
mod certificate;
mod check;
mod command;
mod doctor;
mod env;
mod list;
mod machine;
mod mpi;
mod output;
mod own;
mod pages;
mod plan;
mod predict;
mod profile;
mod ps;
mod report;
mod run;
mod settings;
mod tables;
mod testbed;
mod testbed_args;
mod testbed_run;
mod tune;

use crate::output::tell;
use clap::{CommandFactory, Parser};
use command::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // As for env, nohup and timeout: statuses below 125 are the program's own.
    let failure = match &command {
        Command::Run(_) => 125,
        Command::Testbed(args) if args.runs_a_command() => 125,
        _ => 2,
    };
    let result = match command {
        Command::Plan(args) => plan::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Algorithms { json } => list::algorithms(json),
        Command::Fabrics { files, levels, json } => list::fabrics(&files, levels.as_ref(), json),
        Command::Env(args) => env::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Ps(args) => ps::run(&args),
        Command::Testbed(args) => testbed::run(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Pages(args) => pages::run(&args, &Cli::command()),
    };
    result.unwrap_or_else(|error| {
        tell!("{error:#}");
        ExitCode::from(failure)
    })
}
