//! The text of rules, and of numbers of bytes in them.

use super::{Prescription, Rule};
use crate::algorithm::{Algorithm, FORMER};
use crate::collective::Collective;
use crate::quoted;
use thiserror::Error;

/// What is wrong with a rule text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{item}`: {problem}; expected {expected}")]
pub struct RuleError {
    item: String,
    problem: String,
    expected: String,
}

/// One rule, such as `bcast=chain:64K-`.
pub fn rule(item: &str) -> Result<Rule, RuleError> {
    let error = |problem: String, expected: String| RuleError { item: quoted(item), problem, expected };
    let Some((collective, rest)) = item.split_once('=') else {
        return Err(error("no `=`".into(), "collective=algorithm[:min-max]".into()));
    };
    let (algorithm, range) = rest.split_once(':').map_or((rest, None), |(a, r)| (a, Some(r)));
    let (name, algorithm) = (collective.trim(), algorithm.trim());
    let collective = match name {
        "all" => None,
        name => Some(Collective::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Collective::ALL.iter().map(|c| c.name()).collect();
            error(format!("unknown collective `{}`", quoted(name)), format!("all, {}", names.join(", ")))
        })?),
    };
    let prescription = match algorithm {
        "stock" => Prescription::Stock,
        name => {
            let names = || [Algorithm::names(collective), vec!["stock"]].concat().join(", ");
            let algorithm = Algorithm::from_name(name).ok_or_else(|| {
                let former = FORMER.iter().find(|(former, _)| *former == name);
                let unknown = || format!("unknown algorithm `{}`", quoted(name));
                error(former.map_or_else(unknown, |(former, now)| format!("`{former}` is now {now}")), names())
            })?;
            if let Some(c) = collective.filter(|&c| !algorithm.implements(c)) {
                return Err(error(format!("`{name}` does not implement {c}"), names()));
            }
            Prescription::Force(algorithm)
        }
    };
    let (min, max) = match range.map(str::trim) {
        None => (0, u64::MAX),
        Some(range) if collective.is_some_and(Collective::has_own_sizes) => {
            let problem = format!("{name} has no `{}`: a rank knows its own counts only", quoted(range));
            return Err(error(problem, format!("{name}=algorithm")));
        }
        Some(range) => {
            let expected = || "bytes as min-max, min- or -max, such as 64K-1M".to_owned();
            let (min, max) =
                range.split_once('-').ok_or_else(|| error(format!("no `-` in `{}`", quoted(range)), expected()))?;
            let bound = |text: &str, default| match text.trim() {
                "" => Ok(default),
                text => parse_bytes(text)
                    .ok_or_else(|| error(format!("`{}` is no number of bytes", quoted(text)), expected())),
            };
            let (min, max) = (bound(min, 0)?, bound(max, u64::MAX)?);
            if min > max {
                return Err(error(format!("{min} is above {max}"), expected()));
            }
            (min, max)
        }
    };
    Ok(Rule { collective, prescription, min, max })
}

/// A number of bytes with an optional suffix K, M or G (powers of 1024).
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let shift = match text.chars().last()?.to_ascii_uppercase() {
        'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}
