//! The thinnest cut between hosts: the largest flow, by augmenting along shortest paths (Edmonds and Karp).

use nagare_plan::fabric::{DirectedLink, Fabric, HostId, NodeId};
use std::collections::{BTreeSet, VecDeque};

/// Capacity below which a link counts as full, as a share of what it has.
const FULL: f64 = 1e-9;

/// A cut through a fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// Mbit/s of the links across it, in one direction.
    pub mbit: f64,
    /// The hosts on the side where data starts.
    pub near: BTreeSet<HostId>,
}

/// Mbit/s of the thinnest cut that separates `from` from `to`. Hosts may pass data on. Both sets must be disjoint;
/// infinite if one is empty.
pub fn thinnest_cut(fabric: &Fabric, from: &[HostId], to: &[HostId]) -> f64 {
    cut_between(fabric, from, to).mbit
}

/// The thinnest cut between `from` and `to` that is nearest to `from`, under the conditions of [`thinnest_cut`].
pub fn cut_between(fabric: &Fabric, from: &[HostId], to: &[HostId]) -> Cut {
    if from.is_empty() || to.is_empty() {
        return Cut { mbit: f64::INFINITY, near: from.iter().copied().collect() };
    }
    let links = fabric.directed_link_count();
    let mut left: Vec<f64> = (0..links as u32).map(|l| fabric.mbit(DirectedLink(l))).collect();
    let full: Vec<f64> = left.iter().map(|mbit| mbit * FULL).collect();
    let mut flow = 0.0;
    let near = loop {
        let path = match shortest_path(fabric, from, to, |link| left[link.index()] > full[link.index()]) {
            Ok(path) => path,
            Err(reached) => break reached,
        };
        let more = path.iter().map(|link| left[link.index()]).fold(f64::INFINITY, f64::min);
        for link in path {
            left[link.index()] -= more;
            left[link.reverse().index()] += more;
        }
        flow += more;
    };
    Cut { mbit: flow, near }
}

/// The links of a shortest path over links that are `open`; the hosts that are reached where there is none.
fn shortest_path(
    fabric: &Fabric,
    from: &[HostId],
    to: &[HostId],
    open: impl Fn(DirectedLink) -> bool,
) -> Result<Vec<DirectedLink>, BTreeSet<HostId>> {
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
            return Ok(path);
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
    Err(fabric.hosts().filter(|&host| seen[NodeId::from(host).0 as usize]).collect())
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

    #[test]
    fn sides_of_cuts() {
        // Two hosts on one switch and one on another, joined by less than a host's link.
        let text = "name = \"thin\"\nhosts = [\"h[0-2]\"]\nswitches = [\"a\", \"b\"]\nbandwidth = 100\n\
                    [[link]]\nfrom = \"h[0-1]\"\nto = \"a\"\n[[link]]\nfrom = \"h2\"\nto = \"b\"\n\
                    [[link]]\nfrom = \"a\"\nto = \"b\"\nbandwidth = 30\n";
        let thin = Fabric::from_toml(text, "thin").expect("a valid file");
        let between = |from: u32, to: u32| cut_between(&thin, &[HostId(from)], &[HostId(to)]);
        let near = |hosts: &[u32]| hosts.iter().map(|&host| HostId(host)).collect::<BTreeSet<_>>();
        assert_eq!(between(0, 2), Cut { mbit: 30.0, near: near(&[0, 1]) });
        assert_eq!(between(2, 1), Cut { mbit: 30.0, near: near(&[2]) });
        // The first host's own link is as thin as the other's.
        assert_eq!(between(0, 1), Cut { mbit: 100.0, near: near(&[0]) });
    }
}
