//! Values of the variables.

use crate::table::VARIABLES;
use nagare_plan::choice::{Rules, parse_bytes};
use nagare_plan::pattern::{Pairs, Partners, RailOptions};
use nagare_plan::quoted;
use nagare_plan::topology::{DimensionOrder, Dims, DimsError};
use std::ffi::OsString;
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

/// Where the report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// Standard error of rank 0.
    Stderr,
    /// A file written by rank 0; JSON if its name ends in `.json`.
    File(String),
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

/// The whole configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `NAGARE_ENABLE`.
    pub enable: bool,
    /// `NAGARE_ALGORITHM`.
    pub rules: Rules,
    /// `NAGARE_LEARN`.
    pub learn: bool,
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
    /// `NAGARE_STRICT`.
    pub strict: bool,
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
            learn: true,
            profile: ProfileSource::default(),
            topology: None,
            segment: None,
            window: None,
            steps: None,
            partners: Partners::One,
            torus: None,
            rails: RailOptions::default(),
            wait: None,
            strict: false,
            report: None,
            log: LogLevel::Warn,
        }
    }
}

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
    /// A name that looks like one of ours but is none.
    #[error("{} is not a variable Nagare knows{suggestion}; `nagare env` lists them", quoted(.name))]
    Unknown {
        /// The name.
        name: String,
        /// `, did you mean X?` or nothing.
        suggestion: String,
    },
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
        let named = vars.into_iter().map(|(name, value)| (name.into().to_string_lossy().into_owned(), value.into()));
        let mut vars: Vec<(String, OsString)> = named.filter(|(name, _)| name.starts_with("NAGARE_")).collect();
        vars.sort();
        for (name, value) in vars {
            let Some(known) = VARIABLES.iter().find(|v| v.name == name) else {
                problems.push(Problem::Unknown { suggestion: suggestion(&name), name });
                continue;
            };
            let read = match value.to_str() {
                Some(value) => config.set(known.name, value.trim()),
                None => Err("not UTF-8; expected text".to_owned()),
            };
            if let Err(detail) = read {
                problems.push(Problem::Value { name: known.name, value: value.to_string_lossy().into_owned(), detail });
            }
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
                    "on" => true,
                    "off" => false,
                    _ => return Err("expected on or off".into()),
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
            "NAGARE_REPORT" => {
                self.report = match value {
                    "" => None,
                    "stderr" => Some(ReportTarget::Stderr),
                    path => Some(ReportTarget::File(path.to_owned())),
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

#[cfg(test)]
mod tests;
