//! Configurations that fall behind are measured no further, so that the time goes to those that may be the fastest.

use crate::statistics::{LEAST, LONG, median};

/// After so many calls that count, what takes so many times as long as the fastest is measured no further.
const BEHIND: [f64; 7] = [4.0, 3.0, 2.0, 1.5, 1.3, 1.3, 1.15];

/// The same of calls that are [`LONG`] where the time of the cell is used up, and other cells wait; the first where no
/// call counts yet. Making connections, or a lost packet, does not make a long call so many times as long.
const BEHIND_LATE: [f64; 3] = [4.0, 2.5, 1.5];

/// Before any call counts: what the first call does besides, plans and connections, matters less than this.
const FAR_BEHIND: f64 = 20.0;

/// Before so many calls count, each may have waited once for a packet that TCP sent again after its time-out, the
/// shortest that Linux has, in seconds: that is taken off. After two the fastest speaks for itself.
const DISTURBED: usize = 2;
const TIME_OUT: f64 = 0.2;

/// The MPI library's own is what others are compared with: it stays to this.
const STOCK_BEHIND: f64 = 2.0;

/// Seconds that the fastest of the configurations takes which these `times` are of: by its median, of two calls their
/// mean, since one call may be shorter by luck than any that follows.
pub fn least<'a>(times: impl Iterator<Item = &'a [f64]>) -> f64 {
    times.map(median).fold(f64::INFINITY, f64::min)
}

/// Whether a configuration that took `own` seconds, by the fastest of its calls, goes on after so many calls that
/// `counted`, where those that still run took [`least`]. Its other calls may have been disturbed. `is_late`: the time
/// of the cell is used up.
pub fn goes_on([own, least]: [f64; 2], counted: usize, is_stock: bool, is_late: bool) -> bool {
    let at = |limits: &[f64], calls: usize| limits[calls.min(limits.len() - 1)];
    let undisturbed = if counted < DISTURBED { own - TIME_OUT } else { own };
    let most = match counted {
        _ if is_stock && counted < LEAST => f64::INFINITY,
        _ if is_stock => STOCK_BEHIND,
        _ if is_late && own >= LONG => at(&BEHIND_LATE, counted),
        0 => FAR_BEHIND,
        _ => at(&BEHIND, counted - 1),
    };
    undisturbed <= least * most
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

    /// How many of ten calls count of what takes `own` seconds where the fastest takes one.
    fn calls(is_stock: bool, is_late: bool) -> impl Fn(f64) -> usize {
        move |own| (0..10).take_while(|&counted| goes_on([own, 1.0], counted, is_stock, is_late)).count()
    }

    #[test]
    fn what_is_close_stays_longer() {
        assert_eq!([30.0, 5.0, 3.5, 1.7, 1.4, 1.2, 1.1].map(calls(false, false)), [0, 1, 2, 4, 5, 7, 10]);
        assert_eq!([100.0, 1.9].map(calls(true, false)), [3, 10]);
    }

    #[test]
    fn what_is_slow_leaves_its_time_to_other_cells() {
        assert_eq!([5.0, 3.5, 2.0, 1.4].map(calls(false, true)), [0, 1, 2, 10]);
        assert_eq!([100.0, 1.9].map(calls(true, true)), [3, 10]);
    }

    /// Beside 4 ms, 204 may be 4 with a time-out, until there are two of them; 300 may not.
    #[test]
    fn a_time_out_takes_nothing_out() {
        for is_late in [false, true] {
            let goes = |own, counted| goes_on([own, 0.004], counted, false, is_late);
            assert_eq!([0, 1, 2].map(|counted| goes(0.204, counted)), [true, true, false], "{is_late}");
            assert!(!goes(0.3, 0) && !goes(0.3, 1), "{is_late}");
            assert!(goes(0.0055, 4) && !goes(0.0055, 5), "{is_late}");
        }
    }

    /// Milliseconds like those of a Scatter of 256 bytes by `direct`, `tree` and MPICH 5.0.2, of which the others had
    /// three calls each, and `direct` 300, with a longer median than either.
    #[test]
    fn a_lucky_call_takes_nothing_out() {
        let times = [[0.10, 0.31, 0.33], [0.23, 0.231, 0.239], [0.274, 0.304, 0.311]];
        let least = least(times.iter().map(<[f64; 3]>::as_slice));
        assert_eq!(least.to_bits(), 0.231f64.to_bits());
        for (own, is_stock) in [(0.10, false), (0.23, false), (0.274, true)] {
            assert!(goes_on([own, least], 3, is_stock, false), "{own}");
        }
    }

    #[test]
    fn time_that_is_left_over_goes_to_the_others() {
        assert_eq!(share(0.0, 60.0, 6), Some(10.0));
        assert_eq!(share(5.0, 60.0, 5), Some(11.0));
        assert_eq!(share(60.0, 60.0, 3), None);
    }
}
