//! Schedules as tables: who sends to whom, per stage and colour.

use super::{Rank, Round, Schedule};
use std::collections::BTreeMap;
use std::fmt;

/// The transfers of one stage: one line per round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendTable {
    /// Name of the stage.
    pub stage: String,
    /// Transfers `(from, to)` of each round, by the round's step, in the order of senders.
    pub rounds: BTreeMap<u32, Vec<(Rank, Rank)>>,
}

/// The tables of a schedule, one per stage.
pub fn send_tables(schedule: &Schedule) -> Vec<SendTable> {
    let mut tables: Vec<SendTable> =
        schedule.stages.iter().map(|name| SendTable { stage: name.clone(), rounds: BTreeMap::new() }).collect();
    for m in schedule.moves() {
        let Round { stage, step } = m.round;
        if let Some(table) = tables.get_mut(stage as usize) {
            table.rounds.entry(step).or_default().push((m.from, m.to));
        }
    }
    tables
}

impl fmt::Display for SendTable {
    /// `local, colour 0: 1→2 2→4 …`, one line per round.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, moves) in &self.rounds {
            write!(f, "{} {step}:", self.stage)?;
            for (from, to) in moves {
                write!(f, " {from}→{to}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
