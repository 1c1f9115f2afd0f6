//! The last few times of one way.

/// Samples kept: enough that two bad ones do not decide, few enough that what has changed is seen.
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

    /// Of three and more the median, the lower of two in the middle; of fewer the least, since the first is often
    /// larger for a reason of its own.
    pub fn typical(&self) -> Option<f64> {
        let mut kept = self.kept;
        let kept = &mut kept[..KEPT.min(self.count as usize)];
        kept.sort_unstable_by(f64::total_cmp);
        let at = if kept.len() < 3 { 0 } else { (kept.len() - 1) / 2 };
        kept.get(at).copied()
    }
}
