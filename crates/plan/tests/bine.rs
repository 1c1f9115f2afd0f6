//! Bine's exchanges (arXiv 2508.17311) are those of `near`. The most that leaves send which nobody knows: by them, by
//! the bits of numbers, and by the ring (docs/algorithms.md, "halving_doubling").

use crate::support::halving::{grid, lane, schedule};
use nagare_plan::Planner;
use nagare_plan::algorithm::Algorithm;
use nagare_plan::collective::Collective;
use nagare_plan::pattern::{Pairs, Rails};
use nagare_plan::schedule::{Action, Schedule};
use nagare_plan::topology::Topology;
use std::collections::BTreeSet;

/// From a host to another, in a step, so many of the parts of the vector.
type Transfer = (u32, u32, u32, u32);

/// What is sent while the vector is halved or goes around.
fn sent(schedule: &Schedule) -> impl Iterator<Item = Transfer> {
    let first = schedule.plans.iter().flat_map(|plan| plan.hops.iter().map(|hop| (plan.rank, hop)));
    let first = first.filter(|(_, hop)| hop.action == Action::Send && hop.round.stage == 0);
    first.map(|(rank, hop)| (rank, hop.peer, hop.round.step, hop.parts.count))
}

/// Halving among hosts in a row.
fn halving(hosts: u32, pairs: Pairs) -> Schedule {
    schedule(&vec![1; hosts as usize], &Rails::new(grid(&[hosts]), vec![lane(&[0])], 1, pairs), 1)
}

/// In step k a host exchanges half of what it has with the one (1 − (−2)^(k+1)) / 3 places on, or back if its own place
/// is odd.
fn bine(hosts: u32) -> impl Iterator<Item = Transfer> {
    (0..hosts.ilog2()).flat_map(move |step| {
        let way = (1 - (-2i64).pow(step + 1)) / 3;
        (0..hosts).map(move |host| {
            let to = i64::from(host) + if host % 2 == 0 { way } else { -way };
            (host, to.rem_euclid(hosts.into()) as u32, step, hosts >> (step + 1))
        })
    })
}

#[test]
fn near_partners_are_bine_s() {
    for hosts in [2, 4, 8, 16, 64, 256] {
        let ours: BTreeSet<Transfer> = sent(&halving(hosts, Pairs::Near)).collect();
        assert_eq!(ours, bine(hosts).collect(), "{hosts}");
    }
}

/// The most that a leaf of so many hosts sends to others, in vectors.
fn busiest(hosts: u32, leaf: u32, transfers: impl Iterator<Item = Transfer>) -> f64 {
    let mut parts = vec![0; hosts.div_ceil(leaf) as usize];
    for (from, _, _, count) in transfers.filter(|(from, to, ..)| from / leaf != to / leaf) {
        parts[(from / leaf) as usize] += count;
    }
    (f64::from(parts.into_iter().max().unwrap_or(0)) / f64::from(hosts) * 100.0).round() / 100.0
}

#[test]
fn what_leaves_send_that_nobody_knows() {
    const LEAVES: [u32; 4] = [6, 8, 12, 24];
    for (hosts, near, bits) in [
        (64, [1.41, 1.5, 1.63, 1.78], [1.91, 0.88, 1.81, 1.63]),
        (256, [1.48, 1.59, 1.77, 2.06], [1.98, 0.97, 1.95, 1.91]),
    ] {
        let planner = Planner::new(Topology::of_nodes((0..hosts).collect()).unwrap());
        let ring = planner.schedule(Collective::ReduceScatterBlock, Algorithm::Ring, 0).unwrap();
        let by = |schedule: &Schedule| LEAVES.map(|leaf| busiest(hosts, leaf, sent(schedule)));
        assert_eq!(by(&halving(hosts, Pairs::Near)), near, "{hosts}");
        assert_eq!(by(&halving(hosts, Pairs::Bits)), bits, "{hosts}");
        assert!(by(&ring).iter().all(|&vectors| (0.9..=1.0).contains(&vectors)), "{hosts}: {:?}", by(&ring));
    }
}
