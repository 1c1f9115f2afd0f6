//! Writing to standard output, and the look of tables.

use comfy_table::{ContentArrangement, Table, presets};
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

/// Columns of a terminal.
const WIDTH: usize = 80;

/// The words in lines that fit a terminal, which begin with `first`, and with `next` from the second on.
pub fn wrapped(words: &str, first: &str, next: &str) -> String {
    let mut text = first.to_owned();
    let (mut column, mut is_empty) = (first.len(), true);
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if is_empty {
            column += length;
        } else if column + 1 + length <= WIDTH {
            text.push(' ');
            column += 1 + length;
        } else {
            text.push('\n');
            text.push_str(next);
            column = next.len() + length;
        }
        text.push_str(word);
        is_empty = false;
    }
    text
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
