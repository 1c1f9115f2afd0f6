//! What pairs of ranks and sums cost, as a profile says it.

use crate::output::bytes;
use nagare_bench::pairs::JOB;
use nagare_plan::profile::{Pair, Profile, Reduction};
use nagare_plan::quoted;
use serde::Serialize;
use std::fmt::Write;

/// Numbers that differ by less than this are the same.
const ALIKE: f64 = 1.1;

/// A line for each pair, and one for sums.
pub fn shown(profile: &Profile) -> String {
    let mut text = String::new();
    for Pair { within, latency_us, goodput, eager, rendezvous_us, assumed } in &profile.pairs {
        // Writing to a String cannot fail.
        let _ = write!(text, "two ranks {}: {latency_us} µs, {goodput} Mbit/s", place(within));
        if let Some(eager) = eager {
            let _ = write!(text, ", up to {eager} bytes without asking the receiver");
        }
        if let Some(more) = rendezvous_us {
            let _ = write!(text, ", {more} µs more beyond");
        }
        if let Some(assumed) = assumed {
            let _ = write!(text, " (assumed: {})", bytes(*assumed));
        }
        text.push('\n');
    }
    if let Some(Reduction { int_ns, double_ns }) = profile.reduction {
        let _ = writeln!(text, "a byte of a sum: {int_ns} ns of int, {double_ns} ns of double");
    }
    text
}

/// Which ranks, in words.
fn place(within: &str) -> String {
    if within == JOB { "of the job".to_owned() } else { format!("within a {}", quoted(within)) }
}

/// A number in which two profiles differ.
#[derive(Serialize)]
pub struct Changed {
    what: String,
    before: Option<f64>,
    after: Option<f64>,
}

impl Changed {
    /// One line.
    pub fn told(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
        format!("{}: {} -> {}", self.what, number(self.before), number(self.after))
    }
}

/// Costs that differ by more than a tenth, and what only one of the two has.
pub fn changed([before, after]: &[Profile; 2]) -> Vec<Changed> {
    let [old, new] = [numbers(before), numbers(after)];
    let value = |of: &[(String, f64)], what: &str| of.iter().find(|(name, _)| name == what).map(|(_, value)| *value);
    let gone = old.iter().filter(|(what, _)| value(&new, what).is_none());
    let all = new.iter().chain(gone).map(|(what, _)| {
        let (before, after) = (value(&old, what), value(&new, what));
        Changed { what: what.clone(), before, after }
    });
    let differs = |changed: &Changed| match (changed.before, changed.after) {
        (Some(before), Some(after)) => (before / after).max(after / before) >= ALIKE,
        _ => true,
    };
    all.filter(differs).collect()
}

/// All costs of a profile, each with its name and unit.
fn numbers(profile: &Profile) -> Vec<(String, f64)> {
    let costs = &profile.costs;
    let named = |what: &str, value: Option<f64>| value.map(|value| (what.to_owned(), value));
    let network = [
        named("message latency, µs", costs.message.latency_us),
        named("message gap, µs", costs.message.gap_us),
        named("data that a host sends, Mbit/s", costs.host_goodput),
        named("a byte of a sum of int, ns", profile.reduction.map(|reduction| reduction.int_ns)),
        named("a byte of a sum of double, ns", profile.reduction.map(|reduction| reduction.double_ns)),
    ];
    let of_pair = |pair: &Pair| {
        let named = |what: &str, value: Option<f64>| named(&format!("{}: {what}", place(&pair.within)), value);
        [
            named("latency, µs", Some(pair.latency_us)),
            named("goodput, Mbit/s", Some(pair.goodput)),
            named("eager, bytes", pair.eager.map(|bytes| bytes as f64)),
            named("one byte more, µs", pair.rendezvous_us),
        ]
    };
    network.into_iter().chain(profile.pairs.iter().flat_map(of_pair)).flatten().collect()
}
