//! Dimensions as users write them: `4x4x2`, or with names `W4xX2xY1xZ4`.

use crate::quoted;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Dimensions at most.
const MOST: usize = 16;

/// Names and sizes of the dimensions of a torus.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dims(Vec<(String, u32)>);

/// Dimensions that are not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DimsError {
    /// Where a size should be, there is none, or one out of range.
    #[error("'{found}' at character {at} is no size; expected a number from 1 to {}, as in 4x4x2 or W4xX2", u32::MAX)]
    Size {
        /// What is there, up to the next separator.
        found: String,
        /// Number of its first character, counted from 1.
        at: usize,
    },
    /// Something else than an `x` behind a size.
    #[error("'{found}' at character {at}; expected x between sizes, as in 4x4x2 or W4xX2")]
    Separator {
        /// What is there.
        found: String,
        /// Its number, counted from 1.
        at: usize,
    },
    /// Only some of the dimensions have names.
    #[error("dimension {named} has a name and dimension {unnamed} has none; expected names for all or for none")]
    Mixed {
        /// One with a name, counted from 1.
        named: usize,
        /// One without.
        unnamed: usize,
    },
    /// The same name again.
    #[error("the dimension '{0}' is there twice; expected different names")]
    Twice(String),
    /// More than anything here has.
    #[error("{0} dimensions; expected 1 to {MOST}")]
    Many(usize),
    /// The product of the sizes is out of range.
    #[error("the sizes multiply to more than {} nodes; expected fewer", u32::MAX)]
    Large,
}

impl Dims {
    /// Dimensions of these sizes with the names that dimensions without a name have; `None` for none at all, more than
    /// 16, one of size 0, or more nodes than can be counted.
    pub fn of_sizes(sizes: &[u32]) -> Option<Self> {
        let named = sizes.iter().enumerate().map(|(index, &size)| (default_name(index), size));
        Self(named.collect()).checked().ok().filter(|_| !sizes.contains(&0))
    }

    fn checked(self) -> Result<Self, DimsError> {
        if self.0.is_empty() || self.0.len() > MOST {
            return Err(DimsError::Many(self.0.len()));
        }
        let product = self.0.iter().try_fold(1u32, |product, (_, size)| product.checked_mul(*size));
        if product.is_none() { Err(DimsError::Large) } else { Ok(self) }
    }

    /// Names and sizes.
    pub fn named(&self) -> &[(String, u32)] {
        &self.0
    }

    /// Number of points.
    pub fn points(&self) -> u32 {
        self.0.iter().map(|(_, size)| size).product()
    }

    /// Coordinates of a point; points are in row-major order, the last dimension fastest.
    pub fn coordinates(&self, mut point: u32) -> Vec<u32> {
        let mut coordinates = vec![0; self.0.len()];
        for (coordinate, (_, size)) in coordinates.iter_mut().zip(&self.0).rev() {
            *coordinate = point % size;
            point /= size;
        }
        coordinates
    }
}

/// Name of dimension `index` where it has no other.
fn default_name(index: usize) -> String {
    ["x", "y", "z", "w"].get(index).map_or_else(|| format!("d{index}"), |&name| name.to_owned())
}

impl FromStr for Dims {
    type Err = DimsError;

    fn from_str(text: &str) -> Result<Self, DimsError> {
        let text = text.trim();
        let mut dims: Vec<(&str, u32)> = Vec::new();
        let mut rest = text;
        loop {
            let digits = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let (name, _) = rest.split_at(rest.len() - digits.len());
            let after = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            let (number, _) = digits.split_at(digits.len() - after.len());
            let character = |rest: &str| 1 + text[..text.len() - rest.len()].chars().count();
            let size = number.parse().ok().filter(|&size| size > 0).ok_or_else(|| {
                let end = digits[number.len()..].find('x').map_or(digits.len(), |x| number.len() + x);
                DimsError::Size { found: quoted(&digits[..end]), at: character(digits) }
            })?;
            dims.push((name, size));
            match after.chars().next() {
                None => break,
                Some('x') => rest = &after[1..],
                Some(found) => {
                    return Err(DimsError::Separator { found: quoted(&found.to_string()), at: character(after) });
                }
            }
        }
        if dims.len() > MOST {
            return Err(DimsError::Many(dims.len()));
        }
        let position = |named: bool| dims.iter().position(|(name, _)| name.is_empty() != named);
        if let (Some(named), Some(unnamed)) = (position(true), position(false)) {
            return Err(DimsError::Mixed { named: named + 1, unnamed: unnamed + 1 });
        }
        let again = |&(index, (name, _)): &(usize, &(&str, u32))| dims[..index].iter().any(|(other, _)| other == name);
        if let Some((_, (name, _))) = dims.iter().enumerate().find(again).filter(|(_, (name, _))| !name.is_empty()) {
            return Err(DimsError::Twice(quoted(name)));
        }
        let named = |(index, (name, size)): (usize, (&str, u32))| {
            (if name.is_empty() { default_name(index) } else { name.to_owned() }, size)
        };
        Self(dims.into_iter().enumerate().map(named).collect()).checked()
    }
}

impl fmt::Display for Dims {
    /// The sizes alone, such as `4x4x2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(|(_, size)| size.to_string()).collect();
        f.write_str(&sizes.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<(String, u32)> {
        text.parse::<Dims>().unwrap_or_else(|e| panic!("{text}: {e}")).named().to_vec()
    }

    fn error(text: &str) -> String {
        text.parse::<Dims>().expect_err(text).to_string()
    }

    #[test]
    fn sizes_alone_or_with_names() {
        let named = |pairs: &[(&str, u32)]| pairs.iter().map(|&(n, s)| (n.to_owned(), s)).collect::<Vec<_>>();
        assert_eq!(parse("4x4x2"), named(&[("x", 4), ("y", 4), ("z", 2)]));
        assert_eq!(parse(" 16 "), named(&[("x", 16)]));
        assert_eq!(parse("1x2x1x2x1x3"), named(&[("x", 1), ("y", 2), ("z", 1), ("w", 2), ("d4", 1), ("d5", 3)]));
        assert_eq!(parse("W4xX2xY1xZ4"), named(&[("W", 4), ("X", 2), ("Y", 1), ("Z", 4)]));
        // Names may be any letters, an x among them.
        assert_eq!(parse("x2xy3xbox4"), named(&[("x", 2), ("y", 3), ("box", 4)]));
        let most = ["1"; 16].join("x");
        assert_eq!(parse(&most).len(), 16);
        assert_eq!(most.parse::<Dims>().unwrap().to_string(), most);
    }

    #[test]
    fn mistakes_say_what_where_and_what_was_expected() {
        let size = |found: &str, at: usize| {
            format!(
                "'{found}' at character {at} is no size; expected a number from 1 to 4294967295, as in 4x4x2 or W4xX2"
            )
        };
        assert_eq!(error(""), size("", 1));
        assert_eq!(error("4x"), size("", 3));
        assert_eq!(error("4x0x2"), size("0", 3));
        assert_eq!(error("W4xX"), size("", 5));
        assert_eq!(error("W-4xX2"), size("-4", 2));
        assert_eq!(error("4x99999999999x2"), size("99999999999", 3));
        assert_eq!(error("4*4"), "'*' at character 2; expected x between sizes, as in 4x4x2 or W4xX2");
        assert_eq!(error("4×4"), "'×' at character 2; expected x between sizes, as in 4x4x2 or W4xX2");
        assert_eq!(error("é4"), size("é4", 1));
        assert_eq!(
            error("4xy2"),
            "dimension 2 has a name and dimension 1 has none; expected names for all or for none"
        );
        assert_eq!(error("X2xY2xX2"), "the dimension 'X' is there twice; expected different names");
        assert_eq!(error(&["1"; 17].join("x")), "17 dimensions; expected 1 to 16");
        let large = "the sizes multiply to more than 4294967295 nodes; expected fewer";
        assert_eq!(error("65536x65536"), large);
        assert_eq!(error(&["4294967295"; 16].join("x")), large);
    }

    #[test]
    fn the_last_dimension_is_the_fastest() {
        let dims: Dims = "2x3x4".parse().unwrap();
        assert_eq!(dims.points(), 24);
        assert_eq!((dims.coordinates(0), dims.coordinates(5)), (vec![0, 0, 0], vec![0, 1, 1]));
        assert_eq!(dims.coordinates(23), [1, 2, 3]);
        assert_eq!(Dims::of_sizes(&[]), None);
        assert_eq!(Dims::of_sizes(&[4, 0]), None);
        assert_eq!(Dims::of_sizes(&[1 << 16, 1 << 16]), None);
        assert_eq!(Dims::of_sizes(&[2, 3, 4]), Some(dims));
    }
}
