//! Edits of a text, token by token: a run of letters and digits, or any other character.

use proptest::collection::vec;
use proptest::prelude::*;

/// One edit. Places count tokens and wrap around.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A token goes.
    Delete(usize),
    /// A token comes twice.
    Double(usize),
    /// A token comes very often.
    Repeat(usize, usize),
    /// Two tokens change places.
    Swap(usize, usize),
    /// A word of the language, or an odd one, comes in.
    Insert(usize, usize),
    /// A number, the n-th of the text, becomes an odd one.
    Number(usize, usize),
    /// A letter of a token becomes another.
    Letter(usize, char),
    /// A line goes.
    DeleteLine(usize),
    /// A line comes again at the end.
    RepeatLine(usize),
    /// The text ends here.
    Truncate(usize),
}

/// Numbers at and beyond the borders of types, and what is nearly a number.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "17",
    "-1",
    "-0",
    "+1",
    "00",
    "007",
    "64",
    "255",
    "1000",
    "4096",
    "65536",
    "1048576",
    "1048577",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.5",
    "-0.0",
    "1e-308",
    "5e-324",
    "1e-9",
    "1e9",
    "1e308",
    "1e309",
    "nan",
    "-nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "1e",
    "٣",
    "１",
];

/// What no language here expects, or every one does at another place.
const ODD: &[&str] = &[
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\0",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "é",
    "✓",
    "\u{10ffff}",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "\"\"\"",
    "'",
    "\\",
    "/",
    ":",
    ";",
    "=",
    "-",
    "--",
    ",",
    ".",
    "..",
    "#",
    "x",
    "*",
    "K",
    "G",
    "%s",
    "$HOME",
    "`",
];

/// Up to six edits, one the most often.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = 0usize..4000;
    let edit = prop_oneof![
        2 => at.clone().prop_map(Edit::Delete),
        1 => at.clone().prop_map(Edit::Double),
        1 => (at.clone(), prop_oneof![2usize..40, Just(5000)]).prop_map(|(at, times)| Edit::Repeat(at, times)),
        2 => (at.clone(), at.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        2 => (at.clone(), at.clone()).prop_map(|(at, word)| Edit::Insert(at, word)),
        4 => (at.clone(), 0..NUMBERS.len()).prop_map(|(at, number)| Edit::Number(at, number)),
        1 => (at.clone(), any::<char>()).prop_map(|(at, letter)| Edit::Letter(at, letter)),
        1 => at.clone().prop_map(Edit::DeleteLine),
        1 => at.clone().prop_map(Edit::RepeatLine),
        1 => at.prop_map(Edit::Truncate),
    ];
    prop_oneof![3 => vec(edit.clone(), 1..2), 2 => vec(edit, 2..7)]
}

/// `text` after all edits, in their order.
pub fn apply(text: &str, edits: &[Edit], words: &[&str]) -> String {
    edits.iter().fold(text.to_owned(), |text, edit| apply_one(&text, edit, words))
}

fn apply_one(text: &str, edit: &Edit, words: &[&str]) -> String {
    if let Edit::DeleteLine(at) | Edit::RepeatLine(at) = *edit {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        match lines.len() {
            0 => {}
            count if matches!(edit, Edit::DeleteLine(_)) => drop(lines.remove(at % count)),
            count => lines.push(lines[at % count]),
        }
        return lines.concat();
    }
    let mut tokens: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
    let count = tokens.len();
    if count == 0 {
        return ODD.iter().chain(words).nth(text.len() % ODD.len()).map_or_else(String::new, |word| (*word).to_owned());
    }
    match *edit {
        Edit::Delete(at) => drop(tokens.remove(at % count)),
        Edit::Double(at) => tokens.insert(at % count, tokens[at % count].clone()),
        Edit::Repeat(at, times) => {
            tokens[at % count] = tokens[at % count].repeat(times.min(1 + (1 << 20) / text.len().max(1)))
        }
        Edit::Swap(a, b) => tokens.swap(a % count, b % count),
        Edit::Insert(at, word) => {
            let all: Vec<&str> = words.iter().chain(words).chain(ODD).chain(NUMBERS).copied().collect();
            tokens.insert(at % (count + 1), all[word % all.len()].to_owned());
        }
        Edit::Number(at, number) => {
            let numbers: Vec<usize> =
                (0..count).filter(|&t| tokens[t].contains(|c: char| c.is_ascii_digit())).collect();
            // Where there is none, anything becomes one.
            let place = if numbers.is_empty() { at % count } else { numbers[at % numbers.len()] };
            let letters = tokens[place].trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
            tokens[place] = letters + NUMBERS[number % NUMBERS.len()];
        }
        Edit::Letter(at, letter) => {
            let token = &mut tokens[at % count];
            *token = token.chars().skip(1).chain([letter]).collect();
        }
        Edit::Truncate(at) => tokens.truncate(at % count),
        Edit::DeleteLine(_) | Edit::RepeatLine(_) => {}
    }
    tokens.concat()
}

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_do_what_they_say() {
        let after = |edit| apply("n[0-7] = 12\nx", &[edit], &["word"]);
        assert_eq!(tokens("n7[0-7]é ="), ["n7", "[", "0", "-", "7", "]", "é", " ", "="]);
        assert_eq!(after(Edit::Delete(0)), "[0-7] = 12\nx");
        assert_eq!(after(Edit::Double(1)), "n[[0-7] = 12\nx");
        assert_eq!(after(Edit::Swap(2, 4)), "n[7-0] = 12\nx");
        assert_eq!(after(Edit::Insert(0, 0)), "wordn[0-7] = 12\nx");
        assert_eq!(after(Edit::Number(2, 19)), "n[0-7] = 4294967295\nx");
        assert_eq!(after(Edit::Truncate(3)), "n[0");
        assert_eq!(after(Edit::RepeatLine(1)), "n[0-7] = 12\nxx");
        assert_eq!(after(Edit::DeleteLine(0)), "x");
        assert_eq!(after(Edit::Repeat(0, 3)), "nnn[0-7] = 12\nx");
        assert_eq!(after(Edit::Letter(0, 'm')), "m[0-7] = 12\nx");
    }
}
