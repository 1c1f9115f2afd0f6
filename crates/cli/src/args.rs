//! What can be typed.

use crate::bench::BenchArgs;
use crate::testbed::TestbedArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::choice::parse_bytes;
use nagare_plan::collective::Collective;
use nagare_plan::fabric::MAX_NODES;
use nagare_plan::topology::Dims;
use std::path::PathBuf;
use std::time::Duration;

/// Topology-aware MPI collectives under unmodified programs: plan them, check them, run with them, find out what is wrong
#[derive(Parser)]
#[command(
    name = "nagare",
    version,
    max_term_width = 100,
    after_help = "Examples:
  nagare run -- mpirun -np 16 ./app      an MPI program with Nagare preloaded into its ranks
  nagare doctor                          which MPI was found, whether Nagare works with it
  nagare plan bcast --algorithm grouped_two_tree --fabric mlfm36 --np 32 --root 5
  nagare check bcast --algorithm two_tree --fabric mlfm36 --np 32"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show the schedule of a collective: who sends to whom in which round
    #[command(after_help = "Examples:
  nagare plan reduce --algorithm two_tree --np 8
  nagare plan bcast --algorithm grouped_two_tree --fabric mlfm36 --np 32 --map balanced --tables
  nagare plan alltoall --algorithm xor --topology 'synthetic:node:4 core:4' --rank 5
  nagare plan allreduce --algorithm grouped_two_tree --fabric ./cluster.toml --ppn 2 --json
  nagare plan allreduce --algorithm halving_doubling --np 32 --ppn 2 --torus 4x4 --aggregators 2

A line such as `rank reduce 0: 1→2 2→4` is one round: colour 0 of the level `rank`, in which rank 1 sends to rank 2 and
rank 2 to rank 4. Rounds of a tree recur for every block of the vector.")]
    Plan(PlanArgs),
    /// Play a schedule on a network: rounds, bytes per link, conflicts, and whether every result is right
    #[command(after_help = "Examples:
  nagare check bcast --algorithm two_tree --fabric mlfm36 --np 32
  nagare check reduce --algorithm grouped_two_tree --fabric mlfm36 --np 32 --map balanced --deny-conflicts
  nagare check alltoall --algorithm xor --fabric ./cluster.toml --bytes 64K --json

Two transfers of one round conflict when they share a direction of a link that has fewer cables than transfers. An exchange
(alltoall) is played in time as well: when it is done, and which links get more than they can pass on, from when to when.
Exit status: 0 if the schedule ends and every result is right, 1 if not (or on conflicts with --deny-conflicts), 2 if it could
not be checked.")]
    Check(CheckArgs),
    /// Predict what each algorithm takes on a network, and show which one the default chooses
    #[command(after_help = "Examples:
  nagare predict bcast --fabric tree8 --ppn 2
  nagare predict allreduce --fabric mlfm36 --np 32 --map balanced --sizes 64K,1M,16M
  nagare predict reduce --topology 'synthetic:group:4 node:8 core:16'

The prediction comes from the fabric's rates and routes and from its message_latency and message_gap, which `nagare bench`
measures. The default choice of the library is the fastest by the same prediction, from the thresholds of docs/algorithms.md on.")]
    Predict(PredictArgs),
    /// List the algorithms and what they implement
    #[command(after_help = "Example:\n  nagare algorithms")]
    Algorithms,
    /// List the networks that come with Nagare
    #[command(after_help = "Example:\n  nagare fabrics")]
    Fabrics,
    /// List the environment variables, what they are set to here, and what is wrong with them
    #[command(after_help = "Examples:
  nagare env
  NAGARE_LOG=loud nagare env       the problem is named, exit status 1
  nagare env --markdown            the table of docs/environment.md")]
    Env(EnvArgs),
    /// Run an MPI program with the fitting library preloaded into its ranks, also on remote nodes
    #[command(after_help = "Examples:
  nagare run -- mpirun -np 16 ./app
  nagare run -v -- mpiexec -n 4 ./a : -n 12 ./b
  nagare run --mpi openmpi -- srun -n 64 python3 app.py
  nagare run -- ./app                    one rank, without a launcher
  nagare run --dry-run -- mpirun -np 16 ./app

The command takes the place of nagare: its exit status and signals are its own. An LD_PRELOAD you already use, in the
environment or among the launcher's arguments, is kept and comes before Nagare. If nagare itself fails, the exit status is 125.")]
    Run(RunArgs),
    /// Find out which MPI there is, which library fits it, what is configured, and whether two ranks see Nagare
    #[command(after_help = "Examples:
  nagare doctor
  nagare doctor --no-probe               without starting any rank
  NAGARE_TOPOLOGY='synthetic:node:2 core:1' nagare doctor

Exit status: 0 if nothing is broken, 1 if something is.")]
    Doctor(DoctorArgs),
    /// Emulate a fabric on this machine, and run MPI programs across it
    #[command(after_help = "Examples:
  nagare testbed run tree8 --ppn 2 -- ./app
  nagare testbed up mlfm36; nagare testbed list; nagare testbed down

Hosts and switches are network namespaces; rates, queues and routes are those of the fabric's file. Latencies in the file are not
emulated: they are for planning only. Works as root, and for other users where the kernel allows user namespaces.")]
    Testbed(TestbedArgs),
    /// Measure stock MPI and Nagare side by side in one job on an emulated fabric, and what its links allow
    #[command(after_help = "Examples:
  nagare bench --fabric tree8 --ppn 2 --out results
  nagare bench --fabric mlfm36 --np 32 --map balanced --mpi mpich --sizes 64K,1M,4M --collectives bcast,reduce
  nagare bench --fabric tree8 --ppn 2 --collectives allreduce --algorithms stock,default,ring
  nagare bench --fabric tree8 --ppn 2 --oracle --out results
  nagare bench --fabric torus16 --collectives allgather,reduce_scatter_block --sizes 64K,1M
  nagare bench compare before.json after.json
  nagare bench table --plots benchmarks docs/benchmarks/*.json

Every figure is the median over the iterations of the time of the slowest rank, and every result is verified. The limit is the
least time that the links allow whatever the algorithm, with 95.6 % of a link's rate for data (TCP over Ethernet). With --oracle the
library's own algorithms and segment sizes are swept too.")]
    Bench(BenchArgs),
}

/// Which schedule, and where its ranks are.
#[derive(Args)]
pub struct ScheduleArgs {
    /// The collective
    #[arg(value_parser = collectives())]
    pub collective: Collective,
    /// The algorithm; `nagare algorithms` lists them
    #[arg(long, short, value_parser = algorithms())]
    pub algorithm: Algorithm,
    #[command(flatten)]
    pub ranks: RanksArgs,
    /// Root of the collectives that have one
    #[arg(long, default_value_t = 0)]
    pub root: u32,
    /// Steps of an exchange under way at the same time, as NAGARE_STEPS; without it the library goes by bytes, much like two
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub steps: u32,
    /// Partners of a rank in one step of the xor exchange, 1 or 2, as NAGARE_PARTNERS
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub partners: u32,
    /// Ranks of every node that talk to other nodes in halving_doubling and aggregated, as NAGARE_AGGREGATORS
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub aggregators: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where ranks are.
#[derive(Args)]
pub struct RanksArgs {
    /// The network: one that comes with Nagare (`nagare fabrics` lists them) or the path of a fabric file
    #[arg(long, short, value_name = "NAME|FILE")]
    pub fabric: Option<String>,
    /// Number of ranks [default: all places]
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub np: Option<u32>,
    /// Ranks per host [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_NODES as i64))]
    pub ppn: Option<u32>,
    /// How ranks are put on hosts
    #[arg(long, value_enum, default_value_t = Map::Slot, requires = "fabric")]
    pub map: Map,
    /// Dimensions of the torus that the nodes are on, with or without names, as NAGARE_TORUS
    #[arg(long, value_name = "4x4x2|X4xY2")]
    pub torus: Option<Dims>,
}

#[derive(Args)]
pub struct PredictArgs {
    /// The collective
    #[arg(value_parser = collectives())]
    pub collective: Collective,
    #[command(flatten)]
    pub ranks: RanksArgs,
    /// Levels in place of a network, such as `synthetic:group:4 node:2 core:4`; ranks fill the places in order
    #[arg(long, short, value_name = "synthetic:LEVEL:N …", conflicts_with_all = ["fabric", "ppn"])]
    pub topology: Option<String>,
    /// Bytes of the vector, separated by commas, with suffix K, M or G
    #[arg(long, value_delimiter = ',', default_value = "16K,64K,256K,1M,4M,16M", value_parser = byte_count, value_name = "BYTES,…")]
    pub sizes: Vec<u64>,
    /// Largest segment: NAGARE_SEGMENT's default stays within what the MPI library sends without asking, which Open MPI's TCP
    /// does below 64K
    #[arg(long, default_value = "32K", value_parser = byte_count)]
    pub segment: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Map {
    /// Consecutive ranks fill a host, then the next
    Slot,
    /// One rank per host, round after round
    Node,
    /// Consecutive ranks, spread evenly over as few groups of hosts as hold them
    Balanced,
}

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// Levels in place of a network, such as `synthetic:group:4 node:2 core:4`; ranks fill the places in order
    #[arg(long, short, value_name = "synthetic:LEVEL:N …", conflicts_with_all = ["fabric", "ppn"])]
    pub topology: Option<String>,
    /// Only what this rank sends and receives
    #[arg(long, short)]
    pub rank: Option<u32>,
    /// Also the send and receive tables of every rank
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
}

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub schedule: ScheduleArgs,
    /// Bytes of the vector, or of a block where ranks have blocks, with suffix K, M or G
    #[arg(long, short, default_value = "1M", value_parser = byte_count)]
    pub bytes: u64,
    /// Exit with status 1 if there are conflicts
    #[arg(long)]
    pub deny_conflicts: bool,
    /// Conflicts to print (exchanges: links with conflicts), 0 for all; JSON has all
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
}

#[derive(Args)]
pub struct EnvArgs {
    /// Print the table as Markdown, without this environment's values
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Args)]
pub struct RunArgs {
    /// Tell on standard error which MPI and library were found and what is run
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the command and do not run it
    #[arg(long)]
    pub dry_run: bool,
    /// libnagare.so, or the directory it is in, in place of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// The MPI the program uses, where neither launcher nor program tells
    #[arg(long, value_enum)]
    pub mpi: Option<crate::mpi::Family>,
    /// A launcher with its arguments, or an MPI program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args)]
pub struct DoctorArgs {
    /// Start no ranks
    #[arg(long)]
    pub no_probe: bool,
    /// Seconds to wait for the ranks of a probe
    #[arg(long, default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    /// libnagare.so, or the directory it is in, in place of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// This process is a rank of the probe
    #[arg(long, hide = true, requires = "mpi_library")]
    pub rank: Option<crate::mpi::Family>,
    /// Files and names of the real MPI library, to be tried in this order
    #[arg(long, hide = true)]
    pub mpi_library: Vec<PathBuf>,
}

fn collectives() -> impl TypedValueParser<Value = Collective> {
    let names = PossibleValuesParser::new(Collective::ALL.map(Collective::name));
    names.try_map(|name| Collective::from_name(&name).ok_or("unknown"))
}

fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    let names = PossibleValuesParser::new(ALGORITHMS.iter().map(|s| s.name));
    names.try_map(|name| Algorithm::from_name(&name).ok_or("unknown"))
}

fn byte_count(text: &str) -> Result<u64, &'static str> {
    let fits = |b: &u64| (1..=1 << 40).contains(b);
    parse_bytes(text).filter(fits).ok_or("expected bytes between 1 and 1024G, such as 64K or 1M")
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|s| (1..=3600).contains(s));
    seconds.map(Duration::from_secs).ok_or("expected a number of seconds between 1 and 3600")
}
