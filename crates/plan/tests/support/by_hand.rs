//! A schedule carried out hop by hop, without the executor: every rank goes through its list strictly in order and
//! never waits to send.

use nagare_plan::schedule::{Action, Hop, Rank, Schedule};
use std::collections::{HashMap, VecDeque};

/// What a part is worth: `Clone` for what is sent, and a combination of one's own with what is received.
pub trait Value: Clone {
    /// The combination.
    fn combined(&self, received: &Self) -> Self;
}

/// What every rank holds of every part after the hops that `included` takes, which must be the first ones of each rank.
/// `held[rank][part]` is what it begins with.
pub fn carry_out<V: Value>(schedule: &Schedule, mut held: Vec<Vec<V>>, included: impl Fn(&Hop) -> bool) -> Vec<Vec<V>> {
    let mut messages: HashMap<(Rank, Rank, u32), VecDeque<Vec<V>>> = HashMap::new();
    let mut next = vec![0; schedule.plans.len()];
    loop {
        let mut moved = false;
        for (plan, next) in schedule.plans.iter().zip(&mut next) {
            while let Some(hop) = plan.hops.get(*next).filter(|hop| included(hop)) {
                let own = &mut held[plan.rank as usize][hop.parts.first as usize..hop.parts.end() as usize];
                if hop.action == Action::Send {
                    messages.entry((plan.rank, hop.peer, hop.tag)).or_default().push_back(own.to_vec());
                } else {
                    let stream = messages.get_mut(&(hop.peer, plan.rank, hop.tag));
                    let Some(received) = stream.and_then(VecDeque::pop_front) else { break };
                    assert_eq!(received.len(), own.len(), "rank {}: {hop:?}", plan.rank);
                    for (own, received) in own.iter_mut().zip(received) {
                        *own = if hop.action == Action::Reduce { own.combined(&received) } else { received };
                    }
                }
                *next += 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for (plan, &next) in schedule.plans.iter().zip(&next) {
        assert!(!plan.hops[next..].iter().any(&included), "rank {} waits at {:?}", plan.rank, plan.hops[next]);
    }
    assert!(messages.values().all(VecDeque::is_empty), "something is never received");
    held
}
