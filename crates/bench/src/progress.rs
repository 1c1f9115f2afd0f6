//! How long the cells that are not yet measured will take.

/// Seconds for the cells `to_come`, told by their bytes, where those `done` (bytes, seconds) took so long: as long as
/// the last of the same size, or as the longest so far where there was none. `None` before the first.
pub fn remaining(done: &[(u64, f64)], to_come: impl IntoIterator<Item = u64>) -> Option<f64> {
    let longest = done.iter().map(|cell| cell.1).reduce(f64::max)?;
    let alike = |bytes| done.iter().rev().find(|cell| cell.0 == bytes).map(|cell| cell.1);
    Some(to_come.into_iter().map(|bytes| alike(bytes).unwrap_or(longest)).sum())
}

/// Such as `40 s` or `12 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_take_as_long_as_the_last_of_their_size() {
        let done = [(8, 1.0), (64, 5.0), (8, 2.0)];
        assert_eq!(remaining(&done, [64, 8]), Some(7.0));
        assert_eq!(remaining(&done, [1024, 1024]), Some(10.0));
        assert_eq!((remaining(&done, []), remaining(&[], [8])), (Some(0.0), None));
    }

    #[test]
    fn durations_in_words() {
        assert_eq!([0.4, 61.2, 150.0, 3600.0].map(duration), ["0 s", "61 s", "2 min", "60 min"]);
    }
}
