//! Who talks to whom: one file per pattern, pure functions for all sizes.

mod grouped_two_tree;
mod inorder;
mod two_tree;
mod xor;

pub use grouped_two_tree::{grouped_two_tree, stage_names};
pub use two_tree::{Edge, TwoTree};
pub use xor::{VirtualRanks, XorOptions, xor};
