//! `nagare testbed`: brings emulated fabrics up and down, and runs programs across them.

use crate::output::{print, print_json, table};
use crate::own;
use crate::testbed_args::{Chosen, RunArgs, given};
use crate::testbed_run;
use anyhow::bail;
use clap::{Args, Subcommand};
use nagare_testbed::bed::{self, create};
use nagare_testbed::error::Error;
use nagare_testbed::record::{Record, Records};
use nagare_testbed::supervise::Supervisor;
use nagare_testbed::{delay, holder, node, rank};
use serde::Serialize;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

#[derive(Args)]
pub struct TestbedArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Subcommand)]
pub enum Action {
    /// Bring a fabric up and leave it up
    #[command(after_help = "Examples:
  nagare testbed up tree8
  nagare testbed up ./cluster.toml")]
    Up {
        /// One that comes with Nagare (`nagare fabrics` lists them) or the path of a fabric file
        #[arg(value_name = "FABRIC")]
        fabric: String,
        /// TCP's congestion control on all hosts, such as bbr [default: cubic, or reno where there is none]
        #[arg(long, value_name = "NAME")]
        congestion: Option<String>,
    },
    /// Take a testbed down, with every process in it, or remove what a crash has left
    #[command(after_help = "Examples:
  nagare testbed down            the only one that is up
  nagare testbed down tree8
  nagare testbed down --all")]
    Down {
        /// The testbed, as `nagare testbed list` shows it [default: the only one]
        name: Option<String>,
        /// All of this user's testbeds
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// List this user's testbeds
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run an MPI program across a fabric: up, run, down
    #[command(after_help = "Examples:
  nagare testbed run tree8 -- ./app                       one rank on each host
  nagare testbed run mlfm36 --np 32 --map balanced -- ./app
  nagare testbed run tree8 --ppn 2 --map node --mpi /opt/mpich/bin/mpiexec -- python3 app.py
  nagare testbed run tree8 --stock -- ./app               without Nagare
  nagare testbed run tree8 --stock-too -- ./app           without, then with: both times, and what ran

The ranks find their fabric in NAGARE_TOPOLOGY, and NAGARE_* variables reach them. Exit status and
standard streams are the launcher's. Ctrl-C ends the program and takes the fabric down. A fabric
that is up already is used, and left up. If nagare itself fails, the exit status is 125.")]
    Run(RunArgs),
    /// Run a command in a testbed that is up, on one of its hosts or switches or beside the launcher
    #[command(after_help = "Examples:
  nagare testbed exec tree8 --on n0 -- ip route
  nagare testbed exec tree8 --on l0 -- tc -s qdisc
  nagare testbed exec tree8.4711 --on n0 -- tcpdump -i data0      one that `nagare testbed run` has up")]
    Exec {
        /// The testbed, as `nagare testbed list` shows it
        name: String,
        /// Host or switch [default: the launcher's place, in the management network]
        #[arg(long, value_name = "NODE")]
        on: Option<String>,
        /// The command
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// This process keeps a testbed
    #[command(hide = true)]
    Hold {
        /// Directory of the testbed
        directory: PathBuf,
    },
    /// This process is the delay line between the two devices that are its standard input and output
    #[command(hide = true)]
    Delay {
        /// What messages call the link
        link: String,
        /// Its latency, microseconds
        #[arg(value_parser = clap::value_parser!(u64).range(..=1_000_000))]
        latency: u64,
        /// Bytes that there is room for in each direction
        room: u64,
    },
    /// This process is a rank on a host with several adapters
    #[command(hide = true)]
    Rank {
        /// The program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        words: Vec<String>,
    },
    /// This process is a launcher's remote shell
    #[command(hide = true)]
    Agent {
        /// Directory of the testbed
        directory: PathBuf,
        /// What ssh would be given
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

impl TestbedArgs {
    /// Whether the exit status is that of the user's command.
    pub fn runs_a_command(&self) -> bool {
        matches!(self.action, Action::Run(_) | Action::Exec { .. })
    }
}

/// Does what was asked for.
pub fn run(args: &TestbedArgs) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Up { fabric, congestion } => up(fabric, congestion.as_deref()),
        Action::Down { name, all } => down(name.as_deref(), *all),
        Action::List { json } => list(*json),
        Action::Run(args) => testbed_run::run(args),
        Action::Exec { name, on, command } => exec(name, on.as_deref(), command),
        Action::Hold { directory } => {
            holder::run(directory, &own::file()?)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Delay { link, latency, room } => {
            delay::run(link, Duration::from_micros(*latency), *room)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Rank { words } => {
            rank::run(words)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Agent { directory, words } => {
            node::agent(directory, words)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn up(fabric: &str, asked: Option<&str>) -> anyhow::Result<ExitCode> {
    let chosen = Chosen::new(fabric)?;
    let given = given(asked, &chosen.fabric)?;
    let records = Records::of_user()?;
    let program = own::file()?;
    let mut supervisor = Supervisor::new()?;
    let (name, fabric) = (&chosen.name, &chosen.fabric);
    create(&records, name, fabric, given, &program, &mut supervisor, true)?.keep(&mut supervisor)?;
    let (hosts, switches) = (chosen.fabric.host_count(), chosen.fabric.switch_count());
    print(&format!("{} is up: {hosts} hosts, {switches} switches\n", chosen.name))?;
    Ok(ExitCode::SUCCESS)
}

fn down(name: Option<&str>, all: bool) -> anyhow::Result<ExitCode> {
    let records = Records::of_user()?;
    let mut found = records.all()?;
    if let Some(name) = name {
        found.retain(|record| record.name == name);
        if found.is_empty() {
            bail!("no testbed {name} is up; `nagare testbed list` shows those that are");
        }
    } else if !all && found.len() > 1 {
        let names: Vec<&str> = found.iter().map(|record| record.name.as_str()).collect();
        bail!("several testbeds are up: {}; expected the name of one, or --all", names.join(", "));
    }
    for record in &found {
        bed::down(&records, record)?;
        print(&format!("{} is down\n", record.name))?;
    }
    if found.is_empty() {
        print("no testbed is up\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Listed<'a> {
    testbed: &'a str,
    hosts: usize,
    switches: usize,
    state: String,
}

fn list(json: bool) -> anyhow::Result<ExitCode> {
    let found = Records::of_user()?.all()?;
    if json {
        let listed = found.iter().map(|record| Listed {
            testbed: &record.name,
            hosts: record.hosts,
            switches: record.switches,
            state: state(record),
        });
        print_json(&listed.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        print("no testbed is up\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = table(["testbed", "hosts", "switches", "state"]);
    for record in &found {
        let (hosts, switches) = (record.hosts.to_string(), record.switches.to_string());
        table.add_row([record.name.clone(), hosts, switches, state(record)]);
    }
    print(&format!("{table}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn state(record: &Record) -> String {
    let maker = record.maker.is_alive();
    match (record.is_up(), record.stays) {
        (true, true) => "up".to_owned(),
        (true, false) => format!("up while process {} runs", record.maker.pid),
        (false, _) if maker => format!("being made by process {}", record.maker.pid),
        (false, _) => "left by a crash; `nagare testbed down` removes it".to_owned(),
    }
}

fn exec(name: &str, on: Option<&str>, command: &[String]) -> anyhow::Result<ExitCode> {
    let records = Records::of_user()?;
    let record = records.find(name).ok_or_else(|| Error::NotUp(name.to_owned()))?;
    let mut supervisor = Supervisor::new()?;
    let directory = bed::enter(&records, &record)?;
    if let Some(host) = on {
        node::enter(&directory, host)?;
    }
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    Ok(ExitCode::from(supervisor.run(program, None)?))
}
