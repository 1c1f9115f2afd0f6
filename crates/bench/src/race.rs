//! Configurations that fall behind are measured no further, so that the time goes to those that may be the fastest.

use crate::statistics::LEAST;

/// After so many calls that count, what takes so many times as long as the fastest is measured no further.
const BEHIND: [f64; 7] = [4.0, 3.0, 2.0, 1.5, 1.3, 1.3, 1.15];

/// Before any call counts: what the first call does besides, plans and connections, matters less than this.
const FAR_BEHIND: f64 = 20.0;

/// The MPI library's own is what others are compared with: it stays to this.
const STOCK_BEHIND: f64 = 2.0;

/// Whether a configuration that took `own` seconds, by the fastest of its calls, goes on after so many calls that
/// `counted`, where the fastest of all took `least`. One call may have been disturbed: the fastest of each speaks for
/// it.
pub fn goes_on(own: f64, least: f64, counted: usize, is_stock: bool) -> bool {
    let most = counted.checked_sub(1).map_or(FAR_BEHIND, |calls| BEHIND[calls.min(BEHIND.len() - 1)]);
    let most = if is_stock && counted < LEAST {
        f64::INFINITY
    } else if is_stock {
        STOCK_BEHIND
    } else {
        most
    };
    own <= least * most
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
        let calls = |own: f64| (0..10).take_while(|&counted| goes_on(own, 1.0, counted, false)).count();
        assert_eq!([30.0, 5.0, 3.5, 1.7, 1.4, 1.2, 1.1].map(calls), [0, 1, 2, 4, 5, 7, 10]);
        let stock = |own: f64| (0..10).take_while(|&counted| goes_on(own, 1.0, counted, true)).count();
        assert_eq!([100.0, 1.9].map(stock), [3, 10]);
    }

    #[test]
    fn time_that_is_left_over_goes_to_the_others() {
        assert_eq!(share(0.0, 60.0, 6), Some(10.0));
        assert_eq!(share(5.0, 60.0, 5), Some(11.0));
        assert_eq!(share(60.0, 60.0, 3), None);
    }
}
