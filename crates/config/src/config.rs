//! Values of the variables.

mod problem;
mod value;

pub use problem::Problem;

use crate::table::VARIABLES;
use nagare_plan::choice::Rules;
use nagare_plan::context::Options;
use nagare_plan::decision::Limits;
use nagare_plan::pattern::{Partners, RailOptions, Steps};
use nagare_plan::topology::Dims;
use problem::suggestion;
use std::ffi::OsString;

/// How much is told while running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Only what stops the job.
    Error,
    /// What the user should know.
    Warn,
    /// What was found and chosen.
    Info,
    /// Every decision.
    Debug,
}

/// How ranks wait for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As the MPI library does.
    Library,
    /// With short pauses.
    Pause,
}

/// Which buffers are taken to be in the memory of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceMemory {
    /// What the devices' drivers say, and what they manage.
    #[default]
    Ask,
    /// What they manage is used as the host's.
    Managed,
    /// None: nobody is asked.
    Never,
}

/// Where the report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// Standard error of rank 0.
    Stderr,
    /// Its standard output.
    Stdout,
    /// A file written by rank 0; JSON if its name ends in `.json`.
    File {
        /// Its name, with `%j`, `%h`, `%p`, `%t` and `%%` to be filled in.
        name: String,
        /// Whether one that is there is replaced.
        replaces: bool,
    },
}

/// Where profiles come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProfileSource {
    /// The user's and the system's directories.
    #[default]
    Search,
    /// One file.
    File(String),
    /// Nowhere.
    Off,
}

/// Whether calls are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learn {
    /// No.
    Off,
    /// In each job anew.
    #[default]
    On,
    /// What they teach becomes a profile for later jobs.
    Write,
}

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `NAGARE_ENABLE`.
    pub enable: bool,
    /// `NAGARE_ALGORITHM`.
    pub rules: Rules,
    /// `NAGARE_LEARN`.
    pub learn: Learn,
    /// `NAGARE_PROFILE`.
    pub profile: ProfileSource,
    /// `NAGARE_TOPOLOGY`, as written.
    pub topology: Option<String>,
    /// `NAGARE_SEGMENT` in bytes.
    pub segment: Option<u64>,
    /// `NAGARE_WINDOW` in segments.
    pub window: Option<u64>,
    /// `NAGARE_STEPS`.
    pub steps: Option<Steps>,
    /// `NAGARE_PARTNERS`.
    pub partners: Partners,
    /// `NAGARE_TORUS`.
    pub torus: Option<Dims>,
    /// `NAGARE_TORUS_ORDER`, `NAGARE_TORUS_PARTNERS` and `NAGARE_AGGREGATORS`.
    pub rails: RailOptions,
    /// `NAGARE_WAIT`.
    pub wait: Option<Wait>,
    /// `NAGARE_DEVICE_MEMORY`.
    pub device_memory: DeviceMemory,
    /// `NAGARE_STRICT`.
    pub strict: bool,
    /// `NAGARE_MEETING_TIMEOUT` in seconds, `None` for ever.
    pub meeting_timeout: Option<u64>,
    /// `NAGARE_WATCH` in seconds.
    pub watch: Option<u32>,
    /// `NAGARE_REPORT`.
    pub report: Option<ReportTarget>,
    /// `NAGARE_LOG`.
    pub log: LogLevel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enable: true,
            rules: Rules::default(),
            learn: Learn::default(),
            profile: ProfileSource::default(),
            topology: None,
            segment: None,
            window: None,
            steps: None,
            partners: Partners::One,
            torus: None,
            rails: RailOptions::default(),
            wait: None,
            device_memory: DeviceMemory::default(),
            strict: false,
            meeting_timeout: Some(MEETING_TIMEOUT),
            watch: None,
            report: None,
            log: LogLevel::Warn,
        }
    }
}

impl Config {
    /// What plans are made with; `lossless`: whether no message is ever dropped.
    pub fn options(&self, lossless: bool) -> Options {
        Options { steps: self.steps, partners: self.partners, rails: self.rails, lossless }
    }

    /// What bounds the pieces of a call on a transport that carries messages of `message` bytes well.
    pub fn limits(&self, message: u64) -> Limits {
        Limits { segment: self.segment, window: self.window, message }
    }
}

/// Seconds after which a job ends of which some rank has no Nagare.
const MEETING_TIMEOUT: u64 = 120;

impl Config {
    /// Reads the configuration from environment variables given as pairs; other names are ignored.
    ///
    /// Every problem is returned beside a configuration in which the default stands in for the unusable value. A value
    /// that is not UTF-8 is a problem, and not taken for another: it may be the name of a file.
    pub fn from_vars<N, V>(vars: impl IntoIterator<Item = (N, V)>) -> (Self, Vec<Problem>)
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let mut config = Self::default();
        let mut problems = Vec::new();
        let mut text_of_rules = String::new();
        let named = vars.into_iter().map(|(name, value)| (name.into().to_string_lossy().into_owned(), value.into()));
        let mut vars: Vec<(String, OsString)> = named.filter(|(name, _)| name.starts_with("NAGARE_")).collect();
        vars.sort();
        for (name, value) in vars {
            let Some(known) = VARIABLES.iter().find(|v| v.name == name) else {
                problems.push(Problem::Unknown { suggestion: suggestion(&name), name });
                continue;
            };
            if known.name == "NAGARE_ALGORITHM" {
                text_of_rules = value.to_string_lossy().into_owned();
            }
            let read = match value.to_str() {
                Some(value) => config.set(known.name, value.trim()),
                None => Err("not UTF-8; expected text".to_owned()),
            };
            if let Err(detail) = read {
                problems.push(Problem::Value { name: known.name, value: value.to_string_lossy().into_owned(), detail });
            }
        }
        if let Some((rule, before)) = config.rules.hidden() {
            let items: Vec<&str> = text_of_rules.split(';').map(str::trim).filter(|item| !item.is_empty()).collect();
            let item = |at: usize| items.get(at).copied().unwrap_or_default().to_owned();
            problems.push(Problem::Hidden { rule: item(rule), before: item(before) });
        }
        (config, problems)
    }
}

#[cfg(test)]
mod tests;
