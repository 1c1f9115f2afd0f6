//! Name patterns: `n[0-7]`, `n[0-3,7]`, `rack[a-c]-[00-15]`.
//!
//! Brackets hold numbers, single letters, and ranges of both, joined by commas; several brackets give all combinations,
//! the last one counting fastest. A number written with leading zeros keeps its width.

use thiserror::Error;

use super::build::MAX_NODES;
use crate::quoted;

/// Letters that a name may have before its last bracket, and behind it.
const LONGEST: usize = 256;

/// A pattern that cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    /// `[` without `]`, or the reverse.
    #[error("'{0}' has unbalanced brackets; expected a name such as n7 or a pattern such as n[0-7]")]
    Unbalanced(String),
    /// An item between brackets that is no number, letter, or range.
    #[error("'{item}' in '{pattern}' is not a range; expected such as 0-7, 00-15, a-d or 3")]
    BadItem {
        /// The whole pattern.
        pattern: String,
        /// The item.
        item: String,
    },
    /// A range that runs down.
    #[error("the range '{item}' in '{pattern}' runs down; expected the smaller end first")]
    Backwards {
        /// The whole pattern.
        pattern: String,
        /// The range.
        item: String,
    },
    /// Longer than any name; as many copies of it as there are names would take all memory.
    #[error("'{0}' has more than {LONGEST} letters before or behind a bracket; expected a shorter name")]
    TooLong(String),
    /// More names than a fabric may have.
    #[error("'{0}' stands for too many names; expected at most {MAX_NODES}")]
    TooMany(String),
}

/// All names a pattern stands for, in order.
pub fn expand(pattern: &str) -> Result<Vec<String>, PatternError> {
    let unbalanced = || PatternError::Unbalanced(quoted(pattern));
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some(open) = rest.find(['[', ']']) {
        let (text, tail) = rest.split_at(open);
        let body = tail.strip_prefix('[').ok_or_else(unbalanced)?;
        let (items, after) = body.split_once(']').ok_or_else(unbalanced)?;
        if items.contains('[') {
            return Err(unbalanced());
        }
        if names.first().map_or(0, String::len) + text.len() > LONGEST {
            return Err(PatternError::TooLong(quoted(pattern)));
        }
        let mut parts = Vec::new();
        for item in items.split(',') {
            expand_item(pattern, item.trim(), &mut parts)?;
        }
        if names.len().saturating_mul(parts.len()) > MAX_NODES {
            return Err(PatternError::TooMany(quoted(pattern)));
        }
        names = (names.iter()).flat_map(|n| parts.iter().map(move |p| format!("{n}{text}{p}"))).collect();
        rest = after;
    }
    if names.len() > 1 && rest.len() > LONGEST {
        return Err(PatternError::TooLong(quoted(pattern)));
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

fn expand_item(pattern: &str, item: &str, parts: &mut Vec<String>) -> Result<(), PatternError> {
    let (low, high) = item.split_once('-').unwrap_or((item, item));
    let shown = || (quoted(pattern), quoted(item));
    let backwards = || {
        let (pattern, item) = shown();
        PatternError::Backwards { pattern, item }
    };
    if parts.len() >= MAX_NODES {
        return Err(PatternError::TooMany(quoted(pattern)));
    }
    if let (Some(from), Some(to)) = (letter(low), letter(high)) {
        if from > to {
            return Err(backwards());
        }
        parts.extend((from..=to).map(|c| char::from(c).to_string()));
        return Ok(());
    }
    let (Some(from), Some(to)) = (number(low), number(high)) else {
        let (pattern, item) = shown();
        return Err(PatternError::BadItem { pattern, item });
    };
    if from > to {
        return Err(backwards());
    }
    if to - from >= MAX_NODES as u64 {
        return Err(PatternError::TooMany(quoted(pattern)));
    }
    let width = low.len();
    parts.extend((from..=to).map(|i| format!("{i:0width$}")));
    Ok(())
}

fn letter(text: &str) -> Option<u8> {
    match *text.as_bytes() {
        [c] if c.is_ascii_alphabetic() => Some(c),
        _ => None,
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    // 18 digits fit u64 and are more than any node number.
    (digits && text.len() <= 18).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lists_and_products() {
        assert_eq!(expand("n7").unwrap(), ["n7"]);
        assert_eq!(expand("n[0-2,7]").unwrap(), ["n0", "n1", "n2", "n7"]);
        assert_eq!(expand("x[08-10]y").unwrap(), ["x08y", "x09y", "x10y"]);
        assert_eq!(expand("n[8-10]").unwrap(), ["n8", "n9", "n10"]);
        assert_eq!(expand("[a-b][1-2]").unwrap(), ["a1", "a2", "b1", "b2"]);
    }

    #[test]
    fn faults_are_named() {
        for bad in ["n[0-7", "n0-7]", "n[[0-7]]"] {
            assert_eq!(expand(bad), Err(PatternError::Unbalanced(bad.into())));
        }
        assert!(matches!(expand("n[]"), Err(PatternError::BadItem { .. })));
        assert!(matches!(expand("n[a-7]"), Err(PatternError::BadItem { .. })));
        assert!(matches!(expand("n[7-0]"), Err(PatternError::Backwards { .. })));
        assert!(matches!(expand("n[0-9999999]"), Err(PatternError::TooMany(_))));
        assert!(matches!(expand("[0-9999][0-9999]"), Err(PatternError::TooMany(_))));
    }
}
