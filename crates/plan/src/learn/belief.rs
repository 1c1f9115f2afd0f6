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

    /// All calls so far have taken `spent` nanoseconds on the slowest rank, and those after the first, so many, `later`
    /// on the slowest rank of these. The first may open connections: it counts where it is alone.
    pub(super) fn judge(&mut self, spent: u64, after_first: u64, later: u64) {
        let mean = if after_first == 0 { spent as f64 } else { later as f64 / after_first as f64 };
        let [least, most] = self.between;
        self.holds |= (least..=most).contains(&mean);
    }

    /// Whether ranks are to ask once more soon, which takes so many nanoseconds, since only the first call has spoken.
    /// Of fifty calls as predicted that may be such a share.
    pub(super) fn waits_for_another(&self, after_first: u64, asking: u64, share_of_fifty: f64) -> bool {
        !self.holds && after_first == 0 && asking as f64 <= self.between[1] * 50.0 * share_of_fifty
    }
}
