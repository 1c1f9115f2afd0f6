//! Routes of many pairs of hosts, and what is known of connections that are hashed over several ways.
//!
//! ```text
//!               ┌─ 1/4 ─ c0 ─ 1/4 ─┐
//!       ┌─ a0 ──┴─ 1/4 ─ c1 ─ 1/4 ─┴─ a6 ─┐
//!   l0 ─┤ 1/2                         1/2 ├─ l7      shares of a connection from a host of l0 to one of l7
//!       └─ a1 ──┬─ 1/4 ─ c2 ─ 1/4 ─┬─ a7 ─┘
//!               └─ 1/4 ─ c3 ─ 1/4 ─┘
//! ```

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::model::{DirectedLink, Fabric, HostId, NodeId, Routing};
use super::routing::{Shortest, pick};
use crate::scrambled;

/// Links whose shares a [`Router`] keeps at most: 32 MiB.
const MOST_KEPT: usize = 1 << 21;

/// Routes, with the shortest paths to the switches of the destinations asked for so far: O(switches) memory for all
/// hosts on the same switches, and for each switch on a way there its links on shortest paths.
#[derive(Debug)]
pub struct Router<'f> {
    fabric: &'f Fabric,
    /// By [`Fabric::attachment`].
    shortest: Vec<Option<Box<Shortest>>>,
    /// Shares between the switches of hosts, by the attachments of both, and how many links these are.
    between: HashMap<(u32, u32), Rc<Between>>,
    kept: usize,
    /// Of every switch the share of a connection that reaches it, while shares are worked out; else 0.
    reached: Vec<f64>,
}

/// What hosts on the same switches have in common of [`Router::shares`].
#[derive(Debug, Default)]
struct Between {
    /// The links between switches.
    links: Vec<(DirectedLink, f64)>,
    /// What arrives at the switches of the destination.
    last: Vec<(NodeId, f64)>,
}

impl<'f> Router<'f> {
    /// Nothing yet.
    pub fn new(fabric: &'f Fabric) -> Self {
        let sets = fabric.attachments.iter().max().map_or(0, |&last| last as usize + 1);
        let hashed = if fabric.routing == Routing::Ecmp { fabric.switch_count() } else { 0 };
        let shortest = (0..sets).map(|_| None).collect();
        Router { fabric, shortest, between: HashMap::new(), kept: 0, reached: vec![0.0; hashed] }
    }

    /// The directed links from one host to another, in order; empty from a host to itself. O(links of the route and of
    /// the two hosts), and for all destinations on the same switches together at most O(switches + links) more.
    pub fn route(&mut self, source: HostId, destination: HostId) -> Vec<DirectedLink> {
        let fabric = self.fabric;
        let shortest = self.shortest(destination);
        let first = fabric.first_link(&shortest.hops, source, destination);
        fabric.path(first, |switch| shortest.next_hop(fabric, switch, destination))
    }

    /// One way that the number of a connection draws among those that it may take with [`Routing::Ecmp`], every node
    /// for itself; otherwise the route.
    pub fn drawn(&mut self, source: HostId, destination: HostId, connection: u64) -> Vec<DirectedLink> {
        if self.reached.is_empty() {
            return self.route(source, destination);
        }
        let fabric = self.fabric;
        let shortest = self.shortest(destination);
        let first = fabric.first_links(&shortest.hops, source, destination);
        let first = pick(&first, drawn(connection, source.into()));
        let next = |switch| pick(shortest.equal(fabric, switch, destination), drawn(connection, switch));
        fabric.path(first, next)
    }

    /// The directed links that connections from one host to another may take, nearer ones first, each with the share of
    /// their bytes that is to be expected there, exactly 1 where all pass: with [`Routing::Ecmp`] every node parts them
    /// evenly among its equal next hops; otherwise the route, all of them on every link. O(links found), for
    /// all hosts on the same switches as these mostly once.
    pub fn shares(&mut self, source: HostId, destination: HostId) -> Vec<(DirectedLink, f64)> {
        if self.reached.is_empty() {
            return self.route(source, destination).into_iter().map(|link| (link, 1.0)).collect();
        }
        let fabric = self.fabric;
        let first = fabric.first_links(&self.shortest(destination).hops, source, destination);
        if first.is_empty() {
            return Vec::new();
        }
        let between = self.between(source, destination, &first);
        let mut found = Vec::with_capacity(first.len() + between.links.len() + between.last.len());
        found.extend(first.iter().map(|&link| (link, 1.0 / first.len() as f64)));
        found.extend_from_slice(&between.links);
        for &(switch, share) in &between.last {
            let mut out = fabric.links_of(destination).iter();
            found.extend(out.find(|&&link| fabric.end(link) == switch).map(|link| (link.reverse(), share)));
        }
        found
    }

    /// The shares between the switches of two hosts, the first of which begins with the links `first`.
    fn between(&mut self, source: HostId, destination: HostId, first: &[DirectedLink]) -> Rc<Between> {
        let fabric = self.fabric;
        let key = (fabric.attachment(source), fabric.attachment(destination));
        if let Some(known) = self.between.get(&key) {
            return Rc::clone(known);
        }
        let mut reached = std::mem::take(&mut self.reached);
        let shortest = self.shortest(destination);
        let slot = |switch: NodeId| switch.0 as usize - fabric.host_count();
        // All ways are equally long: whatever reaches a switch does so before the switch is looked at.
        let mut next: VecDeque<NodeId> = first.iter().map(|&link| fabric.end(link)).collect();
        next.iter().for_each(|&switch| reached[slot(switch)] = 1.0 / first.len() as f64);
        let mut between = Between::default();
        while let Some(switch) = next.pop_front() {
            let share = std::mem::take(&mut reached[slot(switch)]);
            // A sum of sixths may miss it.
            let share = if share > 1.0 - 1e-9 { 1.0 } else { share };
            if shortest.hops[slot(switch)] == 1 {
                between.last.push((switch, share));
                continue;
            }
            let links = shortest.equal(fabric, switch, destination);
            let each = share / links.len() as f64;
            for &link in links {
                between.links.push((link, each));
                let end = fabric.end(link);
                if reached[slot(end)] == 0.0 {
                    next.push_back(end);
                }
                reached[slot(end)] += each;
            }
        }
        self.reached = reached;
        let between = Rc::new(between);
        if self.kept + between.links.len() <= MOST_KEPT {
            self.kept += between.links.len();
            self.between.insert(key, Rc::clone(&between));
        }
        between
    }

    fn shortest(&mut self, destination: HostId) -> &mut Shortest {
        let fabric = self.fabric;
        let shortest = &mut self.shortest[fabric.attachment(destination) as usize];
        shortest.get_or_insert_with(|| Box::new(fabric.shortest(destination)))
    }
}

/// The number by which a node picks a link for a connection: one that has nothing to do with those of other nodes.
fn drawn(connection: u64, node: NodeId) -> u64 {
    scrambled(connection ^ scrambled(u64::from(node.0)))
}
