//! What can be typed after a subcommand's name, but for `testbed` and `bench`.

use crate::mpi::Family;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use nagare_plan::algorithm::{ALGORITHMS, Algorithm};
use nagare_plan::choice::parse_bytes;
use nagare_plan::collective::Collective;
use nagare_plan::fabric::{LevelChoice, MAX_NODES};
use nagare_plan::pattern::Steps;
use nagare_plan::stock::Library;
use nagare_plan::topology::Dims;
use std::path::PathBuf;
use std::time::Duration;

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
    /// Bytes of the vector, or of a block where ranks have blocks, with suffix K, M or G
    #[arg(long, short, default_value = "1M", value_parser = byte_count)]
    pub bytes: u64,
    /// Steps of an exchange under way at the same time, 1 to 32, or `together`: each of all ranks after the one before
    /// [default: NAGARE_STEPS; without it ranks limit the bytes under way]
    #[arg(long, value_parser = str::parse::<Steps>)]
    pub steps: Option<Steps>,
    /// Partners of a rank in one step of the xor exchange, 1 or 2 [default: NAGARE_PARTNERS, or 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub partners: Option<u32>,
    /// Ranks of every node that talk to other nodes in halving_doubling and aggregated [default: NAGARE_AGGREGATORS]
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
    /// Which levels of the network count, in place of what its file says; `nagare fabrics` shows those that there are
    #[arg(long, value_name = "default|all|none|LEVEL,…", requires = "fabric")]
    pub levels: Option<LevelChoice>,
    /// Number of ranks [default: all places]
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub np: Option<u32>,
    /// Ranks per host [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_NODES as i64))]
    pub ppn: Option<u32>,
    /// How ranks are placed on hosts
    #[arg(long, value_enum, default_value_t = Map::Slot, requires = "fabric")]
    pub map: Map,
    /// Dimensions of the torus that the nodes are on, with or without names [default: NAGARE_TORUS]
    #[arg(long, value_name = "4x4x2|X4xY2")]
    pub torus: Option<Dims>,
    /// No message is ever dropped, as over adapters with RDMA, or in shared memory
    #[arg(long)]
    pub lossless: bool,
    /// Processors that all ranks share, as where one machine emulates all hosts: with more ranks than these a message
    /// costs more [default: one for each rank]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processors: Option<u32>,
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
    /// Bytes of the vector, or of a block where every rank has one, separated by commas, with suffix K, M or G
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "16K,64K,256K,1M,4M,16M",
        value_parser = byte_count,
        value_name = "BYTES,…"
    )]
    pub sizes: Vec<u64>,
    /// Largest segment, which the MPI library's transport bounds: 65280 is Open MPI's over TCP, 16K and 64K UCX's
    /// before 1.16 and since; others carry 1M, shared memory 64M
    #[arg(long, default_value = "65280", value_parser = byte_count)]
    pub segment: u64,
    /// The MPI library with whose own algorithms they are compared
    #[arg(long, value_enum, default_value_t = StockLibrary::Openmpi4)]
    pub library: StockLibrary,
    /// What `nagare tune` measured on this network: its costs in predictions, its fastest on as many ranks and nodes
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// An MPI library.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StockLibrary {
    /// Open MPI 4.1
    Openmpi4,
    /// Open MPI 5
    Openmpi5,
    /// MPICH 4 and 5
    Mpich,
    /// Any other: as fast as the faster of Open MPI 4.1 and MPICH
    Other,
}

impl From<StockLibrary> for Library {
    fn from(library: StockLibrary) -> Self {
        match library {
            StockLibrary::Openmpi4 => Self::OpenMpi4,
            StockLibrary::Openmpi5 => Self::OpenMpi5,
            StockLibrary::Mpich => Self::Mpich,
            StockLibrary::Other => Self::Other,
        }
    }
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
    /// Exit with status 1 if there are conflicts
    #[arg(long)]
    pub deny_conflicts: bool,
    /// Only whether messages of one round ever meet on a link, and the first two that do: for thousands of ranks
    #[arg(long, conflicts_with_all = ["links", "limit"])]
    pub certificate: bool,
    /// Also what every link carries
    #[arg(long, conflicts_with = "json")]
    pub links: bool,
    /// Most conflicts to print (of exchanges: links), 0 for all; JSON has all
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
}

#[derive(Args)]
pub struct EnvArgs {
    /// Print the table as Markdown, without this environment's values
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct RunArgs {
    /// Print to standard error which MPI and library were found and what is run
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the command and do not run it
    #[arg(long)]
    pub dry_run: bool,
    /// libnagare.so, or the directory it is in, instead of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// The MPI that the program uses, if neither launcher nor program shows it
    #[arg(long, value_enum)]
    pub mpi: Option<Family>,
    /// Further variables for the ranks.
    #[arg(skip)]
    pub environment: Vec<(String, String)>,
    /// A launcher with its arguments, or an MPI program
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args)]
pub struct DoctorArgs {
    /// Also which functions of the MPI library are used
    #[arg(long, short)]
    pub verbose: bool,
    /// Start no ranks
    #[arg(long)]
    pub no_probe: bool,
    /// Seconds to wait for the ranks of a probe
    #[arg(long, default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    /// Print JSON: the launchers, the libraries, and what is broken
    #[arg(long)]
    pub json: bool,
    /// libnagare.so, or the directory it is in, instead of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// This process is a rank of the probe
    #[arg(long, hide = true, requires = "mpi_library")]
    pub rank: Option<Family>,
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
