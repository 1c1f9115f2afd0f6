//! How long planning takes and how much memory it needs for one rank of a large machine.
//!
//! ```text
//! cargo run --release -p nagare-plan --example planning [ranks]
//! ```
//! The machine is pretended: 64 ranks per node, 256 nodes per group, ranks in order; also the same nodes dealt round
//! robin.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Program;
use nagare_plan::topology::Topology;
use std::time::Instant;

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Runs `work` and prints its time and what it left in memory.
fn measured<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let before = resident_bytes();
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    let mebibytes = resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20);
    println!("  {what:<44} {:>12.3} ms {mebibytes:>8.1} MiB", elapsed.as_secs_f64() * 1e3);
    result
}

fn main() {
    let ranks: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1 << 20);
    for (placement, node) in [("ranks by slot", 0), ("ranks by node", 1)] {
        println!("{ranks} ranks, 64 per node, 256 nodes per group, {placement}");
        let nodes = ranks.div_ceil(64);
        let node_of = |r: u32| if node == 0 { r / 64 } else { r % nodes };
        let topology = measured("facts", || {
            let groups = (0..ranks).map(|r| node_of(r) / 256).collect();
            let of_node = (0..ranks).map(node_of).collect();
            Topology::new(vec!["group".into(), "node".into()], vec![groups, of_node], vec![0; ranks as usize])
        });
        let planner = match topology {
            Ok(topology) => Planner::new(topology),
            Err(error) => {
                eprintln!("planning: {error}");
                return;
            }
        };
        measured("index over all levels, once", || planner.context().grouped().depth());
        for rank in [0, ranks / 3, ranks - 1] {
            let algorithms = [Algorithm::GroupedTwoTree, Algorithm::GatewayTwoTree];
            for (collective, algorithm) in
                [Collective::Bcast, Collective::Allreduce].iter().flat_map(|c| algorithms.map(|a| (*c, a)))
            {
                let plan = measured(&format!("{collective} {algorithm}, plan of rank {rank}"), || {
                    planner.plan(collective, algorithm, 0, rank)
                });
                let hops = plan.as_ref().map_or(0, |p| p.hops.len());
                let program = plan.and_then(|p| Program::new(p, true).ok());
                println!("    {hops} hops{}", if program.is_some() { "" } else { ", inconsistent" });
            }
        }
        measured("flat index, once", || planner.context().flat().depth());
        measured(&format!("{} two_tree, plan of rank {}", Collective::Bcast, ranks / 3), || {
            planner.plan(Collective::Bcast, Algorithm::TwoTree, 0, ranks / 3)
        });
        measured("virtual ranks, once", || planner.context().virtual_ranks().steps());
    }
}
