//! Writing to standard output, and the look of tables.

use comfy_table::{Table, presets};
use std::io::{ErrorKind, Write};

/// Writes `text` to standard output. A reader that has gone away, such as `head`, is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(anyhow::anyhow!("standard output: {error}")),
        _ => Ok(()),
    }
}

/// Writes a value as indented JSON.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// An empty table with a header.
pub fn table<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header(header.into_iter().map(Into::into).collect::<Vec<String>>());
    table
}

/// A number of bytes, with a suffix K, M or G (powers of 1024) where that is exact.
pub fn bytes(count: u64) -> String {
    let exact = |shift: u32| count != 0 && count.trailing_zeros() >= shift;
    match () {
        () if exact(30) => format!("{}G", count >> 30),
        () if exact(20) => format!("{}M", count >> 20),
        () if exact(10) => format!("{}K", count >> 10),
        () => count.to_string(),
    }
}
