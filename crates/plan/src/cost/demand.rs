//! What one algorithm does to the network, independent of the number of bytes.

use super::Message;
use super::fill::{Edge, first_segments};
use super::incast::Incast;
use super::stepwise::{Steps, together};
use crate::collective::Collective;
use crate::schedule::{Action, Rank, RankPlan};
use crate::topology::{Hierarchy, Line, Way, Wires};

/// Time that a link needs for two streams, against one stream of the same bytes; measured on the emulated clusters.
const SHARED: f64 = 1.07;

/// [`SHARED`] to the power of log2 of 2 to 8 parts. All ranks need the same bits, which `powf` has not on all machines.
const SHARED_BY: [f64; 7] =
    [1.07, 1.113197406259125, 1.1449, 1.1701108837482683, 1.1911212246972638, 1.2091792695193635, 1.225043];

/// Segments between which the fill is taken as a straight line, bytes.
const FILL_AT: [f64; 2] = [1024.0, 16384.0];

/// An algorithm on a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Nanoseconds that the busiest link needs per byte of the vector.
    pub per_byte: f64,
    /// Vectors that the busiest host sends in messages; of blocks those that it sends or receives.
    pub vectors: f64,
    /// Where streams of a pipeline meet in a queue; nothing for all else.
    pub incast: Incast,
    /// How blocks follow one another.
    pub shape: Shape,
}

/// Where a node sends several streams of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Each over links of its own.
    Apart,
    /// Over the link of its host, in turns.
    Shared,
}

/// Which ranks send to other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talkers {
    /// One of every node, the leader.
    Leaders,
    /// Any.
    Ranks,
}

impl Talkers {
    /// How many ends transfers have: nodes or ranks.
    fn ends(self, hierarchy: &Hierarchy) -> u32 {
        match self {
            Self::Leaders => hierarchy.node_count(),
            Self::Ranks => hierarchy.ranks(),
        }
    }

    /// The rank that an end is.
    fn rank(self, hierarchy: &Hierarchy, end: u32) -> Rank {
        match self {
            Self::Leaders => hierarchy.leader(end, 0),
            Self::Ranks => end,
        }
    }

    /// The end that a rank is, or is behind.
    fn end(self, hierarchy: &Hierarchy, rank: Rank) -> u32 {
        match self {
            Self::Leaders => hierarchy.node_of(rank),
            Self::Ranks => rank,
        }
    }
}

/// What a rank waits for beside bytes, in times of a message on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waits {
    /// While nothing else is under way.
    pub idle: f64,
    /// While other messages are.
    pub hidden: f64,
}

/// How blocks follow one another.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A pipeline through a graph: filled once.
    Pipeline {
        /// Messages on the longest way of a first segment.
        hops: f64,
        /// Nanoseconds until the first segments are everywhere, beyond latencies of messages: constant, and per byte.
        fill: [f64; 2],
        /// Parts of the vector that travel at the same time.
        parts: f64,
    },
    /// Steps around a ring, each a part of the vector to a neighbour.
    Ring {
        /// Steps.
        steps: f64,
        /// Parts of the vector.
        parts: f64,
        /// Directions, in each of which a node sends a part at the same time.
        lanes: f64,
        /// The way from neighbour to neighbour, on average: data go around, so all of them count. Its links are left
        /// out.
        way: Way,
    },
    /// Halving and doubling.
    Stepwise(Steps),
    /// Blocks from rank to rank; the vector is one block.
    Blocks {
        /// Messages of the busiest host.
        messages: f64,
        /// What ranks wait for.
        waits: Waits,
        /// The longest way. Its links are left out.
        way: Way,
    },
}

impl Demand {
    /// The demand of a pipeline, from the plans that `plan` gives for Bcast from rank 0 (Reduce runs the same edges
    /// backwards, Allreduce both ways).
    pub fn pipeline(
        collective: Collective,
        hierarchy: &Hierarchy,
        wires: &mut Wires,
        (talkers, streams_of_a_node): (Talkers, Streams),
        plan: impl Fn(Rank) -> RankPlan,
    ) -> Self {
        let down = edges(hierarchy, talkers, plan, wires);
        let node = |end: u32| hierarchy.node_of(talkers.rank(hierarchy, end)) as usize;
        let between = || down.iter().filter(|edge| !edge.way.links.is_empty());
        let nodes = hierarchy.node_count() as usize;
        let (mut load, mut sent) = (vec![0.0; wires.count()], vec![0.0; nodes]);
        let mut streams = vec![0u32; nodes];
        between().for_each(|edge| streams[node(edge.from)] += 1);
        let parts = down.iter().map(|edge| f64::from(edge.part) + 1.0).fold(1.0, f64::max);
        // Two streams on one link do not take turns perfectly, whatever the schedule says, and pairs of pairs neither.
        let shares = streams_of_a_node == Streams::Shared && streams.iter().any(|&s| s > 1);
        let shared = if shares { shared(parts as u32) } else { 1.0 };
        let mut meeting = vec![0.0; wires.count()];
        let mut account = |from: u32, links: &[(u32, f64)], share: f64| {
            links.iter().for_each(|&(link, part)| load[link as usize] += share * part);
            // A host waits for its own link. A hash brings to a link the part of a stream that is its chance to.
            links.iter().skip(1).for_each(|&(link, part)| meeting[link as usize] += part);
            sent[node(from)] += share;
        };
        for edge in between() {
            if collective != Collective::Reduce {
                account(edge.from, &edge.way.links, edge.share);
            }
            if collective != Collective::Bcast {
                let back = wires.way(node(edge.to) as u32, node(edge.from) as u32);
                account(edge.to, &back.links, edge.share);
            }
        }
        let passes = if collective == Collective::Allreduce { 2.0 } else { 1.0 };
        let ends = (talkers.ends(hierarchy), talkers.end(hierarchy, 0));
        let free: Vec<f64> = FILL_AT.iter().map(|&s| first_segments(&down, ends, wires, s, 0.0)).collect();
        // A latency no segment could take tells how many there are on the longest way.
        let far = 1e9;
        let hops = (first_segments(&down, ends, wires, FILL_AT[0], far) / far).floor();
        let slope = (free[1] - free[0]) / (FILL_AT[1] - FILL_AT[0]);
        let fill = [passes * (free[0] - slope * FILL_AT[0]), passes * slope];
        let shape = Shape::Pipeline { hops: passes * hops, fill, parts };
        let latency = between().map(|edge| edge.way.latency).fold(0.0, f64::max);
        Self {
            per_byte: shared * busiest(&load, wires),
            vectors: sent.into_iter().fold(0.0, f64::max),
            incast: Incast::new(&meeting, wires, latency),
            shape,
        }
    }

    /// The demand of a ring of nodes, or of the half that `collective` is.
    pub fn ring(collective: Collective, line: &Line, wires: &mut Wires) -> Self {
        let (nodes, lanes) = (line.nodes(), line.lanes());
        // There and back, or one of the two.
        let passes = if collective == Collective::Allreduce { 2.0 } else { 1.0 };
        let steps = passes * f64::from(nodes.max(1) - 1);
        let parts = f64::from(nodes * lanes);
        let mut load = vec![0.0; wires.count()];
        let mut mean = Way::default();
        let edges = f64::from(nodes * lanes);
        for (node, lane) in (0..nodes).flat_map(|node| (0..lanes).map(move |lane| (node, lane))) {
            let next = line.after(node, 1, lane);
            if next == node {
                continue;
            }
            let way = wires.way(node, next);
            way.links.iter().for_each(|&(link, share)| load[link as usize] += share * steps / parts);
            mean.latency += way.latency / edges;
            mean.forward += way.forward / edges;
        }
        let vectors = steps / parts * f64::from(lanes);
        Self {
            per_byte: busiest(&load, wires),
            vectors,
            incast: Incast::default(),
            shape: Shape::Ring { steps, parts, lanes: f64::from(lanes), way: mean },
        }
    }

    /// Predicted time for a vector of `bytes` in segments of `segment` bytes, nanoseconds.
    pub fn time(&self, message: Message, bytes: f64, segment: f64) -> f64 {
        match &self.shape {
            &Shape::Pipeline { hops, fill, parts } => {
                let segment = segment.min((bytes / parts).max(1.0));
                let first = hops * message.latency + fill[0] + fill[1] * segment;
                let rest = (bytes - segment * parts).max(0.0) * self.per_byte;
                let others = (self.vectors * (bytes / segment) - 1.0).max(0.0);
                first + together(rest, others * message.gap)
            }
            Shape::Ring { steps, parts, lanes, way } => {
                let (steps, parts) = (*steps, *parts);
                let part = bytes / parts;
                let segment = segment.min(part.max(1.0));
                // The rate of one part on its way, when all parts of a step are under way.
                let per_byte = if steps > 0.0 { self.per_byte * parts / steps } else { 0.0 };
                let sending = together(part * per_byte, lanes * (part / segment) * message.gap);
                let arriving = way.transit(segment) + message.latency;
                let passing = segment * per_byte + arriving + message.gap;
                // A step of short parts is first the way of a message and then its bytes, one of long parts only bytes;
                // nothing waits for the last one's segments.
                (steps - 1.0).max(0.0) * together(sending, passing) + sending + arriving
            }
            Shape::Stepwise(steps) => steps.time(message, bytes, segment),
            Shape::Blocks { messages, waits, way } => {
                let arriving = way.transit(segment.min(bytes.max(1.0))) + message.latency;
                let sending = messages.max(self.vectors * bytes / segment) * message.gap;
                together(bytes * self.per_byte, sending + waits.hidden * arriving) + (1.0 + waits.idle) * arriving
            }
        }
    }
}

/// The transfers in the plans of the talkers for Bcast: between nodes, and between ranks of a node that both talk.
fn edges(hierarchy: &Hierarchy, talkers: Talkers, plan: impl Fn(Rank) -> RankPlan, wires: &mut Wires) -> Vec<Edge> {
    let mut edges = Vec::new();
    for from in 0..talkers.ends(hierarchy) {
        let rank = talkers.rank(hierarchy, from);
        let plan = plan(rank);
        for hop in plan.hops.iter().filter(|hop| hop.action == Action::Send) {
            let to = talkers.end(hierarchy, hop.peer);
            if to == from {
                continue;
            }
            let [a, b] = [rank, hop.peer].map(|rank| hierarchy.node_of(rank));
            edges.push(Edge {
                from,
                to,
                part: hop.parts.first,
                share: f64::from(hop.parts.count) / f64::from(plan.parts),
                colour: hop.round.step,
                way: if a == b { Way::default() } else { wires.way(a, b) },
            });
        }
    }
    edges
}

/// Nanoseconds the busiest link needs, for loads in bytes.
fn busiest(load: &[f64], wires: &Wires) -> f64 {
    (0..).zip(load).map(|(link, &bytes)| bytes * wires.per_byte(link)).fold(0.0, f64::max)
}

/// What so many streams lose that do not take turns perfectly: between powers of two in proportion.
fn shared(parts: u32) -> f64 {
    let parts = parts.max(2);
    if let Some(&loss) = SHARED_BY.get(parts as usize - 2) {
        return loss;
    }
    let below = (0..parts.ilog2()).fold(1.0, |loss, _| loss * SHARED);
    let beyond = f64::from(parts) / f64::from(1u32 << parts.ilog2()) - 1.0;
    below * (1.0 + (SHARED - 1.0) * beyond)
}
