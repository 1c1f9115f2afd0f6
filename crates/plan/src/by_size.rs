//! What runs by size on a communicator, as ranks decide and the command shows.

use crate::choice::{Call, Rules};
use crate::collective::Collective;
use crate::decision::{Decision, Limits};
use crate::planner::Planner;
use serde::Serialize;

/// What a call of so many bytes runs on where calls are not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BySize {
    /// Bytes of the call (see [`Call::bytes`]).
    pub bytes: u64,
    /// An algorithm, none where the MPI library's own runs.
    pub runs: Option<&'static str>,
    /// Why the MPI library's own.
    pub reason: Option<&'static str>,
    /// Of what runs, bytes.
    pub segment: Option<u64>,
    /// Segments of one stream under way.
    pub window: Option<u64>,
}

/// What calls of `collective` with these bytes run on.
pub fn by_size(
    planner: &Planner,
    rules: &Rules,
    limits: &Limits,
    collective: Collective,
    bytes: &[u64],
) -> Vec<BySize> {
    let (ranks, nodes) = (planner.topology().ranks(), planner.topology().node_count());
    let of = |&bytes: &u64| {
        let call = Call { collective, bytes, ranks, nodes };
        let decision = Decision::new(planner, rules, &call, limits, false);
        let pacing = decision.as_ref().ok().map(|decision| decision.pacing(planner, limits, [bytes; 2], 1));
        BySize {
            bytes,
            runs: decision.as_ref().ok().map(|decision| decision.algorithm.name()),
            reason: decision.as_ref().err().map(|reason| reason.name()),
            segment: pacing.map(|pacing| pacing.segment),
            window: pacing.map(|pacing| pacing.window),
        }
    };
    bytes.iter().map(of).collect()
}
