//! What a collective should not be slower than: other collectives that do its work, and itself with more data.
//!
//! ```text
//!   Allreduce  ≤ Reduce + Bcast               Allgather            ≤ Alltoall     Reduce ≤ Allreduce
//!   Bcast      ≤ Scatter + Allgather          Reduce_scatter_block ≤ Allreduce    Gather ≤ Allgather
//!   Scatter    ≤ Bcast                        Reduce_scatter       ≤ Allreduce
//!   with n bytes ≤ with the next larger size measured
//! ```
//! Source: J. L. Träff, W. D. Gropp and R. Thakur, "Self-consistent MPI performance guidelines", IEEE Transactions on
//! Parallel and Distributed Systems 21 (2010).

use crate::operation::Operation::{
    self, Allgather, Allreduce, Alltoall, Bcast, Gather, Reduce, ReduceScatter, ReduceScatterBlock, Scatter,
};
use crate::record::{Results, Timing};
use serde::Serialize;

/// Collectives, and those that together do their work. Sizes are those of all blocks together, the same on both sides.
const GUIDELINES: [(Operation, &[Operation]); 8] = [
    (Allreduce, &[Reduce, Bcast]),
    (Bcast, &[Scatter, Allgather]),
    (Allgather, &[Alltoall]),
    (ReduceScatterBlock, &[Allreduce]),
    (ReduceScatter, &[Allreduce]),
    (Reduce, &[Allreduce]),
    (Gather, &[Allgather]),
    (Scatter, &[Bcast]),
];

/// Less than this ratio above what it should not exceed, a time says nothing.
const CLEARLY: f64 = 1.05;

/// A collective that is slower than it should be: by medians clearly, and the middle halves of the iterations do not
/// overlap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Violation {
    /// The collective and its bytes.
    pub collective: Operation,
    /// As in [`crate::record::Cell::bytes`].
    pub bytes: u64,
    /// Its median, seconds.
    pub seconds: f64,
    /// What it should not be slower than, with the bytes of each.
    pub bound: Vec<(Operation, u64)>,
    /// The sum of their medians, seconds.
    pub bound_seconds: f64,
}

/// Where `configuration` does not keep to the guidelines, collective by collective.
pub fn violations(results: &Results, configuration: &str) -> Vec<Violation> {
    let timing = |(collective, bytes)| results.cell(collective, bytes)?.timing(configuration);
    let check = |collective, bytes, bound: Vec<(Operation, u64)>| {
        let own: &Timing = timing((collective, bytes))?;
        let others: Vec<&Timing> = bound.iter().map(|&other| timing(other)).collect::<Option<_>>()?;
        let bound_seconds: f64 = others.iter().map(|timing| timing.median).sum();
        let upper: f64 = others.iter().map(|timing| timing.quartile3).sum();
        let is_slower = own.median > bound_seconds * CLEARLY && own.quartile1 > upper;
        is_slower.then_some(Violation { collective, bytes, seconds: own.median, bound, bound_seconds })
    };
    let mut found = Vec::new();
    for operation in Operation::ALL {
        let mut sizes: Vec<u64> =
            results.cells.iter().filter(|cell| cell.collective == operation).map(|cell| cell.bytes).collect();
        sizes.sort_unstable();
        for (at, &bytes) in sizes.iter().enumerate() {
            let work = GUIDELINES.iter().filter(|(collective, _)| *collective == operation);
            let work = work.map(|(_, others)| others.iter().map(|&other| (other, bytes)).collect());
            let larger = sizes.get(at + 1).map(|&larger| vec![(operation, larger)]);
            found.extend(work.chain(larger).filter_map(|bound| check(operation, bytes, bound)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Cell, DEFAULT, STOCK};

    /// Times of the default, in seconds, and of stock, which takes a second whatever it does.
    fn results(times: &[(Operation, u64, f64)]) -> Results {
        let cell = |&(collective, bytes, seconds): &(Operation, u64, f64)| Cell {
            timings: vec![Timing::without_spread(STOCK, 1.0), Timing::without_spread(DEFAULT, seconds)],
            ..Cell::new(collective, bytes, bytes)
        };
        Results { cells: times.iter().map(cell).collect(), ..Results::default() }
    }

    #[test]
    fn what_does_the_same_work_faster_is_named() {
        let run = results(&[(Bcast, 64, 1.0), (Reduce, 64, 2.0), (Allreduce, 64, 3.3)]);
        let found = violations(&run, DEFAULT);
        let bound = vec![(Reduce, 64), (Bcast, 64)];
        let expected = Violation { collective: Allreduce, bytes: 64, seconds: 3.3, bound, bound_seconds: 3.0 };
        assert_eq!(found, [expected]);
        assert_eq!(violations(&run, STOCK), []);
        // Within what says nothing, and where something was not measured.
        assert_eq!(violations(&results(&[(Bcast, 64, 1.0), (Reduce, 64, 2.0), (Allreduce, 64, 3.1)]), DEFAULT), []);
        assert_eq!(violations(&results(&[(Bcast, 64, 1.0), (Allreduce, 64, 3.3)]), DEFAULT), []);
    }

    /// Each with times that break it. Written out once more, so that a rule which leaves the table is missed here.
    #[test]
    fn every_guideline_is_checked() {
        let rules: [(Operation, &[Operation]); 8] = [
            (Allreduce, &[Reduce, Bcast]),
            (Bcast, &[Scatter, Allgather]),
            (Allgather, &[Alltoall]),
            (ReduceScatterBlock, &[Allreduce]),
            (ReduceScatter, &[Allreduce]),
            (Reduce, &[Allreduce]),
            (Gather, &[Allgather]),
            (Scatter, &[Bcast]),
        ];
        for (collective, others) in rules {
            let of = |seconds: f64| {
                let parts = others.iter().map(|&other| (other, 64, 1.0));
                results(&parts.chain([(collective, 64, seconds)]).collect::<Vec<_>>())
            };
            let least = others.len() as f64;
            let named = |seconds: f64| {
                let found = violations(&of(seconds), DEFAULT);
                found.into_iter().any(|one| one.collective == collective && one.bound.len() == others.len())
            };
            assert!(named(least * 1.1) && !named(least), "{collective}");
        }
    }

    #[test]
    fn less_data_should_not_take_longer() {
        // In the order measured, which need not be that of sizes.
        let run = results(&[(Alltoall, 4096, 2.0), (Alltoall, 64, 1.0), (Alltoall, 1024, 5.0)]);
        let found = violations(&run, DEFAULT);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].bytes, found[0].bound.as_slice()), (1024, [(Alltoall, 4096)].as_slice()));
    }

    #[test]
    fn times_that_overlap_say_nothing() {
        let mut run = results(&[(Gather, 64, 2.0), (Allgather, 64, 1.0)]);
        assert_eq!(violations(&run, DEFAULT).len(), 1);
        run.cells[1].timings[1].quartile3 = 2.5;
        assert_eq!(violations(&run, DEFAULT), []);
    }
}
