//! Trees over numbered members: shapes alone, which know no rank, group or network.

mod circulant;
pub mod inorder;
mod order;
mod two_tree;

pub use circulant::{Circulant, Edge as CirculantEdge};
pub use order::{Order, Ways};
pub use two_tree::{Edge, TwoTree};
