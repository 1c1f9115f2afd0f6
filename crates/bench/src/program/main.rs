//! `nagare-bench`: stock and Nagare by turns in one job.
//!
//! ```text
//!   mpirun -x LD_PRELOAD=.../libnagare.so -np 16 nagare-bench OUT.jsonl [--sizes 64K,1M] [--collectives bcast] \
//!     [--algorithms stock,default] [--root 0] [--numbers int] [--budget 10] [--oracle-budget 10] [--series 50] \
//!     [--back-to-back 4] [--race 300]
//! ```
//!
//! Rank 0 writes one line of JSON per result to OUT.jsonl and progress to standard error. Without Nagare it measures
//! the library alone. `nagare bench` starts it on an emulated fabric. Between the measured calls only point-to-point
//! messages are used, so that no collective of the library is hidden in the figures.

mod buffers;
mod data;
mod goodput;
mod matrix;
mod measure;
mod messages;
mod nagare;
mod pairs;
mod reductions;
mod sweep;
mod together;
mod tuner;
mod watch;

use measure::Setup;
use mpi::traits::{AsRaw, Communicator};
use nagare::Nagare;
use nagare_bench::arguments::Arguments;
use nagare_bench::library;
use nagare_bench::operation::Operation;
use nagare_bench::progress::{duration, remaining};
use nagare_bench::race::share;
use nagare_bench::record::{Job, Line};
use std::env;
use std::fs::File;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use sweep::{Library, Sweep};
use together::Together;
use tuner::Tuner;
use watch::Watch;

/// After which nothing is on its way any more.
const SETTLED: Duration = Duration::from_millis(500);

/// After which a rank that has not come out of MPI_Finalize never will.
const MOST_IN_FINALIZE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    // Before MPI starts, so that --help and mistakes need no launcher.
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("nagare-bench: {message}");
            return ExitCode::from(2);
        }
    };
    let tuner = match arguments.oracle.map(|_| Tuner::new()).transpose() {
        Ok(tuner) => tuner,
        Err(message) => {
            eprintln!("nagare-bench: {message}");
            return ExitCode::FAILURE;
        }
    };
    let Some(universe) = mpi::initialize() else {
        eprintln!("nagare-bench: MPI is initialised already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let together = Together::new(&world);
    match run(&together, &arguments, tuner.as_ref()) {
        Ok(()) => {
            // MPICH 4.0 over UCX 1.13 hangs in MPI_Finalize where messages are still on their way (docs/testbed.md).
            together.barrier();
            std::thread::sleep(SETTLED);
            // Where there can be no such thread, the process waits as any other.
            let _ = std::thread::Builder::new().spawn(|| end_after(MOST_IN_FINALIZE));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("nagare-bench: rank {}: {message}", together.rank);
            world.abort(1)
        }
    }
}

/// Ends the process if that has not happened by then: all results are written, and nobody is to wait for the rest.
fn end_after(time: Duration) {
    std::thread::sleep(time);
    eprintln!("nagare-bench: MPI_Finalize has not returned within {} s, results are complete", time.as_secs());
    // SAFETY: `_exit` only makes a system call. Unlike `exit` it runs nothing of libraries that the other thread is in.
    unsafe { libc::_exit(0) }
}

fn run(together: &Together, arguments: &Arguments, tuner: Option<&Tuner>) -> Result<(), String> {
    let (numbers, ranks) = (arguments.numbers, together.size);
    if ranks > numbers.most_ranks() {
        let (name, most) = (numbers.name(), numbers.most_ranks());
        return Err(format!("--numbers {name} on {ranks} ranks, expected at most {most}, over which sums are exact"));
    }
    let mut out = Output::new(together, &arguments.out)?;
    let nagare = Nagare::find();
    let name = mpi::environment::processor_name().unwrap_or_default();
    let hosts = together.texts(&name)?;
    let mpi = mpi::environment::library_version().unwrap_or_default();
    let mpi = mpi.lines().next().unwrap_or_default().split(", package").next().unwrap_or_default().to_owned();
    let version = nagare.as_ref().map(Nagare::version);
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok();
    let congestion = congestion.map(|text| text.trim().to_owned());
    let root = i32::try_from(arguments.root).ok().filter(|&root| root < together.size);
    let root = root.ok_or_else(|| format!("--root {}: there are {} ranks", arguments.root, together.size))?;
    let (hosts_of_ranks, numbers, series) = (hosts.clone(), arguments.numbers, arguments.series);
    let described = nagare.as_ref().and_then(|nagare| nagare.description(together.world.as_raw()));
    let nodes = described.as_ref().map(|known| known.nodes);
    let (network, placement) = described.as_ref().map(|known| (known.network.clone(), known.placement.clone())).unzip();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let job = Job {
        network,
        transport: described.as_ref().and_then(|known| known.transport.clone()),
        placement,
        nodes,
        nagare: version,
        mpi: mpi.clone(),
        library: library::mapped(&maps).map(str::to_owned),
        hosts: hosts_of_ranks,
        congestion,
        root: arguments.root,
        numbers,
        series,
        back_to_back: arguments.back_to_back,
    };
    out.write(&Line::Job(job))?;
    let watch = Watch::new(together)?;
    let since = watch.now();
    for goodput in goodput::measure(together, &hosts)? {
        out.write(&Line::Goodput(goodput))?;
    }
    for message in messages::measure(together, &hosts) {
        out.write(&Line::Message(message))?;
    }
    // Where the network alone is measured: it takes a second or two.
    if arguments.sizes.is_empty() {
        for pair in pairs::measure(together, &hosts, described.as_ref())? {
            out.write(&Line::Pair(pair))?;
        }
        out.write(&Line::Reduction(reductions::measure(together)))?;
    }
    if let Some(processors) = watch.others(&since) {
        out.write(&Line::Others { processors })?;
    }
    let told = arguments.oracle.zip(tuner);
    let library =
        told.map(|(budget, tuner)| Library::new(together, nagare.as_ref(), tuner, &mpi, budget)).transpose()?;
    let (library, budget, algorithms) = (library.as_ref(), arguments.budget, arguments.algorithms.as_deref());
    let race = arguments.race.is_some();
    let learns = env::var_os("NAGARE_LEARN").is_none_or(|learn| learn != "off");
    let back_to_back = arguments.back_to_back;
    let nagare = nagare.as_ref();
    let mut setup =
        Setup { together, nagare, library, algorithms, root, numbers, budget, series, back_to_back, learns, race };
    let mut sweep: Option<(Operation, Sweep)> = None;
    let cells = arguments.collectives.iter().flat_map(|&c| arguments.sizes.iter().map(move |&bytes| (c, bytes)));
    let cells = cells.filter(|&(c, bytes)| buffers::block(c, bytes, together.size).is_some());
    let cells: Vec<_> = cells.filter(|&(c, _)| measure::has_configurations(&setup, c)).collect();
    let mut done = Vec::new();
    let begin = Instant::now();
    for (number, &(collective, bytes)) in cells.iter().enumerate() {
        let to_come = cells[number..].iter().map(|cell| cell.1);
        if let Some(total) = arguments.race {
            // The clock that is furthest ahead decides, the same at every rank.
            let elapsed = together.largest(begin.elapsed().as_secs_f64());
            let Some(share) = share(elapsed, total.as_secs_f64(), cells.len() - number) else {
                out.say(&format!("the time is used up: {} of {} are not measured", cells.len() - number, cells.len()));
                break;
            };
            setup.budget = Duration::from_secs_f64(share);
        }
        let left = remaining(&done, to_come).map_or(String::new(), |left| format!("; {} left", duration(left)));
        out.say(&format!("{} of {}{left}: {collective}, {bytes} bytes", number + 1, cells.len()));
        if sweep.as_ref().is_none_or(|(of, _)| *of != collective) {
            sweep = library.map(|library| (collective, Sweep::new(library, collective)));
        }
        let (start, since) = (Instant::now(), watch.now());
        let mut cell = measure::cell(&setup, collective, bytes, sweep.as_mut().map(|(_, sweep)| sweep))?;
        cell.others = watch.others(&since);
        done.push((bytes, start.elapsed().as_secs_f64()));
        if let Some(oracle) = &cell.oracle {
            let tried = oracle.tried.iter().filter(|tried| tried.seconds.is_some()).count();
            out.say(&format!("    {tried} of {} settings of the library tried", oracle.tried.len()));
        }
        for timing in &cell.timings {
            out.say(&format!(
                "    {:<32} {:>12.3} ms  ({} iterations, {:.3} to {:.3}; ran {})",
                timing.configuration,
                timing.median * 1e3,
                timing.iterations,
                timing.quartile1 * 1e3,
                timing.quartile3 * 1e3,
                timing.ran
            ));
        }
        out.write(&Line::Cell(cell))?;
    }
    out.write(&Line::End)
}

/// The file of results, at rank 0.
struct Output {
    file: Option<(String, File)>,
}

impl Output {
    fn new(together: &Together, path: &str) -> Result<Self, String> {
        let open = || File::create(path).map_err(|error| format!("{path}: {error}"));
        let file = if together.rank == 0 { Some((path.to_owned(), open()?)) } else { None };
        Ok(Self { file })
    }

    fn write(&mut self, line: &Line) -> Result<(), String> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let text = serde_json::to_string(line).map_err(|error| error.to_string())? + "\n";
        file.write_all(text.as_bytes()).map_err(|error| format!("{path}: {error}"))
    }

    fn say(&self, text: &str) {
        if self.file.is_some() {
            eprintln!("{text}");
        }
    }
}
