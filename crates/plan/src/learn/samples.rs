//! The last few times of one way.

/// Samples kept: enough that bad luck does not decide, few enough that what has changed is seen.
const KEPT: usize = 16;

/// The longest of so many samples counts for nothing, the two longest of more: chance disturbs a call in thirty or so.
/// What disturbs more, as queues that overflow, is a part of what the way takes.
const ONE_BAD_OF: usize = 9;

/// With fewer samples after the first it is not known whether a bad one was chance.
const FEW: usize = 8;

/// Longer by this ratio than what is typical, a sample is a bad one.
const BAD: f64 = 1.4;

#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// The first, which may have opened connections for all after it.
    first: f64,
    later: [f64; KEPT],
    count: u32,
}

impl Samples {
    pub fn add(&mut self, time: f64) {
        match self.count.checked_sub(1) {
            None => self.first = time,
            Some(later) => self.later[later as usize % KEPT] = time,
        }
        self.count += 1;
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The mean without the longest, or the two longest of more than [`ONE_BAD_OF`]; the first counts as long as there
    /// are fewer than three others.
    pub fn typical(&self) -> Option<f64> {
        let later = self.later();
        let first = (self.count > 0 && later.len() < 3).then_some(self.first);
        let mut times: Vec<f64> = first.into_iter().chain(later.iter().copied()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let bad = usize::from(times.len() > 1) + usize::from(times.len() > ONE_BAD_OF);
        let counted = &times[..times.len() - bad];
        (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
    }

    /// Whether one of few was a bad one: by chance, or as others will be.
    pub fn is_doubtful(&self) -> bool {
        let later = self.later();
        let typical = self.typical().unwrap_or(f64::INFINITY);
        later.len() < FEW && later.iter().any(|&time| time > typical * BAD)
    }

    /// The longest kept.
    pub fn longest(&self) -> Option<f64> {
        let first = (self.count > 0 && self.later().len() < KEPT).then_some(self.first);
        first.into_iter().chain(self.later().iter().copied()).max_by(f64::total_cmp)
    }

    fn later(&self) -> &[f64] {
        &self.later[..KEPT.min(self.count.saturating_sub(1) as usize)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[f64]) -> Samples {
        let mut samples = Samples::default();
        times.iter().for_each(|&time| samples.add(time));
        samples
    }

    #[test]
    fn the_first_and_one_bad_one_do_not_count() {
        for (times, typical) in [
            (&[200.0][..], 200.0),
            (&[200.0, 100.0], 100.0),
            (&[100.0, 300.0], 100.0),
            (&[200.0, 100.0, 110.0], 105.0),
            (&[200.0, 100.0, 110.0, 120.0], 105.0),
            (&[200.0, 100.0, 110.0, 500.0], 105.0),
            (&[90.0, 100.0, 300.0, 310.0], 200.0),
        ] {
            assert_eq!(samples(times).typical(), Some(typical), "{times:?}");
        }
        assert_eq!(samples(&[]).typical(), None);
    }

    /// One call in three waits for a retransmission: that is what the way takes, whatever the best calls took.
    #[test]
    fn what_comes_again_counts() {
        let times: Vec<f64> = (0..40).map(|call| if call % 3 == 0 { 300.0 } else { 100.0 }).collect();
        let typical = samples(&times).typical().unwrap();
        assert!((140.0..180.0).contains(&typical), "{typical}");
    }

    #[test]
    fn what_has_changed_is_forgotten() {
        let mut samples = samples(&[1e6; 20]);
        assert_eq!(samples.longest(), Some(1e6));
        (0..16).for_each(|_| samples.add(10.0));
        assert_eq!((samples.typical(), samples.longest()), (Some(10.0), Some(10.0)));
    }

    #[test]
    fn one_bad_one_of_few_leaves_doubt() {
        assert!(samples(&[100.0, 300.0]).is_doubtful());
        assert!(!samples(&[300.0, 100.0]).is_doubtful(), "the first opens connections");
        assert!(!samples(&[100.0, 120.0, 110.0]).is_doubtful());
        let of_many: Vec<f64> = (0..9).map(|call| if call == 5 { 300.0 } else { 100.0 }).collect();
        assert!(samples(&of_many[..8]).is_doubtful() && !samples(&of_many).is_doubtful());
    }

    #[test]
    fn two_bad_ones_of_many_do_not_count() {
        for (count, typical) in [(9, 1900.0 / 7.0), (10, 250.0), (11, 100.0), (17, 100.0)] {
            // The first is not one of them.
            let times: Vec<f64> = (0..count).map(|call| if [2, 4].contains(&call) { 1300.0 } else { 100.0 }).collect();
            assert_eq!(samples(&times).typical(), Some(typical), "{count}");
        }
    }
}
