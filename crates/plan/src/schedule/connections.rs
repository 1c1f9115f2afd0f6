//! Which ranks a plan sends to, and what it sends to each.

use super::{Action, Rank, RankPlan};
use std::collections::BTreeMap;

/// A rank that something is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// That rank.
    pub peer: Rank,
    /// The sends to it: hops of the plan, in list order.
    pub sends: Vec<u32>,
}

/// The connections of `plan` in rank order, and for each hop the index of its own (0 for what is no send).
pub(super) fn connections(plan: &RankPlan) -> (Vec<Connection>, Vec<u32>) {
    let mut sends: BTreeMap<Rank, Vec<u32>> = BTreeMap::new();
    for (index, hop) in (0..).zip(&plan.hops).filter(|(_, hop)| hop.action == Action::Send) {
        sends.entry(hop.peer).or_default().push(index);
    }
    let mut of_hop = vec![0; plan.hops.len()];
    for (connection, sends) in (0..).zip(sends.values()) {
        sends.iter().for_each(|&hop| of_hop[hop as usize] = connection);
    }
    (sends.into_iter().map(|(peer, sends)| Connection { peer, sends }).collect(), of_hop)
}
