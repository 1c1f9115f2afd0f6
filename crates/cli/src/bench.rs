//! `nagare bench`: stock and Nagare side by side on an emulated fabric.

mod guidelines;
mod markdown;
mod outcome;

use crate::bench_compare::{CompareArgs, compare};
use crate::mpi::Family;
use crate::mpi::launcher::{Launcher, resolve};
use crate::output::print;
use crate::testbed_args::Chosen;
use crate::{args, run, testbed_args, testbed_run};
use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use guidelines::GuidelinesArgs;
use markdown::{TableArgs, table};
use nagare_bench::annotate::annotate;
use nagare_bench::arguments::Arguments;
use nagare_bench::draw::draw;
use nagare_bench::oracle::DYNAMIC_RULES;
use nagare_bench::record::{Line, Results, SCHEMA, read_lines};
use nagare_plan::fabric::{Fabric, Placement};
use nagare_testbed::record::name_from;
use outcome::{finish, machine};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Variable that says whether Nagare measures calls to choose its default.
const LEARN: &str = "NAGARE_LEARN";

/// File name of the program that measures.
const PROGRAM: &str = "nagare-bench";

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
    /// Ends with 1 if there are any, so that a script can tell.
    #[command(after_help = "Example:\n  nagare bench guidelines results/*.json")]
    Guidelines(GuidelinesArgs),
    /// Print runs as Markdown
    #[command(after_help = "Example:\n  nagare bench table --plots benchmarks docs/benchmarks/*.json")]
    Table(TableArgs),
}

#[derive(Args)]
struct MeasureArgs {
    /// The fabric: one that comes with Nagare (`nagare fabrics` lists them) or the path of a fabric file
    #[arg(long, short, value_name = "NAME|FILE", required_unless_present = "launcher")]
    fabric: Option<String>,
    /// Whose launcher: openmpi, mpich, or a launcher's path; beside srun, whose library
    #[arg(long, value_name = "openmpi|mpich|PATH", default_value = "openmpi")]
    mpi: String,
    /// Number of ranks [default: as many as --ppn or the host file give]
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(2..=65536))]
    np: Option<u32>,
    /// Ranks per host [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    ppn: Option<u32>,
    /// How ranks are placed on hosts, as for `nagare testbed run`
    #[arg(long, default_value = "slot", value_name = "slot|node|balanced|HOSTFILE")]
    map: String,
    /// TCP's congestion control on all hosts, such as bbr [default: cubic, whatever the machine's own]
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Bytes of a rank's vector, separated by commas, with suffix K, M or G; where ranks have blocks, the sum of these:
    /// 1M on 16 ranks is blocks of 64K [default: 8 to 4M in powers of two]
    #[arg(long, value_name = "BYTES,…")]
    sizes: Option<String>,
    /// bcast, reduce, allreduce, alltoall, alltoallv, alltoallv_sparse, gather, allgather, reduce_scatter_block,
    /// reduce_scatter, separated by commas [default: all but alltoallv_sparse, where a quarter of the counts is zero]
    #[arg(long, value_name = "NAME,…")]
    collectives: Option<String>,
    /// What takes turns: stock, default, and names of algorithms as `nagare algorithms` lists them, separated by
    /// commas, each with the collectives that it implements [default: all]
    #[arg(long, value_name = "NAME,…")]
    algorithms: Option<String>,
    /// Root of the collectives that have one
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    root: u32,
    /// Time for one collective and size, with all configurations; it makes at least three iterations
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    budget: f64,
    /// Measure series of so many calls, each on a new communicator: what a program sees where Nagare learns in the run,
    /// trials included; a time is the mean of a series
    #[arg(long, value_name = "CALLS", default_value_t = 1, conflicts_with = "oracle")]
    series: u32,
    /// Do not tell Nagare the fabric: it finds out about nodes only
    #[arg(long)]
    untold: bool,
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
    /// libnagare.so, or the directory it is in, instead of searching
    #[arg(long, value_name = "PATH")]
    lib: Option<PathBuf>,
    /// The program nagare-bench, instead of searching
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// In place of an emulated fabric: mpirun, mpiexec or srun with its options and no program, which says where the
    /// ranks run
    #[arg(last = true, value_name = "LAUNCHER",
          conflicts_with_all = ["fabric", "np", "ppn", "map", "congestion", "untold"])]
    launcher: Vec<String>,
}

#[derive(Args)]
struct DrawArgs {
    /// The same seed draws the same network
    seed: u64,
}

/// Measures, or compares.
pub fn bench(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Some(Action::Compare(args)) => compare(args),
        Some(Action::Draw(args)) => {
            print(&draw(args.seed))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Action::Guidelines(args)) => guidelines::check(args),
        Some(Action::Table(args)) => table(args),
        None => measure(&args.measure),
    }
}

fn measure(args: &MeasureArgs) -> anyhow::Result<ExitCode> {
    let chosen = args.fabric.as_deref().map(Chosen::new).transpose()?;
    let launcher = args.launcher.first().map(|name| Launcher::identify(&resolve(name)?)).transpose()?;
    // srun starts ranks of any MPI.
    let family = match launcher.and_then(|launcher| launcher.family()) {
        Some(family) => family,
        None => family(&args.mpi)?,
    };
    let program = find_program(family, args.program.as_deref())?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let out = args.out.canonicalize().with_context(|| args.out.display().to_string())?;
    let name = args.name.as_deref().map_or_else(|| name(args, chosen.as_ref(), family), name_from);
    let lines = out.join(format!("{name}.jsonl"));
    let text = |path: &Path| path.to_str().map(str::to_owned).with_context(|| format!("{}: not UTF-8", path.display()));
    let mut words = vec![text(&lines)?, "--budget".to_owned(), args.budget.to_string()];
    words.extend(["--root".to_owned(), args.root.to_string()]);
    let lists = [("--sizes", &args.sizes), ("--collectives", &args.collectives), ("--algorithms", &args.algorithms)];
    for (option, value) in lists {
        words.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
    }
    words.extend(["--series".to_owned(), args.series.to_string()]);
    if args.oracle {
        words.extend(["--oracle-budget".to_owned(), args.oracle_budget.unwrap_or(args.budget).to_string()]);
    }
    // A mistake is told before anything is started.
    let arguments = Arguments::parse(words.iter().cloned()).map_err(anyhow::Error::msg)?;
    for gap in arguments.gaps() {
        eprintln!("nagare: {gap}");
    }
    // What an earlier run left must not pass for this one's.
    fs::write(&lines, "").with_context(|| lines.display().to_string())?;
    let command = [text(&program)?].into_iter().chain(words);
    let outcome = start(args, family, command).and_then(|code| {
        let complete = code == ExitCode::SUCCESS;
        let results = results(&lines, name, args, chosen.as_ref().map(|chosen| &chosen.fabric), complete)?;
        finish(&results, &out)?;
        Ok(code)
    });
    // What could be measured is kept where it could not be put in its place.
    if outcome.is_ok() || fs::metadata(&lines).is_ok_and(|file| file.len() == 0) {
        fs::remove_file(&lines).with_context(|| lines.display().to_string())?;
    }
    outcome
}

/// Runs the program with its arguments, `command`, on an emulated fabric or by the user's launcher.
fn start(args: &MeasureArgs, family: Family, command: impl Iterator<Item = String>) -> anyhow::Result<ExitCode> {
    let environment = environment(args, family);
    let lib = args.lib.clone();
    if let Some(fabric) = &args.fabric {
        return testbed_run::run(&testbed_args::RunArgs {
            fabric: fabric.clone(),
            np: args.np,
            ppn: args.ppn,
            map: args.map.clone(),
            mpi: Some(args.mpi.clone()),
            congestion: args.congestion.clone(),
            stock: false,
            lib,
            verbose: false,
            untold: args.untold,
            environment,
            command: command.collect(),
        });
    }
    let command = args.launcher.iter().cloned().chain(command).collect();
    let run = args::RunArgs { verbose: false, dry_run: false, lib, mpi: Some(family), environment, command };
    let Some(mut command) = run::command(&run)? else { return Ok(ExitCode::SUCCESS) };
    let status = command.status().with_context(|| args.launcher[0].clone())?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The family of a launcher.
fn family(mpi: &str) -> anyhow::Result<Family> {
    match mpi {
        "openmpi" => Ok(Family::Openmpi),
        "mpich" => Ok(Family::Mpich),
        path => {
            let launcher = Launcher::identify(&resolve(path)?)?;
            launcher.family().with_context(|| format!("{path} is {}; expected Open MPI or Hydra", launcher.version))
        }
    }
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

/// The program for `family`: `given`, or beside this program as its libnagare.so is.
fn find_program(family: Family, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let places = match given {
        Some(path) => vec![path.to_owned()],
        None => {
            let nagare = std::env::current_exe().context("this program's own path is unknown; say --program PATH")?;
            let above = nagare.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
            let family = family.directory();
            [above.join(family).join("release"), above.join("lib/nagare").join(family)].map(|d| d.join(PROGRAM)).into()
        }
    };
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        bail!("no {PROGRAM} for {}; looked for {} (--program PATH names another)", family.name(), places.join(", "));
    };
    found.canonicalize().with_context(|| found.display().to_string())
}

/// Such as `tree8-16x2-slot-openmpi`.
fn name(args: &MeasureArgs, chosen: Option<&Chosen>, family: Family) -> String {
    let Some(chosen) = chosen else { return name_from(&format!("here-{}", args.launcher.join("-"))) };
    let ppn = args.ppn.unwrap_or(1);
    let ranks = args.np.unwrap_or(chosen.fabric.host_count() as u32 * ppn);
    let map = Path::new(&args.map).file_stem().unwrap_or_default().to_string_lossy();
    name_from(&format!("{}-{ranks}x{ppn}-{map}-{}", chosen.name, family.directory()))
}

/// What the program wrote, with limits.
fn results(
    lines: &Path,
    name: String,
    args: &MeasureArgs,
    fabric: Option<&Fabric>,
    complete: bool,
) -> anyhow::Result<Results> {
    let text = fs::read_to_string(lines).with_context(|| lines.display().to_string())?;
    let read = read_lines(&text);
    let read = read.map_err(|n| anyhow::anyhow!("{}:{n}: not a line of {PROGRAM}", lines.display()))?;
    let mut results = Results {
        schema: SCHEMA,
        name,
        fabric: fabric.map_or("no emulation", Fabric::name).to_owned(),
        map: if fabric.is_some() { args.map.clone() } else { "of the launcher".to_owned() },
        command: std::env::args().skip(1).fold("nagare".to_owned(), |line, word| line + " " + &word),
        machine: machine(),
        others: None,
        complete: complete && read.last() == Some(&Line::End),
        job: Default::default(),
        goodput: Vec::new(),
        messages: Vec::new(),
        cells: Vec::new(),
    };
    for line in read {
        match line {
            Line::Job(job) => results.job = job,
            Line::Goodput(goodput) => results.goodput.push(goodput),
            Line::Message(message) => results.messages.push(message),
            Line::Others { processors } => results.others = Some(processors),
            Line::Cell(cell) => results.cells.push(cell),
            Line::End => {}
        }
    }
    ensure!(!results.job.hosts.is_empty(), "{PROGRAM} ended before it wrote anything; what it said is above");
    if let Some(fabric) = fabric {
        // Where the ranks really were.
        let placement = Placement::listed(fabric, &results.job.hosts).context("where the ranks ran")?;
        annotate(&mut results, fabric, &placement);
    }
    Ok(results)
}
