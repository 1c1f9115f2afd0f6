//! `nagare-verify licences`: what is linked into the library and the commands, or runs when they are built, and under
//! which licences.

use anyhow::{Context, Result, ensure};
use nagare_harness::root_directory;
use spdx::{Expression, ParseMode};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// What is shipped: its package, its features, and what the table calls it.
const SHIPPED: &[(&str, &[&str], &str)] = &[
    ("nagare", &[], "library"),
    ("nagare-cli", &[], "`nagare`"),
    ("nagare-bench", &["--features", "program"], "`nagare-bench`"),
];

/// Licences that ask for nothing but their text to be passed on.
const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Unicode-3.0", "Zlib"];

/// What a dependency is part of, and its licence; by name and version.
type Rows = BTreeMap<(String, String), (String, Vec<&'static str>)>;

/// Prints the document; false if a licence is not allowed.
///
/// # Errors
/// If cargo does not tell what there is.
pub fn print() -> Result<bool> {
    let mut rows = Rows::new();
    for &(package, features, called) in SHIPPED {
        add(&mut rows, package, features, "normal,no-proc-macro", called)?;
    }
    for &(package, features, _) in SHIPPED {
        add(&mut rows, package, features, "normal,build", "build")?;
    }
    ensure!(!rows.is_empty(), "cargo tree names no dependency");
    print!("{}", markdown(&rows));
    let mut fine = true;
    for ((name, version), (licence, _)) in &rows {
        if let Err(why) = allowed(licence) {
            eprintln!("nagare-verify licences: {name} {version}: {why}");
            fine = false;
        }
    }
    Ok(fine)
}

/// Adds the dependencies of `package` over `edges` as parts of what is `called` so; `build` is said only of what is
/// part of nothing else.
fn add(rows: &mut Rows, package: &str, features: &[&str], edges: &str, called: &'static str) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The table is that of one target, whichever machine makes it.
    cargo.args(["tree", "--locked", "--target", "x86_64-unknown-linux-gnu", "--no-dedupe", "--prefix", "none"]);
    cargo.args(["--format", "{p}|{l}", "--edges", edges, "--package", package]).args(features);
    let output = cargo.current_dir(root_directory()).output().context("cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let (identity, licence) = line.split_once('|').with_context(|| format!("cargo tree: '{line}'"))?;
        // `name v1.2.3`, with its directory behind it if it is one of our own.
        let mut words = identity.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next().and_then(|v| v.strip_prefix('v'))) else {
            continue;
        };
        if identity.contains("(/") {
            continue;
        }
        let (_, parts) =
            rows.entry((name.to_owned(), version.to_owned())).or_insert_with(|| (licence.to_owned(), Vec::new()));
        if !parts.contains(&called) && (called != "build" || parts.is_empty()) {
            parts.push(called);
        }
    }
    Ok(())
}

/// Whether a licence expression can be met with the allowed licences alone; else why not.
fn allowed(licence: &str) -> Result<(), String> {
    // Older packages write `MIT/Apache-2.0`.
    let expression =
        Expression::parse_mode(licence, ParseMode::LAX).map_err(|_| format!("'{licence}' is no licence expression"))?;
    let fits = |requirement: &spdx::LicenseReq| {
        requirement.addition.is_none() && requirement.license.id().is_some_and(|id| ALLOWED.contains(&id.name))
    };
    let met = expression.evaluate(fits);
    if met { Ok(()) } else { Err(format!("'{licence}' cannot be met with {} alone", ALLOWED.join(", "))) }
}

fn markdown(rows: &Rows) -> String {
    let mut text = format!(
        "# Licences of dependencies\n\n\
         Written by `make licences` from the lock file; do not edit. Nagare itself is under MIT or Apache-2.0.\n\
         `build`: runs when Nagare is built, and is no part of it.\n\
         Allowed are {}, and any expression that they fulfil;\n\
         `make check` refuses others.\n\n\
         | package | version | licence | part of |\n|---|---|---|---|\n",
        ALLOWED.join(", ")
    );
    for ((name, version), (licence, parts)) in rows {
        let _ = writeln!(text, "| {name} | {version} | {licence} | {} |", parts.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn one_way_to_meet_a_licence_is_enough() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "Unlicense OR MIT",
            "Apache-2.0 / MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT OR GPL-3.0",
        ] {
            assert_eq!(allowed(licence), Ok(()), "{licence}");
        }
        for licence in ["GPL-3.0-only", "MPL-2.0", "MIT AND LGPL-2.1-only", "none", "Apache-2.0 WITH LLVM-exception"] {
            assert!(allowed(licence).is_err(), "{licence}");
        }
    }
}
