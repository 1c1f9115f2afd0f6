//! Ranks by node and slot.

use super::{Hierarchy, Topology};
use crate::collective::Rank;

/// Ranks by node and slot, nodes in hierarchy order, slots in the order of cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRanks {
    by_node: Vec<Vec<Rank>>,
    /// Node and slot of every rank.
    of_rank: Vec<(u32, u32)>,
    /// Most ranks on a node.
    widest: u32,
}

impl NodeRanks {
    /// Indexes `topology`.
    pub fn new(hierarchy: &Hierarchy, topology: &Topology) -> Self {
        let slots = topology.slots();
        let of_rank: Vec<(u32, u32)> = (0..).zip(slots).map(|(rank, slot)| (hierarchy.node_of(rank), slot)).collect();
        let mut by_node = vec![Vec::new(); hierarchy.node_count() as usize];
        let mut ranks: Vec<Rank> = (0..topology.ranks()).collect();
        ranks.sort_by_key(|&rank| of_rank[rank as usize]);
        for rank in ranks {
            by_node[of_rank[rank as usize].0 as usize].push(rank);
        }
        let widest = by_node.iter().map(Vec::len).max().unwrap_or(0) as u32;
        Self { by_node, of_rank, widest }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.by_node.len() as u32
    }

    /// Most ranks on a node.
    pub fn widest(&self) -> u32 {
        self.widest
    }

    /// Ranks of a node by slot.
    pub fn on(&self, node: u32) -> &[Rank] {
        &self.by_node[node as usize]
    }

    /// Node and slot of a rank.
    pub fn node_and_slot(&self, rank: Rank) -> (u32, u32) {
        self.of_rank[rank as usize]
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.of_rank.len() as u32
    }
}
