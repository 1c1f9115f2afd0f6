//! Leaves as groups by default: where they are chosen, and what that is worth, predicted and played in time.

use crate::support::document::table;
use crate::support::network::{planner, shuffled};
use crate::support::segments::played;
use nagare_plan::Planner;
use nagare_plan::collective::Collective::{Allreduce, Bcast};
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Fabric, HostId, LevelChoice, Placement, shipped};
use std::sync::Arc;

fn fabric(name: &str) -> Fabric {
    let fat_tree = |parameters: &str| {
        format!(
            "message_latency = 20\nmessage_gap = 7\n[generator]\nkind = 'fat-tree'\nlevels = 2\nbandwidth = \
             25000\n{parameters}"
        )
    };
    let text = match name {
        "full 32" => fat_tree("ports = 8"),
        "4:1 32" => fat_tree("ports = 4\nhosts_per_leaf = 8"),
        name => shipped(name).expect("shipped").to_owned(),
    };
    Fabric::from_toml(&text, name).unwrap()
}

fn levels(planner: &Planner) -> String {
    planner.context().topology().level_names().join(",")
}

#[test]
fn leaves_are_groups_where_that_is_faster() {
    for row in table("communicator") {
        let (name, order) = row[0].split_once(", ").expect("a network and an order");
        let open = fabric(name);
        let hosts: Vec<HostId> = open.hosts().collect();
        let hosts = if order == "shuffled" { shuffled(hosts) } else { hosts };
        let placement = Placement::from_hosts(hosts.clone());
        // With the levels of the default by name nothing is chosen.
        let usual: Vec<String> = open.levels().into_iter().map(|level| level.name).collect();
        let mut named = open.clone();
        named.choose_levels(LevelChoice::Named(usual)).unwrap();
        let [usual, chosen] = [named, open.clone()].map(|fabric| planner(&Arc::new(fabric), &placement));
        let mut found = vec![levels(&usual), levels(&chosen)];
        for (collective, bytes) in [Bcast, Allreduce].into_iter().flat_map(|c| [64 << 10, 256 << 10].map(|n| (c, n))) {
            let times = [&usual, &chosen].map(|planner| {
                let (algorithm, prediction) =
                    planner.cheapest(collective, bytes, Segments::AtMost(65280)).expect("a choice");
                let way = (collective, algorithm);
                [prediction.time, played(planner, way, (&open, &hosts), bytes, prediction.segment)]
            });
            let [predicted, played] = [0, 1].map(|which: usize| times[1][which] / times[0][which]);
            assert!(played < 1.05, "{row:?}: {collective} of {bytes} takes {played} times as long");
            found.push(format!("{predicted:.2} {played:.2}"));
        }
        assert_eq!(found, row[1..], "{row:?}");
    }
}
