//! The last few times of one way.

/// Samples kept: enough that three bad ones do not decide, few enough that what has changed is seen.
const KEPT: usize = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    kept: [f64; KEPT],
    count: u32,
}

impl Samples {
    pub fn add(&mut self, time: f64) {
        self.kept[self.count as usize % KEPT] = time;
        self.count += 1;
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The lower quarter: what disturbs a call makes it longer, the first one of a way above all.
    pub fn typical(&self) -> Option<f64> {
        let kept = &mut { self.kept }[..KEPT.min(self.count as usize)];
        kept.sort_unstable_by(f64::total_cmp);
        kept.get(kept.len() / 4).copied()
    }

    /// The longest kept.
    pub fn longest(&self) -> Option<f64> {
        self.kept[..KEPT.min(self.count as usize)].iter().copied().max_by(f64::total_cmp)
    }
}
