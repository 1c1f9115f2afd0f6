//! Predicted times of pipelines against schedules played in time, segment by segment.

use crate::support::document::table;
use crate::support::network::{self, shuffled};
use crate::support::segments::played;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{Allreduce, Bcast};
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Fabric, HostId, Placement};
use std::sync::Arc;

/// Two leaves whose hosts have rates of their own, and thin uplinks of different rates.
const UNEVEN: &str = "name = 'uneven'\nmessage_latency = 20\nmessage_gap = 7\nhosts = ['n[0-8]']\n\
    switches = ['l[0-3]']\n[[link]]\nfrom = 'n[0-3]'\nto = 'l0'\nbandwidth = 100\n\
    [[link]]\nfrom = 'n[4-6]'\nto = 'l1'\nbandwidth = 250\n[[link]]\nfrom = 'n[7-8]'\nto = 'l2'\nbandwidth = 40\n\
    [[link]]\nfrom = 'l[0-1]'\nto = 'l3'\nbandwidth = 40\n[[link]]\nfrom = 'l2'\nto = 'l3'\nbandwidth = 10\n";

#[test]
fn predicted_times_are_near_those_played() {
    let mut ratios: Vec<(Algorithm, f64)> = Vec::new();
    let fabrics = ["tree8", "wan2x8", "fattree"].map(network::load).into_iter();
    for fabric in fabrics.chain([Arc::new(Fabric::from_toml(UNEVEN, "uneven").unwrap())]) {
        let in_order: Vec<HostId> = fabric.hosts().collect();
        for hosts in [in_order.clone(), shuffled(in_order)] {
            let planner = network::planner(&fabric, &Placement::from_hosts(hosts.clone()));
            for (collective, bytes) in
                [Bcast, Allreduce].into_iter().flat_map(|c| [32 << 10, 256 << 10].map(|n| (c, n)))
            {
                for (algorithm, _) in planner.demands(collective) {
                    if matches!(algorithm, Algorithm::Ring | Algorithm::HalvingDoubling) {
                        continue;
                    }
                    let found = planner.predicted(collective, algorithm, bytes, Segments::AtMost(65280)).unwrap();
                    let on = (&*fabric, &hosts[..]);
                    let played = played(&planner, (collective, algorithm), on, bytes, found.segment);
                    ratios.push((algorithm, found.time / 1e6 / played));
                }
            }
        }
    }
    for row in table("pipeline") {
        let of = |(algorithm, ratio): &(Algorithm, f64)| (algorithm.name() == row[0]).then_some(*ratio);
        let mut found: Vec<f64> = ratios.iter().filter_map(of).collect();
        found.sort_by(f64::total_cmp);
        let shown = [found[found.len() / 2], found[0], found[found.len() - 1]].map(|ratio| format!("{ratio:.2}"));
        assert_eq!(shown, row[1..], "{row:?}");
        assert!((0.95..1.15).contains(&found[found.len() / 2]) && found[0] > 0.6 && found[found.len() - 1] < 1.5);
    }
}
