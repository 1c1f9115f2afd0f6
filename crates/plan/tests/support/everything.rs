//! Everything the library asks of a topology, for a few ranks: what no text that was understood may make panic.

use nagare_plan::Planner;
use nagare_plan::algorithm::ALGORITHMS;
use nagare_plan::collective::Collective;
use nagare_plan::cost::Segments;
use nagare_plan::topology::{Grid, Source, Topology, in_order};

/// The facts as ranks tell them to each other, `host(rank)` being the name of each rank's host.
pub fn topology(source: &Source, ranks: u32, host: impl Fn(u32) -> String) -> Result<Topology, String> {
    let places: Result<Vec<_>, _> = (0..ranks).map(|rank| source.place(u64::from(rank), &host(rank))).collect();
    let places = places.map_err(|e| e.to_string())?;
    let mut names = source.level_names();
    names.push("node".to_owned());
    let numbers = |of: Vec<u64>| {
        let mut distinct = of.clone();
        distinct.sort_unstable();
        distinct.dedup();
        of.iter().map(|number| distinct.partition_point(|other| other < number) as u32).collect::<Vec<u32>>()
    };
    let levels = names.len() - 1;
    let mut groups: Vec<Vec<u32>> =
        (0..levels).map(|l| numbers(places.iter().map(|p| p.groups[l]).collect())).collect();
    let nodes: Vec<u64> = places.iter().map(|p| p.node.unwrap_or(0)).collect();
    groups.push(numbers(nodes.clone()));
    let cores: Vec<(u32, u64)> = places.iter().map(|p| (p.numa.unwrap_or(0) as u32, p.core.unwrap_or(0))).collect();
    let topology = Topology::new(names, groups, in_order(&cores)).map_err(|e| e.to_string())?;
    let topology = topology.with_numa(cores.iter().map(|&(numa, _)| numa).collect());
    Ok(source.on_network(topology, &nodes))
}

/// Plans of all ranks for every collective and algorithm, and every choice between them.
pub fn plans_of_everything(topology: Topology) {
    let ranks = topology.ranks();
    let planner = Planner::new(topology);
    for collective in Collective::ALL {
        for bytes in [1, 64 << 10, 1 << 40, u64::MAX] {
            for segments in [Segments::AtMost(8 << 10), Segments::Exactly(64)] {
                planner.fitting(collective, bytes, segments);
                if let Some((_, prediction)) = planner.cheapest(collective, bytes, segments) {
                    assert!(prediction.segment >= 1, "{collective} of {bytes}: {prediction:?}");
                }
            }
        }
        for spec in ALGORITHMS.iter().filter(|spec| spec.collectives.contains(&collective)) {
            planner.exchange_pacing(spec.algorithm, 64 << 10);
            let chunks = planner.chunks(collective, spec.algorithm, 1 << 20);
            assert!(chunks >= 1);
            for root in [0, ranks - 1] {
                for rank in 0..ranks {
                    let plan = planner.plan_cut(collective, spec.algorithm, root, rank, chunks).expect("implemented");
                    assert!(plan.hops.iter().all(|hop| hop.peer < ranks), "{collective} {}", spec.name);
                }
            }
            assert!(!planner.stages(collective, spec.algorithm).is_empty() || ranks == 1);
        }
    }
    Grid::new(planner.context().grouped(), planner.topology()).to_string();
}
