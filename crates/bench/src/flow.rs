//! The thinnest cut between hosts: the largest flow, by augmenting along shortest paths (Edmonds and Karp).

use nagare_plan::fabric::{DirectedLink, Fabric, HostId, NodeId};
use std::collections::VecDeque;

/// Capacity below which a link counts as full, as a share of what it has.
const FULL: f64 = 1e-9;

/// Mbit/s of the thinnest cut that separates `from` from `to`. Hosts may pass data on. Both sets must be disjoint;
/// infinite if one is empty.
pub fn thinnest_cut(fabric: &Fabric, from: &[HostId], to: &[HostId]) -> f64 {
    if from.is_empty() || to.is_empty() {
        return f64::INFINITY;
    }
    let links = fabric.directed_link_count();
    let mut left: Vec<f64> = (0..links as u32).map(|l| fabric.mbit(DirectedLink(l))).collect();
    let full: Vec<f64> = left.iter().map(|mbit| mbit * FULL).collect();
    let mut flow = 0.0;
    while let Some(path) = shortest_path(fabric, from, to, |link| left[link.index()] > full[link.index()]) {
        let more = path.iter().map(|link| left[link.index()]).fold(f64::INFINITY, f64::min);
        for link in path {
            left[link.index()] -= more;
            left[link.reverse().index()] += more;
        }
        flow += more;
    }
    flow
}

/// The links of a shortest path over links that are `open`.
fn shortest_path(
    fabric: &Fabric,
    from: &[HostId],
    to: &[HostId],
    open: impl Fn(DirectedLink) -> bool,
) -> Option<Vec<DirectedLink>> {
    let nodes = fabric.host_count() + fabric.switch_count();
    let mut came_by: Vec<Option<DirectedLink>> = vec![None; nodes];
    let mut seen = vec![false; nodes];
    let mut queue: VecDeque<NodeId> = from.iter().map(|&host| host.into()).collect();
    for node in &queue {
        seen[node.0 as usize] = true;
    }
    while let Some(node) = queue.pop_front() {
        if fabric.as_host(node).is_some_and(|host| to.contains(&host)) {
            let mut path = Vec::new();
            let mut at = node;
            while let Some(link) = came_by[at.0 as usize] {
                path.push(link);
                at = fabric.start(link);
            }
            return Some(path);
        }
        for &link in fabric.links_of(node) {
            let next = fabric.end(link).0 as usize;
            if !seen[next] && open(link) {
                seen[next] = true;
                came_by[next] = Some(link);
                queue.push_back(fabric.end(link));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_plan::fabric::shipped;

    fn fabric(name: &str) -> Fabric {
        Fabric::from_toml(shipped(name).unwrap_or_default(), name).expect("shipped fabrics are valid")
    }

    #[test]
    fn cuts_of_shipped_fabrics() {
        let host = |h| [HostId(h)];
        let tree = fabric("tree8");
        assert_eq!(thinnest_cut(&tree, &host(0), &host(7)), 100.0);
        // Four hosts against four: the leaf's one uplink.
        let (left, right): (Vec<HostId>, Vec<HostId>) = tree.hosts().partition(|h| h.0 < 4);
        assert_eq!(thinnest_cut(&tree, &left, &right), 100.0);
        assert_eq!(thinnest_cut(&tree, &host(1), &[HostId(2), HostId(5)]), 100.0);
        // Half a 4 x 4 torus has two links of 50 per row to the other half: 8 links.
        let torus = fabric("torus16");
        let (left, right): (Vec<HostId>, Vec<HostId>) = torus.hosts().partition(|h| h.0 % 4 < 2);
        assert_eq!(thinnest_cut(&torus, &left, &right), 400.0);
    }
}
