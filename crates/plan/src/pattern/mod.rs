//! What algorithms are built from: who talks to whom along a line, a grid or inside a node. Pure functions for all
//! sizes.

mod allgather;
mod along;
mod blocks;
mod exchange;
mod half;
mod halves;
mod lanes;
mod leaders;
mod level_lanes;
mod mirror;
mod node;
mod node_trees;
mod parallel_trees;
mod rails;
mod reduce_scatter;
mod staging;
mod steps;
mod stretch;
mod virtual_ranks;

pub use along::{Along, LineStep, Pairs};
pub use exchange::{ABREAST, Exchange, ExchangeOptions, Pace};
pub(crate) use exchange::{Step as Task, Token, Wait};
pub use halves::{half, half_stages};
pub use lanes::{Lane, lanes};
pub use leaders::{STAGES as LEADER_STAGES, through_leaders};
pub use level_lanes::level_lanes;
pub use mirror::mirrored;
pub use node::{Node, stage_names, stage_names_up_and_down};
pub use node_trees::{HopLabel, NodeTrees};
pub use parallel_trees::{End, Ends, along_trees};
pub use rails::{MOST_CHUNKS, RailOptions, Rails, Transfer, chunks};
pub(crate) use staging::{Staging, first_of_run, place_of, sorted};
pub use steps::{Step, Steps, step_stages, stepwise};
pub use stretch::Stretch;
pub use virtual_ranks::{Partners, VirtualRanks};
