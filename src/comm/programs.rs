//! The plans of one communicator that were made last.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::{Program, Rank};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Plans kept per communicator.
const KEPT: usize = 32;

/// A plan is kept for a collective, an algorithm, a root and a number of chunks, with what a self-test has found or
/// without.
pub type Key = (Collective, Algorithm, Rank, u32, bool);

/// Plans of one rank, the oldest first.
#[derive(Default)]
pub struct Programs(Mutex<VecDeque<(Key, Arc<Program>)>>);

impl Programs {
    /// The program of `rank`, made before or now; `None` if the algorithm does not implement the collective.
    pub fn get(&self, planner: &Planner, key: Key, rank: Rank) -> Option<Arc<Program>> {
        if let Some((_, program)) = self.0.lock().iter().find(|(of, _)| *of == key) {
            return Some(Arc::clone(program));
        }
        let (collective, algorithm, root, chunks, _) = key;
        let plan = planner.plan_cut(collective, algorithm, root, rank, chunks)?;
        let program = match Program::new(plan, collective.has_output(root, rank)) {
            Ok(program) => Arc::new(program),
            Err(error) => {
                log::error!("internal error in the plan of {algorithm} for {collective}: {error}");
                return None;
            }
        };
        let mut programs = self.0.lock();
        if programs.len() == KEPT {
            programs.pop_front();
        }
        programs.push_back((key, Arc::clone(&program)));
        Some(program)
    }

    /// All that are kept.
    pub fn all(&self) -> Vec<Arc<Program>> {
        self.0.lock().iter().map(|(_, program)| Arc::clone(program)).collect()
    }
}
