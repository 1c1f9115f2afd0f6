//! `nagare bench`: stock and Nagare side by side in one job, on an emulated fabric or where the user's launcher puts
//! the ranks.

mod gains;
mod guidelines;
mod markdown;
mod outcome;
pub mod place;

use crate::bench_compare::{CompareArgs, compare};
use crate::mpi::Family;
use crate::output::{print, tell};
use anyhow::Context;
use clap::{Args, Subcommand};
use guidelines::GuidelinesArgs;
use markdown::{TableArgs, table};
use nagare_bench::arguments::Arguments;
use nagare_bench::draw::draw;
use nagare_bench::oracle::DYNAMIC_RULES;
use nagare_testbed::record::name_from;
use outcome::finish;
use place::{Place, PlaceArgs, text};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Variable that says whether Nagare measures calls to choose its default.
const LEARN: &str = "NAGARE_LEARN";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    measure: MeasureArgs,
}

#[derive(Subcommand)]
enum Action {
    /// Show what changed between two runs
    #[command(after_help = "Example:\n  nagare bench compare before.json after.json")]
    Compare(CompareArgs),
    /// Draw a small network that is not among those that come with Nagare, and print its file
    #[command(after_help = "Example:\n  nagare bench draw 7 > unknown7.toml\n  nagare bench --fabric unknown7.toml \
                            --ppn 2 --series 50 --algorithms stock,default")]
    Draw(DrawArgs),
    /// List where the default is slower than collectives that together do the same, or than itself with more data
    ///
    /// Exit status 1 if there are any.
    #[command(after_help = "Example:\n  nagare bench guidelines results/*.json")]
    Guidelines(GuidelinesArgs),
    /// Print runs as Markdown
    #[command(after_help = "Example:\n  nagare bench table --plots benchmarks docs/benchmarks/*.json")]
    Table(TableArgs),
}

#[derive(Args)]
struct MeasureArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Bytes of a rank's vector, separated by commas, with suffix K, M or G; where ranks have blocks, the sum of these:
    /// 1M on 16 ranks is blocks of 64K [default: 8 to 4M in powers of two]
    #[arg(long, value_name = "BYTES,…")]
    sizes: Option<String>,
    /// bcast, reduce, allreduce, alltoall, alltoallv, alltoallv_sparse, alltoallv_skewed, alltoallw, alltoallw_skewed,
    /// gather, gatherv, scatter, scatterv, allgather, allgatherv, reduce_scatter_block, reduce_scatter, separated by
    /// commas [default: all but alltoallv_sparse, where a quarter of the counts is zero, and the skewed ones, where
    /// those of rank 0 are ten times the others']
    #[arg(long, value_name = "NAME,…")]
    collectives: Option<String>,
    /// What takes turns: stock, default, and names of algorithms as `nagare algorithms` lists them, separated by
    /// commas, each with the collectives that it implements [default: all]
    #[arg(long, value_name = "NAME,…")]
    algorithms: Option<String>,
    /// Root of the collectives that have one
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,
    /// What vectors are of, int or float: floating-point sums keep one order of combination, so that their calls are
    /// not measured but predicted
    #[arg(long, value_name = "KIND", default_value = "int")]
    numbers: String,
    /// Time for one collective and size, with all configurations; it makes at least three iterations
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    budget: f64,
    /// Time series of N calls, each series on a new communicator, measured calls included; a figure is the mean of a
    /// series
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "oracle")]
    series: u32,
    /// Let N calls follow one another with no barrier between them; a figure is their mean. The result of the last one
    /// is verified. As without it, the default measures no calls unless --series is given
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "oracle")]
    back_to_back: u32,
    /// Also try each of the MPI library's own algorithms with each segment size; the best then take turns with the
    /// others
    #[arg(long)]
    oracle: bool,
    /// Time for trying the library's own settings, for one collective and size [default: as --budget]
    #[arg(long, value_name = "SECONDS", requires = "oracle")]
    oracle_budget: Option<f64>,
    /// Directory for NAME.json and NAME-COLLECTIVE.svg; made if it does not exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// NAME of these files [default: from fabric, ranks, map and MPI]
    #[arg(long)]
    name: Option<String>,
}

#[derive(Args)]
struct DrawArgs {
    /// A number; the same one draws the same network
    seed: u64,
    /// Links of 5 to 24 Mbit/s, in place of 10 to 40000: slow enough that two processors can fill them all
    #[arg(long)]
    slow: bool,
}

/// Measures, or compares.
pub fn bench(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Some(Action::Compare(args)) => compare(args),
        Some(Action::Draw(args)) => {
            print(&draw(args.seed, args.slow))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Action::Guidelines(args)) => guidelines::check(args),
        Some(Action::Table(args)) => table(args),
        None => measure(&args.measure),
    }
}

fn measure(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    let place = Place::find(&args.place)?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let out = args.out.canonicalize().with_context(|| args.out.display().to_string())?;
    let name = args.name.as_deref().map_or_else(|| place.name(), name_from);
    let lines = out.join(format!("{name}.jsonl"));
    let mut words = vec![text(&lines)?, "--budget".to_owned(), args.budget.to_string()];
    words.extend(["--root".to_owned(), args.root.to_string()]);
    words.extend(["--numbers".to_owned(), args.numbers.clone()]);
    let lists = [("--sizes", &args.sizes), ("--collectives", &args.collectives), ("--algorithms", &args.algorithms)];
    for (option, value) in lists {
        words.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
    }
    words.extend(["--series".to_owned(), args.series.to_string()]);
    words.extend(["--back-to-back".to_owned(), args.back_to_back.to_string()]);
    if args.oracle {
        words.extend(["--oracle-budget".to_owned(), args.oracle_budget.unwrap_or(args.budget).to_string()]);
    }
    // A mistake is told before anything is started.
    let arguments = Arguments::parse(words.iter().cloned()).map_err(anyhow::Error::msg)?;
    for gap in arguments.gaps() {
        tell!("{gap}");
    }
    // What an earlier run left must not pass for this one's.
    fs::write(&lines, "").with_context(|| lines.display().to_string())?;
    let outcome = place.start(words, environment(args, place.family())).and_then(|code| {
        let results = place.results(&lines, name)?;
        finish(&results, &out)?;
        Ok(code)
    });
    // What could be measured is kept where it could not be put in its place.
    if outcome.is_ok() || fs::metadata(&lines).is_ok_and(|file| file.len() == 0) {
        fs::remove_file(&lines).with_context(|| lines.display().to_string())?;
    }
    outcome
}

/// Variables that the ranks need for `--oracle`, and NAGARE_LEARN=off unless the caller has set it or asks for series:
/// with so few samples most calls of the default would be measured calls on other candidates.
fn environment(args: &MeasureArgs, family: Family) -> Vec<(String, String)> {
    let told = args.oracle && family == Family::Openmpi;
    let rules = told.then(|| (format!("OMPI_MCA_{DYNAMIC_RULES}"), "1".to_owned()));
    let predicted = args.series == 1 && std::env::var_os(LEARN).is_none();
    let learn = predicted.then(|| (LEARN.to_owned(), "off".to_owned()));
    rules.into_iter().chain(learn).collect()
}
