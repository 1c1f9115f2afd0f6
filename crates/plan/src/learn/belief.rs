//! Whether what is predicted of the MPI library holds in its calls, so that what is predicted to be far faster may run
//! before anything is measured.

/// What the calls of a class say of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// Nanoseconds, the least and the most, that calls of the library take on average if the prediction holds.
    between: [f64; 2],
    holds: bool,
}

impl Belief {
    /// Calls of the library must take so many nanoseconds on average, the least and the most.
    pub fn new(between: [f64; 2]) -> Self {
        Self { between, holds: false }
    }

    /// Whether the prediction has turned out to hold.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// The first so many calls, all of the library, have taken so many nanoseconds on the slowest rank, and those after
    /// the first so many on the slowest rank of these. The first may open connections: it counts where it is alone.
    pub(super) fn judge(&mut self, calls: u64, spent: u64, later: u64) {
        let mean = if calls < 2 { spent as f64 } else { later as f64 / (calls - 1) as f64 };
        let [least, most] = self.between;
        self.holds |= (least..=most).contains(&mean);
    }
}
