//! What else was measured: pairs of ranks, and sums. People read it; no prediction does (docs/profiles.md).
//!
//! ```toml
//! [[pair]]
//! within = "node"      # the closest level that both ranks are in; "job" where they share none
//! latency = 0.4        # microseconds, half a round trip of 8 bytes
//! goodput = 41000      # Mbit/s of one rank to the other, all others waiting
//! eager = 4064         # bytes of the longest message that leaves before its receiver asks for it; optional
//! rendezvous = 1.2     # microseconds that one byte more costs; optional
//! assumed = 3840       # what Nagare takes for the longest such message, by the library's variables; optional
//!
//! [reduction]          # nanoseconds a byte of a sum costs (MPI_Reduce_local)
//! int = 0.21
//! double = 0.25
//! ```

use serde::Deserialize;
use std::fmt::{self, Write};
use toml::Spanned;

/// Most pairs: one for each level there can be, and one of the job.
pub(super) const MOST_PAIRS: usize = 65;

/// What a pair of ranks can do, all others waiting.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The closest level that both are in.
    pub within: String,
    /// Microseconds, half a round trip.
    pub latency_us: f64,
    /// Mbit/s of data from one to the other.
    pub goodput: f64,
    /// The longest message that leaves before its receiver asks for it, bytes.
    pub eager: Option<u64>,
    /// Microseconds that a message costs more which is one byte longer.
    pub rendezvous_us: Option<f64>,
    /// What Nagare takes for the longest such message, bytes.
    pub assumed: Option<u64>,
}

/// Nanoseconds that a byte of a sum costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Of `MPI_INT`.
    pub int_ns: f64,
    /// Of `MPI_DOUBLE`.
    pub double_ns: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPair {
    within: String,
    latency: Spanned<f64>,
    goodput: Spanned<f64>,
    eager: Option<u64>,
    rendezvous: Option<Spanned<f64>>,
    assumed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReduction {
    int: Spanned<f64>,
    double: Spanned<f64>,
}

impl RawPair {
    /// With numbers that are `within` 0.001 and a largest.
    pub(super) fn checked<E>(self, within: impl Fn(&Spanned<f64>, f64) -> Result<f64, E>) -> Result<Pair, E> {
        Ok(Pair {
            latency_us: within(&self.latency, 1e9)?,
            goodput: within(&self.goodput, 1e9)?,
            rendezvous_us: self.rendezvous.map(|value| within(&value, 1e9)).transpose()?,
            within: self.within,
            eager: self.eager,
            assumed: self.assumed,
        })
    }
}

impl RawReduction {
    /// With numbers that are `within` 0.001 and a largest.
    pub(super) fn checked<E>(self, within: impl Fn(&Spanned<f64>, f64) -> Result<f64, E>) -> Result<Reduction, E> {
        Ok(Reduction { int_ns: within(&self.int, 1e6)?, double_ns: within(&self.double, 1e6)? })
    }
}

/// As the file has them.
pub(super) fn write(text: &mut String, pairs: &[Pair], reduction: Option<Reduction>) -> fmt::Result {
    for Pair { within, latency_us, goodput, eager, rendezvous_us, assumed } in pairs {
        let within = toml::Value::String(within.clone());
        writeln!(text, "\n[[pair]]\nwithin = {within}   # the closest level that both ranks are in")?;
        writeln!(text, "latency = {latency_us:?}   # microseconds, half a round trip")?;
        writeln!(text, "goodput = {goodput:?}   # Mbit/s of one to the other")?;
        if let Some(eager) = eager {
            writeln!(text, "eager = {eager}   # bytes that leave before the receiver asks for them")?;
        }
        if let Some(more) = rendezvous_us {
            writeln!(text, "rendezvous = {more:?}   # microseconds that one byte more costs")?;
        }
        if let Some(assumed) = assumed {
            writeln!(text, "assumed = {assumed}   # what Nagare takes for eager, by the library's variables")?;
        }
    }
    if let Some(Reduction { int_ns, double_ns }) = reduction {
        writeln!(
            text,
            "\n[reduction]   # nanoseconds a byte of a sum costs\nint = {int_ns:?}\ndouble = {double_ns:?}"
        )?;
    }
    Ok(())
}
