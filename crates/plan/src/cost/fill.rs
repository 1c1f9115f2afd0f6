//! How long the first segment of every part takes to reach all nodes along the edges of a Bcast.

use crate::topology::{Way, Wires};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer of one part of the vector between two ends, nodes or ranks.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Sending end.
    pub from: u32,
    /// Receiving end.
    pub to: u32,
    /// The part.
    pub part: u32,
    /// Share of the vector in it.
    pub share: f64,
    /// Rounds of one number may fall together at different ends; an end serves the lowest first.
    pub colour: u32,
    /// Links between the two; none inside a node.
    pub way: Way,
}

/// When the last of `ends` has its first segment of `segment` bytes of each part, nanoseconds. An end sends one segment
/// at a time and receives one at a time, and so does every link, the first that could go first; inside a node no time
/// passes. `root` has everything at the start.
pub fn first_segments(edges: &[Edge], (ends, root): (u32, u32), wires: &Wires, segment: f64, latency: f64) -> f64 {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); ends as usize];
    for (index, edge) in edges.iter().enumerate() {
        leaving[edge.from as usize].push(index);
    }
    for list in &mut leaving {
        list.sort_by_key(|&index| edges[index].colour);
    }
    let (mut sends, mut receives) = (vec![0.0; ends as usize], vec![0.0; ends as usize]);
    let mut carries = vec![0.0; wires.count()];
    let mut last = 0.0_f64;
    // By time in whole nanoseconds and then by number, so that the order is one.
    let mut arrivals: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
    let mut parts: Vec<u32> = leaving[root as usize].iter().map(|&index| edges[index].part).collect();
    parts.sort_unstable();
    parts.dedup();
    arrivals.extend(parts.into_iter().map(|part| Reverse((0, root, part))));
    while let Some(Reverse((time, end, part))) = arrivals.pop() {
        for &index in &leaving[end as usize] {
            let edge = &edges[index];
            if edge.part != part {
                continue;
            }
            let (out, into) = (&mut sends[end as usize], &mut receives[edge.to as usize]);
            let bytes = segment * edge.way.per_byte;
            let mut start = (time as f64).max(*out);
            *out = start + bytes;
            // Where links are the same, those of other ends are waited for.
            let mut through = *out;
            for &(link, share) in &edge.way.links {
                let free = &mut carries[link as usize];
                start = start.max(*free);
                let whole = segment * wires.per_byte(link);
                // What is to be expected where it may take another link.
                *free = start + share * whole;
                through = through.max(start + whole);
            }
            let message = if edge.way.links.is_empty() { 0.0 } else { latency };
            let arrived = (through + edge.way.transit(segment) + message).max(*into + bytes);
            *into = arrived;
            last = last.max(arrived);
            arrivals.push(Reverse((arrived as u64, edge.to, part)));
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, HostId};
    use crate::topology::{Hierarchy, Topology};
    use std::sync::Arc;

    /// Two switches with two hosts each; the link between them is a tenth as fast as a host's. Nodes 0 and 1 both send
    /// over it: the second segment waits for the first.
    #[test]
    fn segments_of_two_nodes_share_a_thin_link() {
        let text = "hosts = ['n[0-3]']\nswitches = ['s[0-1]']\nbandwidth = 100\nlatency = 0\n\
            [[link]]\nfrom = 'n[0-1]'\nto = 's0'\n[[link]]\nfrom = 'n[2-3]'\nto = 's1'\n\
            [[link]]\nfrom = 's0'\nto = 's1'\nbandwidth = 10\n";
        let fabric = Arc::new(Fabric::from_toml(text, "thin").expect("a fabric"));
        let topology = Topology::of_nodes((0..4).collect()).expect("nodes");
        let topology = topology.on_network(fabric, &[0, 1, 2, 3].map(HostId));
        let hierarchy = Hierarchy::new(&topology);
        let mut wires = Wires::new(&topology, &hierarchy);
        let mut edge = |from, to, part, colour| {
            let way = wires.way(from, to);
            Edge { from, to, part, share: 0.5, colour, way }
        };
        let edges = [edge(0, 1, 0, 0), edge(0, 2, 1, 1), edge(1, 3, 0, 0)];
        let [inside, across] = [&edges[0].way, &edges[1].way];
        let (segment, latency) = (1e5, 20e3);
        let [fast, slow] = [inside.per_byte, across.per_byte].map(|per_byte| segment * per_byte);
        assert!((slow / fast - 10.0).abs() < 1e-9);
        // Node 0 serves node 1 first; what node 1 sends on has to wait for what node 0 sends to node 2.
        assert!(fast + inside.transit(segment) + latency < fast + slow);
        let expected = fast + 2.0 * slow + across.transit(segment) + latency;
        let found = first_segments(&edges, (4, 0), &wires, segment, latency);
        assert!((found - expected).abs() < 1.0, "{found}, expected {expected}");
    }
}
