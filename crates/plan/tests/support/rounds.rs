//! Schedules as the checker takes them.

use nagare_plan::fabric::{Placement, Round, Transfer};
use nagare_plan::schedule::Schedule;
use std::collections::BTreeMap;

/// Transfers between hosts by round; bytes are parts of the vector.
pub fn rounds(schedule: &Schedule, placement: &Placement) -> Vec<Round> {
    let mut rounds = BTreeMap::<_, Vec<Transfer>>::new();
    for m in schedule.moves() {
        if placement.host(m.from) != placement.host(m.to) {
            let transfer = Transfer { from: m.from, to: m.to, bytes: u64::from(m.parts.count) };
            rounds.entry(m.round).or_default().push(transfer);
        }
    }
    rounds.into_iter().map(|(round, transfers)| Round { label: format!("{round:?}"), transfers }).collect()
}
