//! Reading the report that `NAGARE_REPORT` asks for.

use serde_json::Value;
use std::path::Path;

/// The report of a job.
#[derive(Clone, Debug)]
pub struct Report(pub Value);

impl Report {
    /// The report in a file; `None` if there is no file.
    pub fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(Self(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))))
    }

    fn rows(&self) -> impl Iterator<Item = &Value> {
        self.0["rows"].as_array().expect("rows").iter()
    }

    /// Calls of `collective` (all collectives for "") that ran on `algorithm`, by the rank that called most often.
    pub fn calls(&self, collective: &str, algorithm: &str) -> u64 {
        let rows = self.rows().filter(|r| collective.is_empty() || r["collective"] == collective);
        rows.filter(|r| r["algorithm"] == algorithm).map(|r| r["calls"].as_u64().expect("calls")).sum()
    }

    /// Calls of `collective` (all collectives for "") that ran on any algorithm of ours.
    pub fn ours(&self, collective: &str) -> u64 {
        let rows = self.rows().filter(|r| collective.is_empty() || r["collective"] == collective);
        rows.filter(|r| r["algorithm"] != "stock").map(|r| r["calls"].as_u64().expect("calls")).sum()
    }

    /// Calls of every collective by every algorithm: collective, algorithm, calls.
    pub fn counts(&self) -> Vec<(String, String, u64)> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = self.rows().map(|r| (text(r, "collective"), text(r, "algorithm"), r["calls"].as_u64().unwrap_or(0)));
        rows.collect()
    }

    /// Calls of `collective` (all collectives for "") that the MPI library carried out for this reason.
    pub fn forwarded(&self, collective: &str, reason: &str) -> u64 {
        let rows = self.rows().filter(|r| collective.is_empty() || r["collective"] == collective);
        rows.filter(|r| r["reason"] == reason).map(|r| r["calls"].as_u64().expect("calls")).sum()
    }

    /// Why calls were left to the MPI library, each reason once.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self.rows().filter_map(|r| r["reason"].as_str().map(str::to_owned)).collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// Asserts that every collective ran on its algorithm at least once.
    #[track_caller]
    pub fn assert_ran(&self, reductions_and_bcast: &str, alltoall: Option<&str>) {
        for collective in ["reduce", "bcast", "allreduce"] {
            assert!(
                self.calls(collective, reductions_and_bcast) > 0,
                "no {collective} on {reductions_and_bcast}: {self:?}"
            );
        }
        if let Some(algorithm) = alltoall {
            assert!(self.calls("alltoall", algorithm) > 0, "no alltoall on {algorithm}: {self:?}");
        }
    }

    /// Asserts that calls with a block for or of every rank ran as [`super::FORCED`] says.
    #[track_caller]
    pub fn assert_ran_blocks(&self) {
        for (collective, algorithm) in [
            ("alltoallv", "two_level_ring"),
            ("alltoallw", "two_level_ring"),
            ("gather", "relay"),
            ("scatter", "relay"),
            ("gatherv", "direct"),
            ("scatterv", "direct"),
            ("allgather", "halving_doubling"),
            ("allgatherv", "halving_doubling"),
            ("reduce_scatter_block", "halving_doubling"),
            ("reduce_scatter", "halving_doubling"),
        ] {
            assert!(self.calls(collective, algorithm) > 0, "no {collective} on {algorithm}: {self:?}");
        }
    }
}
