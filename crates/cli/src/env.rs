//! `nagare env`: the environment variables, their values here, and what is wrong with these.

use crate::args::EnvArgs;
use crate::output::{print, table};
use comfy_table::ContentArrangement;
use nagare_config::{Config, Problem, VARIABLES, markdown};
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

/// What is wrong with the variables of this environment.
pub fn problems() -> Vec<Problem> {
    Config::from_vars(std::env::vars_os()).1
}

/// Prints the table; exit status 1 if a variable cannot be used as it is.
pub fn run(args: &EnvArgs) -> anyhow::Result<ExitCode> {
    if args.markdown {
        print(&markdown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let set = variables();
    let mut table = table(["variable", "here", "default", "values", "meaning"]);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    for v in VARIABLES {
        let here = set.iter().find(|(name, _)| name == v.name).map_or("not set", |(_, value)| value.as_str());
        table.add_row([v.name, here, v.default, &v.values.replace('`', ""), &v.help.replace('`', "")]);
    }
    let mut text = format!("{table}\n");
    let problems = problems();
    for problem in &problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    print(&text)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
