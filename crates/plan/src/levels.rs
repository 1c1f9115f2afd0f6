//! Whether leaves are groups of their own on a communicator, where the fabric's file does not say: by predicted time.
//!
//! ```text
//!   levels by default ─┐
//!   leaves alone      ─┼─► the least predicted time of each of a few calls ─► faster on the whole, and never slower
//!   all levels        ─┘
//! ```
//! Neighbours by rank are often neighbours in the network, and then a leaf level gains little; ranks in any other order
//! meet on uplinks, also on wide ones, since routes are fixed (`docs/algorithms.md`, "Which levels are worth it").

use crate::algorithm::ALGORITHMS;
use crate::collective::Collective::{self, Allreduce, Bcast};
use crate::context::Context;
use crate::cost::{self, Message, Segments};
use crate::fabric::LevelChoice;
use crate::topology::{Topology, Wires};
use std::sync::Arc;

/// Calls by which levels are compared, with bytes.
const CALLS: [(Collective, u64); 4] =
    [(Bcast, 64 << 10), (Bcast, 1 << 20), (Allreduce, 64 << 10), (Allreduce, 1 << 20)];

/// Bytes of a segment at most: what Open MPI sends over TCP without asking.
const SEGMENTS: Segments = Segments::AtMost(60 << 10);

/// Other levels take at most so much of the time on the mean of the calls, and in none of them more than that.
const GAIN: f64 = 0.9;
const LOSS: f64 = 1.02;

/// Most nodes for which levels are compared: 80 ms of work, on 128 nodes 35, on 36 nodes 11.
const MOST_NODES: u32 = 256;

/// What plans are made from with the leaves as groups, if that is predicted to be faster than `usual`.
pub fn with_leaves(usual: &Context) -> Option<Box<Context>> {
    let fabric = usual.topology().network()?.fabric();
    let is_open = fabric.level_choice() == &LevelChoice::Default && fabric.torus().is_none();
    if !is_open || !(3..=MOST_NODES).contains(&usual.topology().node_count()) {
        return None;
    }
    let others: Vec<Topology> = [LevelChoice::from("leaf"), LevelChoice::All]
        .iter()
        .filter_map(|choice| usual.topology().with_levels(&fabric.levels_by(choice)))
        .filter(|other| other.level_groups() != usual.topology().level_groups())
        .collect();
    if others.is_empty() || !matches!(usual.wires(), Wires::Routed { .. }) {
        return None;
    }
    let before = CALLS.map(|call| least(usual, call));
    let weighed = others.into_iter().filter_map(|topology| {
        let context = Box::new(Context::new(Arc::new(topology), usual.options()));
        let mut mean = 1.0;
        for (call, before) in CALLS.into_iter().zip(before) {
            let times = least(&context, call) / before;
            if times.is_nan() || times > LOSS {
                return None;
            }
            mean *= times.powf(1.0 / CALLS.len() as f64);
        }
        (mean <= GAIN).then_some((mean, context))
    });
    weighed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, context)| context)
}

/// Nanoseconds that the fastest algorithm is predicted to take.
fn least(context: &Context, (collective, bytes): (Collective, u64)) -> f64 {
    let message = (Message::of(context.topology()), [1.0; 2]);
    let able = ALGORITHMS.iter().filter(|spec| spec.collectives.contains(&collective));
    let demands = able.filter_map(|spec| spec.cost?(context, collective));
    demands.map(|demand| cost::predict(&demand, message, bytes, SEGMENTS).time).fold(f64::INFINITY, f64::min)
}
