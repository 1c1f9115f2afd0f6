//! The parts of doctor's text that need no rank.

use super::Found;
use crate::env::{problems, variables};
use crate::mpi::{Family, library};
use crate::output::table;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// What is broken, one line each.
#[derive(Default)]
pub struct Health(Vec<String>);

/// The library of each family, or why there is none.
pub type Libraries = [(Family, anyhow::Result<PathBuf>)];

impl Health {
    /// Notes something broken.
    pub fn broken(&mut self, line: String) {
        self.0.push(line);
    }

    /// Whether that has been noted.
    pub fn knows(&self, line: &str) -> bool {
        self.0.iter().any(|known| known == line)
    }

    /// Whether nothing is.
    pub fn is_good(&self) -> bool {
        self.0.is_empty()
    }

    /// The closing lines.
    pub fn summary(&self) -> String {
        if self.is_good() {
            return "\nnothing is broken\n".to_owned();
        }
        let lines: String = self.0.iter().map(|line| format!("  {line}\n")).collect();
        format!("\nbroken\n{lines}")
    }
}

/// What was found, for programs.
pub fn as_data(found: &[Found], libraries: &Libraries, health: &Health) -> serde_json::Value {
    let launcher = |found: &Found| match &found.launcher {
        Ok(launcher) => json!({
            "commands": found.names, "file": found.file, "version": launcher.version,
            "family": launcher.family().map(Family::name),
        }),
        Err(error) => json!({ "commands": found.names, "file": found.file, "problem": format!("{error:#}") }),
    };
    let library = |(family, library): &(Family, anyhow::Result<PathBuf>)| match library {
        Ok(file) => json!({ "family": family.name(), "file": file }),
        Err(error) => json!({ "family": family.name(), "problem": format!("{error:#}") }),
    };
    json!({
        "nagare": env!("CARGO_PKG_VERSION"),
        "launchers": found.iter().map(launcher).collect::<Vec<_>>(),
        "libraries": libraries.iter().map(library).collect::<Vec<_>>(),
        "broken": health.0,
    })
}

/// Which launchers there are and which library fits each.
pub fn launchers(found: &[Found], libraries: &Libraries) -> String {
    if found.is_empty() {
        return format!("\nlaunchers\n  none: looked for {} in PATH\n", super::LAUNCHERS.join(", "));
    }
    let mut table = table(["command", "file", "version", "fitting library"]);
    for f in found {
        let (version, fits) = match &f.launcher {
            Err(error) => (format!("{error:#}"), "unknown".to_owned()),
            Ok(launcher) => {
                let fits = match launcher.family() {
                    None => "by the program it starts".to_owned(),
                    Some(family) => match libraries.iter().find(|(f, _)| *f == family) {
                        Some((_, Ok(path))) => path.display().to_string(),
                        _ => "none".to_owned(),
                    },
                };
                (launcher.version.clone(), fits)
            }
        };
        table.add_row([f.names.join("\n"), f.file.display().to_string(), version, fits]);
    }
    format!("\nlaunchers in PATH\n{table}\n")
}

/// Whether the libraries keep what they promise.
pub fn libraries(found: &[Found], libraries: &Libraries, health: &mut Health) -> String {
    let mut text = String::from("\nlibraries\n");
    let mut any = false;
    for (family, library) in libraries {
        let path = match library {
            Err(error) => {
                let _ = writeln!(text, "  {error:#}");
                continue;
            }
            Ok(path) => path,
        };
        any = true;
        let _ = writeln!(text, "  {}: {}", family.name(), path.display());
        match library::inspect(path, *family) {
            Err(error) => health.broken(format!("{error:#}")),
            Ok(inspection) => {
                let counts: Vec<String> =
                    inspection.counts.iter().map(|(prefix, n)| format!("{n} {prefix}*")).collect();
                let large = if inspection.large_count { "with" } else { "without" };
                let _ = writeln!(text, "    exports {}, {large} large-count functions", counts.join(", "));
                let _ = writeln!(text, "    needs {}", inspection.needed.join(", "));
                for fault in inspection.faults {
                    let _ = writeln!(text, "    WRONG: {fault}");
                    health.broken(format!("{}: {fault}", path.display()));
                }
            }
        }
    }
    if !any && found.iter().any(|f| f.launcher.is_ok()) {
        health.broken(format!("there is no {} for any MPI found; build it with `make`", library::FILE_NAME));
    }
    text
}

/// The NAGARE_* variables and what is wrong with them.
pub fn configuration(health: &mut Health) -> String {
    let mut text = String::from("\nconfiguration (environment; `nagare env` explains)\n");
    let set = variables();
    if set.is_empty() {
        text.push_str("  no NAGARE_* variable is set: defaults hold\n");
    }
    for (name, value) in set {
        let _ = writeln!(text, "  {name}={value}");
    }
    for problem in problems() {
        let _ = writeln!(text, "  WRONG: {problem}");
        health.broken(problem);
    }
    if let Some(value) = std::env::var_os("LD_PRELOAD") {
        let _ = writeln!(text, "  LD_PRELOAD={} (comes before Nagare)", value.to_string_lossy());
    }
    text
}

/// What Slurm says about this process.
pub fn slurm() -> String {
    let names =
        ["SLURM_JOB_ID", "SLURM_NODELIST", "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN", "SLURM_EXPORT_ENV"];
    let set = names.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let lines: String = set.map(|(name, value)| format!("  {name}={}\n", value.to_string_lossy())).collect();
    let lines =
        if lines.is_empty() { "  none of its variables is set: not inside a job step\n".to_owned() } else { lines };
    format!("\nSlurm\n{lines}")
}
