//! Numbers and lines as reports and lists show them.

use std::iter::repeat_n;

/// Columns of a text whose reader is not known.
pub const WIDTH: usize = 80;

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

/// The lines of a text, those that are longer than `width` broken between words: what follows is indented by
/// `further` columns more than the line. A longer word stays whole.
pub fn wrapped(text: &str, width: usize, further: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let own = line.len() - line.trim_start().len();
        let mut column = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && column + 1 + length <= width {
                wrapped.push(' ');
                column += 1 + length;
            } else {
                let indent = if column > 0 { own + further } else { own };
                wrapped.push_str(if column > 0 { "\n" } else { "" });
                wrapped.extend(repeat_n(' ', indent));
                column = indent + length;
            }
            wrapped.push_str(word);
        }
        wrapped.push('\n');
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indentation() {
        assert_eq!(wrapped("a bc def\n\n  gh ij\n", 6, 1), "a bc\n def\n\n  gh\n   ij\n");
        assert_eq!(wrapped("longer than\nsix äöü", 7, 0), "longer\nthan\nsix äöü\n");
    }

    #[test]
    fn suffixes_are_exact() {
        assert_eq!(
            [0, 1023, 1024, 1536, 3 << 20, (3 << 20) + 1024].map(bytes),
            ["0", "1023", "1K", "1536", "3M", "3073K"]
        );
    }
}
