//! Who talks to whom: one file per pattern, pure functions for all sizes.

mod aggregated;
mod aggregated_leader;
mod allgather;
mod along;
mod blocks;
mod board;
mod chain;
mod contention_free;
mod exchange;
mod gateway_two_tree;
mod gather_direct;
mod gather_relay;
mod gather_tree;
mod grouped_two_tree;
mod half;
mod halving_doubling;
mod inorder;
mod lanes;
mod level_lanes;
mod node;
mod order;
mod rails;
mod reduce_scatter;
mod ring;
mod staging;
mod steps;
mod two_level_ring;
mod two_tree;
mod xor;

/// Tags every MPI library has (MPI 4.0 section 9.1.2). Streams are told apart by tags; where a connection has more of them than there are
/// tags, two of one tag are sent in the order of their turns and received in the order of the list, which are the same.
const TAGS: u32 = 1 << 15;

pub use aggregated::{STAGES as AGGREGATED_STAGES, aggregated};
pub use aggregated_leader::{STAGES as AGGREGATED_LEADER_STAGES, aggregated_leader};
pub use allgather::{allgather, allgather_stages};
pub use along::{Along, Leg, Pairs};
pub use chain::chain;
pub use contention_free::{contention_free, contention_free_stages};
pub use exchange::{Exchange, ExchangeOptions, Pace};
pub use gateway_two_tree::gateway_two_tree;
pub use gather_direct::gather_direct;
pub use gather_relay::gather_relay;
pub use gather_tree::gather_tree;
pub use grouped_two_tree::{grouped_two_tree, stage_names};
pub use halving_doubling::{halving_doubling, halving_doubling_stages};
pub use lanes::{Lane, lanes};
pub use level_lanes::level_lanes;
pub use node::stage_names as stage_names_around;
pub use order::Line;
pub use rails::{MOST_CHUNKS, RailOptions, Rails, Transfer, chunks};
pub use reduce_scatter::{reduce_scatter, reduce_scatter_stages};
pub use ring::ring;
pub use steps::{Step, stepwise};
pub use two_level_ring::{Seats, two_level_ring};
pub use two_tree::{Edge, TwoTree};
pub use xor::{Partners, VirtualRanks, XorOptions, xor};
