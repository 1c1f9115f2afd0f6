//! Where ranks are: nested groups from the widest level (groups of leaves, leaves) to the node, and the core inside it.

mod column;
mod facts;
mod grid;
mod hierarchy;
mod source;

pub use facts::{Network, Topology, TopologyError, in_order};
pub use grid::{Dimension, DimensionOrder, Grid};
pub use hierarchy::{Family, Hierarchy};
pub use source::{Place, Source, SourceError};
