//! Who talks to whom: one file per pattern, pure functions for all sizes.

mod aggregated;
mod aggregated_leader;
mod chain;
mod contention_free;
mod exchange;
mod gateway_two_tree;
mod gather_direct;
mod gather_relay;
mod gather_tree;
mod grouped_two_tree;
mod inorder;
mod node;
mod order;
mod ring;
mod staging;
mod steps;
mod two_level_ring;
mod two_tree;
mod xor;

pub use aggregated::{STAGES as AGGREGATED_STAGES, aggregated};
pub use aggregated_leader::{STAGES as AGGREGATED_LEADER_STAGES, aggregated_leader};
pub use chain::chain;
pub use contention_free::{contention_free, contention_free_stages};
pub use exchange::{Exchange, ExchangeOptions, Pace};
pub use gateway_two_tree::gateway_two_tree;
pub use gather_direct::gather_direct;
pub use gather_relay::gather_relay;
pub use gather_tree::gather_tree;
pub use grouped_two_tree::{grouped_two_tree, stage_names};
pub use node::stage_names as stage_names_around;
pub use order::Line;
pub use ring::ring;
pub use steps::{Step, stepwise};
pub use two_level_ring::{Seats, two_level_ring};
pub use two_tree::{Edge, TwoTree};
pub use xor::{Partners, VirtualRanks, XorOptions, xor};
