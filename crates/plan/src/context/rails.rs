//! Where the rails of a communicator lie: its grid, the orders of dimensions, the aggregators.

use crate::cost::{self, Message};
use crate::pattern::{self, NodeTrees, RailOptions, Rails};
use crate::topology::{DimensionOrder, Grid, Hierarchy, Network, NodeRanks, Origin, Topology, Wires};

/// The rails of a communicator. On a torus the dimensions take turns in as many lanes as a host can feed; the levels of
/// a tree or mesh are halved in the order with the least predicted time.
pub fn lay(topology: &Topology, hierarchy: &Hierarchy, node_ranks: &NodeRanks, options: RailOptions) -> Rails {
    let RailOptions { order, pairs, aggregators } = options;
    let grid = Grid::new(hierarchy, topology);
    let fewest = (0..node_ranks.nodes()).map(|node| node_ranks.on(node).len() as u32).min().unwrap_or(1);
    let aggregators = aggregators.unwrap_or_else(|| topology.aggregators()).clamp(1, fewest.max(1));
    let ordered = grid.ordered(order);
    // Nodes are taken to be alike.
    let adapter = |aggregator| topology.adapter(NodeTrees::aggregator(node_ranks, 0, aggregator, aggregators));
    let adapters: Vec<u32> = if node_ranks.nodes() > 0 { (0..aggregators).map(adapter).collect() } else { Vec::new() };
    let rails = |lanes| Rails::new(grid.clone(), lanes, aggregators, pairs).over(adapters.clone());
    let network = topology.network();
    let levels = matches!(grid.origin(), Origin::Levels | Origin::Line);
    if levels && ordered.len() > 1 && order == DimensionOrder::default() {
        let message = Message::of(topology);
        let ways = pattern::level_lanes(&ordered, aggregators).into_iter().map(rails);
        let mut wires = Wires::new(topology, hierarchy);
        if let Some(fastest) = cost::fastest(ways, pattern::MOST_CHUNKS, message, &mut wires) {
            return fastest;
        }
    }
    let rate = |network: &Network| {
        let hosts = (0..topology.node_count()).map(|node| network.host(node));
        hosts.map(|host| network.fabric().host_mbit(host)).fold(f64::INFINITY, f64::min)
    };
    rails(pattern::lanes(&grid, &ordered, network.map_or(0.0, rate), aggregators))
}
