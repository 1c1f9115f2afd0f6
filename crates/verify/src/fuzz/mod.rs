//! `nagare-verify fuzz`: random MPI programs as data, every result compared with one computed without collectives.
//!
//! A file of cases is written here and carried out by `tests/programs/fuzz.c`, under every MPI. All ranks read the
//! whole file and do what concerns them. One statement per line; words are separated by spaces; `#` starts a comment.
//! Ranks in a statement are ranks in its communicator, lists have one entry for each rank or one entry for all.
//!
//! ```text
//! case 17 threads=2                          communicator 0: MPI_COMM_WORLD, of thread 0; 1 … threads-1: its
//!                                            duplicates, one for each further thread
//! comm 2 of=0 thread=0 make=dup              also make=idup
//! comm 3 of=0 thread=0 make=split colors=0,1,0,- keys=3,2,1,0          -: MPI_UNDEFINED
//! comm 4 of=0 thread=0 make=cart dims=2,2 periods=1,0 reorder=1        ranks beyond the grid have no part
//! comm 5 of=4 thread=0 make=sub keep=1,0
//! comm 6 of=0 thread=0 make=group ranks=3,0,1      MPI_Comm_create_group; make=create: MPI_Comm_create
//! comm 7 of=0 thread=0 make=merge low=2 high=1     an intercommunicator of the first 2 ranks and the others, merged:
//!                                                  the first 2 pass high = 1
//! free 3 thread=0 disconnect=0                                         disconnect=1: MPI_Comm_disconnect
//! call 11 thread=0 comm=2 what=allreduce items=1000 kind=int send=int op=sum root=0 inplace=0 shape=even salt=9 \
//!     data=exact                                   (one line in a file)
//! call 12 thread=0 comm=2 what=bcast items=600 kind=int send=int,vector,int,indexed root=1 salt=4 start=1   MPI_Ibcast
//! finish 12 thread=0                                                   completes it, and compares
//! message 13 thread=0 comm=2 from=0 to=1 items=10 tag=7 wild=1 early=0
//!                                                  posts a receive (MPI_ANY_SOURCE, MPI_ANY_TAG); `finish` sends to it
//! finish 13 thread=0
//! call 14 thread=0 comm=2 what=allgather items=6 last=1   carried out when 2 is freed, in a delete callback
//! stall 3 thread=0 ms=20                                               rank 3 of the world sleeps
//! call 15 thread=0 comm=2 what=alltoallv items=60 shape=rare times=600 every=256 slow=1 ms=20   600 calls, see below
//! end
//! ```
//!
//! Kinds, types, operations and the defaults of words that are left out: `tests/programs/cases/README.md`. `items`
//! counts values of the basic `kind` in one block (what one rank sends to or gets from one other; the whole vector of
//! Bcast, Reduce and Allreduce); a derived type holds several, and the number is a multiple of it. `send` and `receive`
//! name types, which may differ between ranks; a reduction has one, `send`. `shape` says how the blocks of different
//! ranks differ. `data=rounding` asks for floating-point values whose sum depends on the order: the result must then be
//! within the error bound, and the same bits on all ranks of an Allreduce.
//!
//! A series (`times`) is an Alltoallv that is made so often, of `shape=rare`: a rank has data for a higher one every
//! 256th time, each time of another length; rank `slow` is stopped while it waits for data, and those that need nothing
//! of it run ahead. Types that overlap (`tables.rs`) are sent only; what they name twice is the same value twice.
//!
//! What makes a program valid (`valid.rs`): all ranks do the same statements of a thread in the same order. A split
//! gives one number to several groups, of several sizes: a list then has an entry for each rank of the largest, a root
//! or another rank is one that all of them have. Everything started is finished, before its communicator is freed and
//! before the end. While a message of a wildcard receive is open, no other one to that rank is on that communicator;
//! open messages between the same ranks have tags of their own. What is not freed by `free` is freed at `end`, the
//! numbers of communicators are not used again in the case.
//!
//! ```text
//!   seed ──► settings.rs  ranks, machine, algorithms, segment, … ──┐
//!     └────► generate.rs  cases ──► write.rs ─► run.rs  one job ───┴──► summary.rs  what ran how often
//!                                                 └─ wrong ──► alone, without Nagare ──► shrink.rs ──► replay.rs: file
//! ```

mod calls;
mod case;
mod comms;
mod generate;
mod read;
mod replay;
mod run;
mod settings;
mod shrink;
mod sizes;
mod summary;
mod tables;
mod valid;
mod what;
mod write;

use crate::record::{self, Row};
use anyhow::{Context, Result, bail, ensure};
use case::Case;
use clap::Args;
use nagare_harness::{Mpi, root_directory};
use settings::Settings;
use shrink::{Failing, shrink};
use std::fs;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use summary::Summary;

/// Cases in one job.
const BATCH: u64 = 50;
/// Cases for each MPI, unless told otherwise.
const CASES: u64 = 2000;
/// Cases of the short run.
const QUICK: u64 = 100;
/// How often a failing case is run to make it smaller.
const TRIES: usize = 120;

/// What to run.
#[derive(Args, Debug)]
pub struct Options {
    /// The short run before every change lands: always the same cases
    #[arg(long)]
    pub quick: bool,
    /// The first seed; each batch of 50 cases has the next one [default: from the clock]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Cases for each MPI; from 2000 on what came out goes into docs/compatibility [default: 2000]
    #[arg(long)]
    pub cases: Option<u64>,
    /// Only this case of the first seed's batch
    #[arg(long, requires = "seed")]
    pub only: Option<u64>,
    /// Only this MPI: openmpi4, openmpi5, mpich4 or mpich5
    #[arg(long)]
    pub mpi: Option<String>,
    /// Without Nagare: whether the programs are right, and the MPI libraries
    #[arg(long)]
    pub stock: bool,
    /// Runs the cases of a file that an earlier run wrote, and makes them no smaller
    #[arg(long, conflicts_with_all = ["quick", "seed", "cases", "mpi", "stock"])]
    pub replay: Option<PathBuf>,
}

/// Whether every case came out right.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.replay {
        return replay_file(path);
    }
    let mpis: Vec<Mpi> = match &options.mpi {
        Some(name) => vec![named(name)?],
        None => Mpi::ALL.to_vec(),
    };
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() % 1_000_000);
    let seed = options.seed.unwrap_or_else(|| if options.quick { 1 } else { clock() });
    let count = options.cases.unwrap_or(if options.quick { QUICK } else { CASES });
    let (mut rows, mut right) = (Vec::new(), true);
    for mpi in mpis {
        let summary = match options.only {
            Some(id) => one_case(mpi, seed, id, !options.stock)?,
            None => all_cases(mpi, seed, count, !options.stock)?,
        };
        print!("{summary}");
        right &= match options.stock {
            true => summary.is_all_right(),
            false => summary.is_right(count >= CASES),
        };
        rows.push(row(mpi, seed, &summary));
    }
    let whole = !options.stock && options.only.is_none() && count >= CASES;
    if whole {
        record::replace_mpis("fuzz", &rows)?;
    }
    println!("{}", if right { "every case was right" } else { "NOT every case was right" });
    Ok(right)
}

fn named(name: &str) -> Result<Mpi> {
    let names: Vec<&str> = Mpi::ALL.iter().map(|mpi| mpi.name()).collect();
    let found = Mpi::ALL.into_iter().find(|mpi| mpi.name() == name);
    found.with_context(|| format!("there is no MPI `{name}`; expected one of {}", names.join(", ")))
}

fn row(mpi: Mpi, seed: u64, summary: &Summary) -> Row {
    Row {
        mpi: mpi.version(),
        binding: "C".to_owned(),
        what: format!("random programs from seed {seed}: {}", summary.extent()),
        ran: format!("{} cases, {} collective calls", summary.cases(), summary.calls()),
        result: summary.result(),
    }
}

fn all_cases(mpi: Mpi, first: u64, count: u64, nagare: bool) -> Result<Summary> {
    let (started, mut summary) = (Instant::now(), Summary::default());
    for seed in first..first + count.div_ceil(BATCH) {
        let settings = Settings::new(seed, mpi);
        let cases: Vec<Case> = (1..=BATCH).map(|id| generate::case(seed, id, &settings)).collect();
        run_batch(seed, &settings, &cases, nagare, &mut summary)?;
        let elapsed = started.elapsed().as_secs();
        eprintln!("{elapsed:5} s  {:8} seed {seed}: {} of {count} cases", mpi.name(), summary.cases());
    }
    Ok(summary)
}

fn one_case(mpi: Mpi, seed: u64, id: u64, nagare: bool) -> Result<Summary> {
    let (settings, mut summary) = (Settings::new(seed, mpi), Summary::default());
    let case = generate::case(seed, id, &settings);
    print!("{}", replay::write(&settings, std::slice::from_ref(&case)));
    run_batch(seed, &settings, &[case], nagare, &mut summary)?;
    Ok(summary)
}

fn run_batch(seed: u64, settings: &Settings, cases: &[Case], nagare: bool, summary: &mut Summary) -> Result<()> {
    let ended = run::batch(settings, cases, nagare)?;
    summary.add(settings, cases, &ended);
    for (id, output) in &ended.wrong {
        let mpi = settings.mpi.name();
        println!("case {id} of seed {seed} went wrong on {mpi} with {} ranks\n{output}", settings.ranks);
        println!("again: nagare-verify fuzz --mpi {mpi} --seed {seed} --only {id}");
        let case = cases.iter().find(|case| case.id == *id).context("a case that nobody asked for")?;
        let failing = Failing { settings: settings.clone(), case: case.clone() };
        summary.blame(look_into(seed, &failing, cases)?);
    }
    Ok(())
}

/// Whose fault it was, as far as another look tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    /// It goes wrong without Nagare too.
    Library,
    /// It goes wrong with Nagare only.
    Nagare,
}

/// Runs a failing case without Nagare, then makes it smaller and writes it to a file.
fn look_into(seed: u64, failing: &Failing, batch: &[Case]) -> Result<Blame> {
    let fails = |failing: &Failing, nagare: bool| -> Result<bool> {
        Ok(!run::batch(&failing.settings, std::slice::from_ref(&failing.case), nagare)?.wrong.is_empty())
    };
    let blame = if fails(failing, false)? { Blame::Library } else { Blame::Nagare };
    let with = blame == Blame::Nagare;
    let alone = fails(failing, with)?;
    let text = if alone {
        let small = shrink(failing, TRIES, &mut |smaller| {
            // What is wrong without Nagare is no smaller case of what is wrong with it.
            fails(smaller, with).unwrap_or(false) && (!with || !fails(smaller, false).unwrap_or(true))
        });
        replay::write(&small.settings, std::slice::from_ref(&small.case))
    } else {
        // It takes what came before, or luck.
        let until: Vec<Case> = batch.iter().take_while(|c| c.id != failing.case.id).cloned().collect();
        replay::write(&failing.settings, &[until, vec![failing.case.clone()]].concat())
    };
    let directory = root_directory().join("target/fuzz");
    let path = directory.join(format!("{}-{seed}-{}.txt", failing.settings.mpi.name(), failing.case.id));
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(&path, &text))
        .with_context(|| path.display().to_string())?;
    let what = match (blame, alone) {
        (Blame::Library, _) => "wrong without Nagare too",
        (Blame::Nagare, true) => "wrong with Nagare only",
        (Blame::Nagare, false) => "right when run alone",
    };
    println!("{what}; again: nagare-verify fuzz --replay {}", path.display());
    if text.lines().count() < 60 {
        print!("{text}");
    }
    Ok(blame)
}

fn replay_file(path: &PathBuf) -> Result<bool> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let (settings, cases) = replay::read(&text).with_context(|| path.display().to_string())?;
    ensure!(!cases.is_empty(), "{}: no cases", path.display());
    for case in &cases {
        if let Err(error) = valid::check(case, settings.ranks) {
            bail!("{}: {error:#}", path.display());
        }
    }
    let mut right = true;
    for nagare in [false, true] {
        let ended = run::batch(&settings, &cases, nagare)?;
        println!("{}: {} right, {} wrong", if nagare { "Nagare" } else { "stock" }, ended.right, ended.wrong.len());
        ended.wrong.iter().for_each(|(id, output)| println!("case {id}\n{output}"));
        right &= ended.wrong.is_empty();
    }
    Ok(right)
}
