//! `nagare env`: the environment variables, their values here, and what is wrong with these.

use crate::args::EnvArgs;
use crate::output::{print, print_json};
use crate::profile;
use nagare_config::{Config, VARIABLES, markdown, profile_files, read_topology};
use nagare_plan::quoted;
use nagare_plan::text::{WIDTH, wrapped};
use serde::Serialize;
use std::fmt::Write;
use std::process::ExitCode;

/// The NAGARE_* variables of this environment.
pub fn variables() -> Vec<(String, String)> {
    let lossy = |s: std::ffi::OsString| s.to_string_lossy().into_owned();
    let all = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    let mut ours: Vec<(String, String)> = all.filter(|(name, _)| name.starts_with("NAGARE_")).collect();
    ours.sort();
    ours
}

/// What is wrong with the variables of this environment, and with the files that a job reads because of them.
pub fn problems() -> Vec<String> {
    let (config, problems) = Config::from_vars(std::env::vars_os());
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.extend(config.topology.and_then(|value| read_topology(&value).err()));
    let (profiles, too_many) = profile_files(&config.profile, |name| std::env::var_os(name));
    lines.extend(too_many);
    lines.extend(profiles.iter().filter_map(|file| Some(format!("{:#}", profile::read(file).err()?))));
    lines
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    /// Here, if it is set.
    value: Option<&'a str>,
    values: &'a str,
    default: &'a str,
    help: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    variables: Vec<Variable<'a>>,
    /// What is wrong here, a line each.
    problems: Vec<String>,
}

fn json(set: &[(String, String)]) -> anyhow::Result<ExitCode> {
    let value = |name: &str| set.iter().find(|(set, _)| set == name).map(|(_, value)| value.as_str());
    let variables = VARIABLES.iter().map(|v| Variable {
        name: v.name,
        value: value(v.name),
        values: v.values,
        default: v.default,
        help: v.help,
    });
    let problems = problems();
    let is_good = problems.is_empty();
    print_json(&Document { variables: variables.collect(), problems })?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints them; exit status 1 if a variable, or a file that a job reads, cannot be used as it is.
pub fn run(args: &EnvArgs) -> anyhow::Result<ExitCode> {
    if args.markdown {
        print(&markdown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let set = variables();
    if args.json {
        return json(&set);
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    for v in VARIABLES {
        let here = set.iter().find(|(name, _)| name == v.name).map(|(_, value)| format!("={}", quoted(value)));
        let _ = writeln!(text, "{}{}", v.name, here.as_deref().unwrap_or(" is not set"));
        let values = format!("{}; default: {}", v.values, v.default);
        for part in [values.as_str(), v.help] {
            text += &wrapped(&format!("    {}", part.replace('`', "")), WIDTH, 0);
        }
        text.push('\n');
    }
    let problems = problems();
    for problem in &problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    print(&text)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
