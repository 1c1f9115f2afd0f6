//! Binary trees over numbered members: shapes alone, which know no rank, group or network.

pub mod inorder;
mod two_tree;

pub use two_tree::{Edge, TwoTree};
