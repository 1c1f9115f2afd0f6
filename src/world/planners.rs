//! The planners of the last communicators, for others with the same ranks in the same order: programs duplicate
//! communicators, and a planner keeps what it has worked out.

use nagare_plan::Planner;
use nagare_plan::schedule::Rank;
use parking_lot::Mutex;
use std::sync::Arc;

/// Communicators whose planners are kept.
const KEPT: usize = 4;

/// Ranks of the world, and the planner of a communicator that has these.
type Known = (Arc<[Rank]>, Arc<Planner>);

/// The planners of the last communicators.
#[derive(Default)]
pub struct Planners(Mutex<Vec<Known>>);

impl Planners {
    /// That of a communicator with these ranks of the world, made if it is not known.
    pub fn of(&self, ranks: &Arc<[Rank]>, make: impl FnOnce() -> Arc<Planner>) -> Arc<Planner> {
        if let Some((_, planner)) = self.0.lock().iter().find(|(known, _)| known == ranks) {
            return Arc::clone(planner);
        }
        let planner = make();
        let mut known = self.0.lock();
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((Arc::clone(ranks), Arc::clone(&planner)));
        planner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_plan::topology::Topology;

    #[test]
    fn the_last_communicators_with_the_same_ranks_share_one() {
        let planners = Planners::default();
        let mut made = 0;
        let mut of = |first: Rank| {
            let ranks: Arc<[Rank]> = vec![first, first + 1].into();
            planners.of(&ranks, || {
                made += 1;
                Arc::new(Planner::new(Topology::of_nodes(vec![0, 1]).expect("a topology")))
            })
        };
        let first = of(0);
        assert!(Arc::ptr_eq(&first, &of(0)));
        let others: Vec<_> = (1..=KEPT as Rank).map(&mut of).collect();
        assert!(others.iter().all(|other| !Arc::ptr_eq(other, &first)));
        assert!(!Arc::ptr_eq(&first, &of(0)), "the oldest is forgotten");
        assert_eq!(made, KEPT + 2);
    }
}
