//! Networks as data: hosts, switches, links, routes, groups, and which rank sits where.
//!
//! * [`Fabric`], [`FabricBuilder`], [`Generator`]: the network; [`Fabric::from_toml`] and [`Fabric::to_toml`]: as a
//!   file; [`shipped()`]: the ones that come with Nagare.
//! * [`Fabric::route`], [`Router`]: routes, and the shares of hashed connections. [`Fabric::levels`]: nested groups of
//!   hosts; [`LevelChoice`]: which of them count.
//! * [`Placement`]: rank to host. [`check()`]: plays rounds of transfers on the network; [`certify`]: the
//!   same of schedules too large to keep whole.
//! * [`timeline()`]: plays a whole schedule in time. [`steps`]: what a step makes the nodes send, and head-of-line
//!   blocking.
//! * [`Synthetic`], [`SlurmAddress`]: hierarchies known without a network.

mod build;
mod certificate;
mod check;
mod error;
mod file;
mod generator;
mod groups;
mod head_of_line;
mod ids;
mod level_choice;
mod model;
mod names;
mod placement;
mod router;
mod routing;
mod shipped;
mod slurm;
mod synthetic;
mod timeline;

pub use build::{FabricBuilder, LinkRate, MAX_LINKS, MAX_NODES, MAX_ROUTES};
pub use certificate::{Certificate, Counterexample, certify};
pub use check::{CheckError, CheckReport, Conflict, LinkUse, Round, Transfer, check};
pub use error::{BuildError, FabricError};
pub use file::MAX_FILE_BYTES;
pub use generator::{Generator, TierRates};
pub use groups::Level;
pub use head_of_line::{StepTraffic, steps};
pub use ids::{Adapter, DirectedLink, HostId, NodeId, adapter_of};
pub use level_choice::LevelChoice;
pub use model::{Fabric, Link, MessageCost, Routing, Torus};
pub use names::{PatternError, expand};
pub use placement::{Placement, PlacementError};
pub use router::Router;
pub use routing::RoutesTo;
pub use shipped::{SHIPPED, shipped};
pub use slurm::{SlurmAddress, SlurmError};
pub use synthetic::{Synthetic, SyntheticError, SyntheticLevel};
pub use timeline::{LinkTime, Overload, Timeline, TimelineError, bytes_of, timeline};

/// Latency of a link whose file gives none, microseconds.
pub const DEFAULT_LATENCY_US: f64 = 1.0;
