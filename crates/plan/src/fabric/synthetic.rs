//! Pretended hierarchies: `synthetic:group:4 node:2 core:4`.
//!
//! Levels are outermost first with their number of children; ranks fill the places in order. The example has 4 groups
//! of 2 nodes of 4 cores, 32 places: rank 13 is in group 1, node 3 (1 of its group), core 13.

use std::str::FromStr;

use crate::quoted;
use thiserror::Error;

const PREFIX: &str = "synthetic:";
const MAX_PLACES: u64 = 1 << 40;
const MAX_LEVELS: usize = 64;

/// A parsed `synthetic:` hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synthetic {
    levels: Vec<SyntheticLevel>,
}

/// One level of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntheticLevel {
    /// `group`, `node`, `core`, ...
    pub name: String,
    /// How many of them each element of the level outside has.
    pub count: u64,
    /// Places (ranks) in one of them.
    pub places: u64,
}

/// A `synthetic:` text or rank that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntheticError {
    /// Without `synthetic:`.
    #[error("'{0}' is no synthetic topology; expected such as synthetic:group:4 node:2 core:4")]
    NoPrefix(String),
    /// A part that is not `name:count`.
    #[error(
        "'{0}' is no level of a synthetic topology; expected a name, a colon and a number of at least 1, such as node:2"
    )]
    BadLevel(String),
    /// A level twice.
    #[error("the synthetic topology has the level '{0}' twice; expected different names")]
    DuplicateLevel(String),
    /// No level at all.
    #[error("the synthetic topology has no levels; expected such as synthetic:group:4 node:2 core:4")]
    Empty,
    /// More levels than any machine has.
    #[error("the synthetic topology has more than {MAX_LEVELS} levels; expected fewer")]
    TooDeep,
    /// More places than can be counted sensibly.
    #[error("the synthetic topology has more than 2^40 places; expected fewer")]
    TooLarge,
    /// A rank beyond the last place.
    #[error("rank {rank} has no place in the synthetic topology; expected at most {places} ranks ({shape})")]
    TooManyRanks {
        /// The first rank without a place.
        rank: u64,
        /// Places.
        places: u64,
        /// How they come about, such as `4 group x 2 node x 4 core`.
        shape: String,
    },
}

impl FromStr for Synthetic {
    type Err = SyntheticError;

    fn from_str(text: &str) -> Result<Self, SyntheticError> {
        let body = text.trim().strip_prefix(PREFIX);
        let body = body.ok_or_else(|| SyntheticError::NoPrefix(quoted(text)))?;
        let mut levels: Vec<SyntheticLevel> = Vec::new();
        for part in body.split_whitespace() {
            let bad = || SyntheticError::BadLevel(quoted(part));
            let (name, count) = part.split_once(':').ok_or_else(bad)?;
            let count: u64 = count.parse().map_err(|_| bad())?;
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(fits) || count == 0 {
                return Err(bad());
            }
            if levels.iter().any(|l| l.name == name) {
                return Err(SyntheticError::DuplicateLevel(quoted(name)));
            }
            if levels.len() == MAX_LEVELS {
                return Err(SyntheticError::TooDeep);
            }
            levels.push(SyntheticLevel { name: name.to_owned(), count, places: 1 });
        }
        if levels.is_empty() {
            return Err(SyntheticError::Empty);
        }
        let mut places = 1u64;
        for level in levels.iter_mut().rev() {
            level.places = places;
            places = places.saturating_mul(level.count);
            if places > MAX_PLACES {
                return Err(SyntheticError::TooLarge);
            }
        }
        Ok(Synthetic { levels })
    }
}

impl Synthetic {
    /// The levels, outermost first.
    pub fn levels(&self) -> &[SyntheticLevel] {
        &self.levels
    }

    /// Number of ranks there is room for.
    pub fn places(&self) -> u64 {
        self.levels.first().map_or(0, |l| l.count * l.places)
    }

    /// Whether so many ranks have a place.
    pub fn fit(&self, ranks: u64) -> Result<(), SyntheticError> {
        if ranks <= self.places() {
            return Ok(());
        }
        let shape = self.levels.iter().map(|l| format!("{} {}", l.count, l.name));
        Err(SyntheticError::TooManyRanks {
            rank: self.places(),
            places: self.places(),
            shape: quoted(&shape.collect::<Vec<_>>().join(" x ")),
        })
    }

    /// Per level, outermost first, the number of the element a rank is in, counted over the whole machine.
    pub fn path(&self, rank: u64) -> Result<Vec<u64>, SyntheticError> {
        self.fit(rank.saturating_add(1))?;
        Ok(self.levels.iter().map(|l| rank / l.places).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_the_places_in_order() {
        let s: Synthetic = "synthetic:group:4 node:2 core:4".parse().unwrap();
        let names: Vec<&str> = s.levels().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["group", "node", "core"]);
        assert_eq!(s.places(), 32);
        assert_eq!(s.path(0).unwrap(), [0, 0, 0]);
        assert_eq!(s.path(13).unwrap(), [1, 3, 13]);
        assert_eq!(s.path(31).unwrap(), [3, 7, 31]);
        assert!(s.fit(32).is_ok());
        let error = s.fit(33).unwrap_err().to_string();
        assert_eq!(
            error,
            "rank 32 has no place in the synthetic topology; expected at most 32 ranks (4 group x 2 node x 4 core)"
        );
        assert!(s.path(32).is_err() && s.path(u64::MAX).is_err());
    }

    #[test]
    fn faults_are_named() {
        use SyntheticError::*;
        let parse = |t: &str| t.parse::<Synthetic>().unwrap_err();
        assert_eq!(parse("node:2"), NoPrefix("node:2".into()));
        assert_eq!(parse("synthetic:"), Empty);
        assert_eq!(parse("synthetic:node"), BadLevel("node".into()));
        assert_eq!(parse("synthetic:node:0"), BadLevel("node:0".into()));
        assert_eq!(parse("synthetic:node:-1"), BadLevel("node:-1".into()));
        assert_eq!(parse("synthetic::2"), BadLevel(":2".into()));
        assert_eq!(parse("synthetic:a:2 a:2"), DuplicateLevel("a".into()));
        assert_eq!(parse("synthetic:a:9999999 b:9999999 c:99999999"), TooLarge);
    }
}
