//! A failing case with its settings as a file that can be replayed.
//!
//! ```text
//! #! mpi=openmpi4 ranks=5
//! #! NAGARE_TOPOLOGY=synthetic:node:5 core:1
//! case 17 threads=1
//! …
//! ```

use super::case::Case;
use super::read::read_cases;
use super::settings::Settings;
use anyhow::{Context, Result, bail};

/// The text of such a file.
pub fn write(settings: &Settings, cases: &[Case]) -> String {
    let mut text = format!("#! mpi={} ranks={}\n", settings.mpi.name(), settings.ranks);
    for (name, value) in &settings.variables {
        text += &format!("#! {name}={value}\n");
    }
    cases.iter().for_each(|case| text += &case.to_string());
    text
}

/// What such a file says.
///
/// # Errors
/// Names what is wrong, and what was expected.
pub fn read(text: &str) -> Result<(Settings, Vec<Case>)> {
    let mut lines = text.lines().map_while(|l| l.strip_prefix("#! "));
    let first = lines.next().context("expected a first line such as `#! mpi=openmpi4 ranks=5`")?;
    let words: Vec<(&str, &str)> = first.split_whitespace().filter_map(|w| w.split_once('=')).collect();
    let [("mpi", mpi), ("ranks", ranks)] = words[..] else {
        bail!("`{first}`: expected `mpi=NAME ranks=N`");
    };
    let mpi = super::named(mpi)?;
    let ranks = ranks.parse().with_context(|| format!("ranks={ranks}: expected a number"))?;
    let variables: Option<Vec<_>> =
        lines.map(|l| l.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()))).collect();
    let variables = variables.context("expected `#! NAME=VALUE`")?;
    Ok((Settings { mpi, ranks, threads: true, variables }, read_cases(text)?))
}
