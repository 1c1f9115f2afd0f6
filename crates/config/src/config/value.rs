//! What the value of each variable says.

use super::{Config, DeviceMemory, Learn, LogLevel, ProfileSource, ReportTarget, Wait};
use nagare_plan::choice::{Rules, parse_bytes};
use nagare_plan::pattern::{Pairs, Partners};
use nagare_plan::quoted;
use nagare_plan::topology::{DimensionOrder, DimsError};
use std::time::Duration;

/// The most seconds that can be said.
const MOST_SECONDS: u64 = 1_000_000;

impl Config {
    /// Takes the value of the variable of this name; otherwise what was expected.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
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
            "NAGARE_STEPS" => self.steps = Some(value.parse()?),
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

/// Whole seconds of a time such as `90`, `90s`, `5m` or `2h`.
fn seconds(text: &str) -> Option<u32> {
    let time = text.parse().ok().map(Duration::from_secs).or_else(|| humantime::parse_duration(text).ok())?;
    let seconds = u32::try_from(time.as_secs()).ok().filter(|_| time.subsec_nanos() == 0)?;
    (1..=3_600_000).contains(&seconds).then_some(seconds)
}
