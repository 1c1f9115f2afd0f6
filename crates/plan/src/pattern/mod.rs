//! Who talks to whom: one file per pattern, pure functions for all sizes.

mod chain;
mod contention_free;
mod exchange;
mod gateway_two_tree;
mod grouped_two_tree;
mod inorder;
mod node;
mod order;
mod ring;
mod two_tree;
mod xor;

pub use chain::chain;
pub use contention_free::{contention_free, contention_free_stages};
pub use exchange::{Exchange, ExchangeOptions, Pace};
pub use gateway_two_tree::gateway_two_tree;
pub use grouped_two_tree::{grouped_two_tree, stage_names};
pub use node::stage_names as stage_names_around;
pub use order::Line;
pub use ring::ring;
pub use two_tree::{Edge, TwoTree};
pub use xor::{VirtualRanks, XorOptions, xor};
