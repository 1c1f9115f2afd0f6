//! How long a call is predicted to take at least, whatever algorithm carries it out: as long as the link of the busiest
//! host is busy.

use super::room::of_nodes;
use crate::collective::Collective;
use crate::topology::{Hierarchy, Topology, Wires};

/// Nanoseconds for a call of `bytes` (see [`crate::choice::Call`]) in which blocks are exchanged, gathered or
/// scattered, at any root; `None` for other collectives and on one node. What is sent and what is received are as much.
/// The first node's links stand for those of all; without a fabric it is one as fast as adapters say, or of 10 Gbit/s.
pub fn least_time(topology: &Topology, hierarchy: &Hierarchy, collective: Collective, bytes: u64) -> Option<f64> {
    let on_node = of_nodes(topology, hierarchy);
    if on_node.len() < 2 {
        return None;
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
    Some(blocks? as f64 * bytes as f64 * per_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_a_host_is_busy_so_long() {
        // Without a fabric 10 Gbit/s, of which 1448 of 1514 bytes are data: 8 ns for 10 bytes.
        let of = |nodes: Vec<u32>, collective| {
            let topology = Topology::of_nodes(nodes).expect("a topology");
            least_time(&topology, &Hierarchy::new(&topology), collective, 1000).map(|time| time * 1448.0 / 1514.0)
        };
        let nanoseconds = |blocks: f64| blocks * 800.0;
        let close = |a: Option<f64>, b: f64| assert!((a.expect("known") - b).abs() < 1e-6 * b, "{a:?} {b}");
        // Two ranks send six blocks each to other nodes.
        close(of(vec![0, 0, 1, 1, 2, 2, 3, 3], Collective::Alltoall), nanoseconds(12.0));
        // The widest node: 3 x 1.
        close(of(vec![0, 0, 0, 1], Collective::Alltoall), nanoseconds(3.0));
        // At the root that receives, or sends, the least.
        close(of(vec![0, 0, 0, 1], Collective::Gather), nanoseconds(1.0));
        close(of(vec![0, 0, 0, 1], Collective::Scatter), nanoseconds(1.0));
        assert_eq!(of(vec![0, 0, 0, 1], Collective::Bcast), None);
        assert_eq!(of(vec![0, 0], Collective::Alltoall), None);
    }
}
