//! What a message quotes of a text that somebody else wrote.

/// Characters of a text that a message quotes at most.
const MOST: usize = 120;

/// `text` as a message may quote it: in one line, without anything a terminal would obey, and cut off where it goes on
/// for long.
///
/// ```
/// use nagare_plan::quoted;
/// assert_eq!(quoted("n[0-7]"), "n[0-7]");
/// assert_eq!(quoted("two\nlines \u{1b}[31m"), "two\\nlines \\u{1b}[31m");
/// assert_eq!(quoted(&"long".repeat(1000)).chars().count(), 121);
/// ```
pub fn quoted(text: &str) -> String {
    cut(text, MOST)
}

/// The same for a whole message that quotes somebody else's text itself, of at most `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for letter in text.chars() {
        if length >= most {
            line.push('…');
            break;
        }
        let before = line.len();
        if breaks(letter) {
            line.extend(letter.escape_default())
        } else {
            line.push(letter)
        }
        length += line[before..].chars().count();
    }
    line
}

/// Control characters, separators of lines, and what turns the direction of writing.
fn breaks(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
