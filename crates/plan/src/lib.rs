//! The pure half of Nagare.
#![forbid(unsafe_code)]

pub mod algorithm;
pub mod choice;
pub mod collective;
pub mod context;
pub mod cost;
pub mod execute;
pub mod fabric;
pub mod pattern;
mod planner;
mod quoted;
mod recent;
pub mod schedule;
pub mod tasks;
pub mod topology;
pub mod tree;

pub use planner::Planner;
pub use quoted::quoted;
