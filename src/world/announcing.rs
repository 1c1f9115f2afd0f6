//! What came of the meeting of all ranks, in words: the network, what is wrong, and whether the job goes on.

use super::disagreement::Disagreement;
use super::facts::Exchange;
use super::setup::{Setup, host_name};
use crate::boundary::panics;
use crate::real::Real;
use crate::transport::agreement;
use nagare_plan::{counted, quoted};
use std::ffi::c_int;

/// Says on the ranks that know it what came of the exchange over the world, of which this is `rank`; with
/// `NAGARE_STRICT=1` the job ends if ranks do not agree.
pub fn announce(real: &Real, setup: &Setup, rank: c_int, exchange: &Exchange) {
    let own = setup.problems.iter().chain(&exchange.own_problem);
    let first = exchange.facts.as_ref().err();
    if rank == 0 {
        own.for_each(|problem| log::warn!("{problem}"));
    } else if first.is_some_and(|e| *e == Disagreement::Problem(rank as usize)) {
        let host = host_name();
        own.for_each(|problem| log::warn!("rank {rank} on {host}: {problem}"));
    }
    match &exchange.facts {
        Ok(facts) if rank == 0 => {
            let topology = &facts.topology;
            log::info!(
                "{} on {}, levels {} (from {}); eager messages: {}",
                counted(topology.ranks(), "rank"),
                counted(topology.node_count(), "node"),
                topology.level_names().join(" > "),
                setup.topology_origin,
                facts.eager,
            );
            facts.profiles.problems.iter().for_each(|problem| log::warn!("{problem}"));
            facts.profiles.names().for_each(|name| log::info!("profile {}", quoted(name)));
        }
        Ok(_) | Err(Disagreement::Off { .. }) => {}
        Err(error) => {
            // Where ranks are missing, only what all others know counts: the one that says it ends the job.
            let strict = match *error {
                Disagreement::Missing { strict, speaker, .. } => strict && speaker == rank as u32,
                _ => exchange.strict,
            };
            if rank as u32 == error.speaker() {
                let outcome = if strict {
                    "the job ends (NAGARE_STRICT=1)"
                } else {
                    "all calls run on the MPI library's own collectives"
                };
                log::error!("{error}; {outcome}");
            }
            if strict {
                // Everybody's lines come before the end of the job, where everybody knows that it ends.
                if !matches!(error, Disagreement::Missing { .. } | Disagreement::Build | Disagreement::Exchange(_)) {
                    agreement::all_agree(real, real.handles.comm_world, true);
                }
                panics::abort(real, 1);
            }
        }
    }
}
