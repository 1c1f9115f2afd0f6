//! What is wrong with a variable, and which one may have been meant.

use crate::table::VARIABLES;
use nagare_plan::quoted;
use thiserror::Error;

/// A variable that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A value that is not understood; the default holds instead.
    #[error("{name}={}: {detail}", quoted(.value))]
    Value {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong and what was expected.
        detail: String,
    },
    /// A rule that no call can meet, because an earlier one holds for all of its calls.
    #[error("NAGARE_ALGORITHM: `{}` never holds, since `{}` comes before it", quoted(.rule), quoted(.before))]
    Hidden {
        /// The rule.
        rule: String,
        /// The earlier one.
        before: String,
    },
    /// A name that looks like one of ours but is none.
    #[error("{} is not a variable Nagare knows{suggestion}; `nagare env` lists them", quoted(.name))]
    Unknown {
        /// The name.
        name: String,
        /// `, did you mean X?` or nothing.
        suggestion: String,
    },
}

impl Problem {
    /// Whether Nagare cannot run with it: ranks might decide differently, or other than the user meant. `is_strict`:
    /// the user wants nothing to be wrong.
    pub fn is_fatal(&self, is_strict: bool) -> bool {
        match self {
            Self::Value { name, .. } => VARIABLES.iter().any(|v| v.name == *name && v.shared) || is_strict,
            Self::Hidden { .. } | Self::Unknown { .. } => is_strict,
        }
    }
}

/// What is longer than this is no slip; comparing takes time by the length.
const LONGEST_SLIP: usize = 80;

/// The nearest known name, if it is near enough to be a slip.
pub(super) fn suggestion(name: &str) -> String {
    if name.len() > LONGEST_SLIP {
        return String::new();
    }
    let nearest = VARIABLES.iter().map(|v| (distance(name, v.name), v.name)).min();
    // Two letters wrong are a slip in a long name and another word in a short one.
    let own = name.len().saturating_sub("NAGARE_".len());
    nearest.filter(|n| n.0 <= 2 && n.0 * 3 < own).map(|n| format!(", did you mean {}?", n.1)).unwrap_or_default()
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
