//! How many bytes a rank may have under way in an exchange before a switch has to drop some.
//!
//! ```text
//!   8 ranks of a leaf ──►│▒▒▒▒▒▒ queue of the uplink: 128 packets ▒▒▒▒▒▒│──► one link         room: 128 packets / 8
//! ```
//! A sender that loses the last packets of a message notices after a timeout of 200 ms, more than the whole exchange
//! takes. What fits the queues cannot be lost, whatever TCP's congestion control thinks it may send.

use super::{HEADER, Message};
use crate::fabric::{DirectedLink, Fabric};
use crate::schedule::{Flow, Pacing};
use crate::topology::{Hierarchy, Topology, Wires};

/// Bytes of data per packet in a queue. That whole segments make up the room leaves some of it to acknowledgements.
const PACKET: u64 = 1448;

/// Bytes under way per rank where queues are not known, or too long to matter.
const MOST: u64 = 96 << 10;

/// The same where nothing is ever dropped: long enough for whole blocks.
pub const LOSSLESS: u64 = 4 << 20;

/// Bytes per segment at most, and at least. Measured, one and two ranks on a host: smaller ones cost more time for
/// their messages than they save.
const SEGMENT: u64 = 16 << 10;
const SMALLEST_SEGMENT: u64 = 8 << 10;

/// The same at most on fast links, where no queue bounds the room: half of it, so that two are under way.
const SEGMENT_OF_FAST_LINKS: u64 = MOST / 2;

/// Links are fast on which [`SEGMENT`] takes less than so many times the gap between two messages.
const GAPS: f64 = 3.0;

/// The same at least where the ranks of one node at a time send over a link, many of them.
const SMALLEST_OF_A_NODE: u64 = 2 << 10;

/// Bytes per segment at most where nothing is dropped: blocks of so many are one message, if the transport carries it.
const LONGEST_SEGMENT: u64 = 64 << 20;

/// Shorter blocks, and ends of blocks, are not worth a confirmation each; that they are received in step bounds them
/// well enough. Where segments themselves are shorter, whole ones are confirmed.
pub const CONFIRMED: u64 = 6 << 10;

/// Latency of a far link, microseconds: on one of 100 Mbit/s the time of a block of 6 KiB.
const FAR: f64 = 500.0;

/// Packets that a port of a switch holds where nobody says: 370 KB. Switches have from 100 KB to some MB; measured
/// calls tell whether it matters.
const UNKNOWN_QUEUE: u32 = 256;

/// Segments of one stream under way at most, where not all of them are confirmed.
const WINDOW: u64 = 16;

/// Which senders can meet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// In an order that knows nothing of links, as many as there are receivers behind it.
    Anyone,
    /// The same where ranks are a step apart, so that two of them send to one.
    Apart,
    /// In a ring of nodes, whose ranks are mostly in a step or the next: the most that send over a link in a step,
    /// twice; not more than anyone.
    TwoSteps,
    /// The ranks of two nodes, in an order that gives each link to one node at a time: the one whose turn it is and the
    /// next. Where a hash picks links, those whom it is expected to bring there.
    TwoNodes,
    /// The ranks of one node, where the next waits for a token; and whom a hash is expected to bring.
    OneNode,
    /// The ranks of twice as many nodes as the widest host's link carries at a time, which all send to one rank.
    ToOne,
}

impl Meeting {
    /// Every way to meet.
    pub const ALL: [Meeting; 6] =
        [Self::Anyone, Self::Apart, Self::TwoSteps, Self::TwoNodes, Self::OneNode, Self::ToOne];
}

/// Bytes that one rank may have under way, at most 96 KiB, which is also taken on more nodes than can be looked at.
pub fn room(topology: &Topology, hierarchy: &Hierarchy, meeting: Meeting) -> u64 {
    let Some(queue) = queue_bytes(topology) else { return MOST };
    let mut wires = Wires::new(topology, hierarchy);
    let nodes = hierarchy.node_count();
    let on_node = of_nodes(topology, hierarchy);
    let widest = on_node.iter().copied().max().unwrap_or(1);
    let mut held = queue;
    let senders = match meeting {
        Meeting::TwoNodes => with_strangers(&mut wires, &on_node, 2 * widest),
        Meeting::OneNode => {
            // What every link carries while a message goes there and back, twice, may be under way all the same.
            let slowest = (0..wires.count() as u32).map(|link| wires.per_byte(link)).fold(0.0, f64::max);
            let way = (0..nodes).map(|node| wires.way(0, node).latency).fold(0.0, f64::max);
            held = held.max((4.0 * (Message::of(topology).latency + way) / slowest) as u64);
            with_strangers(&mut wires, &on_node, widest)
        }
        Meeting::ToOne => {
            let at_a_time = 2 * widest * carried_at_a_time(&mut wires, nodes);
            with_strangers(&mut wires, &on_node, at_a_time.min(topology.ranks().into()))
        }
        Meeting::Anyone | Meeting::Apart | Meeting::TwoSteps if nodes > super::MOST_PAIRED => return MOST,
        Meeting::Anyone => most_at_a_link(&mut wires, &on_node, 1),
        Meeting::Apart => most_at_a_link(&mut wires, &on_node, 2),
        Meeting::TwoSteps => {
            let order: Vec<u32> = (0..nodes).collect();
            let in_a_step = (1..nodes).map(|step| most_in_step(&mut wires, &order, &on_node, step)).max();
            most_at_a_link(&mut wires, &on_node, 1).min(2 * in_a_step.unwrap_or(1))
        }
    };
    (held / senders.max(1)).min(MOST)
}

/// Bytes of data that a queue of the network holds; `None` where that is not known.
pub fn queue_bytes(topology: &Topology) -> Option<u64> {
    let packets = topology.network()?.fabric().queue_packets()?;
    Some(u64::from(packets) * PACKET)
}

/// Bytes of a block from which on an Alltoall in which every rank sends to all others at once has more packets than the
/// queue before some host holds; where queues are not known, than `unknown` packets, `u64::MAX` if there is no such
/// number. Open MPI sends short blocks so, MPICH 32 at a time.
pub fn overflowing(topology: &Topology, hierarchy: &Hierarchy, unknown: Option<u32>) -> u64 {
    let queue = topology.network().and_then(|n| n.fabric().queue_packets()).or(unknown);
    let Some(queue) = queue else { return u64::MAX };
    let ranks = u64::from(topology.ranks());
    let blocks = of_nodes(topology, hierarchy).into_iter().map(|own| own * (ranks - own)).max().unwrap_or(0);
    u64::from(queue).checked_div(blocks).map_or(u64::MAX, |packets| packets * PACKET + 1)
}

/// Packets that the queue before a host holds at least, where nobody says how many.
pub const LEAST_QUEUE: u32 = 64;

/// Bytes of a block from which on the blocks of all other nodes' ranks, sent by or to one rank, have more packets than
/// a queue holds; where queues are not known, than 256 of them.
pub fn overflowing_at_root(topology: &Topology, hierarchy: &Hierarchy) -> u64 {
    let queue = topology.network().and_then(|n| n.fabric().queue_packets()).unwrap_or(UNKNOWN_QUEUE);
    let fewest = of_nodes(topology, hierarchy).into_iter().min().unwrap_or(0);
    let others = u64::from(topology.ranks()) - fewest;
    u64::from(queue).checked_div(others).map_or(u64::MAX, |packets| packets * PACKET + 1)
}

/// Whether the queue before every host holds all that its ranks receive in an Alltoall of blocks of so many bytes that
/// ranks of a node aggregate: from every other node a message for each of them, with a block of each rank there. `true`
/// where queues are not known.
pub fn holds_aggregated(topology: &Topology, hierarchy: &Hierarchy, block: u64) -> bool {
    let Some(queue) = topology.network().and_then(|n| n.fabric().queue_packets()) else { return true };
    let on_node = of_nodes(topology, hierarchy);
    let packets = |ranks: u64| ranks.saturating_mul(block).saturating_add(HEADER as u64).div_ceil(PACKET);
    let of_all = on_node.iter().map(|&ranks| packets(ranks)).fold(0, u64::saturating_add);
    on_node.iter().all(|&own| own.saturating_mul(of_all - packets(own)) <= u64::from(queue))
}

/// Ranks of every node.
pub(super) fn of_nodes(topology: &Topology, hierarchy: &Hierarchy) -> Vec<u64> {
    let mut on_node = vec![0; hierarchy.node_count() as usize];
    (0..topology.ranks()).for_each(|rank| on_node[hierarchy.node_of(rank) as usize] += 1);
    on_node
}

/// Whether no link of the network is a far one: ranks may stay close together then, and lose no time by it.
pub fn is_near(topology: &Topology) -> bool {
    let is_near = |fabric: &Fabric| {
        (0..fabric.directed_link_count() as u32).all(|link| fabric.latency_us(DirectedLink(link)) < FAR)
    };
    topology.network().is_none_or(|network| is_near(network.fabric()))
}

/// Whether a segment of 16 KiB passes the slowest link in less than three times the gap between two messages, as far as
/// rates are known. `most_sent`: by a host, Mbit/s.
pub fn is_fast(topology: &Topology, most_sent: f64) -> bool {
    let of_links = |fabric: &Fabric| fabric.links().iter().map(|link| link.mbit).fold(f64::INFINITY, f64::min);
    let slowest = topology.network().map(|network| of_links(network.fabric())).or(topology.host_mbit());
    let nanoseconds = |mbit: f64| SEGMENT as f64 * 8000.0 / mbit.min(most_sent);
    slowest.is_some_and(|mbit| nanoseconds(mbit) < GAPS * Message::of(topology).gap)
}

/// How many of the thinnest hosts' links the widest one carries at a time.
fn carried_at_a_time(wires: &mut Wires, nodes: u32) -> u64 {
    let per_byte: Vec<f64> = (0..nodes).map(|node| wires.of_host(node)).collect();
    let [least, most] = [f64::min, f64::max].map(|of| per_byte.iter().copied().reduce(of).unwrap_or(1.0));
    (most / least * (1.0 + 1e-9)) as u64
}

/// Whether queues are too short for an exchange of blocks of so many bytes without tokens: even one block of every rank
/// that can meet at a link, with a packet for the acknowledgement of another, or one small segment overflows it.
pub fn needs_tokens(room: u64, block: u64) -> bool {
    room < block.saturating_add(PACKET).min(SMALLEST_SEGMENT)
}

/// How many connections are to be expected at the busiest link of an exchange in an order that gives every link to
/// `own` of them at a time. That is `own` unless a hash picks among links: all that may take such a link are then as
/// many as the links between which it chooses have turns, and each is there by its share alone. No connection of the
/// whole exchange, one for each pair of ranks, is expected to find more than this, itself included.
fn with_strangers(wires: &mut Wires, on_node: &[u64], own: u64) -> u64 {
    let nodes = on_node.len() as u32;
    // Half-way around is far away wherever nodes are in the order of the network.
    let far = (0..nodes).filter(|_| nodes > 1).flat_map(|node| wires.way(node, (node + nodes / 2) % nodes).links);
    let share = far.map(|(_, share)| share).fold(1.0, f64::min);
    let ranks: u64 = on_node.iter().sum();
    let others = ((own as f64 / share).round() as u64).min(ranks).saturating_sub(1);
    let pairs = (ranks * ranks) as f64;
    // Of `others`, none is there, then one more each time, by the binomial distribution.
    let mut exactly = (0..others).fold(1.0, |none, _| none * (1.0 - share));
    let mut at_most = exactly;
    let mut found = 0;
    while found < others && pairs * (1.0 - at_most) >= 1.0 {
        found += 1;
        exactly *= (others - found + 1) as f64 / found as f64 * share / (1.0 - share);
        at_most += exactly;
    }
    if share < 1.0 { found + 1 } else { own }
}

/// The most ranks that can send over one link at the same time, at most so many to each receiver.
fn most_at_a_link(wires: &mut Wires, on_node: &[u64], to_one: u64) -> u64 {
    let nodes = on_node.len() as u32;
    // Last node seen at every link, and ranks so far.
    let mut sources = vec![(u32::MAX, 0u64); wires.count()];
    let mut targets = sources.clone();
    let meet = |seen: &mut [(u32, u64)], links: &[(u32, f64)], node: u32| {
        // A host waits for its own link; nothing is lost there.
        for &(link, _) in links.iter().skip(1) {
            let (last, ranks) = &mut seen[link as usize];
            if *last != node {
                (*last, *ranks) = (node, *ranks + on_node[node as usize]);
            }
        }
    };
    for node in 0..nodes {
        for other in (0..nodes).filter(|&other| other != node) {
            meet(&mut sources, &wires.way(node, other).links, node);
            meet(&mut targets, &wires.way(other, node).links, node);
        }
    }
    sources.iter().zip(&targets).map(|(sources, targets)| sources.1.min(to_one * targets.1)).max().unwrap_or(1)
}

/// Whether nodes share no link where each sends to that 1, 2, 4, … places on, in the order of their ranks, about as in
/// the MPI library's own algorithms: on one switch, on a whole fat tree whose routes are spread well. Where nobody
/// tells links, and of more nodes than are looked at, whether all are in one group.
pub fn shifts_share_nothing(topology: &Topology, hierarchy: &Hierarchy) -> bool {
    let nodes = hierarchy.node_count();
    if topology.network().is_none() || nodes > super::MOST_PAIRED {
        return hierarchy.depth_between_nodes() < 2;
    }
    let mut seen = vec![false; nodes as usize];
    let of_ranks = (0..topology.ranks()).map(|rank| hierarchy.node_of(rank));
    let order: Vec<u32> = of_ranks.filter(|&node| !std::mem::replace(&mut seen[node as usize], true)).collect();
    let mut shifts = (0..u32::BITS).map(|bit| 1 << bit).take_while(|&shift| shift < nodes);
    let (mut wires, one) = (Wires::new(topology, hierarchy), vec![1; nodes as usize]);
    shifts.all(|shift| most_in_step(&mut wires, &order, &one, shift) == 1)
}

/// The most ranks that send over one link, at least 1, where of nodes in that order each sends to that `step` places
/// on.
fn most_in_step(wires: &mut Wires, order: &[u32], on_node: &[u64], step: u32) -> u64 {
    let mut ranks = vec![0; wires.count()];
    let others = order.iter().cycle().skip(step as usize);
    for (&node, &other) in order.iter().zip(others) {
        // A host waits for its own link; nothing is lost there.
        for &(link, _) in wires.way(node, other).links.iter().skip(1) {
            ranks[link as usize] += on_node[node as usize];
        }
    }
    ranks.into_iter().fold(1, u64::max)
}

/// How an exchange of blocks of `block` bytes is cut up where a rank has `room` for bytes under way and may be `ahead`
/// blocks ahead. The segment does not depend on the block, which in Alltoallv is the mean of what the rank receives.
/// `near`, `fast`: see [`is_near`], [`is_fast`].
pub fn exchange_pacing((room, near, fast): (u64, bool, bool), meeting: Meeting, block: u64, ahead: u64) -> Pacing {
    let is_lossless = room >= LOSSLESS;
    let segment = if is_lossless {
        LONGEST_SEGMENT
    } else if meeting == Meeting::OneNode {
        // What a rank may have under way, in one segment if it is not too long. The node's own link keeps its ranks
        // from overflowing a queue all at once, but not the acknowledgements of what other nodes are sent meanwhile,
        // which take turns with them there.
        (1 << room.max(1).ilog2()).clamp(SMALLEST_OF_A_NODE, SEGMENT)
    } else if fast && near && room == MOST {
        // What is left of the room costs less than more messages.
        SEGMENT_OF_FAST_LINKS
    } else {
        // Some are confirmed by their receivers while others keep the link busy, and little of the room is left over.
        (room / 4 / SMALLEST_SEGMENT * SMALLEST_SEGMENT).clamp(SMALLEST_SEGMENT, SEGMENT)
    };
    // Ranks that are ahead of one another meet at a receiver, whose queue must hold the blocks that nobody confirms. A
    // block of less than a quarter of the room needs no confirmation; of a longer one all segments are confirmed, and
    // its end if that is long enough. Ranks are kept closer still, except on far links, where they would wait for one
    // another.
    let is_close = near && room < MOST;
    let apart = if is_close { room / 4 } else { room };
    let in_step = if near && !is_lossless { room / 6 } else { room };
    let confirmed = if is_close && block < apart { apart.clamp(CONFIRMED, SEGMENT) } else { CONFIRMED };
    // At most as many blocks that nobody confirms as fit the room less one, but at least one.
    let fitting = (room / block.max(1)).saturating_sub(1).max(1);
    let ahead = if near && !is_lossless && block < confirmed { ahead.min(fitting) } else { ahead };
    let behind = in_step.max(block.saturating_mul(ahead));
    Pacing {
        segment,
        window: WINDOW,
        flow: Some(Flow { unconfirmed: room.max(segment.min(SEGMENT)), confirmed, behind }),
    }
}
