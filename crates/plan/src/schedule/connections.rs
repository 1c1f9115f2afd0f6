//! Which ranks a plan sends to, what it sends to each, and what comes from there.

use super::{Action, Rank, RankPlan};
use std::collections::BTreeMap;

/// A rank that something is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// That rank.
    pub peer: Rank,
    /// The sends to it: hops of the plan, in list order.
    pub sends: Vec<u32>,
    /// What is received from it, likewise.
    pub receives: Vec<u32>,
}

/// The connections of `plan` in rank order, and for each hop the index of its own (0 for what is no send).
pub(super) fn connections(plan: &RankPlan) -> (Vec<Connection>, Vec<u32>) {
    let mut connections: BTreeMap<Rank, Connection> = BTreeMap::new();
    for (index, hop) in (0..).zip(&plan.hops) {
        let peer = hop.peer;
        let new = || Connection { peer, sends: Vec::new(), receives: Vec::new() };
        match hop.action {
            Action::Send => connections.entry(peer).or_insert_with(new).sends.push(index),
            Action::Recv | Action::Reduce => connections.entry(peer).or_insert_with(new).receives.push(index),
            Action::Copy { .. } | Action::Shuffle { .. } => {}
        }
    }
    connections.retain(|_, connection| !connection.sends.is_empty());
    let mut of_hop = vec![0; plan.hops.len()];
    for (index, connection) in (0..).zip(connections.values()) {
        connection.sends.iter().for_each(|&hop| of_hop[hop as usize] = index);
    }
    (connections.into_values().collect(), of_hop)
}
