//! What can be typed: the subcommands.

use crate::args::{CheckArgs, DoctorArgs, EnvArgs, PlanArgs, PredictArgs, RunArgs};
use crate::bench::BenchArgs;
use crate::pages::PagesArgs;
use crate::profile::ProfileArgs;
use crate::ps::PsArgs;
use crate::report::ReportArgs;
use crate::testbed::TestbedArgs;
use crate::tune::TuneArgs;
use clap::{Parser, Subcommand};
use nagare_plan::fabric::LevelChoice;

/// Topology-aware MPI collectives under unmodified programs: plan them, check them, run with them, diagnose problems
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

A line such as `rank reduce 0: 1→2 2→4` is one round: colour 0 of the level `rank`, in which rank 1
sends to rank 2 and rank 2 to rank 4. Rounds of a tree recur for every block of the vector.")]
    Plan(PlanArgs),
    /// Play a schedule on a network: rounds, bytes per link, conflicts, and whether every result is right
    #[command(after_help = "Examples:
  nagare check bcast --algorithm two_tree --fabric mlfm36 --np 32
  nagare check reduce --algorithm grouped_two_tree --fabric mlfm36 --np 32 --map balanced --deny-conflicts
  nagare check alltoall --algorithm xor --fabric ./cluster.toml --bytes 64K --json

Two transfers of one round conflict when they share a direction of a link that has fewer cables than
transfers. For an exchange (alltoall) the command also plays the messages in time: when the last rank
is done, and which links receive more than they can carry, from when to when.
Exit status: 0 if the schedule ends and every result is right, 1 if not (or on conflicts with
--deny-conflicts), 2 if the check could not run.")]
    Check(CheckArgs),
    /// Predict what each algorithm takes on a network, and show which one the default chooses
    #[command(after_help = "Examples:
  nagare predict bcast --fabric tree8 --ppn 2
  nagare predict allreduce --fabric mlfm36 --np 32 --map balanced --sizes 64K,1M,16M
  nagare predict reduce --topology 'synthetic:group:4 node:8 core:16'

A row is an algorithm, a column a size; a line below says why a row has no times. The prediction comes
from the fabric's rates and routes and from what messages cost: by --profile, else by the message_latency
and message_gap of its file, which `nagare bench` measures. * marks what runs where no call is
measured: with NAGARE_LEARN=off, with MPI_THREAD_MULTIPLE, and for sums of floating-point numbers. From
the thresholds of docs/algorithms.md on it is the algorithm of the least predicted time, or that loses
the least at worst where nobody measured messages. Other calls begin with it if they are predicted to
take 20 ms or more, else with the MPI library, and are measured once they have taken long enough.")]
    Predict(PredictArgs),
    /// List the algorithms and what they implement
    #[command(after_help = "Example:\n  nagare algorithms")]
    Algorithms {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the networks that come with Nagare, or check files and show what is in them
    #[command(after_help = "Examples:
  nagare fabrics
  nagare fabrics ./cluster.toml        a mistake is one line with its place, exit status 1
  nagare fabrics mlfm36 --levels all   four groups of three leaves, where only groups count by default

A file describes a network by its hosts, switches and links, or by a generator (docs/fabrics.md):
  [generator]
  kind = \"fat-tree\"
  ports = 8
  bandwidth = 25000")]
    Fabrics {
        /// Fabric files
        #[arg(value_name = "FILE")]
        files: Vec<String>,
        /// Which levels count, in place of what the files say
        #[arg(long, value_name = "default|all|none|LEVEL,…", requires = "files")]
        levels: Option<LevelChoice>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the environment variables with their values here, and report wrong ones
    #[command(after_help = "Examples:
  nagare env
  NAGARE_LOG=loud nagare env       names the problem, exit status 1
  nagare env --markdown            the table of docs/environment.md")]
    Env(EnvArgs),
    /// Run an MPI program with the fitting library preloaded into its ranks, on remote nodes too
    #[command(after_help = "Examples:
  nagare run -- mpirun -np 16 ./app
  nagare run -v -- mpiexec -n 4 ./a : -n 12 ./b
  nagare run --mpi openmpi -- srun -n 64 python3 app.py
  nagare run -- ./app                    one rank, without a launcher
  nagare run --dry-run -- mpirun -np 16 ./app

The command takes the place of nagare: its exit status and signals are its own. An LD_PRELOAD you
already use, in the environment or among the launcher's arguments, is kept and comes before Nagare.
If nagare itself fails, the exit status is 125.")]
    Run(RunArgs),
    /// Report which MPI is installed, which library fits it, what is configured, and whether two ranks see Nagare
    #[command(after_help = "Examples:
  nagare doctor
  nagare doctor --no-probe               without starting any rank
  NAGARE_TOPOLOGY='synthetic:node:2 core:1' nagare doctor

Exit status: 0 if nothing is broken, 1 if something is.")]
    Doctor(DoctorArgs),
    /// Show what the collectives of running jobs are in, of those started with NAGARE_WATCH
    #[command(after_help = "Examples:
  NAGARE_WATCH=10m nagare run -- mpirun -np 64 ./app &
  nagare ps                              on a host where a rank of it runs
  srun --jobid=1234 --overlap -n1 nagare ps

Ranks that are in the same call are one line. docs/hanging.md explains what is shown.
Exit status: 0 if a job was shown, 1 if none was.")]
    Ps(PsArgs),
    /// Emulate a fabric on this machine, and run MPI programs across it
    #[command(after_help = "Examples:
  nagare testbed run tree8 --ppn 2 -- ./app
  nagare testbed up mlfm36; nagare testbed list; nagare testbed down

Hosts and switches are network namespaces; rates, queues, routes, and latencies of 500 microseconds or
more are those of the fabric's file; shorter latencies are for planning only. Works as root, and for
other users where the kernel allows user namespaces; latencies need /dev/net/tun.")]
    Testbed(TestbedArgs),
    /// Measure stock MPI and Nagare side by side in one job, on an emulated fabric or where you run
    #[command(after_help = "Examples:
  nagare bench --fabric tree8 --ppn 2 --out results
  nagare bench --fabric mlfm36 --np 32 --map balanced --mpi mpich --sizes 64K,1M,4M --collectives bcast,reduce
  nagare bench --fabric tree8 --ppn 2 --collectives allreduce --algorithms stock,default,ring
  nagare bench --fabric tree8 --ppn 2 --oracle --out results
  nagare bench --series 50 --sizes 16K,1M -- mpirun -np 64      on your own nodes
  nagare bench --fabric star16 --collectives alltoall --back-to-back 8   calls as a program makes them
  nagare bench --fabric torus16 --collectives allgather,reduce_scatter_block --sizes 64K,1M
  nagare bench compare before.json after.json
  nagare bench table --plots benchmarks docs/benchmarks/*.json

Every figure is the median over the iterations of the time of the slowest rank, and every result is
verified. The limit is the least time that the links allow whatever the algorithm, with 95.6 % of a
link's rate for data (TCP over Ethernet); with a launcher it is told where NAGARE_TOPOLOGY names a
fabric that has all its hosts. With --oracle the library's own algorithms and segment
sizes are swept too.")]
    Bench(Box<BenchArgs>),
    /// Measure where you run what is the fastest, by collective and size, and write it as a profile for later jobs
    #[command(after_help = "Examples:
  nagare tune -- mpirun -np 64                   on your own nodes; any options of the launcher, no program
  nagare tune --mpi openmpi --budget 20m -- srun -n 64
  nagare tune --fabric tree8 --ppn 2 --out tree8.toml
  NAGARE_PROFILE=tree8.toml nagare testbed run tree8 --ppn 2 -- ./app

Later jobs use a profile where MPI library and network are the same: on communicators of as many ranks
and nodes what was measured, for sums of floating-point numbers too; on others what messages cost, in
predictions. Rank 0 looks for profiles in ~/.config/nagare/profiles and /etc/nagare/profiles;
NAGARE_PROFILE names one, or is off.")]
    Tune(Box<TuneArgs>),
    /// Show, compare or check profiles
    #[command(after_help = "Example:\n  nagare profile show tree8-16x2-slot-openmpi.toml")]
    Profile(ProfileArgs),
    /// Explain what a job's report says
    #[command(after_help = "Example:
  NAGARE_REPORT=r.json nagare run -- mpirun -np 16 ./app
  nagare report show r.json")]
    Report(ReportArgs),
    /// Write manual pages and completions, which `make install` places
    #[command(hide = true)]
    Pages(PagesArgs),
}
