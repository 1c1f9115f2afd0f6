//! Whether what is predicted of the MPI library holds in its calls, so that what is predicted to be far faster than them
//! may run before anything is measured.

/// What the calls of a class say of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Nanoseconds, the least and the most, that calls of the library take on average if the prediction holds.
    between: [f64; 2],
    /// What the first call took, nanoseconds, if the ranks asked each other right after it.
    first: Option<u64>,
    holds: bool,
}

impl Belief {
    /// Calls of the library must take so many nanoseconds on average, the least and the most.
    pub fn new(between: [f64; 2]) -> Self {
        Self { between, first: None, holds: false }
    }

    /// Whether the prediction has turned out to hold.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// The first so many calls, all of the library, have taken so many nanoseconds on the slowest rank, which all ranks
    /// know. The first may open connections, so that it alone speaks for a prediction only.
    pub(super) fn judge(&mut self, calls: u64, spent: u64) {
        if self.holds {
            return;
        }
        if calls == 1 {
            self.first = Some(spent);
        }
        let (calls, spent) = match self.first {
            Some(first) if calls > 1 => (calls - 1, spent.saturating_sub(first)),
            _ => (calls, spent),
        };
        let mean = spent as f64 / calls as f64;
        let [least, most] = self.between;
        self.holds = (least..=most).contains(&mean);
    }
}
