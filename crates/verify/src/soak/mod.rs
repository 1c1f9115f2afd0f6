//! `nagare-verify soak`: many communicators, calls and threads, and what grows.

mod cases;
mod growth;
mod memcheck;
mod sanitizer;
mod storm;

use crate::record::{self, Row};
use anyhow::Result;
use clap::Args;
use nagare_harness::Mpi;
use sanitizer::Sanitizer;
use std::time::Instant;

/// What to run.
#[derive(Args, Debug)]
pub struct Options {
    /// The subset that runs before every change lands
    #[arg(long)]
    pub quick: bool,
    /// Only this part
    #[arg(long, value_parser = ["growth", "storm", "memcheck", "sanitizers"])]
    pub only: Option<String>,
    /// For trying out: all numbers divided by this; nothing is written down
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub divide: u64,
}

/// What a step found.
pub struct Found {
    /// Whether everything is as it should be.
    pub good: bool,
    /// What is written down.
    pub row: Row,
}

/// The four MPIs, how many ranks they get on two cores (those of MPICH do not yield), and what they are called.
const MPIS: [(Mpi, u32, &str); 4] = [
    (Mpi::OpenMpi4, 4, "Open MPI 4.1.4"),
    (Mpi::Mpich4, 2, "MPICH 4.0.2"),
    (Mpi::OpenMpi5, 4, "Open MPI 5.0.11"),
    (Mpi::Mpich5, 2, "MPICH 5.0.2"),
];

/// Whether nothing grew, nothing hung and memcheck had nothing to say of Nagare.
pub fn run(options: &Options) -> Result<bool> {
    let started = Instant::now();
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    let (mut rows, mut good, mut outcome) = (Vec::new(), true, Ok(()));
    let mut note = |found: Found| {
        let Row { mpi, what, ran, result, .. } = &found.row;
        let verdict = if found.good { "ok" } else { "FAILED" };
        println!("[{:4.0} s] {verdict}: {mpi}: {what}: {ran}: {result}", started.elapsed().as_secs_f64());
        good &= found.good;
        rows.push(found.row);
        // Step by step: all of them take long.
        let written = if options.quick || options.divide > 1 { Ok(()) } else { record::update("soak", &rows) };
        outcome = std::mem::replace(&mut outcome, Ok(())).and(written);
    };
    let share = |full: u64| (full / options.divide).max(10);
    // The short run leaves this to the integration test `lifetime`, which would see what a few calls cannot show.
    if wanted("growth") && !options.quick {
        for (mpi, ranks, name) in MPIS {
            note(growth::run(mpi, ranks, name, &growth::Amount::Cycles(share(100_000))));
            note(growth::run(mpi, ranks, name, &growth::Amount::Calls(share(1_000_000))));
        }
    }
    if wanted("storm") {
        // All at once, or ten minutes of each would take forty; and the more threads there are to a core, the odder
        // their order.
        let seconds = if options.quick { 1 } else { (600 / options.divide).max(2) };
        let found = std::thread::scope(|scope| {
            let started = MPIS.map(|(mpi, ranks, name)| scope.spawn(move || storm::run(mpi, ranks, name, seconds)));
            started.map(|storm| storm.join().expect("a storm does not panic"))
        });
        found.into_iter().for_each(&mut note);
    }
    if wanted("memcheck") {
        // The MPIs whose libraries memcheck knows the instructions of.
        for (mpi, _, name) in &MPIS[..2] {
            for case in cases::cases(options.quick) {
                note(memcheck::run(*mpi, name, case)?);
            }
        }
    }
    // Two builds of the library for each.
    if wanted("sanitizers") && !options.quick {
        for (mpi, _, name) in &MPIS[..2] {
            for sanitizer in Sanitizer::ALL {
                sanitizer::run(sanitizer, *mpi, name, &mut note)?;
            }
        }
    }
    println!("soak: {} steps, {}", rows.len(), if good { "nothing grew" } else { "see above" });
    outcome.map(|()| good)
}
