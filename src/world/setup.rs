//! What the environment and the files of this process say: read once, before the ranks compare it.

use nagare_config::{Config, read_topology};
use nagare_plan::quoted;
use nagare_plan::topology::{Location, Source, Topology};
use std::env::VarError;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Levels outside the node that ranks can tell each other.
pub const MAX_LEVELS: usize = 8;

/// Configuration and place of this process.
pub struct Setup {
    /// The values of the variables.
    pub config: Config,
    /// Whether everything that the ranks must share could be read.
    pub usable: bool,
    /// One line for each thing that is wrong.
    pub problems: Vec<String>,
    /// What is known about the machine.
    source: Source,
    /// Names of the levels outside the node.
    pub level_names: Vec<String>,
    /// The variables all ranks must share, each with the hash of its value.
    pub variables: Vec<(&'static str, u64)>,
    /// Hash of all that is set and all ranks must share.
    pub settings_hash: u64,
    /// Hash of the topology file's contents.
    pub file_hash: u64,
    /// Where the topology comes from, in words.
    pub topology_origin: String,
}

impl Setup {
    /// Reads the environment and the topology file.
    pub fn read() -> Self {
        let vars: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let (config, problems) = Config::from_vars(vars.iter().cloned());
        let mut usable = !problems.iter().any(|problem| problem.is_fatal(config.strict));
        let mut problems: Vec<String> = problems.iter().map(ToString::to_string).collect();

        let mut settings = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut settings);
        let shared = nagare_config::VARIABLES.iter().filter(|v| v.shared).map(|v| v.name);
        let hash = |name| {
            let mut hasher = DefaultHasher::new();
            vars.iter().find(|(n, _)| n == name).hash(&mut hasher);
            (name, hasher.finish())
        };
        let variables: Vec<(&'static str, u64)> = shared.map(hash).collect();
        variables.hash(&mut settings);

        let mut file_hash = 0;
        let (source, topology_origin) = match topology_source(&config, &mut file_hash) {
            Ok(found) => found,
            Err(problem) => {
                problems.push(problem);
                usable = false;
                (Source::Nodes, "boot, name and network of the hosts".to_owned())
            }
        };
        let level_names = source.level_names();
        if level_names.len() > MAX_LEVELS {
            problems.push(format!(
                "NAGARE_TOPOLOGY: {} levels outside the node, expected at most {MAX_LEVELS}",
                level_names.len()
            ));
            usable = false;
        }
        level_names.hash(&mut settings);
        Self {
            config,
            usable,
            problems,
            source,
            level_names,
            variables,
            settings_hash: settings.finish(),
            file_hash,
            topology_origin,
        }
    }
}

impl Setup {
    /// `topology` with the network that is known link by link, if one is; `node_of[rank]` as ranks told it.
    pub fn on_network(&self, topology: Topology, node_of: &[u64]) -> Topology {
        self.source.on_network(topology, node_of)
    }

    /// Whether the network is known link by link.
    pub fn has_network(&self) -> bool {
        matches!(self.source, Source::Fabric { .. })
    }

    /// The place of `rank` of the world, which is on this host.
    ///
    /// # Errors
    /// One line that says why there is none.
    pub fn place(&self, rank: u64) -> Result<Location, String> {
        self.source.place(rank, &host_name()).map_err(|error| format!("NAGARE_TOPOLOGY: rank {rank}: {error}"))
    }
}

/// What `NAGARE_TOPOLOGY`, else Slurm, says about the machine, and where that was found.
fn topology_source(config: &Config, file_hash: &mut u64) -> Result<(Source, String), String> {
    match config.topology.as_deref() {
        Some(value) => match read_topology(value)? {
            (source, None) => Ok((source, format!("NAGARE_TOPOLOGY={}", quoted(value)))),
            (source, Some(text)) => {
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                *file_hash = hasher.finish();
                Ok((source, quoted(value)))
            }
        },
        None => match (text_of("SLURM_TOPOLOGY_ADDR")?, text_of("SLURM_TOPOLOGY_ADDR_PATTERN")?) {
            (Some(address), Some(pattern)) if !address.is_empty() => {
                let source = Source::slurm(&address, &pattern).map_err(|e| e.to_string())?;
                Ok((source, "SLURM_TOPOLOGY_ADDR".to_owned()))
            }
            _ => Ok((Source::Nodes, "boot, name and network of the hosts".to_owned())),
        },
    }
}

/// A variable that another program sets.
fn text_of(name: &str) -> Result<Option<String>, String> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(format!("{name}: not UTF-8; expected text")),
    }
}

/// This host's name as the kernel knows it.
pub fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is as long as said; the result is cut at its first zero, or used whole.
    let code = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len()) };
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
    if code == 0 { String::from_utf8_lossy(&buffer[..end]).into_owned() } else { String::new() }
}
