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

/// Rounds one after another in which the same ranks send to the same ones.
struct Run<'a> {
    first: u32,
    last: u32,
    moves: &'a [(Rank, Rank)],
}

impl fmt::Display for SendTable {
    /// `local, colour 0: 1→2 2→4 …`: one line per round, or for rounds in which the same ranks send to the same ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<Run> = Vec::new();
        for (&step, moves) in &self.rounds {
            match runs.last_mut() {
                Some(run) if run.last + 1 == step && run.moves == *moves => run.last = step,
                _ => runs.push(Run { first: step, last: step, moves }),
            }
        }
        for Run { first, last, moves } in runs {
            match last - first {
                0 => write!(f, "{} {first}:", self.stage)?,
                _ => write!(f, "{} {first}-{last}:", self.stage)?,
            }
            for (from, to) in moves {
                write!(f, " {from}→{to}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
