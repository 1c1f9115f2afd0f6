//! Where ranks are: nested groups from the widest level (groups of leaves, leaves) to the node, and the core inside it.

mod arrangement;
mod cartesian;
mod column;
mod costs;
mod dims;
mod facts;
mod grid;
mod grid_source;
mod hierarchy;
mod line;
mod node_ranks;
mod source;
mod transport;
mod wires;

pub use cartesian::Cartesian;
pub use costs::Costs;
pub use dims::{Dims, DimsError};
pub use facts::{Network, Topology, TopologyError, in_order};
pub use grid::{Dimension, DimensionOrder, Grid, Origin};
pub use hierarchy::{Family, Hierarchy};
pub use line::Line;
pub use node_ranks::NodeRanks;
pub use source::{Location, Source, SourceError};
pub use transport::Transport;
pub use wires::{Way, Wires};
