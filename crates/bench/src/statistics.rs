//! Order statistics of timings.

/// Least number of iterations, however long they take.
pub const LEAST: usize = 3;
/// Enough iterations, however much they vary.
pub const MOST: usize = 300;
/// Seconds from which on what the first call does besides, making connections and opening TCP's windows, is none of its
/// time.
pub const LONG: f64 = 0.25;
/// Half the width of the median's 95 % interval, as a share of the median, at which the median counts as stable.
const STABLE: f64 = 0.02;

/// The value below which the share `q` (0 to 1) of `values` lies, linear between neighbours; 0 if there are none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The median's distribution-free 95 % interval, between the order statistics (n ± 1.96 √n) / 2; `None` below 7
/// values, where it is wider than the sample.
pub fn interval(values: &[f64]) -> Option<[f64; 2]> {
    let n = values.len() as f64;
    let half = 0.98 * n.sqrt() / n;
    (n >= 7.0).then(|| [0.5 - half, 0.5 + half].map(|share| quantile(values, share)))
}

/// Whether the median is known well enough: its interval is within 2 % of it.
pub fn is_stable(values: &[f64]) -> bool {
    interval(values).is_some_and(|[low, high]| high - low <= 2.0 * STABLE * median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_samples() {
        let five = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!((median(&five), quantile(&five, 0.25), quantile(&five, 0.75)), (3.0, 2.0, 4.0));
        assert_eq!(median(&[1.0, 2.0, 3.0, 10.0]), 2.5);
        assert_eq!((quantile(&five, 0.0), quantile(&five, 1.0)), (1.0, 5.0));
        assert_eq!((median(&[7.0]), median(&[])), (7.0, 0.0));
    }

    /// Of 100 values the 95 % interval of the median lies between the 41st and the 60th.
    #[test]
    fn the_interval_of_a_median() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let [low, high] = interval(&values).expect("enough");
        assert!((40.5..41.5).contains(&low) && (59.5..60.5).contains(&high), "{low} {high}");
        assert_eq!((interval(&[1.0; 6]), interval(&[1.0; 7])), (None, Some([1.0; 2])));
    }

    #[test]
    fn stable_needs_values_close_together() {
        assert!(!is_stable(&[1.0; 6]));
        assert!(is_stable(&[1.0; 7]));
        let spread: Vec<f64> = (0..9).map(|i| 1.0 + 0.1 * f64::from(i)).collect();
        assert!(!is_stable(&spread));
        // One outlier moves no median.
        let mut outlier = vec![1.0; 20];
        outlier[3] = 50.0;
        assert!(is_stable(&outlier));
    }
}
