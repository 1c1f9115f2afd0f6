//! The facts about some of the ranks: those of a communicator that is made of them.

use super::Topology;
use super::network::by_node;
use crate::collective::Rank;
use crate::fabric::HostId;
use std::collections::HashMap;
use std::sync::Arc;

impl Topology {
    /// The facts about some of the ranks, in a new order: `ranks[new] = old`, as for a sub-communicator.
    ///
    /// Ranks that do not exist are left out. Whether the new communicator is Cartesian is not said.
    pub fn restricted(&self, ranks: &[Rank]) -> Self {
        let take = |of_rank: &Vec<u32>| -> Vec<u32> {
            ranks.iter().filter_map(|&old| of_rank.get(old as usize).copied()).collect()
        };
        let renumber = |groups: Vec<u32>| -> Vec<u32> {
            let mut numbers: HashMap<u32, u32> = HashMap::new();
            groups
                .into_iter()
                .map(|g| {
                    let next = numbers.len() as u32;
                    *numbers.entry(g).or_insert(next)
                })
                .collect()
        };
        let mut restricted = Self {
            names: self.names.clone(),
            groups: self.groups.iter().map(|g| renumber(take(g))).collect(),
            cores: take(&self.cores),
            network: None,
            torus: None,
            cartesian: None,
            numa: take(&self.numa),
            adapters: Vec::new(),
            beside: take(&self.beside),
            costs: self.costs,
        };
        let old_nodes = take(&self.groups[self.groups.len() - 1]);
        if let Some((dims, points)) = &self.torus {
            let points = by_node(restricted.nodes(), old_nodes.iter().map(|&node| points[node as usize]));
            restricted.torus = Some((Arc::clone(dims), points));
        }
        let Some(network) = &self.network else { return restricted };
        let hosts: Vec<HostId> = old_nodes.into_iter().map(|n| network.host(n)).collect();
        let restricted = restricted.on_network(Arc::clone(&network.fabric), &hosts);
        // A process keeps the adapter that it has.
        let several = hosts.iter().any(|&host| network.fabric.adapters(host) > 1);
        Self { adapters: if several { take(&self.adapters) } else { Vec::new() }, ..restricted }
    }
}
