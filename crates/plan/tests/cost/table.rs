//! What of the table of algorithms has a cost.

use crate::support::network;
use nagare_plan::algorithm::{ALGORITHMS, Candidacy};
use nagare_plan::fabric::Placement;

/// All that may run by default or be tried, for each of its collectives, with one and two ranks a host.
#[test]
fn what_may_run_by_default_is_predicted() {
    for (name, hosts) in
        [("tree8", 8), ("star16", 16), ("fattree", 16), ("torus16", 16), ("wan2x8", 16), ("mlfm36", 36)]
    {
        let fabric = network::load(name);
        for ppn in [1, 2] {
            let placement = Placement::by_slot(&fabric, hosts * ppn, ppn).expect("the ranks fit");
            let planner = network::planner(&fabric, &placement);
            let able = ALGORITHMS.iter().filter(|spec| spec.candidacy != Candidacy::None || spec.fits.is_some());
            for (spec, &collective) in able.flat_map(|spec| spec.collectives.iter().map(move |one| (spec, one))) {
                // Without groups it is `grouped_two_tree`.
                let is_another = matches!((name, ppn, spec.name), ("star16" | "torus16", 1, "two_tree"));
                let demand = planner.demand(collective, spec.algorithm);
                assert_eq!(demand.is_some(), !is_another, "{name} × {ppn}: {} {collective}", spec.name);
            }
        }
    }
}
