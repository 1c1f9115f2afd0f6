//! What a testbed is made of: the fabric, the ranks on it, and how TCP keeps from congesting it.

use crate::machine::load_fabric;
use crate::output::tell;
use anyhow::Context;
use clap::Args;
use nagare_plan::fabric::{Fabric, shipped};
use nagare_testbed::congestion::{Kernel, USUAL};
use nagare_testbed::layout::Layout;
use nagare_testbed::record::{Given, name_from};
use nagare_testbed::tap;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct RunArgs {
    /// One that comes with Nagare (`nagare fabrics` lists them) or the path of a fabric file
    #[arg(value_name = "FABRIC")]
    pub fabric: String,
    /// Number of ranks [default: as many as --ppn or the host file give]
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub np: Option<u32>,
    /// Ranks per host [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ppn: Option<u32>,
    /// How ranks are placed on hosts: slot (fill a host, then the next), node (one per host, round after round),
    /// balanced (consecutive ranks, spread evenly over as few groups of hosts as hold them), or a file with lines HOST,
    /// HOST:N or `HOST slots=N` in the order of the ranks
    #[arg(long, default_value = "slot", value_name = "slot|node|balanced|HOSTFILE")]
    pub map: String,
    /// Whose launcher: openmpi, mpich, or a launcher's path [default: that of the library the program is linked to]
    #[arg(long, value_name = "openmpi|mpich|PATH")]
    pub mpi: Option<String>,
    /// TCP's congestion control on all hosts, such as bbr [default: cubic, or reno where there is none]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Do not tell Nagare the fabric: it finds out about nodes only
    #[arg(long)]
    pub untold: bool,
    /// Run without Nagare
    #[arg(long)]
    pub stock: bool,
    /// Run without Nagare first, then with it; print both times, and what ran. Standard input is empty
    #[arg(long, conflicts_with = "stock")]
    pub stock_too: bool,
    /// libnagare.so, or the directory it is in, instead of searching
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// Print to standard error what is run where
    #[arg(long, short)]
    pub verbose: bool,
    /// Further variables for the launcher, which passes them on to the ranks.
    #[arg(skip)]
    pub environment: Vec<(String, String)>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A fabric that the user names.
pub struct Chosen {
    /// The fabric.
    pub fabric: Fabric,
    /// What its testbed is called.
    pub name: String,
    /// NAGARE_TOPOLOGY for its ranks.
    pub topology: String,
}

impl Chosen {
    /// The fabric of that name or path.
    pub fn new(text: &str) -> anyhow::Result<Self> {
        let fabric = load_fabric(text)?;
        let name = text.strip_prefix("shipped:").unwrap_or(text);
        if shipped(name).is_some() {
            return Ok(Self { fabric, name: name.to_owned(), topology: format!("shipped:{name}") });
        }
        let path = Path::new(text).canonicalize().with_context(|| text.to_owned())?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let topology = path.to_str().with_context(|| format!("{text}: not UTF-8"))?.to_owned();
        Ok(Self { fabric, name: name_from(&stem), topology })
    }
}

/// What this machine gives a new testbed; said if that is less than the usual.
pub fn given(asked: Option<&str>, fabric: &Fabric) -> anyhow::Result<Given> {
    let congestion = Kernel::new().choose(asked)?;
    let [usual, next] = USUAL;
    match congestion.as_deref() {
        None => tell!("this kernel has no {usual} and no {next} for namespaces; the testbed keeps the machine's own"),
        Some(name) if name == next && asked.is_none() => {
            tell!("this kernel has no {usual} for namespaces; TCP's congestion control is {next}")
        }
        Some(_) => (),
    }
    let refused = if Layout::new(fabric)?.has_delays() { tap::probe().err() } else { None };
    if let Some(error) = &refused {
        tell!("no link of the testbed has its latency: {error}");
    }
    Ok(Given { congestion, delays: refused.is_none() })
}
