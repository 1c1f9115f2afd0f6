//! Values of the variables.

use crate::table::VARIABLES;
use nagare_plan::choice::{Rules, parse_bytes};
use nagare_plan::context::Options;
use nagare_plan::decision::Limits;
use nagare_plan::pattern::{Pairs, Partners, RailOptions};
use nagare_plan::quoted;
use nagare_plan::topology::{DimensionOrder, Dims, DimsError};
use std::ffi::OsString;
use std::time::Duration;
use thiserror::Error;

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
    pub steps: Option<u32>,
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
        Options { steps_in_flight: self.steps, partners: self.partners, rails: self.rails, lossless }
    }

    /// What bounds the pieces of a call on a transport that carries messages of `message` bytes well.
    pub fn limits(&self, message: u64) -> Limits {
        Limits { segment: self.segment, window: self.window, message }
    }
}

/// Seconds after which a job ends of which some rank has no Nagare; the most that can be said.
const MEETING_TIMEOUT: u64 = 120;
const MOST_SECONDS: u64 = 1_000_000;

/// A variable that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A value that is not understood; the default holds instead.
    #[error("{name}={}: {detail}", quoted(.value))]
    Value {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong and what was expected.
        detail: String,
    },
    /// A rule that no call can meet, because an earlier one holds for all of its calls.
    #[error("NAGARE_ALGORITHM: `{}` never holds, since `{}` comes before it", quoted(.rule), quoted(.before))]
    Hidden {
        /// The rule.
        rule: String,
        /// The earlier one.
        before: String,
    },
    /// A name that looks like one of ours but is none.
    #[error("{} is not a variable Nagare knows{suggestion}; `nagare env` lists them", quoted(.name))]
    Unknown {
        /// The name.
        name: String,
        /// `, did you mean X?` or nothing.
        suggestion: String,
    },
}

impl Problem {
    /// Whether Nagare cannot run with it: ranks might decide differently, or other than the user meant. `is_strict`:
    /// the user wants nothing to be wrong.
    pub fn is_fatal(&self, is_strict: bool) -> bool {
        match self {
            Self::Value { name, .. } => VARIABLES.iter().any(|v| v.name == *name && v.shared) || is_strict,
            Self::Hidden { .. } | Self::Unknown { .. } => is_strict,
        }
    }
}

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

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "NAGARE_ENABLE" => self.enable = parse_switch(value)?,
            "NAGARE_STRICT" => self.strict = parse_switch(value)?,
            "NAGARE_ALGORITHM" => self.rules = Rules::parse(value).map_err(|e| e.to_string())?,
            "NAGARE_LEARN" => {
                self.learn = match value {
                    "on" => Learn::On,
                    "off" => Learn::Off,
                    "write" => Learn::Write,
                    _ => return Err("expected on, off or write".into()),
                }
            }
            "NAGARE_PROFILE" => {
                self.profile = match value {
                    "" => ProfileSource::Search,
                    "off" => ProfileSource::Off,
                    name => ProfileSource::File(name.to_owned()),
                }
            }
            "NAGARE_TOPOLOGY" => self.topology = (!value.is_empty()).then(|| value.to_owned()),
            "NAGARE_SEGMENT" => {
                let bytes = parse_bytes(value).filter(|b| (64..=1 << 30).contains(b));
                self.segment = Some(bytes.ok_or("expected bytes between 64 and 1G, such as 8K")?);
            }
            "NAGARE_WINDOW" => {
                let window = value.parse().ok().filter(|w| (2..=1024).contains(w));
                self.window = Some(window.ok_or("expected a number between 2 and 1024")?);
            }
            "NAGARE_STEPS" => {
                let steps = value.parse().ok().filter(|s| (1..=32).contains(s));
                self.steps = Some(steps.ok_or("expected a number between 1 and 32")?);
            }
            "NAGARE_PARTNERS" => {
                self.partners = match value {
                    "1" => Partners::One,
                    "2" => Partners::Two,
                    _ => return Err("expected 1 or 2".into()),
                }
            }
            "NAGARE_TORUS" => {
                self.torus = match value {
                    "" => None,
                    dims => Some(dims.parse().map_err(|e: DimsError| e.to_string())?),
                }
            }
            "NAGARE_TORUS_ORDER" => {
                self.rails.order = match value {
                    "bandwidth" => DimensionOrder::Bandwidth,
                    "alphabetical" => DimensionOrder::Alphabetical,
                    "given" => DimensionOrder::Given,
                    _ => return Err("expected bandwidth, alphabetical or given".into()),
                }
            }
            "NAGARE_TORUS_PARTNERS" => {
                self.rails.pairs = match value {
                    "near" => Pairs::Near,
                    "bits" => Pairs::Bits,
                    _ => return Err("expected near or bits".into()),
                }
            }
            "NAGARE_AGGREGATORS" => {
                let aggregators = value.parse().ok().filter(|a| (1..=64).contains(a));
                self.rails.aggregators = Some(aggregators.ok_or("expected a number between 1 and 64")?);
            }
            "NAGARE_WAIT" => {
                self.wait = Some(match value {
                    "library" => Wait::Library,
                    "pause" => Wait::Pause,
                    _ => return Err("expected library or pause".into()),
                });
            }
            "NAGARE_MEETING_TIMEOUT" => {
                let seconds = value.parse().ok().filter(|s| *s == 0 || (10..=MOST_SECONDS).contains(s));
                let seconds: u64 = seconds.ok_or("expected seconds between 10 and 1000000, or 0 for ever")?;
                self.meeting_timeout = (seconds > 0).then_some(seconds);
            }
            "NAGARE_WATCH" => {
                self.watch = match value {
                    "" | "off" => None,
                    text => {
                        Some(seconds(text).ok_or("expected off, or a time between 1s and 1000h such as 60s or 5m")?)
                    }
                }
            }
            "NAGARE_DEVICE_MEMORY" => {
                self.device_memory = match value {
                    "ask" => DeviceMemory::Ask,
                    "managed" => DeviceMemory::Managed,
                    "never" => DeviceMemory::Never,
                    _ => return Err("expected ask, managed or never".into()),
                }
            }
            "NAGARE_REPORT" => {
                self.report = match value {
                    "" => None,
                    "stderr" => Some(ReportTarget::Stderr),
                    "stdout" => Some(ReportTarget::Stdout),
                    text => {
                        let named = text.strip_prefix(REPLACES);
                        let name = checked_pattern(named.unwrap_or(text))?.to_owned();
                        Some(ReportTarget::File { name, replaces: named.is_some() })
                    }
                }
            }
            "NAGARE_LOG" => {
                self.log = match value {
                    "error" => LogLevel::Error,
                    "warn" => LogLevel::Warn,
                    "info" => LogLevel::Info,
                    "debug" => LogLevel::Debug,
                    _ => return Err("expected error, warn, info or debug".into()),
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Before the name of a report that may replace a file.
const REPLACES: &str = "replace:";

/// The name of a report, if only what can be filled in follows a percent sign.
fn checked_pattern(name: &str) -> Result<&str, String> {
    if name.is_empty() {
        return Err("expected the name of a file".into());
    }
    let unknown =
        name.split("%%").flat_map(|part| part.split('%').skip(1)).find(|rest| !rest.starts_with(['j', 'h', 'p', 't']));
    match unknown {
        Some(rest) => {
            let letter: String = rest.chars().take(1).collect();
            Err(format!(
                "`%{}` is unknown; expected %j (job), %h (host), %p (process), %t (time) or %%",
                quoted(&letter)
            ))
        }
        None => Ok(name),
    }
}

fn parse_switch(value: &str) -> Result<bool, String> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err("expected 1 or 0".into()),
    }
}

/// What is longer than this is no slip; comparing takes time by the length.
const LONGEST_SLIP: usize = 80;

/// The nearest known name, if it is near enough to be a slip.
fn suggestion(name: &str) -> String {
    if name.len() > LONGEST_SLIP {
        return String::new();
    }
    let nearest = VARIABLES.iter().map(|v| (distance(name, v.name), v.name)).min();
    // Two letters wrong are a slip in a long name and another word in a short one.
    let own = name.len().saturating_sub("NAGARE_".len());
    nearest.filter(|n| n.0 <= 2 && n.0 * 3 < own).map(|n| format!(", did you mean {}?", n.1)).unwrap_or_default()
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Whole seconds of a time such as `90`, `90s`, `5m` or `2h`.
fn seconds(text: &str) -> Option<u32> {
    let time = text.parse().ok().map(Duration::from_secs).or_else(|| humantime::parse_duration(text).ok())?;
    let seconds = u32::try_from(time.as_secs()).ok().filter(|_| time.subsec_nanos() == 0)?;
    (1..=3_600_000).contains(&seconds).then_some(seconds)
}

#[cfg(test)]
mod tests;
