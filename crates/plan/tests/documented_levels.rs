//! What `docs/algorithms.md` says levels are worth: predicted times with ranks in the order of hosts, and shuffled.

use crate::support::amount::everything;
use crate::support::document::table;
use crate::support::network::{planner, shuffled};
use crate::support::segments::played;
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective::{self, Allreduce, Bcast};
use nagare_plan::cost::Segments;
use nagare_plan::fabric::{Fabric, HostId, LevelChoice, Placement, shipped};
use std::sync::Arc;

const SIZES: [u64; 3] = [64 << 10, 1 << 20, 4 << 20];

/// The fastest algorithm that has a prediction, its milliseconds, and bytes of its segments.
fn fastest(planner: &Planner, collective: Collective, bytes: u64) -> (Algorithm, f64, u64) {
    let timed = planner.demands(collective).into_iter().filter_map(|(algorithm, _)| {
        let prediction = planner.predicted(collective, algorithm, bytes, Segments::AtMost(65280))?;
        Some((algorithm, prediction.time / 1e6, prediction.segment))
    });
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).expect("a prediction")
}

/// A fat tree of two levels, of 25 Gbit/s, where it is known what messages cost: then nothing is assumed of software.
fn generated(ports: &str) -> String {
    let message = "message_latency = 20\nmessage_gap = 7\n";
    format!("{message}[generator]\nkind = 'fat-tree'\nlevels = 2\nbandwidth = 25000\n{ports}\n")
}

/// The network of a row, with levels chosen, and its hosts in the order of ranks.
fn network(row: &[String]) -> (Fabric, Vec<HostId>) {
    let (name, order) = row[0].split_once(", ").expect("a network and an order");
    let text = match name {
        "full 128" => generated("ports = 16"),
        "4:1 128" => generated("ports = 8\nhosts_per_leaf = 16"),
        "16:1 512" => generated("ports = 8\nhosts_per_leaf = 64"),
        "8:1 1024" => generated("ports = 16\nhosts_per_leaf = 64"),
        name => shipped(name).expect("shipped").to_owned(),
    };
    let mut fabric = Fabric::from_toml(&text, name).unwrap();
    fabric.choose_levels(LevelChoice::from(row[1].as_str())).unwrap();
    let hosts: Vec<HostId> = fabric.hosts().collect();
    let hosts = if order == "shuffled" { shuffled(hosts) } else { hosts };
    (fabric, hosts)
}

#[test]
fn what_levels_are_worth() {
    for row in table("network, ranks") {
        let (fabric, hosts) = network(&row);
        let planner = planner(&Arc::new(fabric), &Placement::from_hosts(hosts));
        let mut found = Vec::new();
        for (collective, bytes) in [Bcast, Allreduce].into_iter().flat_map(|c| SIZES.map(|bytes| (c, bytes))) {
            let (algorithm, ms, _) = fastest(&planner, collective, bytes);
            found.push(format!("{ms:.2}"));
            assert!(!row[1].contains("leaf") || bytes < 1 << 20 || algorithm != Algorithm::GroupedTwoTree, "{row:?}");
        }
        assert_eq!(found, row[2..], "{row:?}");
    }
}

/// The same schedules message by message, by a player that knows no prediction.
#[test]
fn what_levels_are_worth_where_schedules_are_played() {
    // Of 512 and 1024 hosts it takes minutes.
    let is_short = |row: &Vec<String>| row[0].starts_with("4:1 128") || everything();
    for row in table("played").into_iter().filter(is_short) {
        let (fabric, hosts) = network(&row);
        let open = Arc::new(fabric.clone());
        let planner = planner(&open, &Placement::from_hosts(hosts.clone()));
        let of = |bytes: u64| {
            let (algorithm, predicted, segment) = fastest(&planner, Bcast, bytes);
            let ms = played(&planner, (Bcast, algorithm), (&fabric, &hosts), bytes, segment);
            format!("{predicted:.2}, {ms:.2} {}", algorithm.name())
        };
        assert_eq!([64 << 10, 1 << 20].map(of), row[2..], "{row:?}");
    }
}
