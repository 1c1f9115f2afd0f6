//! `nagare testbed run`: brings a fabric up, runs an MPI program across it, and takes it down.

use crate::env::variables;
use crate::mpi::elf::Dynamic;
use crate::mpi::launcher::{Kind, Launcher, find_in_path, resolve};
use crate::mpi::preload::Preload;
use crate::mpi::{Family, library};
use crate::output::tell;
use crate::own;
use crate::testbed_args::{Chosen, RunArgs, given};
use anyhow::{Context, bail, ensure};
use nagare_plan::fabric::{Fabric, Placement};
use nagare_testbed::bed::{create, enter};
use nagare_testbed::holder::{agent, said, temporary};
use nagare_testbed::hostfile::hosts_of_ranks;
use nagare_testbed::launch::{self, Job, launch};
use nagare_testbed::record::{Record, Records, fabric_file};
use nagare_testbed::supervise::Supervisor;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Variables with which ranks find their fabric, and where they write what ran.
const TOPOLOGY: &str = "NAGARE_TOPOLOGY";
const REPORT: &str = "NAGARE_REPORT";

/// Words of --map that are no file.
const PLACED: [&str; 3] = ["slot", "node", "balanced"];

/// On more hosts a rank on each is hardly what somebody means who says no number.
const MOST_UNASKED: usize = 64;

/// What is found out before anything is made.
struct Prepared {
    launcher: Launcher,
    kind: launch::Kind,
    /// The library to preload, unless --stock.
    library: Option<String>,
    /// The host of every rank.
    hosts: Vec<String>,
    /// What starts the program: nothing, or this one where a rank is to be told its adapter.
    before_program: Vec<String>,
}

/// Up, run, down.
pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let chosen = Chosen::new(&args.fabric)?;
    let asked = args.congestion.as_deref();
    let prepared = prepare(args, &chosen.fabric)?;
    let records = Records::of_user()?;
    let mut supervisor = Supervisor::new()?;
    if let Some(record) = already_up(&records, &chosen)? {
        let has = record.given.congestion.as_deref();
        ensure!(
            asked.is_none() || asked == has,
            "the testbed {0} that is up has the congestion control {1}; `nagare testbed down {0}` ends it",
            record.name,
            has.unwrap_or("of the machine")
        );
        let directory = enter(&records, &record)?;
        let before = said(&directory).len();
        let runs = runs(args, &chosen, &prepared, &directory)?;
        let code = timed(runs, |command| Ok(supervisor.run(command, None)?));
        tell_said(&directory, before);
        return Ok(ExitCode::from(code?));
    }
    let given = given(asked, &chosen.fabric)?;
    let name = format!("{}.{}", chosen.name, std::process::id());
    let program = own::file()?;
    let fabric = &chosen.fabric;
    let bed = create(&records, &name, fabric, given, &program, &mut supervisor, false)?;
    let runs = runs(args, &chosen, &prepared, bed.directory());
    let run = |command| Ok(supervisor.run(command, Some(bed.holder()))?);
    let code = runs.and_then(|runs| timed(runs, run));
    tell_said(bed.directory(), 0);
    // Whatever became of the program, nothing stays.
    bed.down()?;
    Ok(ExitCode::from(code?))
}

/// Tells what delay lines of the testbed have said after so many lines.
fn tell_said(directory: &Path, before: usize) {
    for line in said(directory).into_iter().skip(before) {
        tell!("{line}");
    }
}

/// The jobs, one after another: of two the first is without Nagare.
fn runs(args: &RunArgs, chosen: &Chosen, prepared: &Prepared, directory: &Path) -> anyhow::Result<Vec<Command>> {
    let with = command(args, chosen, prepared, prepared.library.as_deref(), directory)?;
    Ok(if args.stock_too { vec![command(args, chosen, prepared, None, directory)?, with] } else { vec![with] })
}

/// Runs the jobs until one fails, and tells the times of two.
fn timed(runs: Vec<Command>, mut run: impl FnMut(Command) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let mut seconds = Vec::new();
    for command in runs {
        let start = Instant::now();
        let code = run(command)?;
        if code != 0 {
            return Ok(code);
        }
        seconds.push(start.elapsed().as_secs_f64());
    }
    if let [stock, ours] = seconds[..] {
        tell!("from start to end {stock:.2} s without Nagare, {ours:.2} s with it: {:.2} x", stock / ours);
    }
    Ok(0)
}

/// The testbed of that name, if it is up; it must be of the same fabric.
fn already_up(records: &Records, chosen: &Chosen) -> anyhow::Result<Option<Record>> {
    let Some(record) = records.find(&chosen.name).filter(Record::is_up) else { return Ok(None) };
    let text = fs::read_to_string(fabric_file(&records.path(&record.name)))?;
    ensure!(
        text == chosen.fabric.to_toml(),
        "the testbed {0} that is up has another fabric than the file has now; `nagare testbed down {0}` ends it",
        record.name
    );
    Ok(Some(record))
}

fn prepare(args: &RunArgs, fabric: &Fabric) -> anyhow::Result<Prepared> {
    let hosts = hosts(args, fabric)?;
    let launcher = launcher(args)?;
    let kind = kind(&launcher)?;
    let family = launcher.family();
    let library = match family {
        Some(family) if !args.stock => {
            let found = library::to_preload(family, args.lib.as_deref())?;
            Some(found.to_string_lossy().into_owned())
        }
        _ => None,
    };
    let mut before_program = Vec::new();
    if fabric.hosts().any(|host| fabric.adapters(host) > 1) {
        before_program = vec![own::file()?.display().to_string(), "testbed".to_owned(), "rank".to_owned()];
    }
    Ok(Prepared { launcher, kind, library, hosts, before_program })
}

/// The host of every rank, by name.
fn hosts(args: &RunArgs, fabric: &Fabric) -> anyhow::Result<Vec<String>> {
    ensure!(
        args.np.is_some()
            || args.ppn.is_some()
            || !PLACED.contains(&args.map.as_str())
            || fabric.host_count() <= MOST_UNASKED,
        "the fabric has {} hosts: say how many ranks to start, --np N, or --ppn 1 for one on each",
        fabric.host_count()
    );
    let ppn = args.ppn.unwrap_or(1) as usize;
    let ranks = args.np.map_or(fabric.host_count().saturating_mul(ppn), |np| np as usize);
    let placement = match args.map.as_str() {
        "slot" => Placement::by_slot(fabric, ranks, ppn)?,
        "node" => Placement::by_node(fabric, ranks, ppn)?,
        "balanced" => Placement::balanced(fabric, ranks, ppn)?,
        file => {
            ensure!(
                args.ppn.is_none(),
                "--ppn {ppn} and the host file {file}: the file says how many ranks a host gets"
            );
            let text = fs::read_to_string(file).with_context(|| {
                format!("--map {file}: neither slot, node or balanced nor a host file that can be read")
            })?;
            let mut names = hosts_of_ranks(&text, file)?;
            let places = names.len();
            ensure!(
                args.np.is_none_or(|np| np as usize <= places),
                "{file} has places for {places} ranks, not {ranks}"
            );
            ensure!(places > 0, "{file} names no host");
            names.truncate(args.np.map_or(places, |np| np as usize));
            Placement::listed(fabric, &names).with_context(|| file.to_owned())?
        }
    };
    Ok(placement.hosts().iter().map(|&host| fabric.node_name(host).to_owned()).collect())
}

/// The launcher that --mpi names, or the first in PATH that fits the program.
fn launcher(args: &RunArgs) -> anyhow::Result<Launcher> {
    let family = match args.mpi.as_deref() {
        Some("openmpi") => Family::Openmpi,
        Some("mpich") => Family::Mpich,
        Some(path) => return Launcher::identify(&resolve(path)?.canonicalize()?),
        None => {
            let program = resolve(&args.command[0])?;
            let linked = Dynamic::read(&program)?.and_then(|dynamic| dynamic.family());
            linked.with_context(|| {
                let shown = program.display();
                format!(
                    "{shown} is not linked to an MPI library; say --mpi openmpi, --mpi mpich or --mpi PATH of a \
                    launcher"
                )
            })?
        }
    };
    let names = match family {
        Family::Openmpi => ["mpirun", "mpiexec", "mpirun.openmpi"],
        Family::Mpich => ["mpiexec", "mpirun", "mpiexec.hydra"],
    };
    let found = names.iter().filter_map(|name| find_in_path(name)).filter_map(|path| Launcher::identify(&path).ok());
    let mut fitting = found.filter(|launcher| launcher.family() == Some(family));
    fitting.next().with_context(|| {
        format!("no launcher of {} in PATH, looked for {}; --mpi PATH names one", family.name(), names.join(", "))
    })
}

fn kind(launcher: &Launcher) -> anyhow::Result<launch::Kind> {
    let version = launcher.version.strip_prefix("Open MPI ").and_then(|v| v.split('.').next()?.parse::<u32>().ok());
    match launcher.kind {
        Kind::OpenMpi if version.is_some_and(|major| major < 5) => Ok(launch::Kind::OpenMpi4),
        Kind::OpenMpi => Ok(launch::Kind::OpenMpi5),
        Kind::Hydra => Ok(launch::Kind::Hydra),
        Kind::Srun => {
            bail!("{} is {}; a testbed needs Open MPI or Hydra", launcher.path.display(), launcher.version)
        }
    }
}

/// What else is preloaded, such as by a module.
fn without_ours(list: &str) -> String {
    let others = list.split([':', ' ']).filter(|path| !path.is_empty() && !path.ends_with("/libnagare.so"));
    others.collect::<Vec<_>>().join(":")
}

/// Writes the host file, and gives the launcher's command line for the testbed this process is in.
fn command(
    args: &RunArgs,
    chosen: &Chosen,
    prepared: &Prepared,
    library: Option<&str>,
    directory: &Path,
) -> anyhow::Result<Command> {
    let Prepared { launcher, kind, hosts, .. } = prepared;
    let temporary = temporary(directory);
    let hostfile = temporary.join(format!("hosts.{}", std::process::id()));
    let launch = launch(*kind, &Job { agent: &agent(directory), temporary: &temporary, hosts, hostfile: &hostfile });
    fs::write(&hostfile, &launch.hostfile).with_context(|| hostfile.display().to_string())?;
    let mut words = launch.options;
    words.extend(prepared.before_program.iter().cloned());
    words.extend(args.command.iter().cloned());
    if let Some(library) = library {
        let environment = std::env::var("LD_PRELOAD").ok();
        let mut variables: Vec<String> = variables().into_iter().map(|(name, _)| name).collect();
        variables.retain(|name| !args.untold || name != TOPOLOGY);
        if !args.untold && !variables.iter().any(|name| name == TOPOLOGY) {
            variables.push(TOPOLOGY.to_owned());
        }
        if args.stock_too && !variables.iter().any(|name| name == REPORT) {
            variables.push(REPORT.to_owned());
        }
        let environment = environment.as_deref();
        let preload = Preload { library, environment, slurm_export: None, variables: &variables };
        words = preload.arguments(launcher.kind, &words)?;
    }
    let path = &launcher.path;
    if args.verbose {
        tell!("{} in {}", launcher.version, directory.display());
        tell!("{TOPOLOGY}={} {} {}", chosen.topology, path.display(), words.join(" "));
    }
    let mut command = Command::new(path);
    command.args(words).envs(launch.environment);
    if library.is_none()
        && let Ok(list) = std::env::var("LD_PRELOAD")
    {
        command.env("LD_PRELOAD", without_ours(&list));
    }
    if args.stock_too {
        // The first job would leave the second nothing of it.
        command.stdin(Stdio::null());
    }
    if args.untold {
        command.env_remove(TOPOLOGY);
    } else {
        command.env(TOPOLOGY, &chosen.topology);
    }
    if args.stock_too && std::env::var_os(REPORT).is_none() {
        command.env(REPORT, "stderr");
    }
    command.envs(args.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}
