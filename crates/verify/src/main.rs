//! `nagare-verify`: runs the tests which show that programs see no difference under Nagare, and records what was run.
//!
//! ```text
//!   conformance (mpi4py's tests) ─┐                                       ┌─► records ─► docs/compatibility.md
//!   fuzz (random programs) ───────┼─► jobs, with Nagare and without ──────┤
//!   soak, tests ──────────────────┘                                       └─► what differs, fails or grows
//! ```

mod conformance;
mod fuzz;
mod integration;
mod licences;
mod record;
mod soak;
mod table;
mod turns;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Runs what shows that programs see nothing else under Nagare.
#[derive(Parser)]
#[command(name = "nagare-verify", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// mpi4py's own tests with Nagare and without, compared test by test
    Conformance(conformance::Options),
    /// Random MPI programs, every result compared with one computed without collectives
    Fuzz(fuzz::Options),
    /// Many communicators, calls and threads; what grows
    Soak(soak::Options),
    /// The integration tests, and what their programs have verified
    Tests(integration::Options),
    /// Licences of what is linked into what is shipped, as Markdown (docs/licences.md)
    Licences,
    /// The table of what was run, as Markdown (docs/compatibility.md)
    Table,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    // What is run is what is there now.
    let _ = record::product();
    let result = match command {
        Command::Conformance(options) => conformance::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Tests(options) => integration::run(&options),
        Command::Licences => licences::print(),
        Command::Table => table::print(),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("nagare-verify: {error:#}");
            ExitCode::from(2)
        }
    }
}
