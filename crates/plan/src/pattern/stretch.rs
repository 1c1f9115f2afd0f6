//! Neighbouring positions around a line.

use std::ops::Range;

/// Positions that follow one another around a line, in runs: two where they pass its end, and one more where a run is
/// kept apart.
///
/// ```text
///   a line of 5:   0 1 2 3 4   from 3 on three positions: the runs 3, 4 and 0
///                  # . . # #
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch(Vec<Range<u32>>);

impl Stretch {
    /// The most runs.
    pub const RUNS: u32 = 3;

    /// One run.
    pub fn run(run: Range<u32>) -> Self {
        Self(vec![run])
    }

    /// `count` positions from `first` on, around a line of `size`; `first < size`, `count <= size`.
    pub fn around(first: u32, count: u32, size: u32) -> Self {
        let end = first + count;
        let runs = [first..end.min(size), 0..end.saturating_sub(size)];
        Self(runs.into_iter().filter(|run| !run.is_empty()).collect())
    }

    /// Both, in runs of their own.
    pub fn and(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).collect())
    }

    /// The same in as few runs as there can be.
    pub fn joined(self) -> Self {
        let mut runs: Vec<Range<u32>> = Vec::with_capacity(self.0.len());
        for run in self.0 {
            match runs.last_mut().filter(|last| last.end == run.start) {
                Some(last) => last.end = run.end,
                None => runs.push(run),
            }
        }
        Self(runs)
    }

    /// Its runs.
    pub fn runs(&self) -> &[Range<u32>] {
        &self.0
    }

    /// The same, without the stretch.
    pub fn into_runs(self) -> Vec<Range<u32>> {
        self.0
    }

    /// The first position, of an empty stretch 0.
    pub fn first(&self) -> u32 {
        self.0.first().map_or(0, |run| run.start)
    }

    /// Number of positions.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|run| run.end - run.start).sum()
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a position is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|own| other.0.iter().any(|run| own.start < run.end && run.start < own.end))
    }

    /// The same where each position is `span` positions, the first of which begins at `base`.
    pub fn spread(&self, base: u32, span: u32) -> Self {
        Self(self.0.iter().map(|run| base + run.start * span..base + run.end * span).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_the_positions_that_are_counted_around() {
        for (size, first, count) in (1..8).flat_map(|s| (0..s).flat_map(move |f| (0..=s).map(move |c| (s, f, c)))) {
            let stretch = Stretch::around(first, count, size);
            let found: Vec<u32> = stretch.runs().iter().cloned().flatten().collect();
            let expected: Vec<u32> = (first..first + count).map(|position| position % size).collect();
            assert_eq!(found, expected);
            assert_eq!((stretch.len(), stretch.is_empty()), (count, count == 0));
            let spread: Vec<u32> = stretch.spread(10, 2).runs().iter().cloned().flatten().collect();
            let expected: Vec<u32> = expected.iter().flat_map(|at| [10 + 2 * at, 11 + 2 * at]).collect();
            assert_eq!(spread, expected);
            let apart =
                Stretch::around(first, 1, size).and(Stretch::around((first + 1) % size, count.max(1) - 1, size));
            if count > 0 {
                assert!(apart.runs().len() <= Stretch::RUNS as usize);
                assert_eq!(apart.joined(), stretch);
            }
            for other in (0..size).map(|position| Stretch::run(position..position + 1)) {
                assert_eq!(stretch.overlaps(&other), found.contains(&other.first()));
            }
        }
    }
}
