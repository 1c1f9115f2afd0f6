//! The planners of the last communicators, for others with the same ranks in the same order: programs duplicate
//! communicators, and a planner keeps what it has worked out.

use nagare_plan::Planner;
use nagare_plan::schedule::Rank;
use parking_lot::Mutex;
use std::sync::Arc;

/// Planners that are kept: of each communicator one, or two where a self-test counts.
const KEPT: usize = 8;

/// Ranks of the world, whether a self-test of the network counts, and the planner of a communicator that has these.
type Known = (Arc<[Rank]>, bool, Arc<Planner>);

/// The planners of the last communicators.
#[derive(Default)]
pub struct Planners(Mutex<Vec<Known>>);

impl Planners {
    /// That of a communicator with these ranks of the world, by what a self-test has found or not, made if it is not
    /// known.
    pub fn of(&self, ranks: &Arc<[Rank]>, is_tested: bool, make: impl FnOnce() -> Arc<Planner>) -> Arc<Planner> {
        let is_it = |(known, tested, _): &&Known| (known, *tested) == (ranks, is_tested);
        if let Some((.., planner)) = self.0.lock().iter().find(is_it) {
            return Arc::clone(planner);
        }
        let planner = make();
        let mut known = self.0.lock();
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((Arc::clone(ranks), is_tested, Arc::clone(&planner)));
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
        let mut of = |first: Rank, is_tested| {
            let ranks: Arc<[Rank]> = vec![first, first + 1].into();
            planners.of(&ranks, is_tested, || {
                made += 1;
                Arc::new(Planner::new(Topology::of_nodes(vec![0, 1]).expect("a topology")))
            })
        };
        let first = of(0, false);
        assert!(Arc::ptr_eq(&first, &of(0, false)));
        let tested = of(0, true);
        assert!(!Arc::ptr_eq(&first, &tested) && Arc::ptr_eq(&tested, &of(0, true)));
        let others: Vec<_> = (1..KEPT as Rank).map(|first| of(first, false)).collect();
        assert!(others.iter().all(|other| !Arc::ptr_eq(other, &first)));
        assert!(!Arc::ptr_eq(&first, &of(0, false)), "the oldest is forgotten");
        assert_eq!(made, KEPT + 2);
    }
}
