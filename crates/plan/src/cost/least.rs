//! How long a call is predicted to take at least, whatever algorithm carries it out: as long as the link of the busiest
//! host is busy.

use crate::collective::Collective;
use crate::topology::{Hierarchy, Topology, Wires};

/// Nanoseconds for a call of `bytes` (see [`crate::choice::Call`]) in which blocks are exchanged, gathered or
/// scattered, at any root; 0 for other collectives and on one node. What is sent and what is received are as much. The
/// first node's links stand for those of all; without a fabric it is one as fast as adapters say, or of 10 Gbit/s.
pub fn least_time(topology: &Topology, hierarchy: &Hierarchy, collective: Collective, bytes: u64) -> f64 {
    let mut on_node = vec![0u64; hierarchy.node_count() as usize];
    (0..topology.ranks()).for_each(|rank| on_node[hierarchy.node_of(rank) as usize] += 1);
    if on_node.len() < 2 {
        return 0.0;
    }
    let all = u64::from(topology.ranks());
    let blocks = match collective {
        Collective::Alltoall | Collective::Alltoallv | Collective::Alltoallw => {
            on_node.iter().map(|&own| own * (all - own)).max()
        }
        Collective::Gather | Collective::Gatherv | Collective::Scatter | Collective::Scatterv => {
            on_node.iter().map(|&own| all - own).min()
        }
        _ => None,
    };
    let per_byte = Wires::new(topology, hierarchy).of_host(0);
    blocks.unwrap_or(0) as f64 * bytes as f64 * per_byte
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_a_host_is_busy_so_long() {
        // Without a fabric 10 Gbit/s, of which 1448 of 1514 bytes are data: 8 ns for 10 bytes.
        let of = |nodes: Vec<u32>, collective| {
            let topology = Topology::of_nodes(nodes).expect("a topology");
            least_time(&topology, &Hierarchy::new(&topology), collective, 1000) * 1448.0 / 1514.0
        };
        let nanoseconds = |blocks: f64| blocks * 800.0;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.max(1.0), "{a} {b}");
        // Two ranks send six blocks each to other nodes.
        close(of(vec![0, 0, 1, 1, 2, 2, 3, 3], Collective::Alltoall), nanoseconds(12.0));
        // The widest node: 3 x 1.
        close(of(vec![0, 0, 0, 1], Collective::Alltoall), nanoseconds(3.0));
        // At the root that receives, or sends, the least.
        close(of(vec![0, 0, 0, 1], Collective::Gather), nanoseconds(1.0));
        close(of(vec![0, 0, 0, 1], Collective::Scatter), nanoseconds(1.0));
        close(of(vec![0, 0, 0, 1], Collective::Bcast), 0.0);
        close(of(vec![0, 0], Collective::Alltoall), 0.0);
    }
}
