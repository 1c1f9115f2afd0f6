//! Configurations that fall behind are measured no further, so that the time goes to those that may be the fastest.

/// After the round of that number, counted from 0, what takes so many times as long as the fastest is given up.
const BEHIND: [f64; 7] = [4.0, 2.0, 2.0, 1.5, 1.3, 1.3, 1.15];

/// Whether a configuration that took `own` seconds, by the fastest of its calls, goes on after `round`, where the
/// fastest of all took `least`. One call may have been disturbed: the fastest call of each speaks for it.
pub fn goes_on(own: f64, least: f64, round: usize) -> bool {
    own <= least * BEHIND[round.min(BEHIND.len() - 1)]
}

/// Seconds that the next of `left` cells may take, where `elapsed` of `total` have passed; `None` if the time is used
/// up.
pub fn share(elapsed: f64, total: f64, left: usize) -> Option<f64> {
    let time = total - elapsed;
    (time > 0.0).then(|| time / left.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_close_stays_longer() {
        let rounds = |own: f64| (0..10).take_while(|&round| goes_on(own, 1.0, round)).count();
        assert_eq!([5.0, 3.0, 1.7, 1.4, 1.2, 1.1].map(rounds), [0, 1, 3, 4, 6, 10]);
    }

    #[test]
    fn time_that_is_left_over_goes_to_the_others() {
        assert_eq!(share(0.0, 60.0, 6), Some(10.0));
        assert_eq!(share(5.0, 60.0, 5), Some(11.0));
        assert_eq!(share(60.0, 60.0, 3), None);
    }
}
