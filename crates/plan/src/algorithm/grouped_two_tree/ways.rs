//! The ways between the members of a family, for those who look for an order in which nothing meets.

use crate::fabric::{Adapter, DirectedLink, Routing};
use crate::topology::{Family, Hierarchy, Topology, Wires};
use crate::tree::Ways;
use std::collections::HashMap;

/// Members of the largest family that is looked at, the root included: a millisecond or two.
const MOST_MEMBERS: u32 = 64;

/// The same over all families, each taken to be as large as this one: some 100 ms.
const MOST_IN_ALL: u32 = 1 << 16;

/// Exchanges that are tried in one family, some 50 ms where none is found, and in all, each family taken to be as large
/// as this one. Every family has its share, whichever is looked at first: ranks look at them in different orders.
const EXCHANGES: u64 = 1 << 15;
const EXCHANGES_IN_ALL: u64 = 1 << 17;

/// Links between switches from the leaves of a family's members to its members. `None` where there are none, where they
/// are not known or a hash decides, and for families that are too large.
pub(super) fn between(family: &Family, level: usize, hierarchy: &Hierarchy, topology: &Topology) -> Option<Ways> {
    let size = family.members() + 1;
    let is_small = size <= MOST_MEMBERS && size.saturating_mul(hierarchy.node_count()) <= MOST_IN_ALL;
    if level >= hierarchy.depth_between_nodes() || !is_small {
        return None;
    }
    let Wires::Routed { mut router, fabric, nodes, .. } = Wires::new(topology, hierarchy) else { return None };
    if fabric.routing() == Routing::Ecmp {
        return None;
    }
    let adapter = |member| {
        let rank = family.rank_of(member);
        Adapter { number: topology.adapter(rank), ..nodes[hierarchy.node_of(rank) as usize] }
    };
    let members: Vec<Adapter> = std::iter::once(None).chain((1..size).map(Some)).map(adapter).collect();
    let families = u64::from(hierarchy.node_count().div_ceil(size));
    let mut ways = Ways { exchanges: EXCHANGES.min(EXCHANGES_IN_ALL / families.max(1)), ..Ways::default() };
    let mut leaves: HashMap<_, u32> = HashMap::new();
    let mut numbers: HashMap<DirectedLink, u32> = HashMap::new();
    for &from in &members {
        let next = leaves.len() as u32;
        // By which of its links an adapter sends can depend on whom to only if its host has several.
        let alone = (fabric.adapters(from.host) > 1).then_some(from);
        let leaf = *leaves.entry((fabric.attachment(from.host), alone)).or_insert(next);
        ways.leaf_of.push(leaf);
        if leaf < next {
            continue;
        }
        for &to in &members {
            let route = router.route(from, to);
            // Nobody sends or receives two messages in a round: the links of hosts carry one each.
            let between = route.get(1..route.len().max(2) - 1).unwrap_or_default();
            let number = |&link: &DirectedLink| {
                *numbers.entry(link).or_insert_with(|| {
                    ways.cables.push(fabric.parallel(link));
                    ways.cables.len() as u32 - 1
                })
            };
            ways.links.push(between.iter().map(number).collect());
        }
    }
    Some(ways)
}
