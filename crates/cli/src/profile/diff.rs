//! `nagare profile diff`: in what two profiles differ.

use super::measures::Changed;
use super::{name, summary, unit};
use crate::output::bytes;
use nagare_plan::profile::{Cell, Profile};
use serde::Serialize;
use std::fmt::Write;

/// Times that differ by less than this are the same.
const ALIKE: f64 = 1.1;

/// A collective and size of which two profiles say something else.
#[derive(Serialize)]
pub struct Differing {
    collective: &'static str,
    bytes: u64,
    /// How texts tell the two.
    #[serde(skip)]
    what: String,
    before: Option<Fastest>,
    after: Option<Fastest>,
}

/// What a profile says.
#[derive(Serialize)]
struct Fastest {
    algorithm: &'static str,
    us: f64,
}

/// The collectives and sizes in which they differ, in the order of the second; last what only the first has.
pub fn compared([before, after]: &[Profile; 2]) -> Vec<Differing> {
    let of = |profile: &Profile, cell: &Cell| {
        profile.cells.iter().find(|c| (c.collective, c.bytes) == (cell.collective, cell.bytes)).copied()
    };
    let both = after.cells.iter().map(|new| (of(before, new), Some(*new)));
    let gone = before.cells.iter().filter(|old| of(after, old).is_none()).map(|old| (Some(*old), None));
    both.chain(gone).filter_map(|(old, new)| differing(old, new)).collect()
}

fn differing(old: Option<Cell>, new: Option<Cell>) -> Option<Differing> {
    if let (Some(old), Some(new)) = (old, new) {
        let ratio = (old.fastest_us / new.fastest_us).max(new.fastest_us / old.fastest_us);
        if old.fastest == new.fastest && ratio < ALIKE {
            return None;
        }
    }
    let Cell { collective, bytes: size, .. } = new.or(old)?;
    let fastest = |cell: Cell| Fastest { algorithm: name(cell.fastest), us: cell.fastest_us };
    Some(Differing {
        collective: collective.name(),
        bytes: size,
        what: format!("{collective} of {}{}", bytes(size), unit(collective)),
        before: old.map(fastest),
        after: new.map(fastest),
    })
}

/// The same in words.
pub fn shown([before, after]: &[Profile; 2], costs: &[Changed], cells: &[Differing]) -> String {
    let mut text = format!("before: {}\nafter:  {}\n", summary(before), summary(after));
    for cost in costs {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", cost.told());
    }
    let told = |fastest: &Fastest| format!("{} {:.3} ms", fastest.algorithm, fastest.us * 1e-3);
    for Differing { what, before, after, .. } in cells {
        // Writing to a String cannot fail.
        let _ = match (before, after) {
            (Some(old), Some(new)) => writeln!(text, "{what}: {} -> {}", told(old), told(new)),
            (None, Some(new)) => writeln!(text, "{what}: only after: {}", told(new)),
            _ => writeln!(text, "{what}: only before"),
        };
    }
    let _ = writeln!(text, "{} of {} differ", cells.len(), before.cells.len().max(after.cells.len()));
    text
}
