//! What the value of `NAGARE_TOPOLOGY` stands for.

use crate::read_text;
use nagare_plan::fabric::{MAX_FILE_BYTES, shipped};
use nagare_plan::quoted;
use nagare_plan::topology::Source;
use std::path::Path;

/// What the value says about the machine: pretended levels (`synthetic:…`), a fabric that comes with Nagare
/// (`shipped:NAME`) or a file of acceptable size; with the text of a fabric.
///
/// # Errors
/// One line: what is wrong and where, and what was expected.
pub fn read_topology(value: &str) -> Result<(Source, Option<String>), String> {
    let named = |error: &dyn std::fmt::Display| format!("NAGARE_TOPOLOGY: {error}");
    if value.starts_with("synthetic:") {
        return Source::synthetic(value).map(|source| (source, None)).map_err(|e| named(&e));
    }
    let text = match value.strip_prefix("shipped:") {
        Some(name) => shipped(name)
            .map(str::to_owned)
            .ok_or_else(|| format!("no fabric `{}` comes with Nagare, `nagare fabrics` lists them", quoted(name))),
        None => read_text(Path::new(value), MAX_FILE_BYTES, "a fabric file (TOML)"),
    };
    let text = text.map_err(|e| named(&e))?;
    let source = Source::fabric(&text, value).map_err(|e| named(&e))?;
    Ok((source, Some(text)))
}
