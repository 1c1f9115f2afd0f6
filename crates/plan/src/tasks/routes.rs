//! The links between every two nodes of a communicator, or to one of them, looked up once. Where connections are hashed
//! over several ways, those that D-mod-K would take: tasks that take turns on them are never more than there are links
//! in all.

use crate::fabric::{DEFAULT_LATENCY_US, DirectedLink};
use crate::topology::Wires;
use std::ops::Range;

/// Routes to all nodes, or to one. Nodes are numbered as by [`crate::topology::Hierarchy::node_of`], links densely:
/// only those on some route have a number.
#[derive(Clone, Debug)]
pub struct Routes {
    nodes: u32,
    /// The first node that routes lead to.
    first_to: u32,
    /// The route of pair p is `links[first[p]..first[p + 1]]`.
    first: Vec<u32>,
    links: Vec<u32>,
    per_byte: Vec<f64>,
    link_latency: Vec<f64>,
    pair_latency: Vec<f64>,
}

impl Routes {
    /// The routes between nodes `0..nodes` over `wires`; O(nodes² · links of a route).
    pub fn new(wires: &mut Wires<'_>, nodes: u32) -> Self {
        Self::towards(wires, nodes, 0..nodes)
    }

    /// The routes of nodes `0..nodes` to one of them, nothing else may be asked for; O(nodes · links of a route).
    pub fn to(wires: &mut Wires<'_>, nodes: u32, to: u32) -> Self {
        Self::towards(wires, nodes, to..to + 1)
    }

    fn towards(wires: &mut Wires<'_>, nodes: u32, tos: Range<u32>) -> Self {
        let mut dense = vec![u32::MAX; wires.count()];
        let mut routes = Self {
            nodes,
            first_to: tos.start,
            first: vec![0],
            links: Vec::new(),
            per_byte: Vec::new(),
            link_latency: Vec::new(),
            pair_latency: Vec::with_capacity(tos.len() * nodes as usize),
        };
        let mut route: Vec<(u32, f64)> = Vec::new();
        for to in tos {
            // One destination's forwarding tables serve all sources.
            let tables = match &*wires {
                Wires::Routed { fabric, nodes, .. } => Some(fabric.routes_to(nodes[to as usize])),
                Wires::Groups { .. } => None,
            };
            for from in 0..nodes {
                route.clear();
                match (&*wires, &tables) {
                    _ if from == to => {}
                    (Wires::Routed { fabric, nodes, .. }, Some(tables)) => {
                        let latency = |l: DirectedLink| fabric.latency_us(l) * 1e3;
                        let links = tables.from(fabric, nodes[from as usize]);
                        route.extend(links.into_iter().map(|l| (l.0, latency(l))));
                    }
                    _ => {
                        let links = wires.way(from, to).links;
                        route.extend(links.into_iter().map(|(l, _)| (l, DEFAULT_LATENCY_US * 1e3)));
                    }
                }
                for &(link, latency) in &route {
                    let number = &mut dense[link as usize];
                    if *number == u32::MAX {
                        *number = routes.per_byte.len() as u32;
                        routes.per_byte.push(wires.per_byte(link));
                        routes.link_latency.push(latency);
                    }
                    routes.links.push(*number);
                }
                routes.first.push(routes.links.len() as u32);
                routes.pair_latency.push(route.iter().map(|r| r.1).sum());
            }
        }
        routes
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Number of directed links on any route.
    pub fn link_count(&self) -> usize {
        self.per_byte.len()
    }

    /// Places of all routes together: every link of every route is one place, see [`Routes::places`].
    pub fn place_count(&self) -> usize {
        self.links.len()
    }

    /// The places of the route from one node to another, in order of the links; empty from a node to itself.
    pub fn places(&self, from: u32, to: u32) -> Range<usize> {
        let pair = self.pair(from, to);
        self.first[pair] as usize..self.first[pair + 1] as usize
    }

    /// The link at a place.
    pub fn link(&self, place: usize) -> u32 {
        self.links[place]
    }

    /// The links from one node to another, in order.
    pub fn links(&self, from: u32, to: u32) -> &[u32] {
        &self.links[self.places(from, to)]
    }

    /// Nanoseconds per byte of a link.
    pub fn per_byte(&self, link: u32) -> f64 {
        self.per_byte[link as usize]
    }

    /// Latency of a link, nanoseconds.
    pub fn link_latency(&self, link: u32) -> f64 {
        self.link_latency[link as usize]
    }

    /// Latency of the links from one node to another together, nanoseconds.
    pub fn latency(&self, from: u32, to: u32) -> f64 {
        self.pair_latency[self.pair(from, to)]
    }

    fn pair(&self, from: u32, to: u32) -> usize {
        (to - self.first_to) as usize * self.nodes as usize + from as usize
    }
}
