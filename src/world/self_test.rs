//! What a job's self-test of the network has found (docs/decisions/0022). There is at most one test, in a call that all
//! ranks of the world are in, so that what a rank knows of it is what all others know that are in the same call.

use nagare_plan::topology::Costs;
use once_cell::sync::OnceCell;
use std::time::{Duration, Instant};

/// A test that is over, or still to come.
pub struct SelfTest {
    /// When the world began.
    since: Instant,
    outcome: OnceCell<Outcome>,
}

/// What became of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// What it has found, if it had time enough.
    pub found: Option<Costs>,
    /// How long it took, on the slowest rank.
    pub took: Duration,
}

impl SelfTest {
    /// One to come in a world that begins now.
    pub fn to_come() -> Self {
        Self { since: Instant::now(), outcome: OnceCell::new() }
    }

    /// Whether there was none yet.
    pub fn is_to_come(&self) -> bool {
        self.outcome.get().is_none()
    }

    /// How long the world has lasted here.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Notes what became of it.
    pub fn end(&self, outcome: Outcome) {
        // There is one test only.
        let _ = self.outcome.set(outcome);
    }

    /// What became of it, if it is over.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.get().copied()
    }

    /// What it has found.
    pub fn costs(&self) -> Option<Costs> {
        self.outcome.get()?.found
    }
}
