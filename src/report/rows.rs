//! The rows of a report: what was called, what ran, by size, what was passed on; each over all ranks.

use super::snapshot::{CLASSES, Counted, OUTCOMES, Snapshot, outcome_name};
use crate::real::OTHERS;
use nagare_plan::collective::Collective;
use serde::Serialize;
use std::collections::HashSet;

/// Calls, bytes and time of one kind of calls on several ranks.
#[derive(Debug, Serialize)]
pub struct Ranks {
    /// Calls of the rank that called most often, and of all.
    pub calls: u64,
    pub total_calls: u64,
    /// Time in the calls: of the rank that was longest in them, of the one that was shortest, of all. What the first
    /// two differ by was mostly spent waiting for ranks that came late.
    pub max_seconds: f64,
    pub min_seconds: f64,
    pub total_seconds: f64,
}

/// All calls of one collective. A rank's calls have several outcomes, and it is not the same rank that has most of
/// each: this does not follow from the rows.
#[derive(Debug, Serialize)]
pub struct CollectiveRow {
    pub collective: &'static str,
    /// Bytes over all calls of the rank that had most, and of all ranks.
    pub rank_bytes: u64,
    pub bytes: u64,
    #[serde(flatten)]
    pub ranks: Ranks,
}

/// One outcome of one collective.
#[derive(Debug, Serialize)]
pub struct ReportRow {
    pub collective: &'static str,
    /// Name of the algorithm, `stock` for the library's own.
    pub algorithm: &'static str,
    /// Why the library's own ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Size of the vector; for Alltoall of the data per rank pair, for Alltoallv and Alltoallw of all that a rank
    /// sends, for what else has blocks of one of them, for Reduce_scatter of their mean; bytes.
    pub min_bytes: u64,
    pub max_bytes: u64,
    /// Bytes over all calls of the rank that had most, and of all ranks.
    pub rank_bytes: u64,
    pub bytes: u64,
    #[serde(flatten)]
    pub ranks: Ranks,
}

/// The timed calls of one collective in one class of sizes.
#[derive(Debug, Serialize)]
pub struct SizeRow {
    pub collective: &'static str,
    /// At least so many bytes, and less than four times as many; the first class begins at 0, the last has no end.
    pub min_bytes: u64,
    /// Whether they ran on Nagare.
    pub nagare: bool,
    #[serde(flatten)]
    pub ranks: Ranks,
}

/// Calls of a collective that was passed on; of a nonblocking one the time of its start.
#[derive(Debug, Serialize)]
pub struct OtherRow {
    pub collective: &'static str,
    #[serde(flatten)]
    pub ranks: Ranks,
}

impl Ranks {
    /// Over the ranks that made such calls; `None` if there are none.
    pub fn over(counted: impl Iterator<Item = Counted>) -> Option<Self> {
        let counted: Vec<Counted> = counted.filter(|counted| counted.calls > 0).collect();
        let seconds = || counted.iter().map(|counted| counted.nanoseconds as f64 * 1e-9);
        Some(Self {
            calls: counted.iter().map(|counted| counted.calls).max()?,
            total_calls: counted.iter().map(|counted| counted.calls).sum(),
            max_seconds: seconds().fold(0.0, f64::max),
            min_seconds: seconds().fold(f64::INFINITY, f64::min),
            total_seconds: seconds().sum(),
        })
    }
}

/// All calls of each collective.
pub fn collectives(ranks: &[Snapshot]) -> Vec<CollectiveRow> {
    let row = |(c, collective): (usize, &Collective)| {
        let each = || ranks.iter().map(|rank| rank.collective(c));
        Some(CollectiveRow {
            collective: collective.name(),
            ranks: Ranks::over(each())?,
            rank_bytes: each().map(|counted| counted.bytes).max()?,
            bytes: each().map(|counted| counted.bytes).sum(),
        })
    };
    Collective::ALL.iter().enumerate().filter_map(row).collect()
}

/// All calls of all collectives, also of those that were passed on.
pub fn all(ranks: &[Snapshot]) -> Option<Ranks> {
    Ranks::over(ranks.iter().map(|rank| rank.all()))
}

/// The hosts, in the order of their first ranks.
pub fn hosts(ranks: &[Snapshot]) -> Vec<String> {
    let mut seen = HashSet::new();
    ranks.iter().map(|rank| rank.host()).filter(|host| seen.insert(host.clone())).collect()
}

/// Every outcome of every collective that there was on some rank.
pub fn rows(ranks: &[Snapshot]) -> Vec<ReportRow> {
    let all = (0..Collective::ALL.len()).flat_map(|c| (0..OUTCOMES).map(move |outcome| (c, outcome)));
    let row = |(c, outcome): (usize, usize)| {
        let each = || ranks.iter().map(|rank| rank.row(c, outcome)).filter(|counted| counted.calls > 0);
        let (algorithm, reason) = outcome_name(outcome);
        Some(ReportRow {
            collective: Collective::ALL[c].name(),
            algorithm,
            reason: reason.map(|r| r.name()),
            min_bytes: each().map(|counted| counted.least).min()?,
            max_bytes: each().map(|counted| counted.most).max()?,
            rank_bytes: each().map(|counted| counted.bytes).max()?,
            bytes: each().map(|counted| counted.bytes).sum(),
            ranks: Ranks::over(each())?,
        })
    };
    all.filter_map(row).collect()
}

/// The same by classes of sizes.
pub fn sizes(ranks: &[Snapshot]) -> Vec<SizeRow> {
    let mut rows = Vec::new();
    for (c, collective) in Collective::ALL.iter().enumerate() {
        for (class, nagare) in (0..CLASSES).flat_map(|class| [(class, false), (class, true)]) {
            if let Some(ranks) = Ranks::over(ranks.iter().map(|rank| rank.size(c, class, nagare))) {
                let min_bytes = if class == 0 { 0 } else { 1 << (2 * class) };
                rows.push(SizeRow { collective: collective.name(), min_bytes, nagare, ranks });
            }
        }
    }
    rows
}

/// What was passed on.
pub fn others(ranks: &[Snapshot]) -> Vec<OtherRow> {
    let row = |(index, &collective)| {
        Some(OtherRow { collective, ranks: Ranks::over(ranks.iter().map(|rank: &Snapshot| rank.other(index)))? })
    };
    OTHERS.iter().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Statistics;
    use super::*;
    use crate::real::Other;
    use nagare_plan::algorithm::ALGORITHMS;
    use nagare_plan::choice::{Choice, Reason};

    /// One rank has most calls of one outcome, the other of another: of all outcomes they have as many.
    #[test]
    fn a_collective_is_the_maximum_of_sums_over_its_outcomes() {
        let (ours, early) = (Choice::Run(ALGORITHMS[0].algorithm), Choice::Library(Reason::Early));
        let numbers = [("n0", 2, 1), ("n1", 1, 2), ("n0", 2, 1)].map(|(host, on_ours, on_stock)| {
            let statistics = Statistics::default();
            for (choice, calls) in [(ours, on_ours), (early, on_stock)] {
                (0..calls).for_each(|_| statistics.count(Collective::Allgather, choice, 8, 1_000_000_000));
            }
            statistics.count_other(Other::barrier, 500_000_000 * on_ours);
            statistics.snapshot(host, &statistics.kinds())
        });
        let numbers = numbers.concat();
        let ranks: Vec<Snapshot> = Snapshot::each(&numbers).collect();
        assert_eq!(rows(&ranks).iter().map(|row| (row.ranks.calls, row.rank_bytes)).collect::<Vec<_>>(), [(2, 16); 2]);
        let [CollectiveRow { collective: "allgather", rank_bytes: 24, bytes: 72, ranks: sum }] =
            &collectives(&ranks)[..]
        else {
            panic!("{:?}", collectives(&ranks))
        };
        assert_eq!((sum.calls, sum.total_calls), (3, 9));
        assert_eq!([sum.max_seconds, sum.min_seconds, sum.total_seconds], [3.0, 3.0, 9.0]);
        let all = all(&ranks).expect("calls");
        assert_eq!((all.calls, all.max_seconds, all.min_seconds, all.total_seconds), (4, 4.0, 3.5, 11.5));
        assert_eq!(hosts(&ranks), ["n0", "n1"]);
    }
}
