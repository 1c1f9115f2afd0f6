//! What formulas of documents are computed of and compared with: groups within groups, schedules, a logarithm.

use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::schedule::Schedule;
use nagare_plan::topology::Topology;

/// Smallest k with 2^k ≥ x.
pub fn log2_ceil(x: u32) -> u32 {
    (0..).find(|&k| 1u64 << k >= u64::from(x)).unwrap()
}

/// Levels of `counts` nested groups, outermost first; the last level but one is the node, the last the rank.
pub fn regular(counts: &[u32]) -> Vec<Vec<u32>> {
    let ranks: u32 = counts.iter().product();
    let size = |level: usize| counts[level + 1..].iter().product::<u32>();
    (0..counts.len()).map(|l| (0..ranks).map(|r| r / size(l)).collect()).collect()
}

/// The planner of such levels.
pub fn planner_of(levels: &[Vec<u32>]) -> Planner {
    let given = levels[..levels.len() - 1].to_vec();
    let names = (0..given.len()).map(|l| format!("level{l}")).collect();
    Planner::new(Topology::new(names, given, vec![0; levels[0].len()]).unwrap())
}

/// The schedule of an algorithm that there is for the collective.
pub fn schedule(planner: &Planner, collective: Collective, algorithm: Algorithm, root: u32) -> Schedule {
    planner.schedule(collective, algorithm, root).expect("implemented")
}
