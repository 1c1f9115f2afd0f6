//! Where `nagare-bench` runs: on an emulated fabric, or where a launcher of the user's puts its ranks.

use super::outcome::machine;
use crate::mpi::Family;
use crate::mpi::launcher::{Launcher, resolve};
use crate::testbed_args::Chosen;
use crate::{args, own, run, testbed_args, testbed_run};
use anyhow::{Context, bail, ensure};
use clap::Args;
use nagare_bench::annotate::{annotate, annotate_links};
use nagare_bench::record::{Line, NO_EMULATION, Results, SCHEMA, read_lines};
use nagare_config::{Config, read_topology};
use nagare_plan::fabric::{Fabric, HostId, Placement};
use nagare_plan::topology::Source;
use nagare_testbed::record::name_from;
use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// File name of the program that measures.
const PROGRAM: &str = "nagare-bench";

#[derive(Args)]
pub struct PlaceArgs {
    /// The fabric: one that comes with Nagare (`nagare fabrics` lists them) or the path of a fabric file
    #[arg(long, short, value_name = "NAME|FILE", required_unless_present = "launcher")]
    pub fabric: Option<String>,
    /// Whose launcher: openmpi, mpich, or a launcher's path; beside srun, whose library
    #[arg(long, value_name = "openmpi|mpich|PATH", default_value = "openmpi")]
    pub mpi: String,
    /// Number of ranks [default: as many as --ppn or the host file give]
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(2..=65536))]
    pub np: Option<u32>,
    /// Ranks per host [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ppn: Option<u32>,
    /// How ranks are placed on hosts, as for `nagare testbed run`
    #[arg(long, default_value = "slot", value_name = "slot|node|balanced|HOSTFILE")]
    pub map: String,
    /// TCP's congestion control on all hosts, such as bbr [default: cubic, or reno where there is none]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Do not tell Nagare the fabric: it finds out about nodes only
    #[arg(long)]
    pub untold: bool,
    /// libnagare.so, or the directory it is in, instead of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// The program nagare-bench, instead of searching
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// In place of an emulated fabric: mpirun, mpiexec or srun with its options and no program, which says where the
    /// ranks run
    #[arg(last = true, value_name = "LAUNCHER",
          conflicts_with_all = ["fabric", "np", "ppn", "map", "congestion", "untold"])]
    pub launcher: Vec<String>,
}

impl PlaceArgs {
    /// As they are typed: options, and what comes last.
    pub fn words(&self) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let mut options = vec!["--mpi".to_owned(), self.mpi.clone()];
        let path = |path: &Option<PathBuf>| path.as_deref().map(text).transpose();
        let (np, ppn) = (self.np.map(|np| np.to_string()), self.ppn.map(|ppn| ppn.to_string()));
        // A launcher says where ranks are.
        let map = self.fabric.is_some().then(|| self.map.clone());
        for (name, value) in [
            ("--fabric", self.fabric.clone()),
            ("--np", np),
            ("--ppn", ppn),
            ("--map", map),
            ("--congestion", self.congestion.clone()),
            ("--lib", path(&self.lib)?),
            ("--program", path(&self.program)?),
        ] {
            options.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        }
        options.extend(self.untold.then(|| "--untold".to_owned()));
        let last = if self.launcher.is_empty() { Vec::new() } else { vec!["--".to_owned()] };
        Ok((options, [last, self.launcher.clone()].concat()))
    }
}

/// A place that was found.
pub struct Place<'a> {
    args: &'a PlaceArgs,
    family: Family,
    /// The fabric, if one is emulated.
    pub chosen: Option<Chosen>,
    /// The program that measures.
    program: PathBuf,
}

impl<'a> Place<'a> {
    /// Finds fabric, launcher and program; nothing is started.
    pub fn find(args: &'a PlaceArgs) -> anyhow::Result<Self> {
        let chosen = args.fabric.as_deref().map(Chosen::new).transpose()?;
        let launcher = args.launcher.first().map(|name| Launcher::identify(&resolve(name)?)).transpose()?;
        // srun starts ranks of any MPI.
        let family = match launcher.and_then(|launcher| launcher.family()) {
            Some(family) => family,
            None => family(&args.mpi)?,
        };
        Ok(Self { args, family, chosen, program: find_program(family, args.program.as_deref())? })
    }

    /// The MPI family of the ranks.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Runs the program with these words and variables.
    pub fn start(&self, words: Vec<String>, environment: Vec<(String, String)>) -> anyhow::Result<ExitCode> {
        let Self { args, family, program, .. } = self;
        let command = [text(program)?].into_iter().chain(words);
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
                stock_too: false,
                lib,
                verbose: false,
                untold: args.untold,
                environment,
                command: command.collect(),
            });
        }
        let command = args.launcher.iter().cloned().chain(command).collect();
        let run = args::RunArgs { verbose: false, dry_run: false, lib, mpi: Some(*family), environment, command };
        let Some(mut command) = run::command(&run)? else { return Ok(ExitCode::SUCCESS) };
        end_with_this_process(&mut command);
        let status = command.status().with_context(|| args.launcher[0].clone())?;
        Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Such as `tree8-16x2-slot-openmpi`.
    pub fn name(&self) -> String {
        let args = self.args;
        let Some(chosen) = &self.chosen else { return name_from(&format!("here-{}", args.launcher.join("-"))) };
        let ppn = args.ppn.unwrap_or(1);
        let ranks = args.np.unwrap_or(chosen.fabric.host_count() as u32 * ppn);
        let map = Path::new(&args.map).file_stem().unwrap_or_default().to_string_lossy();
        name_from(&format!("{}-{ranks}x{ppn}-{map}-{}", chosen.name, self.family.directory()))
    }

    /// What the program wrote to the file `lines`, with limits. Its last line tells whether that is all: an MPI library
    /// may fail after it.
    pub fn results(&self, lines: &Path, name: String) -> anyhow::Result<Results> {
        let fabric = self.chosen.as_ref().map(|chosen| &chosen.fabric);
        let text = fs::read_to_string(lines).with_context(|| lines.display().to_string())?;
        let read = read_lines(&text);
        let read = read.map_err(|n| anyhow::anyhow!("{}:{n}: not a line of {PROGRAM}", lines.display()))?;
        let mut results = Results {
            schema: SCHEMA,
            name,
            fabric: fabric.map_or(NO_EMULATION, Fabric::name).to_owned(),
            map: if fabric.is_some() { self.args.map.clone() } else { "of the launcher".to_owned() },
            command: std::env::args().skip(1).fold("nagare".to_owned(), |line, word| line + " " + &word),
            machine: machine(),
            others: None,
            complete: read.last() == Some(&Line::End),
            job: Default::default(),
            goodput: Vec::new(),
            messages: Vec::new(),
            pairs: Vec::new(),
            reduction: None,
            cells: Vec::new(),
        };
        for line in read {
            match line {
                Line::Job(job) => results.job = job,
                Line::Goodput(goodput) => results.goodput.push(goodput),
                Line::Message(message) => results.messages.push(message),
                Line::Pair(pair) => results.pairs.push(pair),
                Line::Reduction(reduction) => results.reduction = Some(reduction),
                Line::Others { processors } => results.others = Some(processors),
                Line::Cell(cell) => results.cells.push(cell),
                Line::End => {}
            }
        }
        ensure!(!results.job.hosts.is_empty(), "{PROGRAM} ended before it wrote anything; what it said is above");
        if let Some(fabric) = fabric {
            // Where the ranks really were.
            let placement = Placement::listed(fabric, &results.job.hosts).context("where the ranks ran")?;
            annotate(&mut results, fabric, &placement, true);
            if !self.args.untold {
                annotate_links(&mut results, fabric, &placement);
            }
        } else if let Some((fabric, placement)) = told(&results.job.hosts) {
            annotate(&mut results, &fabric, &placement, false);
            annotate_links(&mut results, &fabric, &placement);
        }
        Ok(results)
    }
}

/// The fabric that NAGARE_TOPOLOGY tells the ranks on these hosts, and where on it they are, as Nagare finds it out;
/// `None` if it tells of none, or some host is none of the fabric's.
fn told(hosts: &[String]) -> Option<(Arc<Fabric>, Placement)> {
    let (config, _) = Config::from_vars(std::env::vars_os());
    let (source, _) = read_topology(&config.topology?).ok()?;
    let Source::Fabric { fabric, .. } = &source else { return None };
    let host = |name: &String| u32::try_from(source.place(0, name).ok()?.node?).ok().map(HostId);
    let hosts = hosts.iter().map(host).collect::<Option<Vec<HostId>>>()?;
    Some((Arc::clone(fabric), Placement::from_hosts(hosts)))
}

/// A path as text.
pub fn text(path: &Path) -> anyhow::Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{}: not UTF-8", path.display()))
}

/// Has the program of `command` asked to end (SIGTERM) when this process ends, whatever ends it: a launcher then ends
/// its ranks, which else go on measuring for nobody. The kernel asks when the thread ends that has started it, which
/// must be the main one.
pub fn end_with_this_process(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::TERM))?;
        // This process may have ended before.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: after the fork `ask` makes two system calls; it takes no lock and no memory.
    unsafe { command.pre_exec(ask) };
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

/// The program for `family`: `given`, or beside this program as its libnagare.so is.
fn find_program(family: Family, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let places = match given {
        Some(path) => vec![path.to_owned()],
        None => own::beside(family.directory(), PROGRAM).context("say --program PATH")?,
    };
    let Some(found) = places.iter().find(|place| place.is_file()) else {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        bail!("no {PROGRAM} for {}; looked for {} (--program PATH names another)", family.name(), places.join(", "));
    };
    found.canonicalize().with_context(|| found.display().to_string())
}
