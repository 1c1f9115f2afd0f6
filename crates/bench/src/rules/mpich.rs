//! MPICH's selections with what was clearly faster in them, as files that `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`
//! (algorithms) and `MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE` (the device's compositions) name; 4.0 to 5.0.
//!
//! ```text
//!   "comm_type=intra": {
//!     "comm_size<=15":  its own choice,
//!     "comm_size<=16":  { its own conditions about the communicator: { "avg_msg_size<46341":  its own choice,
//!                                                                      "avg_msg_size<185364": what was faster,
//!                                                                      "avg_msg_size=any":    its own choice } },
//!     "comm_size=any":  its own choice }
//! ```
//!
//! Sizes come after every condition about the communicator: the library evaluates these when it makes one, and not all
//! of them later. What was measured without the device (`no-device`) runs on all ranks at once: there the device gets
//! the composition that does nothing of its own.

mod choice;
mod placed;

use super::selections::{Selections, Tree};
use super::{Told, by_size};
use crate::operation::{Operation, Unit};
use crate::record::Results;
use choice::{Choice, choice, plain_composition, size_of};
use placed::Rules;
use std::collections::BTreeSet;

/// The library maps a file to memory and reads on to a zero byte: a page must have room for one.
const PAGE: usize = 4096;

/// Files for MPICH, and what they tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// What selects algorithms.
    pub algorithms: String,
    /// What selects compositions of the device, where it has some.
    pub device: Option<String>,
    /// What differs from the library's own choice.
    pub told: Vec<Told>,
}

/// As the library can read it.
fn text(tree: &Tree) -> String {
    // Objects of objects with texts as keys can always be written.
    let mut text = serde_json::to_string_pretty(tree).unwrap_or_default() + "\n";
    if text.len().is_multiple_of(PAGE) {
        text.push('\n');
    }
    text
}

/// What MPICH selects by itself (`own`), with what was clearly faster, on communicators of as many ranks as were
/// measured.
pub fn mpich(results: &Results, own: &Selections) -> Selected {
    let ranks = results.job.hosts.len();
    let hosts: BTreeSet<&str> = results.job.hosts.iter().map(String::as_str).collect();
    let nodes = hosts.len() > 1 && hosts.len() < ranks;
    let (mut algorithms, mut device) = (own.algorithms.clone(), own.device.clone());
    let mut told = Vec::new();
    for collective in Operation::ALL {
        let Some(size) = size_of(collective) else { continue };
        let key = format!("collective={}", collective.function());
        let composed = own.device.as_ref().and_then(|tree| tree.under(&key)?.under("comm_type=intra"));
        let plain = composed.is_none_or(|tree| tree.name().is_some()) || hosts.len() == ranks;
        let composition = plain_composition(collective).filter(|name| own.knows(name));
        if ranks == 0 || !(plain || composition.is_some()) {
            continue;
        }
        let bytes = |cell: &crate::record::Cell| match collective.unit() {
            Unit::Vector => cell.bytes,
            Unit::Pair => cell.block,
            Unit::Rank if collective.varies() => cell.bytes,
            Unit::Rank => cell.block * ranks as u64,
        };
        let (by_size, settings) =
            by_size(results, collective, bytes, |variables| choice(collective, variables, own, ranks, [plain, nodes]));
        let rules = Rules { collective, size, by_size };
        if !settings.is_empty() {
            rules.put(&mut algorithms, ranks, Choice::selected);
            if let (Some(device), Some(name), false) = (&mut device, composition, plain) {
                rules.put(device, ranks, |_| Some(Tree::one(name, Tree::default())));
            }
        }
        told.extend(settings);
    }
    Selected { algorithms: text(&algorithms), device: device.as_ref().map(text), told }
}

#[cfg(test)]
mod tests;
