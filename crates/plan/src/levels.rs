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
use crate::cost::{self, Demand, Message, Segments};
use crate::fabric::LevelChoice;
use crate::topology::{Topology, Wires};
use std::sync::Arc;

/// Calls by which levels are compared, with bytes.
const CALLS: [(Collective, u64); 4] =
    [(Bcast, 64 << 10), (Bcast, 1 << 20), (Allreduce, 64 << 10), (Allreduce, 1 << 20)];

/// Bytes of a segment at most: what Open MPI sends over TCP without asking.
const SEGMENTS: Segments = Segments::AtMost(60 << 10);

/// Other levels take at most 0.9 of the time on the geometric mean of the calls, this of the product of all four: a
/// root has other bits on some machines. In none of the calls do they take more than the second.
const GAIN: f64 = 0.6561;
const LOSS: f64 = 1.02;

/// Most nodes for which levels are compared, and most ranks: with one on each node 80 ms of work, on 128 nodes 35, on
/// 36 nodes 11.
const MOST_NODES: u32 = 256;
const MOST_RANKS: u32 = 1024;

/// What plans are made from with the leaves as groups, if that is predicted to be faster than `usual`.
pub fn with_leaves(usual: &Context) -> Option<Box<Context>> {
    let facts = usual.topology();
    let fabric = facts.network()?.fabric();
    let is_torus = fabric.torus().is_some() || facts.given_torus().is_some();
    let is_open = fabric.level_choice() == &LevelChoice::Default && !is_torus;
    let is_small = (3..=MOST_NODES).contains(&facts.node_count()) && facts.ranks() <= MOST_RANKS;
    if !is_open || !is_small || !matches!(usual.wires(), Wires::Routed { .. }) {
        return None;
    }
    let others: Vec<Topology> = [LevelChoice::from("leaf"), LevelChoice::All]
        .iter()
        .filter_map(|choice| facts.with_levels(&fabric.levels_by(choice)))
        .filter(|other| other.level_groups() != facts.level_groups())
        .collect();
    if others.is_empty() {
        return None;
    }
    let before = least(usual);
    let weighed = others.into_iter().filter_map(|topology| {
        let context = Box::new(Context::new(Arc::new(topology), usual.options()));
        let mut product = 1.0;
        for (after, before) in least(&context).into_iter().zip(before) {
            let times = after / before;
            if times.is_nan() || times > LOSS {
                return None;
            }
            product *= times;
        }
        (product <= GAIN).then_some((product, context))
    });
    weighed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, context)| context)
}

/// Nanoseconds that the fastest algorithm is predicted to take, in each of the calls.
fn least(context: &Context) -> [f64; CALLS.len()] {
    let message = (Message::of(context.topology()), [1.0; 2]);
    let demands = |collective| {
        let able = ALGORITHMS.iter().filter(move |spec| spec.collectives.contains(&collective));
        able.filter_map(|spec| (spec.cost)(context, collective)).collect::<Vec<Demand>>()
    };
    let known = [Bcast, Allreduce].map(|collective| (collective, demands(collective)));
    CALLS.map(|(collective, bytes)| {
        let of_collective = known.iter().filter(|known| known.0 == collective).flat_map(|known| &known.1);
        let times = of_collective.map(|demand| cost::predict(demand, message, bytes, SEGMENTS).time);
        times.fold(f64::INFINITY, f64::min)
    })
}
