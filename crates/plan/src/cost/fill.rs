//! How long the first segment of every part takes to reach all nodes along the edges of a Bcast.

use crate::topology::Way;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A transfer of one part of the vector between two nodes.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Sending node.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// The part.
    pub part: u32,
    /// Share of the vector in it.
    pub share: f64,
    /// Rounds of one number may fall together at different nodes; a node serves the lowest first.
    pub colour: u32,
    /// Links between the nodes.
    pub way: Way,
}

/// When the last node has its first segment of `segment` bytes of each part, nanoseconds. A node sends one segment at a
/// time and receives one at a time, the first that could go first. `root` has everything at the start.
pub fn first_segments(edges: &[Edge], nodes: u32, root: u32, segment: f64, latency: f64) -> f64 {
    let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); nodes as usize];
    for (index, edge) in edges.iter().enumerate() {
        leaving[edge.from as usize].push(index);
    }
    for list in &mut leaving {
        list.sort_by_key(|&index| edges[index].colour);
    }
    let (mut sends, mut receives) = (vec![0.0; nodes as usize], vec![0.0; nodes as usize]);
    let mut last = 0.0_f64;
    // By time in whole nanoseconds and then by number, so that the order is one.
    let mut arrivals: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
    let mut parts: Vec<u32> = leaving[root as usize].iter().map(|&index| edges[index].part).collect();
    parts.sort_unstable();
    parts.dedup();
    arrivals.extend(parts.into_iter().map(|part| Reverse((0, root, part))));
    while let Some(Reverse((time, node, part))) = arrivals.pop() {
        for &index in &leaving[node as usize] {
            let edge = &edges[index];
            if edge.part != part {
                continue;
            }
            let (out, into) = (&mut sends[node as usize], &mut receives[edge.to as usize]);
            let start = (time as f64).max(*out);
            let bytes = segment * edge.way.per_byte;
            *out = start + bytes;
            let arrived = (start + bytes + edge.way.transit(segment) + latency).max(*into + bytes);
            *into = arrived;
            last = last.max(arrived);
            arrivals.push(Reverse((arrived as u64, edge.to, part)));
        }
    }
    last
}
