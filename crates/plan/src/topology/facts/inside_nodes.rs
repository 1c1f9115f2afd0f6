//! Where ranks are inside their nodes: slots, NUMA nodes, and how many of them have a part of the machine of their own.

use super::Topology;

/// Numbers for the places of ranks inside their nodes, (NUMA node, core), such that lower NUMA nodes come first and
/// inside a NUMA node lower cores: 0, 1, … without gaps, one for all ranks of equal places.
pub fn in_order(places: &[(u32, u64)]) -> Vec<u32> {
    let mut distinct = places.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    places.iter().map(|place| distinct.partition_point(|other| other < place) as u32).collect()
}

impl Topology {
    /// Position of every rank among the ranks of its node, in the order of NUMA nodes, of cores and then of ranks.
    pub fn slots(&self) -> Vec<u32> {
        let mut slots = vec![0; self.cores.len()];
        let mut previous = None;
        let mut slot = 0;
        for rank in self.node_by_node() {
            let node = self.nodes()[rank];
            slot = if previous == Some(node) { slot + 1 } else { 0 };
            previous = Some(node);
            slots[rank] = slot;
        }
        slots
    }

    /// NUMA node and slot of every rank: which of the NUMA nodes that ranks of its node are bound to, and the position
    /// among the ranks of that NUMA node. All ranks of a node count as on one where that is not known.
    pub fn numa_slots(&self) -> Vec<(u32, u32)> {
        let mut places = vec![(0, 0); self.cores.len()];
        let mut previous: Option<usize> = None;
        for rank in self.node_by_node() {
            if let Some(previous) = previous.filter(|&previous| self.nodes()[previous] == self.nodes()[rank]) {
                let (numa, slot) = places[previous];
                let is_same = self.numa.get(previous) == self.numa.get(rank);
                places[rank] = if is_same { (numa, slot + 1) } else { (numa + 1, 0) };
            }
            previous = Some(rank);
        }
        places
    }

    /// All ranks, node by node, in the order of slots.
    fn node_by_node(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cores.len()).collect();
        order.sort_by_key(|&rank| (self.nodes()[rank], self.cores[rank], rank));
        order
    }

    /// The same facts with the NUMA nodes that ranks are bound to: `numa[rank]` is a number inside the node.
    pub fn with_numa(self, numa: Vec<u32>) -> Self {
        Self { numa, ..self }
    }

    /// The same facts with the adapters of its host that are beside the NUMA node of every rank; none anywhere says
    /// nothing.
    pub fn with_adapters_beside(self, beside: Vec<u32>) -> Self {
        let is_known = beside.iter().any(|&adapters| adapters > 0);
        Self { beside: if is_known { beside } else { Vec::new() }, ..self }
    }

    /// Ranks of every node that have a part of the machine of their own to talk to other nodes from, on the node with
    /// the fewest: the adapters that its ranks use, where the network says that hosts have several; else the adapters
    /// beside the NUMA nodes that its ranks are bound to, on each at most as many as it has ranks, where every node has
    /// two or more; else these NUMA nodes. 1 where that is not known.
    pub fn aggregators(&self) -> u32 {
        if !self.adapters.is_empty() {
            return self.parts(&self.adapters, &[]);
        }
        let beside = if self.beside.is_empty() { 0 } else { self.parts(&self.numa, &self.beside) };
        if beside > 1 { beside } else { self.parts(&self.numa, &[]).max(1) }
    }

    /// How many parts of a node have ranks, on the node with the fewest; 1 where nothing is known. `parts[rank]`: the
    /// part that a rank is on. `beside[rank]`: how often that part counts, at most once for each of its ranks; once
    /// where nothing is said.
    fn parts(&self, parts: &[u32], beside: &[u32]) -> u32 {
        let mut places: Vec<(u32, u32, usize)> = Vec::with_capacity(parts.len());
        places.extend(self.nodes().iter().zip(parts).enumerate().map(|(rank, (&node, &part))| (node, part, rank)));
        places.sort_unstable();
        let of_part = |of_part: &[(u32, u32, usize)]| {
            let most = beside.get(of_part[0].2).copied().unwrap_or(1);
            most.min(of_part.len() as u32)
        };
        let of_node = |of_node: &[(u32, u32, usize)]| of_node.chunk_by(|a, b| a.1 == b.1).map(of_part).sum::<u32>();
        places.chunk_by(|a, b| a.0 == b.0).map(of_node).min().unwrap_or(1)
    }
}
