//! Writing to standard output, and the look of tables.

use comfy_table::{ContentArrangement, Table, presets};
pub use nagare_plan::text::bytes;
use nagare_plan::text::wrapped;
use std::io::{ErrorKind, IsTerminal, Write};

/// What stands out in a terminal, and the SGR code of its colour (ECMA-48 section 8.3.117).
const COLOURED: [(&str, &str); 4] =
    [("WRONG:", "1;31"), ("\nbroken\n", "1;31"), ("\nright:", "32"), ("\nnothing is broken\n", "32")];

/// The text as a terminal is to show it; unchanged where the user wants none (no-color.org).
fn coloured(text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.to_owned();
    }
    COLOURED.iter().fold(text.to_owned(), |text, (words, colour)| {
        let bare = words.trim();
        text.replace(words, &words.replace(bare, &format!("\x1b[{colour}m{bare}\x1b[0m")))
    })
}

/// Writes `text` to standard output. A reader that has gone away, such as `head`, is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = if out.is_terminal() { coloured(text) } else { text.to_owned() };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(anyhow::anyhow!("standard output: {error}")),
        _ => Ok(()),
    }
}

/// Writes a line to standard error, after the name of the command. A reader that has gone away is no error there
/// either.
macro_rules! tell {
    ($($format:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "nagare: {}", format_args!($($format)*));
    }};
}
pub(crate) use tell;

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
    // In a terminal cells are broken where the table would be wider; what reads a pipe gets each row in one line.
    if std::io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(header.into_iter().map(Into::into).collect::<Vec<String>>());
    table
}

/// The text with its longer lines broken between words where it goes to a terminal; what reads a pipe gets them whole.
pub fn fitted(text: &str) -> String {
    if std::io::stdout().is_terminal() { broken_at(text, width()) } else { text.to_owned() }
}

/// Lines of more than `width` columns broken between words, what follows indented; other lines as they are.
fn broken_at(text: &str, width: usize) -> String {
    let broken = |line: &str| match line.trim_end().chars().count() {
        columns if columns > width => wrapped(line, width, 4),
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(broken).collect()
}

/// Columns of a text that is wrapped: those of the terminal, if it goes to one.
pub fn width() -> usize {
    Table::new().width().map_or(nagare_plan::text::WIDTH, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_lines_are_broken() {
        let text = "step  1: 0→1\nstep  2: 0→1 1→0 2→3\n\n";
        assert_eq!(broken_at(text, 12), "step  1: 0→1\nstep 2: 0→1\n    1→0 2→3\n\n");
        assert_eq!(broken_at(text, 80), text);
    }
}
