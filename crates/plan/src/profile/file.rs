//! A profile as TOML, read; [`written`](super::written) is the other way.
//!
//! ```toml
//! schema = 1
//!
//! [measured]
//! mpi = "Open MPI v4.1.4"      # it is used with the same library only
//! network = "tree8"            # the fabric, or the levels that are known, such as "levels node"
//! transport = "tcp"            # what carries the library's messages between nodes; optional
//! placement = "leaf 2 x 8, node 8 x 2"    # in which order ranks are in groups and on nodes; optional
//! ranks = 16                   # of communicators for which [[fastest]] holds
//! nodes = 8
//! nagare = "0.1.0"
//! date = "2026-11-23"
//! command = "nagare tune --fabric tree8 --ppn 2"
//!
//! [network]                    # each optional
//! message_latency = 66         # microseconds a message costs beyond its bytes
//! message_gap = 65             # microseconds between the messages of a host
//! host_goodput = 95.2          # Mbit/s of data that a host sends while all do
//!
//! # [[pair]] and [reduction]: measures.rs
//!
//! [[fastest]]
//! collective = "bcast"
//! bytes = 65536                # of the vector; of a block, where ranks have blocks
//! algorithm = "two_tree"       # or "stock", the MPI library's own
//! us = 10800                   # microseconds of a call
//! stock_us = 61000
//! ```

use super::measures::{MOST_PAIRS, RawPair, RawReduction};
use super::{Cell, Measured, Profile};
use crate::algorithm::Algorithm;
use crate::collective::Collective;
use crate::fabric::MessageCost;
use crate::quoted::{cut, quoted};
use crate::topology::Costs;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use thiserror::Error;
use toml::Spanned;

/// Version of the form.
pub(super) const SCHEMA: u32 = 1;
/// Longest text [`Profile::from_toml`] accepts.
pub const MAX_FILE_BYTES: usize = 1 << 20;
/// Most characters of what an error says beside its place: it may quote the file.
const LONGEST_MESSAGE: usize = 300;
/// Most `[[fastest]]`: every call looks through them.
const MOST_CELLS: usize = 1024;
/// Smallest number of microseconds or Mbit/s: what is smaller nobody measures, and times would not be finite.
const LEAST: f64 = 1e-3;
/// The MPI library's own.
pub(super) const STOCK: &str = "stock";

/// A profile that cannot be used: where, what, and what was expected, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{source_name}{}: {message}", line.map_or_else(String::new, |line| format!(":{line}")))]
pub struct ProfileError {
    source_name: String,
    line: Option<usize>,
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    schema: Spanned<u32>,
    measured: RawMeasured,
    #[serde(default)]
    network: RawNetwork,
    #[serde(default)]
    pair: Vec<RawPair>,
    reduction: Option<RawReduction>,
    #[serde(default)]
    fastest: Vec<RawCell>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasured {
    mpi: String,
    network: String,
    #[serde(default)]
    transport: String,
    #[serde(default)]
    placement: String,
    ranks: u32,
    nodes: u32,
    #[serde(default)]
    nagare: String,
    #[serde(default)]
    date: String,
    #[serde(default)]
    command: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    message_latency: Option<Spanned<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_gap: Option<Spanned<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_goodput: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCell {
    collective: Spanned<String>,
    bytes: u64,
    most: Option<Spanned<u64>>,
    algorithm: Spanned<String>,
    us: Spanned<f64>,
    stock_us: Spanned<f64>,
}

impl Profile {
    /// Reads a profile from the text of its file; `source_name` is what errors call it.
    ///
    /// # Errors
    /// One line with the source, the line number where there is one, what is wrong and what was expected.
    pub fn from_toml(text: &str, source_name: &str) -> Result<Self, ProfileError> {
        let error = |at: Option<usize>, message: String| {
            let newlines = |at: usize| text.as_bytes()[..at.min(text.len())].iter().filter(|&&c| c == b'\n').count();
            ProfileError {
                source_name: quoted(source_name),
                line: at.map(|at| newlines(at) + 1),
                message: cut(&message, LONGEST_MESSAGE),
            }
        };
        if text.len() > MAX_FILE_BYTES {
            return Err(error(None, format!("{} bytes; expected at most {MAX_FILE_BYTES}", text.len())));
        }
        let raw: RawProfile = toml::from_str(text).map_err(|e| {
            let message = e.message().lines().collect::<Vec<_>>().join("; ");
            error(e.span().map(|span| span.start), message)
        })?;
        if *raw.schema.as_ref() != SCHEMA {
            let message = format!("schema = {}; expected {SCHEMA}: `nagare tune` makes a new one", raw.schema.as_ref());
            return Err(error(Some(raw.schema.span().start), message));
        }
        let within = |value: &Spanned<f64>, most: f64| match *value.as_ref() {
            number if (LEAST..=most).contains(&number) => Ok(number),
            number => {
                Err(error(Some(value.span().start), format!("{number}; expected a number from {LEAST} to {most}")))
            }
        };
        let optional = |value: &Option<Spanned<f64>>, most| value.as_ref().map(|v| within(v, most)).transpose();
        let costs = Costs {
            message: MessageCost {
                latency_us: optional(&raw.network.message_latency, 1e6)?,
                gap_us: optional(&raw.network.message_gap, 1e6)?,
            },
            host_goodput: optional(&raw.network.host_goodput, 1e9)?,
            ..Costs::default()
        };
        if raw.pair.len() > MOST_PAIRS {
            return Err(error(None, format!("{} times [[pair]]; expected at most {MOST_PAIRS}", raw.pair.len())));
        }
        let pairs = raw.pair.into_iter().map(|pair| pair.checked(within)).collect::<Result<_, _>>()?;
        let reduction = raw.reduction.map(|reduction| reduction.checked(within)).transpose()?;
        let cell = |raw: &RawCell| {
            let name = raw.collective.as_ref();
            let collective = Collective::from_name(name).ok_or_else(|| {
                let names = Collective::ALL.map(Collective::name).join(", ");
                let message = format!("unknown collective `{}`; expected {names}", quoted(name));
                error(Some(raw.collective.span().start), message)
            })?;
            let name = raw.algorithm.as_ref();
            let able = Algorithm::from_name(name).filter(|algorithm| algorithm.implements(collective));
            if name != STOCK && able.is_none() {
                let names = [Algorithm::names(Some(collective)), vec![STOCK]].concat().join(", ");
                let message = format!("`{}` does not implement {collective}; expected {names}", quoted(name));
                return Err(error(Some(raw.algorithm.span().start), message));
            }
            let most = raw.most.as_ref().map(|most| *most.as_ref());
            if let Some(wrong) = raw.most.as_ref().filter(|most| *most.as_ref() < raw.bytes) {
                let message = format!("most = {}; expected at least bytes = {}", wrong.as_ref(), raw.bytes);
                return Err(error(Some(wrong.span().start), message));
            }
            let (stock_us, fastest_us) = (within(&raw.stock_us, 1e12)?, within(&raw.us, 1e12)?);
            Ok(Cell { collective, bytes: raw.bytes, most, fastest: able, stock_us, fastest_us })
        };
        if raw.fastest.len() > MOST_CELLS {
            let message = format!("{} times [[fastest]]; expected at most {MOST_CELLS}", raw.fastest.len());
            return Err(error(None, message));
        }
        let cells: Vec<Cell> = raw.fastest.iter().map(cell).collect::<Result<_, _>>()?;
        let mut seen = HashSet::new();
        for (cell, raw) in cells.iter().zip(&raw.fastest) {
            let Cell { collective, bytes, .. } = cell;
            if !seen.insert((collective.name(), *bytes)) {
                let message = format!("{collective} of {bytes} bytes again; expected each size of a collective once");
                return Err(error(Some(raw.collective.span().start), message));
            }
        }
        let RawMeasured { mpi, network, transport, placement, ranks, nodes, nagare, date, command } = raw.measured;
        let measured = Measured { mpi, network, transport, placement, ranks, nodes, nagare, date, command };
        Ok(Self { measured, costs, pairs, reduction, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::profile;
    use super::*;

    #[test]
    fn a_size_stands_once() {
        let cells = [(Collective::Bcast, 8, None), (Collective::Gather, 8, None), (Collective::Bcast, 8, None)];
        let error = Profile::from_toml(&profile(&cells).to_toml(), "p.toml").expect_err("a size twice").to_string();
        assert_eq!(error, "p.toml:32: bcast of 8 bytes again; expected each size of a collective once");
    }

    #[test]
    fn mistakes_have_a_line() {
        let text = profile(&[(Collective::Bcast, 65536, Some(Algorithm::TwoTree))]).to_toml();
        for (from, to, expected) in [
            ("schema = 1", "schema = 2", "p.toml:2: schema = 2; expected 1"),
            ("\"bcast\"", "\"brcast\"", "p.toml:18: unknown collective `brcast`; expected reduce, bcast"),
            ("\"two_tree\"", "\"xor\"", "p.toml:20: `xor` does not implement bcast; expected "),
            ("us = 5.0", "us = -5.0", "p.toml:21: -5; expected a number from 0.001 to 1000000000000"),
            ("us = 5.0", "us = nan", "p.toml:21: NaN; expected a number from 0.001"),
            ("us = 5.0", "us = 1e-300", "p.toml:21: 0.000000"),
            ("ranks = 16", "ranks = \"x\"", "p.toml:9: "),
            ("ranks = 16", "rank = 16", "p.toml:9: unknown field `rank`"),
            ("bytes = 65536", "bytes = -1", "p.toml:19: "),
            (
                "\n[[fastest]]",
                "\n[[pair]]\nwithin = \"node\"\nlatency = 0\ngoodput = 1\n[[fastest]]",
                "p.toml:19: 0; expected",
            ),
            ("\n[[fastest]]", "\n[reduction]\nint = 1\ndouble = inf\n[[fastest]]", "p.toml:19: inf; expected"),
        ] {
            let error = Profile::from_toml(&text.replacen(from, to, 1), "p.toml").expect_err(to).to_string();
            assert!(error.starts_with(expected), "{to}: {error}\n{text}");
        }
    }
}
