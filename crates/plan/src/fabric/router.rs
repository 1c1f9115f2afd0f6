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

use super::ids::{Adapter, DirectedLink, NodeId};
use super::model::{Fabric, Routing};
use super::routing::{Shortest, pick};
use crate::scrambled;

/// Links whose shares a [`Router`] keeps at most: 32 MiB.
const MOST_KEPT: usize = 1 << 21;

/// What ways to an adapter have in common but for the last link: the attachment of its host, and its goal, for a host
/// may be on several switches.
type Towards = (u32, Option<NodeId>);

/// Routes, with the shortest paths to the switches of the destinations asked for so far: O(switches) memory for all
/// hosts on the same switches, and for each switch on a way there its links on shortest paths.
#[derive(Debug)]
pub struct Router<'f> {
    fabric: &'f Fabric,
    shortest: HashMap<Towards, Shortest>,
    /// Shares between switches, by the first one, and how many links these are.
    between: HashMap<(NodeId, Towards), Rc<Between>>,
    kept: usize,
    /// Of every switch the share of a connection that reaches it, while shares are worked out; else 0.
    reached: Vec<f64>,
}

/// What adapters on the same switches have in common of [`Router::shares`].
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
        let hashed = if fabric.routing == Routing::Ecmp { fabric.switch_count() } else { 0 };
        let (shortest, between) = (HashMap::new(), HashMap::new());
        Router { fabric, shortest, between, kept: 0, reached: vec![0.0; hashed] }
    }

    /// The directed links from one adapter to another, in order; empty inside a host. O(links of the route and of the
    /// two hosts), and for all destinations on the same switches together at most O(switches + links) more.
    pub fn route(&mut self, source: impl Into<Adapter>, destination: impl Into<Adapter>) -> Vec<DirectedLink> {
        let (fabric, destination) = (self.fabric, destination.into());
        let shortest = self.shortest(destination);
        let first = fabric.first_link(&shortest.far, source.into(), destination.host);
        fabric.path(first, |switch| shortest.next_hop(fabric, switch, destination))
    }

    /// One way that the number of a connection draws among those that it may take with [`Routing::Ecmp`], every switch
    /// for itself; otherwise the route.
    pub fn drawn(
        &mut self,
        source: impl Into<Adapter>,
        destination: impl Into<Adapter>,
        connection: u64,
    ) -> Vec<DirectedLink> {
        let (fabric, destination) = (self.fabric, destination.into());
        if self.reached.is_empty() {
            return self.route(source, destination);
        }
        let shortest = self.shortest(destination);
        let first = fabric.first_link(&shortest.far, source.into(), destination.host);
        let next = |switch| pick(shortest.equal(fabric, switch, destination), drawn(connection, switch));
        fabric.path(first, next)
    }

    /// The directed links that connections from one adapter to another may take, nearer ones first, each with the share
    /// of their bytes that is to be expected there, exactly 1 where all pass: with [`Routing::Ecmp`] every switch parts
    /// them evenly among its equal next hops; otherwise the route, all of them on every link. O(links found), for
    /// all adapters on the same switches as these mostly once.
    pub fn shares(&mut self, source: impl Into<Adapter>, destination: impl Into<Adapter>) -> Vec<(DirectedLink, f64)> {
        let (fabric, destination) = (self.fabric, destination.into());
        if self.reached.is_empty() {
            return self.route(source, destination).into_iter().map(|link| (link, 1.0)).collect();
        }
        let first = fabric.first_link(&self.shortest(destination).far, source.into(), destination.host);
        let Some(first) = first else { return Vec::new() };
        let between = self.between(fabric.end(first), destination);
        let mut found = Vec::with_capacity(1 + between.links.len() + between.last.len());
        found.push((first, 1.0));
        found.extend_from_slice(&between.links);
        let last = |&(switch, share): &(NodeId, f64)| Some((fabric.last_link(switch, destination)?, share));
        found.extend(between.last.iter().filter_map(last));
        found
    }

    /// The shares from a switch to those of an adapter.
    fn between(&mut self, first: NodeId, destination: Adapter) -> Rc<Between> {
        let fabric = self.fabric;
        let key = (first, towards(fabric, destination));
        if let Some(known) = self.between.get(&key) {
            return Rc::clone(known);
        }
        let mut reached = std::mem::take(&mut self.reached);
        let shortest = self.shortest(destination);
        let slot = |switch: NodeId| switch.0 as usize - fabric.host_count();
        // All ways are equally long: whatever reaches a switch does so before the switch is looked at.
        let mut next = VecDeque::from([first]);
        reached[slot(first)] = 1.0;
        let mut between = Between::default();
        while let Some(switch) = next.pop_front() {
            let share = std::mem::take(&mut reached[slot(switch)]);
            // A sum of sixths may miss it.
            let share = if share > 1.0 - 1e-9 { 1.0 } else { share };
            if shortest.is_last(fabric, switch) {
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

    fn shortest(&mut self, destination: Adapter) -> &mut Shortest {
        let fabric = self.fabric;
        self.shortest.entry(towards(fabric, destination)).or_insert_with(|| fabric.shortest(destination))
    }
}

fn towards(fabric: &Fabric, destination: Adapter) -> Towards {
    (fabric.attachment(destination.host), fabric.goal(destination))
}

/// The number by which a switch picks a link for a connection: one that has nothing to do with those of others.
fn drawn(connection: u64, switch: NodeId) -> u64 {
    scrambled(connection ^ scrambled(u64::from(switch.0)))
}
